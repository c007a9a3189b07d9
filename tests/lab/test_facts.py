"""What a result was computed with is identified by content, not by a version."""

from __future__ import annotations

from pathlib import Path

import pytest

from maxsieve.lab.runs import build, digest_of_build

FILES = {"index.py": "a", "lab/page/page.html.jinja": "b", "cli/app.py": "c", "__pycache__/index.pyc": "d"}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for name, content in {**FILES, "../_core.so": "e"}.items():
        path = tmp_path / "package" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return tmp_path / "package"


@pytest.mark.parametrize("name", ["index.py", "lab/page/page.html.jinja", "../_core.so", "new.py"])
def test_another_source_is_another_build(package: Path, name: str) -> None:
    library = package.parent / "_core.so"
    before = digest_of_build(package, library)
    assert digest_of_build(package, library) == before
    (package / name).write_text("other")
    assert digest_of_build(package, library) != before


@pytest.mark.parametrize("name", ["cli/app.py", "__pycache__/index.pyc"])
def test_what_computes_nothing_does_not_count(package: Path, name: str) -> None:
    library = package.parent / "_core.so"
    before = digest_of_build(package, library)
    (package / name).write_text("other")
    assert digest_of_build(package, library) == before


def test_this_build_has_a_digest() -> None:
    assert len(build()) == 12
    assert build() == build()
