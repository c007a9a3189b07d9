"""A setting is recommended only if it reaches the target on queries that it was not chosen with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.vectors.structured import Structured
from maxsieve import Bandit, Certified, Index
from maxsieve.lab import tune as module
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.embedded import Embedded, to_strings
from maxsieve.lab.metrics.confidence import SHARES, best_share, lower_bound, samples_needed
from maxsieve.lab.metrics.quality import overlap
from maxsieve.lab.recommendation import Recommendation, Setting
from maxsieve.lab.tune import sequence, tune

SHARE = st.sampled_from([*SHARES, 1.0])


@pytest.mark.parametrize("share", [0.1, 0.5, 0.95, 1.0])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize("count", [1, 5, 30])
def test_the_bound_is_wrong_as_seldom_as_promised(share: float, confidence: float, count: int) -> None:
    """Right answers come with probability p: all outcomes are counted, so the test does not depend on luck."""
    bounds = [lower_bound([1.0] * right + [0.0] * (count - right), confidence, share) for right in range(count + 1)]
    for p in (0.05, 0.3, 0.5, 0.9, 0.99):
        wrong = sum(
            math.comb(count, right) * p**right * (1 - p) ** (count - right)
            for right, bound in enumerate(bounds)
            if bound > p
        )
        assert wrong <= 1 - confidence + 1e-12


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), SHARE, st.floats(0.5, 0.99))
def test_the_bound_lies_below_the_mean(samples: list[float], share: float, confidence: float) -> None:
    bound = lower_bound(samples, confidence, share)
    assert 0 <= bound <= math.fsum(samples) / len(samples) + 1e-9
    assert lower_bound([min(1.0, one + 0.1) for one in samples], confidence, share) >= bound


@pytest.mark.parametrize("target", [0.5, 0.9, 0.99])
def test_how_many_samples_are_needed(target: float) -> None:
    needed = int(samples_needed(target, 0.95))
    assert lower_bound([1.0] * needed, 0.95, SHARES[-1]) >= target
    assert all(lower_bound([1.0] * (needed - 1), 0.95, share) < target for share in SHARES)


def test_a_careful_stake_where_mistakes_are_great() -> None:
    assert best_share([1.0] * 50, 0.9) == SHARES[-1]
    assert best_share([1.0] * 46 + [0.0] * 4, 0.9) < 0.5


def _setting(cost: float, mean: float) -> Setting:
    return Setting(Bandit(cost), cost, [mean])


def test_only_settings_that_no_cheaper_one_outdoes_are_looked_at() -> None:
    settings = [_setting(*one) for one in ((0.1, 0.8), (0.2, 0.95), (0.3, 0.93), (0.4, 0.95), (0.5, 1.0), (0.6, 1.0))]
    assert [one.cost for one in sequence(settings, 0.9)] == [0.6, 0.5, 0.4, 0.2]
    assert sequence(settings[:1], 0.9) == []


def test_of_many_settings_the_ends_are_looked_at() -> None:
    costs = [one.cost for one in sequence([_setting(place / 100, 1.0) for place in range(1, 51)], 0.9)]
    assert (costs[0], costs[-1], len(costs)) == (0.5, 0.01, module.LOOKS)
    assert costs == sorted(costs, reverse=True)


@pytest.fixture(scope="module")
def data() -> Embedded:
    """80 documents and 160 queries."""
    corpus = Structured(80, 16, mean_length=12, seed=3)
    index = Index.build(corpus.documents(), [f"d{position}" for position in range(80)])
    return Embedded("it", "random", index, {f"q{i}": rows for i, rows in enumerate(corpus.queries(160, 16))})


@pytest.fixture(scope="module")
def tuned(data: Embedded) -> Recommendation:
    return tune(data, 0.9, k=5)


def test_the_answer_reaches_the_target_and_is_the_cheapest_shown(data: Embedded, tuned: Recommendation) -> None:
    assert (tuned.choosing, tuned.held_out) == (40, 120)
    assert tuned.chosen is not None
    assert tuned.chosen.overlap >= tuned.chosen.bound >= 0.9
    costs = [look.setting.cost for look in tuned.looks]
    assert costs == sorted(costs, reverse=True)
    assert all(look.bound >= 0.9 for look in tuned.looks[:-1])
    truth = data.truth(5)
    hits = data.search(5, tuned.chosen.setting.policy)
    assert sum(overlap(to_strings(hits[query]), truth[query]) for query in truth) / len(truth) >= 0.9


def test_the_choice_is_the_same_every_time(data: Embedded, tuned: Recommendation) -> None:
    again = tune(data, 0.9, k=5, threads=1)
    assert (again.settings, again.looks, again.chosen) == (tuned.settings, tuned.looks, tuned.chosen)
    other = tune(data, 0.9, k=5, seed=1)
    assert other.settings != tuned.settings


def test_the_first_failure_ends_it(data: Embedded, monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = iter([0.95, 0.92, 0.5, 0.99, 0.99, 0.99, 0.99, 0.99])

    def scripted(samples: Sequence[float], confidence: float, share: float) -> float:
        return next(bounds)

    monkeypatch.setattr(module, "lower_bound", scripted)
    found = tune(data, 0.9, k=5)
    assert [look.bound for look in found.looks] == [0.95, 0.92, 0.5]
    assert found.chosen == found.looks[1]


def test_queries_to_choose_by_are_not_those_to_verify_on(data: Embedded, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, ...]] = []
    search = Embedded.search
    monkeypatch.setattr(
        Embedded, "search", lambda self, *args, **more: seen.append(tuple(self.queries)) or search(self, *args, **more)
    )
    tune(data, 0.9, k=5)
    first, rest = dict.fromkeys(seen)
    assert not {*first} & {*rest}
    assert {*first} | {*rest} == {*data.queries}


def test_too_few_queries_show_nothing(data: Embedded) -> None:
    found = tune(data, 0.99, k=5)
    assert found.chosen is None
    assert found.policy == Certified()
    assert found.line == "index.search(query, k=5)"
    assert "120 held-out queries can't show" in found.advice
    assert "314" in found.advice
    assert "Certified" in str(found)
    assert "no number of them" in tune(data, 1.0, k=5).advice


def test_a_target_that_no_setting_reaches(data: Embedded) -> None:
    found = tune(data, 0.9, k=5, alphas=[1e-6], margins=[0])
    assert found.chosen is None
    assert found.looks == []
    assert "No setting reaches" in found.advice


def _timed(tuned: Recommendation, certified: Sequence[float], own: Sequence[float]) -> Recommendation:
    return replace(tuned, certified_times=list(certified), times=list(own))


def test_the_advice(tuned: Recommendation) -> None:
    assert tuned.chosen is not None
    policy = tuned.chosen.setting.policy
    faster = _timed(tuned, [5.0, 5.5, 6.0] * 5, [2.0, 2.5, 3.0] * 5)
    assert faster.policy == policy
    assert faster.line == f"index.search(query, k=5, policy=ms.Bandit(alpha={policy.alpha:g}, margin={policy.margin}))"
    for part in (
        f"{tuned.chosen.overlap:.2%}",
        f"{tuned.chosen.bound:.2%}",
        "in 2.50 ms",
        "takes 5.50 ms",
        "saves 3.00 ms (3.00 to 3.00)",
        "120 held-out",
    ):
        assert part in faster.advice
    for own in ([5.0, 5.5, 6.0] * 5, [7.0, 8.0, 9.0] * 5):
        slower = _timed(tuned, [5.0, 5.5, 6.0] * 5, own)
        assert slower.policy == Certified()
        assert slower.line == "index.search(query, k=5)"
        assert "use Certified" in slower.advice


@pytest.mark.parametrize(
    ("certified", "saved", "worth_it"),
    [
        (3.0, 0.5, False),  # half a millisecond does not justify fewer hits
        (3.0, 0.99, False),
        (3.0, 1.01, True),
        (20.0, 3.9, False),  # less than a fifth
        (20.0, 4.1, True),
        (0.8, 0.7, False),  # nearly all of it, but less than a millisecond
    ],
)
def test_what_must_be_saved(tuned: Recommendation, certified: float, saved: float, worth_it: bool) -> None:
    found = _timed(tuned, [certified] * 20, [certified - saved] * 20)
    assert isinstance(found.policy, Bandit) is worth_it
    assert (found.policy == Certified()) is not worth_it


def test_a_noisy_clock_does_not_decide(tuned: Recommendation) -> None:
    """On average 2 ms of 5 are saved, but it could also be nothing."""
    noise = [-9.0, 9.0, -6.0, 6.0, -3.0, 3.0, 0.0, 0.0, 12.0, -12.0]
    found = _timed(tuned, [5.0] * 10, [3.0 + one for one in noise])
    assert found.saving is not None
    assert found.saving.value == pytest.approx(2.0)
    assert found.saving.low < 1.0
    assert found.policy == Certified()
    assert "not surely" in found.advice


def test_the_same_times_give_the_same_advice(tuned: Recommendation) -> None:
    times = [5.0, 6.0, 7.5, 5.2] * 5, [3.0, 4.4, 4.0, 3.9] * 5
    assert str(_timed(tuned, *times)) == str(_timed(tuned, *times))


def test_few_times_show_nothing(tuned: Recommendation) -> None:
    found = _timed(tuned, [50.0] * 5, [1.0] * 5)
    assert found.policy == Certified()
    assert "5 timed queries show no saving" in found.advice
    assert isinstance(_timed(tuned, [50.0] * 6, [1.0] * 6).policy, Bandit)


def test_the_command(tuned: Recommendation) -> None:
    assert tuned.command is None, "there is no collection"
    assert tuned.chosen is not None
    policy = tuned.chosen.setting.policy
    faster = replace(_timed(tuned, [9.0] * 9, [1.0] * 9), collection="'my docs.ms'")
    assert faster.command == (
        f"maxsieve search 'my docs.ms' -k 5 --policy bandit --alpha {policy.alpha:g} --margin {policy.margin}"
    )
    assert f"`{faster.command}`" in faster.result().markdown()
    slower = replace(_timed(tuned, [9.0] * 9, [9.0] * 9), collection="'my docs.ms'")
    assert slower.command == "maxsieve search 'my docs.ms' -k 5"


def test_as_a_result(tuned: Recommendation) -> None:
    [table] = tuned.result().tables
    assert len(table.rows) == len(tuned.settings)
    assert sum(row[-1] is not None for row in table.rows) == len(tuned.looks)
    assert tuned.line in tuned.result().markdown()


def test_on_a_source(tiny_dataset: Dataset) -> None:
    found = tune(tiny_dataset, 0.5, k=3, queries=4, alphas=[1.0], margins=[5])
    assert (found.choosing, found.held_out) == (1, 3)
    assert found.corpus == "tiny"


@pytest.mark.parametrize(
    "wrong",
    [{"target": 0}, {"target": 1.1}, {"confidence": 1}, {"choosing": 0}, {"k": 0}, {"queries": 1}, {"alphas": []}],
)
def test_wrong_arguments(data: Embedded, wrong: dict[str, object]) -> None:
    [name] = wrong
    with pytest.raises(ValueError, match=rf"\b{name.rstrip('s')}"):
        tune(data, **wrong)  # type: ignore[arg-type]
