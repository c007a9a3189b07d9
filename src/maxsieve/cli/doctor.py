"""`maxsieve doctor`: what a bug report needs."""

from __future__ import annotations

from maxsieve.cli.console import print_answer
from maxsieve.cli.options import AsJson
from maxsieve.doctor import described, examine


def doctor(as_json: AsJson = False) -> None:
    """Show what a bug report needs: machine, kernels, threads, cache, models, versions.

    It names neither you nor your files.
    """
    report = examine()
    print_answer(report, described(report), as_json=as_json)
