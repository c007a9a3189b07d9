"""What a process may use, how it ended, and what ends it, on each system.

On POSIX the limits are those of `setrlimit`; macOS does not limit memory by them, so that a thread looks after it. On
Windows a process puts itself into a job, which has limits (`common.windows`).
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TypeAlias

Fate: TypeAlias = Literal["slow", "full", "crashed"]
"""A process used up its time or its memory, or something else ended it."""

if sys.platform == "win32":
    from maxsieve.common import windows

    ENDING_SIGNALS: tuple[int, ...] = (signal.SIGINT, signal.SIGTERM, signal.SIGBREAK)
    OUT_OF_QUOTA = 1816
    OUT_OF_MEMORY = (0xC0000017, 0xC000012D)
    """ERROR_NOT_ENOUGH_QUOTA, with which a job ends a process; STATUS_NO_MEMORY and STATUS_COMMITMENT_LIMIT."""

    def apart_options() -> dict[str, Any]:
        """Options of `subprocess.Popen` for a child that Ctrl-C is not for."""
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}

    def limit_memory(more: int) -> None:
        """Gives this process so many bytes more than it has now, and no more; a crash leaves no core file."""
        windows.limit_job(memory=windows.process_bytes() + more)

    def limit_time(seconds: int) -> None:
        """Gives this process so many seconds of processor time more than it has used."""
        windows.limit_job(seconds=time.process_time() + seconds)

    def is_closed_pipe(problem: BaseException) -> bool:
        """Whether something was written to a pipe that nobody reads any more; here that may be "invalid argument"."""
        if isinstance(problem, BrokenPipeError):
            return True
        return isinstance(problem, OSError) and problem.errno == errno.EINVAL and problem.filename is None

    def fate_of(returncode: int | None) -> Fate:
        """What a return code of `subprocess.Popen` says of how the process ended."""
        if returncode == OUT_OF_QUOTA:
            return "slow"
        return "full" if returncode in OUT_OF_MEMORY else "crashed"

else:
    import resource

    ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM)
    """What asks a program to end."""

    def apart_options() -> dict[str, Any]:
        """Options of `subprocess.Popen` for a child that Ctrl-C is not for."""
        return {"start_new_session": True}

    def limit_time(seconds: int) -> None:
        """Gives this process so many seconds of processor time more than it has used."""
        _lower(resource.RLIMIT_CPU, int(time.process_time()) + 1 + seconds)

    def is_closed_pipe(problem: BaseException) -> bool:
        """Whether something was written to a pipe that nobody reads any more."""
        return isinstance(problem, BrokenPipeError)

    def fate_of(returncode: int | None) -> Fate:
        """What a return code of `subprocess.Popen` says of how the process ended."""
        if returncode == -signal.SIGXCPU:
            return "slow"
        return "full" if returncode in (-signal.SIGKILL, -signal.SIGABRT) else "crashed"

    def _lower(what: int, limit: int) -> None:
        _, highest = resource.getrlimit(what)
        resource.setrlimit(what, (limit if highest == resource.RLIM_INFINITY else min(limit, highest), highest))

    if sys.platform == "darwin":
        INTERVAL = 0.05
        """Seconds between two looks."""

        def limit_memory(more: int) -> None:
            """Gives this process so many bytes more than it has now, and no more; a crash leaves no core file."""
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss + more
            threading.Thread(target=_look_after, args=(most,), daemon=True).start()

        def _look_after(most: int) -> None:
            while resource.getrusage(resource.RUSAGE_SELF).ru_maxrss <= most:
                time.sleep(INTERVAL)
            os.kill(os.getpid(), signal.SIGKILL)

    else:

        def limit_memory(more: int) -> None:
            """Gives this process so many bytes more than it has now, and no more; a crash leaves no core file."""
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            with suppress(OSError, ValueError):  # a system that can't tell or does not limit
                pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
                _lower(resource.RLIMIT_AS, pages * resource.getpagesize() + more)
