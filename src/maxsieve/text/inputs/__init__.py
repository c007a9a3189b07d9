"""Reads documents: JSON, CSV, Parquet, text, PDF, HTML, Word, folders of these, standard input."""
