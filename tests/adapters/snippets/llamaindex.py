"""The collection that the section reads."""

from fables import names

__all__ = ["names"]
