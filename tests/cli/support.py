"""The command line as a process."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cli.forks import READ_WHILE_IMPORTING, TIMEOUT, Forks

COMMAND = [sys.executable, "-m", "maxsieve.cli"]
FORKS = Forks()
OPERATORS = ("|", ">", "<", "&&", ";")
NEED_ENCODER = ("index", "add", "sync", "search", "grep", "rerank", "calibrate", "bench")


@dataclass
class CommandLine:
    """Runs ``maxsieve`` in a folder, with the tiny model, a cache of its own and no network."""

    folder: Path
    model: Path
    cache: Path
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def env(self) -> dict[str, str]:
        """The environment, without any variable of the caller's terminal."""
        unwanted = ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "MAXSIEVE_DEBUG", "PYTHONWARNINGS")
        kept = {name: value for name, value in os.environ.items() if name not in unwanted}
        return {**kept, "MAXSIEVE_CACHE": str(self.cache), "PIP_NO_INDEX": "1", "TERM": "xterm", **self.extra}

    def __call__(self, *arguments: str, stdin: str | bytes = b"", code: int = 0) -> subprocess.CompletedProcess[str]:
        """Runs it. The exit code must be this one, and errors must not show a traceback."""
        return self._run(self.command(*arguments), stdin, code)

    def unaided(self, *arguments: str, stdin: str | bytes = b"", code: int = 0) -> subprocess.CompletedProcess[str]:
        """The same, without naming an encoder."""
        return self._run([*COMMAND, *arguments], stdin, code)

    def _run(self, command: list[str], stdin: str | bytes, code: int) -> subprocess.CompletedProcess[str]:
        given = stdin.encode() if isinstance(stdin, str) else stdin
        if READ_WHILE_IMPORTING & self.extra.keys():
            done = subprocess.run(
                command, input=given, capture_output=True, cwd=self.folder, env=self.env, timeout=TIMEOUT
            )
            found, out, err = done.returncode, done.stdout.decode(), done.stderr.decode()
        else:
            found, out, err = FORKS.run(command[len(COMMAND) :], given, self.folder, self.env)
        assert found == code, f"exit code {found}\n{out}\n{err}"
        assert "Traceback" not in err
        return subprocess.CompletedProcess(command, found, out, err)

    def typed(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Splits a line with ``maxsieve`` in it, such as an example, like a shell, and adds further arguments."""
        program, *words = shlex.split(command)
        if program == "maxsieve" and not any(word in OPERATORS for word in words):
            return self._run([*COMMAND, *words, *arguments], b"", 0)
        spelled = command.replace("maxsieve ", f"{shlex.join(COMMAND)} ") + f" {shlex.join(arguments)}"
        done = subprocess.run(spelled, shell=True, cwd=self.folder, env=self.env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done

    def json(self, *arguments: str, stdin: str | bytes = b"") -> list[Any]:
        """The lines of JSON that it prints with ``--json``."""
        return [json.loads(line) for line in self(*arguments, "--json", stdin=stdin).stdout.splitlines()]

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        """Starts it."""
        return subprocess.Popen(self.command(*arguments), cwd=self.folder, env=self.env, **options)

    def command(self, *arguments: str) -> list[str]:
        """The command in full; those that need an encoder get the tiny model unless they name one."""
        chooses = arguments[:1] and arguments[0] in NEED_ENCODER and "--encoder" not in arguments
        return [*COMMAND, *arguments, *(["--encoder", str(self.model)] if chooses else [])]

    def write(self, name: str, content: str | bytes) -> str:
        """A file in the folder; its name."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return name


def write_jsonl(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """A file of JSON Lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
