"""Runs the index, native and storage tests against the maxsieve that is installed, away from the sources.

The tests are copied to a folder of their own: nothing of the source tree can be imported by accident. Further arguments
go to pytest. The dependency group `core-test` and the extra `pool` have what the tests import.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ["index", "native", "storage"]
SHARED = ["golden", "cluster/__init__.py", "cluster/local.py", "conftest.py", "long_form.py"]
LEFT_OUT = ["__pycache__", "test_fuzz.py", "fuzz_open.py"]  # the fuzzer is made for one system only


def copy_tests(to: Path) -> None:
    """The tests, and the settings of pytest."""
    for name in [*FOLDERS, *SHARED]:
        source, target = ROOT / "tests" / name, to / "tests" / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns(*LEFT_OUT))
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    shutil.copy(ROOT / "pyproject.toml", to)


def where_maxsieve_is(folder: Path) -> Path:
    """Where Python finds the package, when started like the tests, in their folder."""
    command = [sys.executable, "-c", "import maxsieve._core; print(maxsieve.__file__)"]
    return Path(subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip())


def main() -> int:
    """The exit code of pytest."""
    os.environ.pop("PYTHONPATH", None)
    os.environ.setdefault("MAXSIEVE_TESTS", "short")  # `make test` runs more cases
    with tempfile.TemporaryDirectory(prefix="maxsieve-tests-") as name:
        folder = Path(name).resolve()
        copy_tests(folder)
        package = where_maxsieve_is(folder)
        if package.resolve().is_relative_to(ROOT / "src"):
            sys.exit(f"{package} belongs to the source tree: install a wheel first")
        print(f"tests of {package}", flush=True)
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", "auto", "--dist", "worksteal"]
        command += ["-m", "not full", *sys.argv[1:]]
        command += [f"tests/{name}" for name in FOLDERS]
        return subprocess.run(command, cwd=folder).returncode


if __name__ == "__main__":
    sys.exit(main())
