"""`maxsieve serve --log-queries` keeps a sample of queries for `maxsieve calibrate --from-log`; nothing else does."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

import numpy as np
import pytest

from maxsieve.text import Collection, OnnxEncoder
from maxsieve.text.collection.query_log import FOLDER

from .support import serving, until


def test_nothing_is_kept_by_default(docs: Path, encoder: OnnxEncoder) -> None:
    with serving(encoder, {"docs": docs}) as served:
        assert served.search(query="red fox").status_code == 200
    assert not (docs / FOLDER).exists()


def test_queries_are_kept(docs: Path, encoder: OnnxEncoder) -> None:
    with serving(encoder, {"docs": docs}, log_queries=True) as served:
        for query in ("red fox", "owl", "owl"):
            assert served.search(query=query).status_code == 200
        with Collection.open(docs, encoder) as collection:
            until(lambda: collection.logged_queries)  # the first is written at once
    with Collection.open(docs, encoder) as collection:
        assert collection.logged_queries == ["red fox", "owl", "owl"]
        collection.verify()
        collection.calibrate(collection.logged_queries, k=2)
        assert collection.info()["calibration"]["calibrated_on"] == "queries"


def test_only_searches_that_a_calibration_is_about(docs: Path, encoder: OnnxEncoder) -> None:
    rows = np.ones((2, encoder.dim)).tolist()
    with serving(encoder, {"docs": docs}, log_queries=True) as served:
        for body in (
            {"query": "with a filter", "where": {"year": 2001}},
            {"query": "with candidates", "candidates": ["fox"]},
            {"query": "without one", "exclude": ["fox"]},
            {"query": "the next page", "offset": 1, "k": 1},
            {"query": "red", "hybrid": 0.5},
            {"query": "red", "first_stage": "bm25"},
            {"vectors": rows},
        ):
            assert served.search(**body).status_code == 200, body
        assert served.search(query="").status_code == 400
    with Collection.open(docs, encoder) as collection:
        assert collection.logged_queries == []


def test_a_log_that_can_not_be_written_stops_nothing(
    docs: Path, encoder: OnnxEncoder, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(encoder, {"docs": docs}, log_queries=True) as served, caplog.at_level(logging.WARNING):
        shutil.rmtree(docs / FOLDER)
        assert served.search(query="red fox").status_code == 200
        until(lambda: "the sample of queries was not written" in caplog.text)
        assert served.search(query="red fox").status_code == 200
    assert not (docs / FOLDER).exists()
