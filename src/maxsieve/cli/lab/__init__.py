"""`maxsieve lab`: the paper's experiments on any corpus, a report of many, and the choice of a knob."""

from maxsieve.cli.lab.command import register

__all__ = ["register"]
