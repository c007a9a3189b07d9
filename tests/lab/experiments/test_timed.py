"""The experiments that time searches: everything in their tables that isn't a time."""

from __future__ import annotations

import numpy as np
import pytest

from lab.experiments.test_sweeps import rows_of
from maxsieve import Bandit
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.experiments import Options
from maxsieve.lab.experiments.knobs import alpha_guidance, block, margin
from maxsieve.lab.experiments.latency import k_sensitivity, overhead
from maxsieve.lab.experiments.scaling import long_queries, scaling
from maxsieve.lab.experiments.wallclock import wallclock
from maxsieve.lab.metrics.quality import overlap
from maxsieve.lab.times import Timed, measure

QUICK = Options(quick=True, queries=4, threads=2)


def test_every_query_is_timed_in_every_way(tiny_dataset: Dataset) -> None:
    data = tiny_dataset.embedded().first(3)
    ways = [Timed(Bandit(), 5), Timed(Bandit(), 7)]
    for way, times in measure(data, ways, Options()).items():
        assert len(times.seconds) == 3
        assert all(seconds > 0 for seconds in times.seconds)
        assert [len(hits) for hits in times.hits] == [way.k] * 3


def test_wallclock_is_exact_where_the_policy_is(tiny_dataset: Dataset) -> None:
    result = wallclock(tiny_dataset, QUICK)
    assert [chart.name for chart in result.charts] == ["k5", "k100"]
    for k, table in zip((5, 100), result.tables, strict=True):
        rows = {row["policy"]: row for row in rows_of(table)}
        assert rows["Exhaustive"][f"Ov@{k}"] == rows["Certified"][f"Ov@{k}"] == 1.0
        assert rows["Exhaustive"]["x exhaustive"] == 1.0
        bandit = rows["Bandit 0.2"]
        assert bandit["100/coverage"] == pytest.approx(1 / bandit["coverage"])
        assert bandit["of the rule"] == pytest.approx(bandit["x exhaustive"] * bandit["coverage"])


def test_k_sensitivity_stops_at_the_corpus(tiny_dataset: Dataset) -> None:
    [table] = k_sensitivity(tiny_dataset, QUICK).tables
    rows = rows_of(table)
    assert [row["K"] for row in rows] == [5, 100]
    assert all(row["Certified rescored"] >= row["K"] for row in rows)


def test_a_margin_is_rescored(tiny_dataset: Dataset) -> None:
    [table] = margin(tiny_dataset, QUICK).tables
    rescored = [row["rescored"] for row in rows_of(table)]
    assert rescored == sorted(rescored)
    assert rescored[0] >= 5


def test_a_block_of_the_whole_query_is_exact(tiny_dataset: Dataset) -> None:
    [table] = block(tiny_dataset, QUICK).tables
    last = rows_of(table)[-1]
    assert (last["block"], last["coverage"], last["Ov@5"], last["rounds"]) == (32, 1.0, 1.0, 1.0)


def test_alpha_guidance_averages_over_seeds(tiny_dataset: Dataset) -> None:
    [table] = alpha_guidance(tiny_dataset, QUICK).tables
    data = tiny_dataset.embedded().first(4)
    truth = data.truth(5)
    found = []
    for seed in range(2):
        hits = data.search(5, Bandit(0.2, seed=seed))
        found.append(np.mean([overlap(one.ids, truth[query]) for query, one in hits.items()]))
    assert table.rows[1][0] == 0.2
    assert table.rows[1][5] == pytest.approx(np.mean(found))


def test_overhead_accounts_for_the_whole_call(tiny_dataset: Dataset) -> None:
    [table] = overhead(tiny_dataset, QUICK).tables
    for row in rows_of(table):
        assert row["kernel"] + row["the rest"] == pytest.approx(1.0)
        assert 0 < row["kernel, ms"] < row["whole call, ms"]


def test_scaling_covers_every_axis(tiny_dataset: Dataset) -> None:
    result = scaling(tiny_dataset, QUICK)
    rows = rows_of(result.tables[0])
    axes = dict.fromkeys(row["axis"] for row in rows)
    assert list(axes) == ["documents", "tokens of the longest document", "query tokens", "K", "dimensions", "threads"]
    assert len(result.charts) == len(result.remarks) == len(axes)
    sizes = [row["index, MiB"] for row in rows if row["axis"] == "documents"]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]
    tokens = [row["tokens"] for row in rows if row["axis"] == "tokens of the longest document"]
    assert tokens[-1] == tiny_dataset.embedded().index.tokens > tokens[0]


def test_scaling_counts_what_calibrated_reads(tiny_dataset: Dataset) -> None:
    result = scaling(tiny_dataset, QUICK)
    rows = rows_of(result.tables[1])
    data = tiny_dataset.embedded()
    assert [row["documents"] for row in rows] == sorted({row["documents"] for row in rows})
    assert (rows[-1]["documents"], rows[-1]["tokens"]) == (len(data.searchable), data.index.tokens)
    for row in rows:
        assert 0 < row["overlap"] <= 1
        assert 5 <= row["followed up"] <= row["documents"]
        assert row["of documents"] == pytest.approx(row["followed up"] / row["documents"])
        assert row["postings"] > 0
    names = [[line.name.partition(",")[0] for line in chart.series] for chart in result.charts]
    assert names[0][-1] == "Calibrated"
    assert all("Calibrated" not in others for others in names[1:])


def test_scaling_without_queries_to_calibrate_on(tiny_dataset: Dataset) -> None:
    every = len(tiny_dataset.embedded().queries)
    result = scaling(tiny_dataset, Options(quick=True, queries=every, threads=2))
    assert [table.title for table in result.tables] == ["Time and memory"]


def test_long_queries_have_the_length_asked_for(tiny_dataset: Dataset) -> None:
    data = tiny_dataset.embedded()
    for tokens in (3, 12, 500):
        made = long_queries(data, tokens)
        assert {rows.shape for rows in made.values()} == {(tokens, data.index.dim)}
