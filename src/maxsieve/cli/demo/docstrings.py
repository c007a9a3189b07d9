"""The demo's corpus: docstrings of the standard library and NumPy, a document for each module, class and function.

Modules written in Python are parsed, not imported, so that none of their code runs. Modules written in C have no source
to parse and are imported. What a Python module imports from a private C module (``from _struct import *``) is listed
under the public name. ``os.path`` and NumPy are imported already, and build their docstrings while they load.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
import sysconfig
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

JOKES = "antigravity this xxlimited xxlimited_35 xxsubtype"
PROGRAMS = "ensurepip idlelib lib2to3 pydoc pydoc_data test tests turtledemo"
WINDOWS = "curses tkinter turtle"
GONE_IN_LATER_PYTHONS = (
    "aifc asynchat asyncore audioop binhex cgi cgitb chunk crypt distutils imghdr imp mailcap msilib nis nntplib "
    "ossaudiodev pipes smtpd sndhdr spwd sunau telnetlib uu xdrlib"
)
KNOWN_BY_OTHER_NAMES = "genericpath nt ntpath posix posixpath sre_compile sre_constants sre_parse"
LEFT_OUT = frozenset(" ".join((JOKES, PROGRAMS, WINDOWS, GONE_IN_LATER_PYTHONS, KNOWN_BY_OTHER_NAMES)).split())

ALREADY_IMPORTED = ("os.path", "numpy", "numpy.fft", "numpy.linalg", "numpy.random")
MOST_CHARACTERS = 300
FEWEST_CHARACTERS = 50  # a shorter one says little more than the name

SIGNATURE = re.compile(r"[\w.]+\(.*\)(\s*--?>.*)?")


class Docstring(NamedTuple):
    """A documented object: its qualified name, its kind (module, class, ...), and the beginning of its docstring."""

    name: str
    kind: str
    text: str


def collect() -> list[Docstring]:
    """All docstrings, sorted by name. If a name occurs twice, the first one is kept."""
    found: dict[str, Docstring] = {}
    for docstring in _everything():
        if len(docstring.text) >= FEWEST_CHARACTERS:
            found.setdefault(docstring.name, docstring)
    return [found[name] for name in sorted(found)]


def _everything() -> Iterator[Docstring]:
    importlib.import_module("asyncio")  # before `_asyncio`: imported first, that would leave it without a current task
    for module in source_modules():
        yield from parsed(module)
    for name in compiled_modules():
        public = "" if name == "builtins" else name
        yield from inspected(importlib.import_module(name), public)
    for name in ALREADY_IMPORTED:
        yield from inspected(importlib.import_module(name), name, reexported=True)


def parsed(module: SourceModule) -> Iterator[Docstring]:
    """The docstrings in a module's source, and of what it imports from private C modules."""
    tree = ast.parse(module.path.read_bytes())
    yield from _documented(module.name, "module", ast.get_docstring(tree))
    for node in _statements(tree.body):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0 and _is_private_c(node.module):
            names = {alias.name: alias.asname or alias.name for alias in node.names}
            yield from _taken_over(module.name, node.module, names)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _is_public(node.name):
            yield from _documented(f"{module.name}.{node.name}", "function", ast.get_docstring(node))
        elif isinstance(node, ast.ClassDef) and _is_public(node.name):
            name = f"{module.name}.{node.name}"
            yield from _documented(name, "class", ast.get_docstring(node))
            methods = node.body if "." not in module.name else []  # deep inside packages there are thousands
            for inner in methods:
                if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)) and _is_public(inner.name):
                    yield from _documented(f"{name}.{inner.name}", "method", ast.get_docstring(inner))


def inspected(module: ModuleType, public: str, *, reexported: bool = False) -> Iterator[Docstring]:
    """The docstrings of an imported module; ``public`` is its public name, empty for the builtins."""
    if public:
        yield from _documented(public, "module", inspect.getdoc(module))
    for name, value in sorted(vars(module).items()):
        foreign = getattr(value, "__module__", None) not in (module.__name__, None) and not reexported
        if _is_public(name) and not foreign:
            yield from _inspected(f"{public}.{name}".lstrip("."), value)


def _taken_over(public: str, private: str, names: dict[str, str]) -> Iterator[Docstring]:
    module = importlib.import_module(private)
    if "*" in names:
        names = {name: name for name in vars(module)}
    for name, known_as in names.items():
        if _is_public(known_as) and hasattr(module, name):
            yield from _inspected(f"{public}.{known_as}", getattr(module, name))


def _inspected(name: str, value: Any) -> Iterator[Docstring]:
    if inspect.isclass(value):
        yield from _documented(name, "class", value.__doc__)
        for inner, method in sorted(vars(value).items()):
            if _is_public(inner) and callable(method):
                yield from _documented(f"{name}.{inner}", "method", method.__doc__)
    elif callable(value) and not isinstance(value, ModuleType):
        yield from _documented(name, "function", value.__doc__)


def _documented(name: str, kind: str, docstring: Any) -> Iterator[Docstring]:
    if isinstance(docstring, str) and docstring.strip():
        yield Docstring(name, kind, beginning(inspect.cleandoc(docstring)))


def beginning(docstring: str) -> str:
    r"""The first paragraphs, up to about 300 characters, without the signature that starts a C function's docstring.

    >>> beginning("splitext(p)\n\nSplit the extension from a pathname.\n\nMore.")
    'Split the extension from a pathname.\n\nMore.'
    """
    kept = ""
    for paragraph in docstring.split("\n\n"):
        paragraph = paragraph.strip()
        if not kept and SIGNATURE.fullmatch(paragraph):
            continue
        if kept and len(kept) + len(paragraph) > MOST_CHARACTERS:
            break
        kept = f"{kept}\n\n{paragraph}" if kept else paragraph[:MOST_CHARACTERS]
    return kept


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """A module's statements, including those under ``if`` and ``try``."""
    for node in body:
        yield node
        if isinstance(node, (ast.If, ast.Try)):
            yield from _statements(node.body)
            yield from _statements(node.orelse)
        if isinstance(node, ast.Try):
            yield from _statements([inner for handler in node.handlers for inner in handler.body])


def _is_public(name: str) -> bool:
    return not name.startswith("_")


def _is_private_c(module: str) -> bool:
    return (module.startswith("_") or module in ("nt", "posix")) and is_compiled(module)


class SourceModule(NamedTuple):
    """A module written in Python: its public name and its file."""

    name: str
    path: Path


def source_modules() -> list[SourceModule]:
    """The public modules and packages of the standard library that are written in Python, by name."""
    root = Path(sysconfig.get_path("stdlib"))
    found = []
    for top in sorted(name for name in sys.stdlib_module_names if _is_read(name)):
        if (root / f"{top}.py").is_file():
            found.append(SourceModule(top, root / f"{top}.py"))
        elif (root / top).is_dir():
            for path in sorted((root / top).rglob("*.py")):
                parts = path.relative_to(root).with_suffix("").parts
                parts = parts[:-1] if parts[-1] == "__init__" else parts
                if all(map(_is_read, parts)):
                    found.append(SourceModule(".".join(parts), path))
    return found


def compiled_modules() -> list[str]:
    """The public modules of the standard library that are written in C, by name. Importing one has no side effects."""
    return sorted(name for name in sys.stdlib_module_names if _is_read(name) and is_compiled(name))


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


def _is_read(name: str) -> bool:
    return not name.startswith("_") and name not in LEFT_OUT
