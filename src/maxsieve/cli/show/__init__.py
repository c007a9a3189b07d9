"""Answers as people read them."""

from maxsieve.cli.show.answer import show_answer, show_hits, show_report
from maxsieve.cli.show.plain import to_plain

__all__ = ["show_answer", "show_hits", "show_report", "to_plain"]
