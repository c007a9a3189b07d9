"""Adds documents to a collection in shards: they are encoded on all nodes of a Ray cluster, and committed together."""
