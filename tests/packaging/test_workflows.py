"""The workflows do what .ci/run does, have no needless permissions, and pin the actions of others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ON_NODE_24 = {"checkout": 5, "setup-python": 6, "upload-artifact": 6, "download-artifact": 7}
"""The first version of each action that runs on Node 24: GitHub's machines have had no Node 20 since September 2026."""


def _read(path: Path) -> dict[Any, Any]:
    content = yaml.safe_load(path.read_text())
    assert isinstance(content, dict)
    return content


def _jobs(name: str) -> dict[str, Any]:
    jobs = _read(ROOT / ".github" / "workflows" / name)["jobs"]
    assert isinstance(jobs, dict)
    return jobs


def test_ci_runs_what_the_script_runs() -> None:
    steps = re.search(r"^steps=\(([^)]*)\)", (ROOT / ".ci" / "run").read_text(), flags=re.MULTILINE)
    assert steps
    assert _jobs("ci.yml")["make"]["strategy"]["matrix"]["target"] == steps[1].split()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_and_nothing_is_permitted_by_default(path: Path) -> None:
    text = path.read_text()
    for action in re.findall(r"uses: (.*)", text):
        assert re.fullmatch(r"[\w/.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)
    assert _read(path)["permissions"] == {}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_run_on_the_node_that_machines_have(path: Path) -> None:
    used = re.findall(r"uses: actions/([\w-]+)@\w+ # v(\d+)", path.read_text())
    assert used
    for action, version in used:
        assert int(version) >= ON_NODE_24[action], action


@pytest.mark.parametrize("changed", ["src/maxsieve/common/handles.py", "src/maxsieve/storage/lock.py", "native/x.cpp"])
def test_what_differs_by_system_is_tried_on_all_before_it_is_merged(changed: str) -> None:
    events = _read(ROOT / ".github" / "workflows" / "wheels.yml")[True]  # YAML reads `on` as true
    watched = events["pull_request"]["paths"]
    assert any(changed.startswith(pattern.removesuffix("**")) for pattern in watched if pattern.endswith("/**"))


def test_wheels_for_windows_get_the_cpp_library_of_the_system() -> None:
    """Otherwise delvewheel uses the first one on the PATH, which may be too old for the compiler."""
    settings = (ROOT / "pyproject.toml").read_text().partition("[tool.cibuildwheel.windows]")[2].partition("\n[")[0]
    assert re.search(r"delvewheel repair .*--add-path C:/Windows/System32\b", settings)


def test_only_tested_wheels_reach_pypi() -> None:
    jobs = _jobs("wheels.yml")
    assert jobs["pypi"]["needs"] == ["try"]
    assert jobs["try"]["needs"] == ["testpypi"]
    assert jobs["testpypi"]["needs"] == ["wheels", "sdist"]
    assert "refs/tags/v" in jobs["testpypi"]["if"]
    writers = {name for name, job in jobs.items() if "id-token" in job["permissions"]}
    assert writers == {"testpypi", "pypi"}
    assert all(jobs[name]["permissions"] == {"id-token": "write"} for name in writers)
