"""Encoders: text in, token vectors out."""
