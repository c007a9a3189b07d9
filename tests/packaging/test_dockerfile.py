"""The Dockerfile, checked without Docker: what it names is there, and its commands do what they should."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import tomllib

from maxsieve.cli.app import run

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "Dockerfile").read_text()


def words(instruction: str) -> list[str]:
    [found] = re.findall(rf"^{instruction} (\[.*\])$", TEXT, re.MULTILINE)
    listed: list[str] = json.loads(found)
    return listed


def test_its_extras_exist() -> None:
    [extras] = re.findall(r"\.whl\)\[([a-z,]+)\]", TEXT)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    [version] = set(re.findall(r"^FROM python:3\.(\d+)-slim", TEXT, re.MULTILINE))
    least = re.search(r"3\.(\d+)", project["requires-python"])
    assert least is not None
    assert int(version) >= int(least[1])


def test_it_serves_with_a_key_and_not_as_root(capsys: pytest.CaptureFixture[str]) -> None:
    assert words("ENTRYPOINT") == ["maxsieve"]
    assert run(words("CMD")) == 2, "without a key it does not start"
    assert "give --api-key as well" in " ".join(capsys.readouterr().err.split())
    assert run([*words("CMD")[:1], "--help"]) == 0
    assert TEXT.rindex("USER maxsieve") < TEXT.index("ENTRYPOINT")


def kept() -> list[str]:
    """What .dockerignore leaves of the project."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    return [line.removeprefix("!") for line in lines if line.startswith("!")]


def test_what_is_copied_is_what_a_build_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert [f"/{name}" for name in kept()] == project["tool"]["scikit-build"]["sdist"]["include"]


@pytest.mark.full
def test_its_commands_build_a_service_that_answers(tmp_path: Path) -> None:
    """Runs what it runs with pip, in other folders, then its command with a key."""
    source, wheels, data = tmp_path / "src", tmp_path / "wheels", tmp_path / "data"
    for name in kept():
        left_out = shutil.ignore_patterns("__pycache__", "_core.*")
        place = source / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, place, ignore=left_out)
        else:
            shutil.copy(ROOT / name, place)
    data.mkdir()
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    binaries = tmp_path / "venv" / "bin"
    outer = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    env = {**outer, "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}", "MAXSIEVE_CACHE": str(data / "cache")}
    commands = re.findall(r"^RUN (pip .*)$", TEXT, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        here = re.sub(r"(?<= )/src\b", str(source), command.replace("/wheels", str(wheels)))
        subprocess.run(here, shell=True, check=True, env=env, cwd=tmp_path)
    assert not wheels.exists()

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    (data / "notes").mkdir()
    (data / "notes" / "a.txt").write_text("A red fox by the river.")
    program, command = binaries / words("ENTRYPOINT")[0], words("CMD")
    subprocess.run([program, "model", "fetch", "minilm"], check=True, env=env, cwd=data)
    subprocess.run([program, "sync", command[-1], "notes"], check=True, env=env, cwd=data)
    arguments = [port if word == "8800" else word for word in command]
    assert port in arguments
    with subprocess.Popen([program, *arguments], env={**env, "MAXSIEVE_API_KEY": "secret"}, cwd=data) as service:
        try:
            assert b'"ok"' in wait_for(f"http://127.0.0.1:{port}/healthz", service)
        finally:
            service.terminate()
    assert service.returncode == 0


def wait_for(address: str, service: subprocess.Popen[bytes]) -> bytes:
    """The answer of a service that is starting."""
    end = time.monotonic() + 60
    while (found := ask(address)) is None:
        assert service.poll() is None
        assert time.monotonic() < end
        time.sleep(0.2)
    return found


def ask(address: str) -> bytes | None:
    try:
        with urllib.request.urlopen(address, timeout=10) as answer:
            return bytes(answer.read())
    except urllib.error.URLError:
        return None
