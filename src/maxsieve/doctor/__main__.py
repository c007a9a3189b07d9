"""``python -m maxsieve.doctor [--json]``, without any extra."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence

from maxsieve.common.printable import printable_json, printable_lines
from maxsieve.doctor import described, examine


def main(arguments: Sequence[str] | None = None, *, program: str = "python -m maxsieve.doctor") -> None:
    """Prints the report."""
    parser = ArgumentParser(
        prog=program, description="Show what a bug report needs. It names neither you nor your files."
    )
    parser.add_argument("--json", action="store_true", help="one object of JSON, for programs")
    wanted = parser.parse_args(arguments)
    report = examine()
    text = printable_json(report, ascii_only=True) if wanted.json else printable_lines(described(report))
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    print(text, flush=True)


if __name__ == "__main__":
    main()
