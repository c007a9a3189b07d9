"""Answers as people and programs read them."""

from maxsieve.cli.show.answer import show_answer, show_hits, to_plain

__all__ = ["show_answer", "show_hits", "to_plain"]
