"""Stores the documents of an index, in memory or in a folder of immutable files. It knows nothing about policies."""
