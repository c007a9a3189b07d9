"""Structured random vectors, as `maxsieve bench` uses them too."""

from maxsieve.structured import Structured

__all__ = ["Structured"]
