"""`maxsieve serve --audit`: the metrics of the live audit."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from maxsieve import audit
from maxsieve.text import Collection, OnnxEncoder

from .support import serving, until

WORDS = ["badger", "fox", "hen", "horse", "owl", "otter", "wolf", "bear", "crow", "hare"]


@pytest.fixture
def many(tmp_path: Path, encoder: OnnxEncoder) -> Path:
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, 6)) for _ in range(120)]
    with Collection.create(tmp_path / "many", encoder) as collection:
        collection.add(texts)
        collection.calibrate([" ".join(rng.choice(WORDS, 3)) for _ in range(20)], k=5)
    return tmp_path / "many"


def test_what_it_found_is_in_the_metrics(many: Path, encoder: OnnxEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "REST", 0.0)
    with serving(encoder, {"many": many}, audit=1.0) as served:
        kept = served.service.collections["many"].audit
        assert kept is not None
        for number in range(1, 6):
            asked = {"query": f"{WORDS[number]} owl", "k": 3, "policy": {"name": "calibrated", "overlap": 0.9}}
            assert served.search("many", **asked).status_code == 200
            until(lambda number=number: sum(one.searches for one in kept.results) == number)
        text = served.client.get("/metrics").text
    labels = 'collection="many",overlap="0.9",where=""'
    assert f"maxsieve_audited_searches{{{labels}}} 5.0" in text
    assert f"maxsieve_audit_broken{{{labels}}} 0.0" in text
    assert 'maxsieve_audit_skipped_total{collection="many"} 0.0' in text
    line = r'maxsieve_audited_overlap{collection="many",limit="(\w+)",overlap="0.9",where=""} (\S+)'
    found = {limit: float(value) for limit, value in re.findall(line, text)}
    assert found["lower"] <= found["mean"] <= found["upper"]


def test_without_it_there_are_no_such_metrics(many: Path, encoder: OnnxEncoder) -> None:
    with serving(encoder, {"many": many}) as served:
        assert "maxsieve_audited_searches{" not in served.client.get("/metrics").text
