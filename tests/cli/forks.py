"""Runs of the command line that don't import it again: a server imports it once and forks for each of them.

A run is a process of its own with its own arguments, folder, environment and streams. What it doesn't show is how the
command starts; the tests that are about that start it themselves.
"""

from __future__ import annotations

import json
import os
import pkgutil
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from pathlib import Path

TIMEOUT = 300
MESSAGE = 1 << 17
READ_WHILE_IMPORTING = {"MAXSIEVE_ISA", "PYTHONPATH"}
"""Variables that a process reads at its start: a fork would see a change too late."""
IMPORTED_BY_COMMANDS = (
    *("bm25s", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg", "matplotlib.figure"),
    *("onnxruntime", "scipy.cluster.hierarchy", "scipy.stats", "Stemmer", "tokenizers"),
    *("maxsieve.text.collection.collection", "maxsieve.text.encoders.onnx"),
)
"""Modules that some command imports while it runs, which takes a second or more. A fork has them already."""


class Forks:
    """Runs ``python -m maxsieve.cli`` from forks of a server, which starts with the first run."""

    def __init__(self) -> None:
        self._server: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    def run(
        self, arguments: list[str], stdin: bytes, folder: Path, environment: dict[str, str]
    ) -> tuple[int, str, str]:
        """Exit code, output and errors of one run."""
        connection = self._socket or self._start(environment)
        asked = json.dumps({"arguments": arguments, "folder": str(folder), "environment": environment}).encode()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            read, write = os.pipe()
            socket.send_fds(connection, [asked], [read, out.fileno(), err.fileno()])
            os.close(read)
            feeder = threading.Thread(target=_feed, args=(write, stdin))
            feeder.start()
            try:
                answer = connection.recv(MESSAGE)
            except TimeoutError:
                self.close()
                raise
            feeder.join()
            out.seek(0)
            err.seek(0)
            return int(answer), out.read().decode(), err.read().decode()

    def _start(self, environment: dict[str, str]) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, __file__, str(theirs.fileno())]
        self._server = subprocess.Popen(command, env=environment, pass_fds=[theirs.fileno()], stdout=subprocess.DEVNULL)
        theirs.close()
        ours.settimeout(TIMEOUT)
        self._socket = ours
        return ours

    def close(self) -> None:
        """Ends the server, and a run that has not ended."""
        if self._server is not None and self._socket is not None:
            self._socket.close()
            self._server.kill()
            self._server.wait()
        self._server = self._socket = None


def _feed(pipe: int, content: bytes) -> None:
    try:
        with open(pipe, "wb") as stream:
            stream.write(content)
    except BrokenPipeError:
        pass  # the command did not read all of it


def _serve(connection: socket.socket) -> list[str]:
    """Forks for each message. Returns in the fork, with the arguments of its run."""
    while True:
        message, streams, _, _ = socket.recv_fds(connection, MESSAGE, 3)
        if not message:
            os._exit(0)
        child = os.fork()
        if child == 0:
            connection.close()
            for target, stream in enumerate(streams):
                os.dup2(stream, target)
                os.close(stream)
            run = json.loads(message)
            os.environ.clear()
            os.environ.update(run["environment"])
            os.chdir(run["folder"])
            return list(run["arguments"])
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(child, 0)
        connection.send(str(os.waitstatus_to_exitcode(status)).encode())


if __name__ == "__main__":
    import maxsieve.cli
    import maxsieve.lab
    from maxsieve.cli.app import run
    from maxsieve.common.optional import optional

    parts_of_lab = (module.name for module in pkgutil.walk_packages(maxsieve.lab.__path__, "maxsieve.lab."))
    for name in (*IMPORTED_BY_COMMANDS, *parts_of_lab):
        optional(name, "test")
    run(["cache"])  # it imports what a command needs before it begins
    sys.stdout.flush()
    started_as = str(Path(maxsieve.cli.__file__).with_name("__main__.py"))
    sys.argv = [started_as, *_serve(socket.socket(fileno=int(sys.argv[1])))]
    code: int | str | None = 1
    try:
        code = run()
    except SystemExit as end:  # completion of commands raises it
        code = end.code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(code or 0))  # onnxruntime's handlers at exit wait for a thread that only the server has
