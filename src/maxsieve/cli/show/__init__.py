"""Answers for people."""

from maxsieve.cli.show.answer import show_answer, show_hits

__all__ = ["show_answer", "show_hits"]
