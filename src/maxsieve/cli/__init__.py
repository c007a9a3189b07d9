"""The command ``maxsieve``: text in, answers out (extra ``maxsieve[cli]``). docs/cli.md describes it."""

from __future__ import annotations

import sys


def main() -> None:
    """Runs the command line and exits with its code."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError as missing:
        print(f"maxsieve: the command line needs {missing.name}: pip install 'maxsieve[cli]'", file=sys.stderr)
        sys.exit(1)
    from maxsieve.cli.app import run

    sys.exit(run())
