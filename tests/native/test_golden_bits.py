"""Every ISA of every machine computes the bits in ``tests/golden/bits.json``."""

from __future__ import annotations

import json

import pytest

from golden.make_bits import CASES, FILE, Case, bits

GOLDEN = json.loads(FILE.read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_same_bits_as_written_down(case: Case, isa: str) -> None:
    assert bits(case) == GOLDEN[case.name]


def test_each_is_written_down_once() -> None:
    assert [case.name for case in CASES] == list(GOLDEN)
