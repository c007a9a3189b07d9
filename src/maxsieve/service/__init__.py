"""Search and reranking over HTTP: ``maxsieve serve`` (extra ``maxsieve[serve]``)."""
