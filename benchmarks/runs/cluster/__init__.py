"""Measurements of a corpus in shards."""
