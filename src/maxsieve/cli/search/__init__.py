"""`maxsieve search`."""

from maxsieve.cli.search.command import register

__all__ = ["register"]
