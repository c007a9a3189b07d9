"""The Dockerfile, checked without Docker: what it names is there, and its command is one of ours."""

from __future__ import annotations

import json
import re
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
