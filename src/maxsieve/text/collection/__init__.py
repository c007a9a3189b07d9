"""A collection: texts, metadata and the index of their token vectors, in one folder."""
