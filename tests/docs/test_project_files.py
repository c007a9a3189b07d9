"""Facts that are written in two places are the same in both: versions, checks of `make lint`, steps of .ci/run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

import maxsieve

ROOT = Path(__file__).parents[2]
PYPROJECT = (ROOT / "pyproject.toml").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()
HOOKS = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]


def target(name: str) -> str:
    """The recipe of a target of the Makefile."""
    found = re.search(rf"^{re.escape(name)}:[^\n]*\n((?:\t[^\n]*\n)+)", MAKEFILE, re.MULTILINE)
    assert found, name
    return found[1]


def test_there_is_one_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    found = re.findall(r'^version = "([^"]+)"', PYPROJECT, re.MULTILINE)
    assert found == [maxsieve.__version__] == [citation["version"]]


def test_the_sbom_names_the_nanobind_that_every_wheel_is_built_with() -> None:
    """Also the wheels of other systems, which are not built by the program that writes the SBOM."""
    named = re.search(r'^NANOBIND = "([^"]+)"', (ROOT / "tools" / "wheel.py").read_text(), re.MULTILINE)
    required = re.search(r"^requires = \[(.*)\]", PYPROJECT, re.MULTILINE)
    assert named
    assert required
    assert f'"{named[1]}"' in required[1].split(", ")


def test_hooks_have_the_versions_of_the_lint_extra() -> None:
    pinned = set(re.findall(r'"([\w-]+==[\w.]+)"', re.search(r"^lint = \[(.*)\]", PYPROJECT, re.MULTILINE)[1]))  # type: ignore[index]
    assert {name.partition("==")[0] for name in pinned} >= {"ruff", "mypy", "import-linter", "clang-format"}
    asked = {one for hook in HOOKS for one in hook.get("additional_dependencies", ())}
    assert asked
    assert asked <= pinned


def test_hooks_check_what_make_lint_checks() -> None:
    checks = re.findall(r"\$\(BIN\)/([\w-]+(?: check| format)?)", target("lint"))
    assert len(checks) == len(set(checks)) >= 5
    entries = [hook["entry"].removeprefix(".venv/bin/") for hook in HOOKS]
    for check in checks:
        assert any(entry == check or entry.startswith(f"{check} ") for entry in entries), check


@pytest.mark.parametrize(
    ("names", "kernel"), [(("x86_64", "AMD64", "amd64"), "avx2.cpp"), (("aarch64", "arm64", "ARM64"), "neon.cpp")]
)
def test_kernels_know_what_each_system_calls_its_processor(names: tuple[str, ...], kernel: str) -> None:
    """Linux, Windows and macOS use different names. Without the kernels, the engine can't be linked."""
    found = re.search(
        rf'CMAKE_SYSTEM_PROCESSOR MATCHES "([^"]+)"\)\n  list\(APPEND KERNELS native/kernels/{re.escape(kernel)}',
        (ROOT / "CMakeLists.txt").read_text(),
    )
    assert found
    assert [name for name in names if not re.search(found[1], name)] == []


def test_steps_are_targets() -> None:
    found = re.search(r"^steps=\((.*?)^\)", (ROOT / ".ci" / "run").read_text(), re.MULTILINE | re.DOTALL)
    assert found
    steps = [line.strip() for line in found[1].splitlines() if line.strip() and not line.strip().startswith("#")]
    assert {"lint", "test", "test-rest"} <= set(steps)
    for step in steps:
        target(step)


def test_every_target_is_declared() -> None:
    phony = set(re.search(r"^\.PHONY: (.*)", MAKEFILE, re.MULTILINE)[1].split())  # type: ignore[index]
    assert set(re.findall(r"^([a-z][\w-]*):(?!=)", MAKEFILE, re.MULTILINE)) == phony


def test_contributing_names_every_command_for_tests() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    for name in re.findall(r"^((?:test|lint|coverage|sanitize)[\w-]*):(?!=)", MAKEFILE, re.MULTILINE):
        assert f"`make {name}`" in text, name


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda path: path.name)
def test_yaml_can_be_read(path: Path) -> None:
    assert yaml.safe_load(path.read_text())


@pytest.mark.parametrize("name", ["bug", "wish"])
def test_issue_templates_have_what_github_asks_for(name: str) -> None:
    template = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml").read_text())
    assert {"name", "description", "body"} <= template.keys()
    for part in template["body"]:
        assert part["type"] in ("markdown", "textarea", "input", "dropdown", "checkboxes")
        assert ("value" if part["type"] == "markdown" else "label") in part["attributes"]
