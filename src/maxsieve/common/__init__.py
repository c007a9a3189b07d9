"""Helpers for all other packages: argument checks, durable files, optional imports. It imports none of them."""
