"""BM25 over the texts of a collection: as a first stage, and fused with late interaction."""
