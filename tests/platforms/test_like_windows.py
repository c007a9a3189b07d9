"""Runs the tests of storage again, on a system that refuses what Windows refuses: `like_windows.py`."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import maxsieve

TESTS = Path(__file__).parents[1]
PACKAGE = Path(maxsieve.__file__).parent
PLATFORM_NAMES = {("sys", "platform"), ("os", "name")}

QUICK = {
    "open files": ["platforms/test_open_files.py"],
    "writing": ["storage/test_bad_paths.py", "storage/test_extras.py", "storage/test_format.py"],
}
SLOW = {
    "reading": ["storage/test_readers.py", "storage/test_golden.py", "storage/test_golden_v2.py"],
    "changing": ["index/test_change.py", "storage/test_where.py"],
    "many changes": ["storage/test_model.py", "storage/test_streaming.py"],
    "processes": [
        "index/test_calibrated.py",
        "index/test_pickling.py",
        "native/test_leaks.py",
        "native/test_threads.py",
    ],
    "residuals": ["index/test_residual_store.py", "storage/test_residual_codebooks.py"],
    "failing disk": ["storage/test_failing_disk.py"],
    "damage": ["storage/test_damage_on_disk.py"],
    "collections": ["text/test_collection.py", "text/test_resume.py", "text/test_sync.py"],
    "damaged collections": ["hostile/test_damaged_collection.py"],
    "shards": ["cluster/test_sharded_writers.py", "cluster/test_staging.py", "cluster/test_sharded_failures.py"],
}
FORKING = "not a_number_that_json_has_not and not a_collection_without_records"
"""Tests that start commands by a fork."""

WHEELS = ["index", "native", "storage"]
"""Folders of tests that every wheel runs on its own system: tools/test_installed.py."""

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel is asked through /proc")


def start(*arguments: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    family = tmp_path / "family"
    family.mkdir(exist_ok=True)
    environment = {
        **os.environ,
        "MAXSIEVE_LIKE_WINDOWS": str(family),
        "MAXSIEVE_TESTS": "short",
        "LOKY_MAX_CPU_COUNT": "2",  # joblib warns about a Linux that does not say which CPUs may be used
        "PYTHONPATH": os.pathsep.join([str(TESTS / "platforms" / "startup"), str(TESTS)]),
    }
    for name in [name for name in environment if name.startswith("PYTEST_")]:
        del environment[name]
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=environment, cwd=TESTS.parent, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("which", [*QUICK, *(pytest.param(one, marks=pytest.mark.full) for one in SLOW)])
def test_what_is_kept_on_disk(which: str, tmp_path: Path) -> None:
    files = [str(TESTS / name) for name in (QUICK | SLOW)[which]]
    options = ["-q", "-x", "-n", "0", "-p", "no:cacheprovider", "-o", "tmp_path_retention_policy=all"]
    options += ["-k", FORKING, "--basetemp", str(tmp_path / "inner")]
    done = start("-m", "pytest", *options, *files, tmp_path=tmp_path)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " passed" in done.stdout


@pytest.mark.full
def test_the_tests_of_wheels_can_be_imported(tmp_path: Path) -> None:
    """Otherwise none of them would run on Windows."""
    folders = [str(TESTS / name) for name in WHEELS]
    done = start("-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", *folders, tmp_path=tmp_path)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]


IMPORT_ALL = """
import importlib, pkgutil, sys
import maxsieve
from maxsieve.common import locks as locking
assert locking.LOCK_STAYS and "fcntl" not in vars(locking)
names = [found.name for found in pkgutil.walk_packages(maxsieve.__path__, "maxsieve.", onerror=sys.exit)]
for name in names:
    if not name.startswith("maxsieve.adapters.") and not name.endswith("__main__"):
        importlib.import_module(name)
print(len(names))
"""


def test_every_module_can_be_imported_without_what_only_posix_has(tmp_path: Path) -> None:
    done = start("-W", "ignore", "-c", IMPORT_ALL, tmp_path=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout) > 200


REFUSALS = """
import errno, mmap, os, sys, tempfile
from pathlib import Path
folder = Path(sys.argv[1])
(folder / "inner").mkdir()
it, other = folder / "inner" / "it", folder / "other"
it.write_bytes(b"12"), other.write_bytes(b"34")

def refused(call, *arguments):
    try:
        call(*arguments)
    except PermissionError:
        return True
    return False

def not_written_anew(opening, *arguments):
    try:
        opening(*arguments)
    except OSError as problem:
        return problem.errno == errno.EINVAL
    return False

def all_refused():
    return [refused(*one) for one in (
        (os.unlink, it), (it.unlink,), (os.replace, other, it), (os.replace, it, folder / "new"),
        (os.rename, folder / "inner", folder / "outer"))]

with it.open("rb") as file:
    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    assert all(all_refused())
assert all(all_refused()) and refused(os.truncate, it, 0)
assert not_written_anew(it.open, "wb") and not_written_anew(open, it, "w") and it.read_bytes() == b"12"
assert not_written_anew(os.open, it, os.O_WRONLY | os.O_TRUNC)
mapped.close()
assert refused(os.open, folder, os.O_RDONLY) and refused(os.replace, it, folder)
assert not any(hasattr(os, name) for name in ("O_NOFOLLOW", "O_CLOEXEC", "pread", "fork"))
os.replace(other, it)
os.unlink(it)
"""


def test_the_system_refuses_what_windows_refuses_and_nothing_else(tmp_path: Path) -> None:
    done = start("-c", REFUSALS, str(tmp_path), tmp_path=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]


def test_only_the_modules_with_several_sides_ask_which_system_it_is() -> None:
    """Otherwise the tests above would not run the code for Windows. No file depends on the machine otherwise."""
    asking = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if _asks(path)}
    assert asking - {"common/machine.py"} == {"common/handles.py", "common/locks.py", "common/processes.py"}


def _asks(path: Path) -> bool:
    used = {
        (node.value.id, node.attr)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    return bool(used & PLATFORM_NAMES)
