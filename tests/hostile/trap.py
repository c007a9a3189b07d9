"""A folder in which Python must not look for modules: it has one of each name, and each tells that it was imported."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import packages_distributions

from cli.support import TIMEOUT, CommandLine

CONSOLE_SCRIPT = "from maxsieve.cli import main\nmain()\n"
WITNESS = """
import os
file = os.open({path!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.write(file, b"{name}\\n")
os.close(file)
raise ImportError("a module of the current folder was imported")
"""


class Trap:
    """A folder with a module of each name that Python or an installed package has; each leaves its name if it runs."""

    def __init__(self, line: CommandLine) -> None:
        self.line, self._ran, self._script = line, line.folder.parent / "ran", line.folder.parent / "bin" / "maxsieve"
        for name in {*sys.stdlib_module_names, *packages_distributions(), "sitecustomize", "usercustomize"}:
            if name.isidentifier():
                line.write(f"{name}.py", WITNESS.format(path=str(self._ran), name=name))
        self._script.parent.mkdir()
        self._script.write_text(CONSOLE_SCRIPT)

    def __call__(self, *arguments: str, code: int = 0, script: str = CONSOLE_SCRIPT) -> str:
        """Runs the console script in the folder; what it printed."""
        self._script.write_text(script)
        command = [sys.executable, str(self._script), *self.line.command(*arguments)[3:]]
        done = subprocess.run(
            command, cwd=self.line.folder, env=self.line.env, timeout=TIMEOUT, capture_output=True, text=True
        )
        assert self.ran == "", f"{arguments} imported {self.ran.split()}"
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    @property
    def ran(self) -> str:
        """The names of the modules that were imported."""
        return self._ran.read_text() if self._ran.exists() else ""
