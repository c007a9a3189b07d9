"""The paper's multimodal experiments on vectors of pages: a grid of patches each, as a visual model makes them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import maxsieve as ms
from lab.support import save_vectors
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.experiments import Options, find
from maxsieve.lab.paper import BALL_CARVING, BANDIT, DOC_UNIFORM
from maxsieve.lab.results import ExperimentResult

PAGES, QUERIES, ROWS, COLUMNS, DIM = 60, 10, 27, 27, 128
QUICK = Options(quick=True)


@pytest.fixture(scope="module")
def slides(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An ``.npz`` of pages of 27 x 27 patches. Patches beside each other are alike; a query shows some of one page."""
    random = np.random.default_rng(4)
    blocks = random.standard_normal((PAGES, ROWS // 3, COLUMNS // 3, DIM))
    patches = blocks.repeat(3, 1).repeat(3, 2) + 0.3 * random.standard_normal((PAGES, ROWS, COLUMNS, DIM))
    pages = patches.reshape(PAGES, ROWS * COLUMNS, DIM).astype(np.float32)
    seen = [pages[number][random.choice(ROWS * COLUMNS, 12)] for number in range(QUERIES)]
    asked = [rows + random.standard_normal(rows.shape).astype(np.float32) for rows in seen]
    path = tmp_path_factory.mktemp("pages") / "slides.npz"
    save_vectors(path, list(pages), asked)
    judged = {f"q{number}": {f"d{number}": 1} for number in range(QUERIES)}
    path.with_suffix(".qrels.json").write_text(json.dumps(judged), encoding="utf-8")
    return path


def run(name: str, slides: Path) -> ExperimentResult:
    return find(name)(Dataset.of(slides), QUICK)


def test_the_pareto_front(slides: Path) -> None:
    data = Dataset.of(slides).embedded()
    assert {len(data.vectors(str(one))) for one in data.index.ids} == {729}
    result = run("pareto", slides)
    [table] = result.tables
    assert {row[0] for row in table.rows} == {BANDIT, DOC_UNIFORM, BALL_CARVING}
    assert all(0 < row[2] <= 1 and 0 <= row[3] <= 1 for row in table.rows)
    answers = {row[1]: (row[2], row[3]) for row in table.rows if row[0] == BANDIT}
    hits = [data.index.search(rows, 5, policy=ms.Bandit(0.2)) for rows in data.queries.values()]
    truth = [data.index.search(rows, 5, policy=ms.Exhaustive()).ids for rows in data.queries.values()]
    shares = [len(set(found.ids) & set(exact)) / 5 for found, exact in zip(hits, truth, strict=True)]
    expected = np.mean([found.report.coverage for found in hits]), np.mean(shares)
    assert answers["alpha = 0.2"] == pytest.approx(expected)


def test_the_coverage_that_is_needed(slides: Path) -> None:
    overlap, ndcg, *_ = run("efficiency", slides).tables
    assert (overlap.title, ndcg.title) == ("Coverage needed: Overlap@K", "Coverage needed: nDCG@K")
    for table in (overlap, ndcg):
        needed = [(row[2], row[3]) for row in table.rows if row[1] == BANDIT]
        assert len(needed) == 3
        assert all(0 < low <= high <= 1 for low, high in needed)
    judged = [row[3] for row in ndcg.rows if row[:2] == [5, BANDIT]]
    assert judged[0] < 0.6, "the page that a query shows is found before most of the others are read"


def test_what_pooled_patches_cost(slides: Path) -> None:
    methods, losses = run("pooling", slides).tables
    assert [row[0] for row in losses.rows] == ["unpooled", "Ward 2x", "Ward 8x"]
    assert [row[5] for row in methods.rows[::2]] == [PAGES * (ROWS * COLUMNS // factor) for factor in (1, 2, 8)]
    assert losses.rows[0][1] == 0 < losses.rows[2][1]
    for _, by_pooling, _, elimination, _, altogether in losses.rows:
        assert by_pooling + elimination == pytest.approx(altogether)
