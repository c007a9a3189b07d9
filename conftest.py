"""Which tests run, and where.

Adapters are tested where their packages are: `make test-adapters` names the environment; others leave them out.
How much of the rest runs is a matter of ``MAXSIEVE_TESTS``: tests/long_form.py. Snippets of documents run in a folder
with the files that they name.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent
sys.path += [str(ROOT / "tests" / name) for name in ("adapters", "docs", "")]

from environments import belongs  # noqa: E402
from prepared import prepare  # noqa: E402

from long_form import FORM, is_selected  # noqa: E402

if os.environ.get("MAXSIEVE_ADAPTERS") == "together":
    import torchvision_operators  # noqa: F401 - before anything imports torchvision

ADAPTERS = [ROOT / "src" / "maxsieve" / "adapters", ROOT / "tests" / "adapters"]


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """True for what belongs to another environment, or to any but this one."""
    environment = os.environ.get("MAXSIEVE_ADAPTERS")
    if collection_path == ROOT / "docs" / "adapters.md":  # tests/adapters/test_docs.py runs it, section by section
        return True
    if collection_path == ROOT / "tests" / "adapters" / "snippets":  # modules with the names of packages
        return True
    if collection_path.name == "sitecustomize.py":  # some Pythons have imported one of their own
        return True
    if not any(collection_path.is_relative_to(folder) for folder in ADAPTERS):
        return None
    return None if environment and belongs(collection_path, environment) else True


def pytest_report_header() -> str:
    """Which form of the tests this is."""
    return f"MAXSIEVE_TESTS: {FORM or 'not set; tests marked full are left to make test-full'}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what another form runs."""
    left_out = [item for item in items if not is_selected(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if is_selected(item)]


@pytest.fixture(autouse=True)
def in_a_prepared_folder(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Snippets of documents run in a folder of their own, with the files that they name."""
    if isinstance(request.node, pytest.DoctestItem) and request.node.path.suffix == ".md":
        folder = tmp_path_factory.mktemp("snippets")
        prepare(folder)
        monkeypatch.chdir(folder)
