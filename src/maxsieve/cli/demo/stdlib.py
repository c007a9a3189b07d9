"""Which modules of the standard library the demo reads, and under which name people know them."""

from __future__ import annotations

import sys
import sysconfig
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import NamedTuple

JOKES = "antigravity this xxlimited xxlimited_35 xxsubtype"
PROGRAMS = "ensurepip idlelib lib2to3 pydoc pydoc_data test tests turtledemo"
WINDOWS = "curses tkinter turtle"
GONE_IN_LATER_PYTHONS = (
    "aifc asynchat asyncore audioop binhex cgi cgitb chunk crypt distutils imghdr imp mailcap msilib nis nntplib "
    "ossaudiodev pipes smtpd sndhdr spwd sunau telnetlib uu xdrlib"
)
KNOWN_BY_OTHER_NAMES = "genericpath nt ntpath posix posixpath sre_compile sre_constants sre_parse"
LEFT_OUT = frozenset(" ".join((JOKES, PROGRAMS, WINDOWS, GONE_IN_LATER_PYTHONS, KNOWN_BY_OTHER_NAMES)).split())


class SourceModule(NamedTuple):
    """A module written in Python: its public name and its file."""

    name: str
    path: Path


def source_modules() -> list[SourceModule]:
    """The public modules and packages of the standard library that are written in Python, by name."""
    root = Path(sysconfig.get_path("stdlib"))
    found = []
    for top in sorted(name for name in sys.stdlib_module_names if _is_public(name)):
        if (root / f"{top}.py").is_file():
            found.append(SourceModule(top, root / f"{top}.py"))
        elif (root / top).is_dir():
            for path in sorted((root / top).rglob("*.py")):
                parts = path.relative_to(root).with_suffix("").parts
                parts = parts[:-1] if parts[-1] == "__init__" else parts
                if all(map(_is_public, parts)):
                    found.append(SourceModule(".".join(parts), path))
    return found


def compiled_modules() -> list[str]:
    """The public modules of the standard library that are written in C, by name; importing one does nothing else."""
    return sorted(name for name in sys.stdlib_module_names if _is_public(name) and is_compiled(name))


def is_compiled(name: str) -> bool:
    """Whether a module of the standard library is built in or a C extension, told without importing it.

    >>> is_compiled("sys"), is_compiled("json")
    (True, False)
    """
    if name in sys.builtin_module_names:
        return True
    if name not in sys.stdlib_module_names:
        return False
    folder = Path(sysconfig.get_config_var("DESTSHARED") or Path(sysconfig.get_path("stdlib"), "lib-dynload"))
    return any((folder / f"{name}{suffix}").is_file() for suffix in EXTENSION_SUFFIXES)


def _is_public(name: str) -> bool:
    return not name.startswith("_") and name not in LEFT_OUT
