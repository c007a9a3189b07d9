"""How good answers are (`quality`), and how sure that is (`confidence`)."""
