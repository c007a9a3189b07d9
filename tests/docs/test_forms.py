"""The selections of tests: `make test` and `make test-rest` together run the tests of `make test-full`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import long_form

ROOT = Path(__file__).parents[2]


def collected(form: str) -> set[str]:
    """The tests that a form selects."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n", "0", "-p", "no:cacheprovider"],
        env={**os.environ, "MAXSIEVE_TESTS": form},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return {line for line in done.stdout.splitlines() if "::" in line}


@pytest.mark.full
def test_nothing_is_never_run() -> None:
    usual, rest, full = collected(""), collected("rest"), collected("full")
    assert usual < full
    assert rest < full
    assert usual | rest == full
    assert len(usual) > 5000
    assert any("test_multi_vector" in test for test in rest)


def test_an_unknown_form_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n", "0", __file__],
        env={**os.environ, "MAXSIEVE_TESTS": "al"},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "MAXSIEVE_TESTS='al' is none of short, rest, full, long" in done.stdout + done.stderr


@pytest.mark.parametrize(("form", "cases"), [("short", 40), ("", 100), ("rest", 400), ("full", 400), ("long", 4000)])
def test_how_many_cases(form: str, cases: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_form, "FORM", form)
    assert long_form.scaled(400) == cases
    assert long_form.scaled(1) == max(1, cases // 400)
    assert long_form.scaled(20, at_least=10) == max(10, cases // 20)
    assert long_form.scaled(4, at_least=10) == max(4, cases // 100)
