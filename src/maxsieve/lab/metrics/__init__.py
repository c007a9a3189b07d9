"""Measures of answers (`quality`), and confidence intervals (`confidence`)."""
