"""The command ``maxsieve``: text in, answers out (extra ``maxsieve[cli]``). docs/cli.md describes it."""

from __future__ import annotations

import gc
import os
import sys

from maxsieve.common.processes import SAFE_PATH

FEW_COLLECTIONS = 50_000
"""New objects before the garbage collector looks at them. Its default of 700 costs a short command a tenth of its time.
"""


def main() -> None:
    """Runs the command line and exits with its code. Where its packages are missing, only the doctor can be seen."""
    os.environ.setdefault(SAFE_PATH, "1")  # for processes that other libraries start, such as those of multiprocessing
    gc.set_threshold(FEW_COLLECTIONS)
    if sys.argv[1:2] == ["grep"]:
        from maxsieve.cli.grep import main as grep

        sys.exit(grep(sys.argv[2:]))
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError as missing:
        if sys.argv[1:2] == ["doctor"]:
            from maxsieve.doctor.__main__ import main as examine

            return examine(sys.argv[2:], program="maxsieve doctor")
        print(f"maxsieve: the command line needs {missing.name}: pip install 'maxsieve[cli]'", file=sys.stderr)
        sys.exit(1)
    from maxsieve.cli.app import run

    sys.exit(run())
