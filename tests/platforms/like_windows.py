"""A Linux that refuses what Windows refuses, for the tests of storage: call `install` at the start of a Python.

If any process that was started like this one has a file open or mapped, the file can't be replaced, removed or
truncated (opening it with mode "w" does that), and its folder can't be renamed. Folders can't be opened. The library
finds no `fcntl` and no `resource`, and nothing in `os` that only POSIX has. It uses the Windows code of its modules,
with a `msvcrt` whose locks are those of Linux.

The kernel is asked who has a file open. So no handle of any process is missed.
"""

from __future__ import annotations

import builtins
import ctypes
import errno
import fcntl
import importlib.abc
import importlib.machinery
import io
import os
import shutil
import signal
import stat
import struct
import subprocess
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

FAMILY = "MAXSIEVE_LIKE_WINDOWS"
"""Names a folder in which each such process leaves its id."""

TWO_SIDED = frozenset(f"maxsieve.common.{name}" for name in ("handles", "locks", "processes"))
ABSENT_MODULES = frozenset({"fcntl", "resource", "termios", "tty", "pwd", "grp", "readline"})
ABSENT = (
    *("O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "pread", "pwrite", "posix_fadvise", "statvfs"),
    *("fork", "register_at_fork", "sched_getaffinity", "setsid", "killpg", "nice", "geteuid", "sysconf", "getloadavg"),
)
LOCK = struct.Struct("hhqqi4x")


def install() -> None:
    """Makes this process, and all that it starts, behave like this."""
    (Path(os.environ[FAMILY]) / str(os.getpid())).touch()
    for name in ("unlink", "remove"):
        setattr(os, name, _refusing(getattr(os, name), targets=1))
    for name in ("truncate", "ftruncate"):
        setattr(os, name, _refusing(getattr(os, name), targets=1, open_is_fine=True))
    os.replace = _refusing(os.replace, targets=2)
    os.rename = _refusing(_never_over(os.rename), targets=2)
    os.open = _files_only(os.open)
    builtins.open = io.open = _not_over_a_map(builtins.open)
    for name in ABSENT:
        delattr(os, name)
    os.O_BINARY, os.O_NOINHERIT = 0, 0  # type: ignore[attr-defined]
    signal.SIGBREAK = signal.SIGUSR2  # type: ignore[attr-defined]
    subprocess.CREATE_NEW_PROCESS_GROUP = 0  # type: ignore[attr-defined]
    shutil._use_fd_functions = False  # type: ignore[attr-defined]
    sys.modules["msvcrt"] = fake_msvcrt()
    builtins.__import__ = _without(builtins.__import__)
    sys.meta_path.insert(0, WindowsSide())


class WindowsSide(importlib.abc.MetaPathFinder):
    """Lets modules with code for several systems see another `sys.platform` while they are imported."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in TWO_SIDED:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        assert spec is not None
        assert spec.loader is not None
        loaded = spec.loader.exec_module

        def exec_module(module: types.ModuleType) -> None:
            real, sys.platform = sys.platform, "win32"
            try:
                loaded(module)
            finally:
                sys.platform = real

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def in_use(path: Any, *, open_is_fine: bool = False) -> bool:
    """Whether such a process has a file mapped or open, or, for a folder, any file in it."""
    try:
        status = os.fstat(path) if isinstance(path, int) else os.lstat(path)
    except OSError:
        return False
    if isinstance(path, int):
        path = os.readlink(f"/proc/self/fd/{path}")
    real = os.path.join(os.path.realpath(os.path.dirname(os.path.abspath(path))), os.path.basename(path))
    below = real + os.sep if stat.S_ISDIR(status.st_mode) else None
    for process in _family():
        names = [*_mapped(process), *([] if open_is_fine else _opened(process))]
        if any(name == real or (below is not None and name.startswith(below)) for name in names):
            return True
    return False


def _family() -> Iterator[str]:
    for name in os.listdir(os.environ[FAMILY]):
        if os.path.exists(f"/proc/{name}/maps"):
            yield f"/proc/{name}"


def _opened(process: str) -> Iterator[str]:
    try:
        handles = os.listdir(f"{process}/fd")
    except OSError:
        return
    for handle in handles:
        with suppress(OSError):
            yield os.readlink(f"{process}/fd/{handle}")


def _mapped(process: str) -> Iterator[str]:
    try:
        with builtins.open(f"{process}/maps", encoding="utf-8", errors="surrogateescape") as maps:
            for line in maps:
                if len(columns := line.rstrip("\n").split(maxsplit=5)) == 6:
                    yield columns[5].replace("\\012", "\n")
    except OSError:
        return


def _refusing(call: Callable[..., Any], *, targets: int, open_is_fine: bool = False) -> Callable[..., Any]:
    def refusing(*arguments: Any, **options: Any) -> Any:
        if targets == 2 and call.__name__ == "replace" and os.path.isdir(arguments[1]):
            raise _denied(arguments[1])
        for path in arguments[:targets]:
            if in_use(path, open_is_fine=open_is_fine):
                raise _denied(path)
        return call(*arguments, **options)

    return refusing


def _never_over(rename: Callable[..., Any]) -> Callable[..., Any]:
    def renaming(source: Any, target: Any) -> None:
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, "Cannot create a file when that file already exists", source)
        rename(source, target)

    return renaming


def _files_only(opening: Callable[..., int]) -> Callable[..., int]:
    def opened(path: Any, flags: int, mode: int = 0o777, **options: Any) -> int:
        if os.path.isdir(path) and flags & os.O_TMPFILE != os.O_TMPFILE:  # a file without a name, for `tempfile`
            raise _denied(path)
        if flags & os.O_TRUNC and in_use(path, open_is_fine=True):
            raise _mapped_by_a_user(path)
        return opening(path, flags | 0o2000000, mode, **options)  # no child inherits it: Python does the same

    return opened


def _not_over_a_map(opening: Callable[..., Any]) -> Callable[..., Any]:
    def opened(file: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
        named = not isinstance(file, int) and os.path.isfile(file)
        if "w" in mode and named and in_use(file, open_is_fine=True):
            raise _mapped_by_a_user(file)
        return opening(file, mode, *arguments, **options)

    return opened


def _mapped_by_a_user(path: Any) -> OSError:
    """The error that Python raises for ERROR_USER_MAPPED_FILE, which has no errno in C."""
    return OSError(errno.EINVAL, os.strerror(errno.EINVAL), os.fspath(path))


def _denied(path: Any) -> PermissionError:
    name = path if isinstance(path, int) else os.fspath(path)
    return PermissionError(errno.EACCES, "The process cannot access the file: it is in use", name)


def _without(real: Callable[..., Any]) -> Callable[..., Any]:
    """An `import` that finds no module that Windows lacks."""

    def importing(name: str, globals: Any = None, *others: Any, **options: Any) -> Any:  # noqa: A002
        asking = (globals or {}).get("__name__", "")
        if name.partition(".")[0] in ABSENT_MODULES and asking.partition(".")[0] == "maxsieve":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, globals, *others, **options)

    return importing


def fake_msvcrt() -> types.ModuleType:
    """The locks of `msvcrt`: bytes from the file's position on, held by the handle, seen by all other handles."""
    module: Any = types.ModuleType("msvcrt")
    module.LK_UNLCK, module.LK_LOCK, module.LK_NBLCK = 0, 1, 2

    def locking(handle: int, mode: int, nbytes: int) -> None:
        assert mode in (module.LK_NBLCK, module.LK_UNLCK)
        writable = fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
        kind = fcntl.F_UNLCK if mode == module.LK_UNLCK else fcntl.F_WRLCK if writable else fcntl.F_RDLCK
        start = os.lseek(handle, 0, os.SEEK_CUR)
        try:
            fcntl.fcntl(handle, fcntl.F_OFD_SETLK, LOCK.pack(kind, os.SEEK_SET, start, nbytes, 0))
        except BlockingIOError:
            raise PermissionError(errno.EACCES, "Permission denied") from None

    module.locking = locking
    return module


_ = ctypes  # imported first, because modules that see another platform import it
