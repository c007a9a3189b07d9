"""Checks that the engine compiles for Windows and macOS, as far as Debian's compilers can: `make check-windows`.

Nothing is run, and the headers of the two systems are not available here. So
- clang-cl, which builds the wheels for Windows, must accept our options and fuse nothing;
- every file of the engine is compiled by Clang and GCC for Windows, with the headers of mingw-w64;
- and by Clang with libc++, the standard library of macOS.

Each file is compiled with the instructions that CMakeLists.txt allows it. The binding needs Python's headers for the
system: only the workflow that builds the wheels compiles it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "check-windows"
CLANG = "19"
NEEDED = {
    f"clang-cl-{CLANG}": f"clang-tools-{CLANG}",
    f"clang++-{CLANG}": f"clang-{CLANG}",
    f"llvm-objdump-{CLANG}": f"llvm-{CLANG}",
    f"/usr/lib/llvm-{CLANG}/include/c++/v1": f"libc++-{CLANG}-dev",
    "x86_64-w64-mingw32-g++-posix": "g++-mingw-w64-x86-64-posix",
}
COMMON = ["-std=c++20", "-Werror", "-Wall", "-Wextra", "-Wno-psabi", "-fsyntax-only", "-Inative"]
COMMON += ["-Wno-deprecated-declarations"]  # libstdc++'s own, under Clang
COMPILERS = {
    "Clang for Windows": [f"clang++-{CLANG}", "--target=x86_64-w64-mingw32"],
    "GCC for Windows": ["x86_64-w64-mingw32-g++-posix"],
    "Clang with libc++": [f"clang++-{CLANG}", "-stdlib=libc++"],
}
PROBE = """
#include "compiler.hpp"
typedef float Vector MAXSIEVE_VECTOR(32);
Vector both(Vector a, Vector b, Vector c) { return a * b + c; }
float one(float a, float b, float c) { return a * b + c; }
"""


def say(what: str) -> None:
    """Prints progress at once."""
    print(f"check-windows: {what}", flush=True)


def require_packages() -> None:
    """Debian's compilers, installed by root if they are missing."""
    missing = [package for what, package in NEEDED.items() if not (shutil.which(what) or Path(what).is_dir())]
    if not missing:
        return
    if not shutil.which("apt-get") or os.geteuid():
        cannot(f"please install first: apt-get install {' '.join(missing)}")
    say(f"installing the Debian packages {' '.join(missing)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "-qq", "update"], env=environment, stdout=subprocess.DEVNULL)
    for package in missing:  # one by one: with several, apt-cache succeeds if it knows one of them
        if subprocess.run(["apt-cache", "show", package], stdout=subprocess.DEVNULL).returncode:
            cannot(f"this Debian does not have {package}")
    command = ["apt-get", "-qq", "install", "--yes", "--no-install-recommends", *missing]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)


def cannot(why: str) -> NoReturn:
    """Ends with this message: as a failure, or skipped for .ci/run, which shows it at its end (see tools/debian.sh)."""
    skipped = os.environ.get("MAXSIEVE_SKIPPED")
    if not skipped:
        sys.exit(f"check-windows: {why}")
    say(f"SKIPPED: {why}")
    with open(skipped, "a", encoding="utf-8") as file:
        file.write(f"check-windows: SKIPPED: {why}\n")
    sys.exit(0)


def engine_files() -> dict[str, list[str]]:
    """Every file of the engine, with the instructions it may use, as CMake says."""
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-qq", "cmake", "ninja", "nanobind>=3.1"], check=True, cwd=ROOT
    )
    scripts = Path(sys.executable).parent
    where = subprocess.run(
        [sys.executable, "-m", "nanobind", "--cmake_dir"], check=True, capture_output=True, text=True
    )
    subprocess.run(
        [scripts / "cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={scripts / 'ninja'}",
         "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_UNITY_BUILD=OFF", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
         f"-DPython_EXECUTABLE={sys.executable}", f"-Dnanobind_DIR={where.stdout.strip()}", "--log-level=WARNING"],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    files = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        file = Path(entry["file"])
        if file.is_relative_to(ROOT / "native") and not file.is_relative_to(ROOT / "native" / "binding"):
            flags = [word for word in shlex.split(entry["command"]) if word.startswith("-m") and "tls" not in word]
            files[str(file.relative_to(ROOT))] = flags
    return files


def check_clang_cl(files: dict[str, list[str]]) -> None:
    """A product and a sum must stay two instructions, with the options of CMakeLists.txt and those of each kernel."""
    found = re.search(r"_core PRIVATE (/fp:.*)\)", (ROOT / "CMakeLists.txt").read_text())
    if not found:
        sys.exit("check-windows: CMakeLists.txt has no options for clang-cl")
    source, made = BUILD / "probe.cpp", BUILD / "probe.obj"
    source.write_text(PROBE)
    command = [
        f"clang-cl-{CLANG}",
        "--target=x86_64-pc-windows-msvc",
        "/std:c++20",
        "/O2",
        "/EHsc",
        "/bigobj",
        "/GS-",
        "/WX",
    ]
    command += [*found[1].split(), "/Inative", "/c", f"/Fo{made}"]
    for flags in {tuple(flags) for flags in files.values()}:
        # Without "--", a path /w... is read as the option /w.
        subprocess.run([*command, *flags, "--", source], check=True, cwd=ROOT)
        code = subprocess.run([f"llvm-objdump-{CLANG}", "-d", made], check=True, capture_output=True, text=True).stdout
        if "mulps" not in code or "fmadd" in code:
            sys.exit(f"check-windows: clang-cl fuses a product and a sum with {' '.join(flags)}")
    say(f"clang-cl takes {found[1]} and the flags of every kernel, and fuses nothing")


def check(name: str, compiler: list[str], files: dict[str, list[str]]) -> None:
    """Compiles every file, as many at a time as there are cores."""

    def compile_one(file: str) -> bool:
        return not subprocess.run([*compiler, *COMMON, *files[file], file], cwd=ROOT).returncode

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = [file for file, fine in zip(files, pool.map(compile_one, files), strict=True) if not fine]
    if failed:
        sys.exit(f"check-windows: {name} does not compile {', '.join(failed)}")
    say(f"{name}: {len(files)} files")


def main() -> None:
    """Runs all checks."""
    require_packages()
    files = engine_files()
    check_clang_cl(files)
    for name, compiler in COMPILERS.items():
        check(name, compiler, files)


if __name__ == "__main__":
    main()
