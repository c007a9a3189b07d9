"""Adapters for other libraries: one module for each, imported by name, which uses that library's types."""
