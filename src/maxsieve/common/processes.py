"""How Python processes are started, their limits, signals that end them, and how they ended.

On POSIX the limits are those of `setrlimit`. On macOS these do not limit memory, so a thread checks it. On Windows a
process puts itself into a job object, which has limits (`common.windows`).
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, TypeAlias

Ending: TypeAlias = Literal["slow", "full", "crashed"]
"""Why a process ended: it used up its CPU time or its memory, or it crashed."""

if sys.platform == "win32":
    from maxsieve.common import windows

    ENDING_SIGNALS: tuple[int, ...] = (signal.SIGINT, signal.SIGTERM, signal.SIGBREAK)
    OUT_OF_QUOTA = 1816
    OUT_OF_MEMORY = (0xC0000017, 0xC000012D)
    """ERROR_NOT_ENOUGH_QUOTA, with which a job ends a process; STATUS_NO_MEMORY and STATUS_COMMITMENT_LIMIT."""

    def own_group_options() -> dict[str, Any]:
        """Options of `subprocess.Popen` for a child that does not get Ctrl-C."""
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}

    def limit_memory(more: int) -> None:
        """Limits this process to ``more`` bytes than it has now; a crash leaves no core file."""
        windows.limit_job(memory=windows.process_bytes() + more)

    def limit_time(seconds: int) -> None:
        """Limits this process to this many more seconds of CPU time."""
        windows.limit_job(seconds=time.process_time() + seconds)

    @contextmanager
    def ending_after(seconds: float, why: str) -> Iterator[None]:
        """Does nothing: Windows has no clock that interrupts the main thread."""
        yield

    def is_closed_pipe(problem: BaseException) -> bool:
        """Whether the error is a write to a pipe that its reader has closed; on Windows also "invalid argument"."""
        if isinstance(problem, BrokenPipeError):
            return True
        return isinstance(problem, OSError) and problem.errno == errno.EINVAL and problem.filename is None

    def how_ended(returncode: int | None) -> Ending:
        """Why a process with this return code of `subprocess.Popen` ended."""
        if returncode == OUT_OF_QUOTA:
            return "slow"
        return "full" if returncode in OUT_OF_MEMORY else "crashed"

else:
    import resource

    ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM)
    """Signals that ask a program to end."""

    def own_group_options() -> dict[str, Any]:
        """Options of `subprocess.Popen` for a child that does not get Ctrl-C."""
        return {"start_new_session": True}

    def limit_time(seconds: int) -> None:
        """Limits this process to this many more seconds of CPU time."""
        _lower(resource.RLIMIT_CPU, int(time.process_time()) + 1 + seconds)

    @contextmanager
    def ending_after(seconds: float, why: str) -> Iterator[None]:
        """Ends the block with a `ValueError` after so many seconds, in the main thread; others have no limit."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def end(*_: object) -> None:
            raise ValueError(why)

        before = signal.signal(signal.SIGALRM, end)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def is_closed_pipe(problem: BaseException) -> bool:
        """Whether the error is a write to a pipe that its reader has closed."""
        return isinstance(problem, BrokenPipeError)

    def how_ended(returncode: int | None) -> Ending:
        """Why a process with this return code of `subprocess.Popen` ended."""
        if returncode == -signal.SIGXCPU:
            return "slow"
        return "full" if returncode in (-signal.SIGKILL, -signal.SIGABRT) else "crashed"

    def _lower(what: int, limit: int) -> None:
        _, highest = resource.getrlimit(what)
        resource.setrlimit(what, (limit if highest == resource.RLIM_INFINITY else min(limit, highest), highest))

    if sys.platform == "darwin":
        INTERVAL = 0.05
        """Seconds between two checks of the memory."""

        def limit_memory(more: int) -> None:
            """Limits this process to ``more`` bytes than it has now; a crash leaves no core file."""
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss + more
            threading.Thread(target=_end_above, args=(most,), daemon=True).start()

        def _end_above(most: int) -> None:
            while resource.getrusage(resource.RUSAGE_SELF).ru_maxrss <= most:
                time.sleep(INTERVAL)
            os.kill(os.getpid(), signal.SIGKILL)

    else:

        def limit_memory(more: int) -> None:
            """Limits this process to ``more`` bytes than it has now; a crash leaves no core file."""
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            with suppress(OSError, ValueError):  # not on every system
                pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
                _lower(resource.RLIMIT_AS, pages * resource.getpagesize() + more)


SAFE_PATH = "PYTHONSAFEPATH"
"""With this variable, Python 3.11 and later do not look for modules in the current folder."""


@contextmanager
def running_python(
    *arguments: str, env: Mapping[str, str] | None = None, **options: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """Runs this Python in another process, which is killed at the end of the block if it still runs.

    Its current folder is empty, because `python -m` and `python -c` look for modules there first, and a file in the
    user's folder may be an attacker's. So paths in the arguments must be absolute. ``env`` is added to the environment.
    """
    with tempfile.TemporaryDirectory(prefix="maxsieve-") as folder:
        environment = {**os.environ, **(env or {}), SAFE_PATH: "1"}
        process = subprocess.Popen([sys.executable, *arguments], cwd=folder, env=environment, **options)
        try:
            yield process
        finally:
            process.kill()
            with ignoring_closed_pipe(), process:  # closes the pipes and waits
                pass


@contextmanager
def ignoring_closed_pipe() -> Iterator[None]:
    """Ignores the error of writing to a process that has ended."""
    try:
        yield
    except OSError as problem:
        if not is_closed_pipe(problem):
            raise
