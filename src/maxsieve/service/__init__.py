"""Search and rerank over HTTP, and a page on which one sees the sieve at work."""
