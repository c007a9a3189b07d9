"""`maxsieve demo`."""

from maxsieve.cli.demo.command import register

__all__ = ["register"]
