"""Answers questions about the files of a folder, with or without a collection of them."""
