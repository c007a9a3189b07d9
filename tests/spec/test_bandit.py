"""Algorithm 1: small cases by hand, a naive second implementation, and what each reveal model promises."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxsieve.spec import (
    KAPPA,
    RevealModel,
    bandit,
    certified,
    paper_factor,
    permutation,
    reveal_exact,
    reveal_proxies,
    scores,
    sieve,
    top_k,
)

from .support import Case, exact_cells, examples, ragged_cases, scaled, vectors


def model_of(x: np.ndarray, b: float = 1.0, eps: float = 0.0) -> RevealModel:
    """A matrix revealed as it is."""
    x = np.asarray(x, np.float64)
    N, T = x.shape
    return RevealModel(x, np.ones(N), np.full(T, b), np.full(N, eps), np.zeros(N))


def in_reveal_order(rows: list[list[float]], seed: int = 0) -> np.ndarray:
    """A matrix whose cells are revealed in the order in which `rows` lists them."""
    x = np.empty((len(rows), len(rows[0])))
    x[:, permutation(len(rows[0]), seed)] = rows
    return x


def test_algorithm_1_by_hand() -> None:
    """N = 3, T = 4, K = 1, block 2, alpha 0.2, delta 0.01: log(N T / delta) = log 1200 = 7.0901, rho_2 = 3/4.

    factor = 0.2 * 4 * sqrt(2 * 7.0901 * 0.75 / 2) = 1.844786
    A: 0.9 0.7: S = 3.2, sigma = 0.141421, r = 0.260892: LCB = 2.939108 = tau
    B: 0.8 0.5: S = 2.6, sigma = 0.212132, r = 0.391338: UCB = 2.991338, stays
    C: 0.8 0.4: S = 2.4, sigma = 0.282843, r = 0.521783: UCB = 2.921783, goes
    """
    x = in_reveal_order([[0.9, 0.7, 0.1, 0.2], [0.8, 0.5, 0.6, 0.1], [0.8, 0.4, 1.0, 1.0]])
    survivors, rounds, coverage, guarantee = sieve(model_of(x), 1, margin=0, block=2)
    assert [r.active.tolist() for r in rounds] == [[0, 1, 2], [0, 1]]
    assert [r.revealed for r in rounds] == [2, 4]
    assert rounds[0].threshold == pytest.approx(2.939108, abs=1e-6)
    assert rounds[1].threshold == pytest.approx(2.0, abs=1e-12)  # B's sum; A's is 1.9
    assert survivors.tolist() == [1]
    assert coverage == (3 * 2 + 2 * 2) / 12
    assert guarantee == "none"  # C, the best with 3.2, was lost
    assert paper_factor(2, 4, 3, 0.2, 0.01) == pytest.approx(1.844786, abs=1e-6)


def test_one_revealed_cell_has_an_infinite_radius() -> None:
    """Blocks of 1: after one cell only the hard bounds count. 0.9 + 3 against 0.1 - 3: none can be dropped."""
    x = in_reveal_order([[0.9, 0.9, 0.9, 0.9], [0.1, 0.1, 0.1, 0.1]])
    for radius in ("paper", "serfling"):
        _, rounds, _, _ = sieve(model_of(x), 1, margin=0, block=1, radius=radius)
        assert rounds[0].revealed == 1
        assert rounds[0].threshold == pytest.approx(0.9 - 3)
        assert rounds[1].active.tolist() == [0, 1]
        if radius == "paper":
            assert rounds[1].threshold == pytest.approx(3.6)  # equal cells: sigma 0, radius 0


def test_hard_bounds_alone_give_an_exact_answer() -> None:
    """T = 8, three tokens left after five: 5 * 0.9 - 3 = 1.5 against -4.5 + 3 = -1.5."""
    x = np.array([[0.9] * 8, [-0.9] * 8, [-0.9] * 8])
    survivors, rounds, coverage, guarantee = sieve(model_of(x), 1, margin=0, block=5, radius="serfling")
    assert survivors.tolist() == [0]
    assert len(rounds) == 1
    assert guarantee == "exact"
    assert coverage == 5 / 8
    wide = sieve(model_of(x, eps=1.6), 1, margin=0, block=5, radius="serfling")
    assert wide[1][1].active.tolist() == [0, 1, 2]  # 1.5 - 1.6 < -1.5 + 1.6


def test_exactness_needs_the_hard_bounds_widened_by_eps() -> None:
    """The paper's rule drops by unwidened bounds: the drop is exact if eps allows it, else it has no guarantee."""
    x = np.array([[0.9] * 8, [-0.9] * 8])
    assert sieve(model_of(x, eps=1.4), 1, margin=0, block=5)[3] == "exact"
    assert sieve(model_of(x, eps=1.6), 1, margin=0, block=5)[3] == "none"


def test_guarantees_of_statistical_drops() -> None:
    """Equal cells at T = 2048: the radii drop document 1 long before the hard bounds could."""
    x = np.array([[0.5] * 2048, [-0.5] * 2048])
    options = {"margin": 0, "block": 64}
    assert sieve(model_of(x), 1, radius="paper", alpha=1.0, **options)[3] == "none"
    assert sieve(model_of(x), 1, radius="serfling", alpha=1.0, **options)[3] == "pac"
    assert sieve(model_of(x), 1, radius="serfling", alpha=0.5, **options)[3] == "none"
    assert sieve(model_of(x), 2, radius="serfling", alpha=0.5, **options)[3] == "exact"


@pytest.mark.parametrize(("K", "margin"), [(3, 0), (1, 2), (9, 0), (1, 9)])
def test_nothing_is_revealed_when_k_and_margin_take_all(K: int, margin: int) -> None:
    rng = np.random.default_rng(0)
    Q = vectors(rng, 4, 3, "unit")
    documents = [vectors(rng, 2, 3, "unit") for _ in range(3)]
    answer = bandit(Q, documents, K, margin=margin)
    S = scores(Q, documents)
    assert answer.rounds == []
    assert answer.coverage == 0.0
    assert answer.survivors.tolist() == [0, 1, 2]
    assert answer.guarantee == "exact"
    assert answer.positions == top_k(S, K)
    assert answer.scores.tobytes() == S[answer.positions].tobytes()


def test_the_k_best_stay_when_lower_bounds_pass_upper_bounds() -> None:
    """Revealed values above b: LCB = T mu = 2 T, UCB = 2 n + (T - n) b. By UCB < tau alone, none would be left."""
    x = np.array([[2.0] * 8, [1.9] * 8, [1.8] * 8])
    for K in (1, 2):
        survivors, rounds, _, _ = sieve(model_of(x), K, margin=0, block=4)
        assert rounds[0].threshold == pytest.approx(8 * x[K - 1, 0])
        assert rounds[0].threshold > 4 * 2.0 + 4
        assert survivors.tolist() == list(range(K))


def test_ties_stay() -> None:
    x = np.array([[0.5] * 8, [0.5] * 8, [0.4] * 8])
    survivors, rounds, _, _ = sieve(model_of(x), 1, margin=0, block=4)
    assert survivors.tolist() == [0, 1]
    assert [r.active.tolist() for r in rounds] == [[0, 1, 2], [0, 1]]


def test_the_margin_stops_the_loop_early() -> None:
    x = np.array([[0.5] * 8, [0.5] * 8, [0.4] * 8])
    survivors, rounds, coverage, _ = sieve(model_of(x), 1, margin=1, block=4)
    assert survivors.tolist() == [0, 1]
    assert len(rounds) == 1
    assert coverage == 0.5


def naive_algorithm_1(x, b, K, alpha, delta, margin, block, seed, radius, eps):
    """Algorithm 1 once more, from the paper's text, with NumPy's own mean and deviation.

    One rule is not the paper's: when all is revealed, the interval is the sum with its error.
    """
    N, T = x.shape
    order = permutation(T, seed)
    active, r, trace, revealed = list(range(N)), 0, [], 0
    while len(active) > K + margin and r * block < T:
        r += 1
        n = min(r * block, T)
        seen, rest = order[:n], order[n:]
        revealed += len(active) * (n - (r - 1) * block)
        rho = 1 - (n - 1) / T if n <= T / 2 else (1 - n / T) * (1 + 1 / n)
        interval = {}
        for i in active:
            row = x[i, seen]
            widening = 0.0 if radius == "paper" else eps[i]
            if n <= 1:
                rad = np.inf
            elif radius == "paper":
                rad = alpha * T * row.std(ddof=1) * np.sqrt(2 * np.log(N * T / delta) / n) * np.sqrt(rho)
            else:
                confidence = np.log(5 / (delta / (2 * N * -(-T // block))))
                rad = alpha * T * row.std() * np.sqrt(2 * rho * confidence / n)
                rad += alpha * T * KAPPA * 2 * max(b) * confidence / n + widening
            low = max(row.sum() - b[rest].sum() - widening, T * row.mean() - rad)
            high = min(row.sum() + b[rest].sum() + widening, T * row.mean() + rad)
            interval[i] = (low, high) if n < T else (row.sum() - eps[i], row.sum() + eps[i])
        tau = sorted(low for low, _ in interval.values())[-K]
        trace.append((active, n, tau))
        active = [i for i in active if interval[i][1] >= tau or interval[i][0] >= tau]
    return active, trace, revealed / (N * T)


@pytest.mark.parametrize("radius", ["paper", "serfling"])
@pytest.mark.parametrize("block", [1, 3, 4, 16, 64])
def test_the_sieve_equals_a_naive_reading_of_the_paper(block: int, radius: str) -> None:
    rng = np.random.default_rng(block)
    drops = 0
    for case in range(scaled(12)):
        N, T = int(rng.integers(2, 25)), int(rng.choice([1, 2, 7, 32, 33, 700]))
        x = np.clip(rng.normal(rng.uniform(-0.7, 0.7, (N, 1)), 0.15, (N, T)), -1, 1)
        b, eps = rng.uniform(1.0, 1.2, T), rng.uniform(0, 0.1, N)
        K, margin = int(rng.choice([1, 5])), int(rng.choice([0, 2]))
        alpha, delta = float(rng.choice([0.05, 0.2, 1.0])), float(rng.choice([0.01, 0.3]))
        # powers of two as scales change no digit of the revealed values
        scale = 2.0 ** rng.integers(-3, 4, N)
        model = RevealModel(x / scale[:, None], scale, b, eps, np.zeros(N))
        options = {"alpha": alpha, "delta": delta, "margin": margin, "block": block, "seed": case, "radius": radius}
        survivors, rounds, coverage, _ = sieve(model, K, **options)
        want, trace, want_coverage = naive_algorithm_1(x, b, K, eps=eps, **options)
        assert survivors.tolist() == want
        assert [(r.active.tolist(), r.revealed) for r in rounds] == [(active, n) for active, n, _ in trace]
        for r, (_, _, tau) in zip(rounds, trace, strict=True):
            assert r.threshold == pytest.approx(tau, abs=1e-9 if radius == "paper" else 1e-4 * T)
        assert coverage == pytest.approx(want_coverage, rel=1e-15)
        drops += N - len(survivors)
    assert drops > 10


def test_sigma_survives_a_mean_a_trillion_times_its_size() -> None:
    """Cells 2^20 + k 2^-20: sums of plain squares would lose the deviation completely."""
    deviations = [0, 1, 2, 3, 2, 1, 3, 0]
    x = in_reveal_order([[2.0**20 + k * 2.0**-20 for k in deviations], [0.0] * 8])
    _, rounds, _, _ = sieve(model_of(x, b=2.0**22), 1, margin=0, block=4, alpha=1.0)
    estimate = 2 * (4 * 2.0**20 + 6 * 2.0**-20)
    sigma = np.std(deviations[:4], ddof=1) * 2.0**-20
    radius = estimate - rounds[0].threshold
    assert radius == pytest.approx(paper_factor(4, 8, 2, 1.0, 0.01) * sigma, rel=1e-3)


@pytest.mark.parametrize("n", [2, 10, 300, 4096])
def test_shifted_sums_lose_no_more_than_stated(n: int) -> None:
    """The relative error of sigma stays below n (n + 5) 2^-52, even if the first cell is the only outlier."""
    rng = np.random.default_rng(n)
    outlier = np.where(np.arange(n) == 0, 1.0, 0.1)
    rows = [outlier, rng.random(n), 1e6 + rng.random(n), rng.standard_normal(n) * 1e-9 + 3]
    for row in rows:
        D, D2 = 0.0, 0.0
        for value in row.tolist():
            shift = value - row[0]
            D += shift
            D2 += shift * shift
        exact = [Fraction(value) for value in row.tolist()]
        SS = sum((v * v for v in exact), Fraction(0)) - sum(exact, Fraction(0)) ** 2 / n
        assert sum(((v - exact[0]) ** 2 for v in exact), Fraction(0)) <= n * SS
        # a relative error e of sigma is one of about 2 e of its square
        assert abs(Fraction(max(D2 - D * D / n, 0.0)) / SS - 1) <= 2 * Fraction(n * (n + 5), 2**52)


@examples(150)
@given(ragged_cases(), st.sampled_from(["proxies", "exact"]), st.integers(0, 99))
def test_widened_hard_bounds_hold_after_every_prefix(case: Case, reveal: str, seed: int) -> None:
    """What "exact" rests on: canonical scores lie within revealed sum +- unrevealed support +- eps, as evaluated."""
    Q, documents = case
    model = (reveal_proxies if reveal == "proxies" else reveal_exact)(Q, documents)
    T = len(Q)
    order = permutation(T, seed)
    S = scores(Q, documents).astype(np.float64)
    for n in range(T + 1):
        total, support = np.zeros(len(documents)), 0.0
        for t in order[:n]:
            total = total + model.x[:, t]
        for t in order[n:][::-1]:
            support = support + model.b[t]
        R = model.scale * total
        assert ((R - support) - model.eps <= S).all()
        assert ((R + support) + model.eps >= S).all()


@examples(150)
@given(ragged_cases(), st.sampled_from(["proxies", "exact"]))
def test_revealed_cells_are_within_cell_error_and_range(case: Case, reveal: str) -> None:
    """The range of the honest radius, 2 (max b_t + cell error), holds every revealed value (up to its 1 + 2^-20)."""
    Q, documents = case
    model = (reveal_proxies if reveal == "proxies" else reveal_exact)(Q, documents)
    slack = 1 + Fraction(1, 2**20)
    for i, E in enumerate(documents):
        error = Fraction(float(model.cell_error[i]))
        for t, exact in enumerate(exact_cells(Q, E)):
            revealed = Fraction(float(model.scale[i])) * Fraction(float(model.x[i, t]))
            assert abs(revealed - exact) <= error * slack
            assert abs(exact) <= Fraction(float(model.b[t]))
            assert abs(revealed) <= (Fraction(float(model.b.max())) + error) * slack


def test_reveal_models_of_a_small_case() -> None:
    Q = np.array([[127, 0], [0, 127]], np.float32)
    E = np.array([[127, 1.25], [0, 64]], np.float32)
    exact, proxies = reveal_exact(Q, [E, E / 2]), reveal_proxies(Q, [E, E / 2])
    assert exact.x.tolist() == [[127.0 * 127, 127.0 * 64], [127.0 * 63.5, 127.0 * 32]]
    assert exact.scale.tolist() == [1.0, 1.0]
    assert (proxies.scale[:, None] * proxies.x).tolist() == exact.x.tolist()
    assert proxies.scale.tolist() == [1.0, 0.5]
    nu = float(np.hypot(127, 1.25))
    assert proxies.b.tolist() == pytest.approx([127 * nu] * 2, rel=1e-6)  # the longest candidate's nu is used for all
    assert proxies.cell_error.tolist() == pytest.approx([0.25 * 127, 0.125 * 127], rel=1e-6)
    assert exact.eps.max() < 0.05 < proxies.eps.min()


def test_the_range_includes_the_cell_error() -> None:
    """A larger cell error widens the honest radius, by 2 kappa log(.) T / n for each unit."""
    x = np.array([[0.5] * 2048, [-0.5] * 2048])
    plain = model_of(x)
    wide = plain._replace(cell_error=np.full(2, 0.25))
    options = {"margin": 0, "block": 512, "alpha": 1.0, "radius": "serfling", "delta": 0.01}
    tau, wider = (sieve(m, 1, **options)[1][0].threshold for m in (plain, wide))
    per_unit = 2 * KAPPA * np.log(10 * 2 * 4 / 0.01) * 2048 / 512
    assert tau == pytest.approx(1024 - per_unit, rel=1e-5)
    assert wider == pytest.approx(1024 - 1.25 * per_unit, rel=1e-5)


@pytest.mark.parametrize("reveal", ["proxies", "exact"])
def test_bandit_rescores_its_survivors_canonically(reveal: str) -> None:
    rng = np.random.default_rng(5)
    lost = 0
    for seed in range(scaled(10, at_least=10)):
        Q = vectors(rng, 16, 31, "unit")
        documents = [vectors(rng, int(rng.integers(0, 5)), 31, "unit") for _ in range(25)]
        answer = bandit(Q, documents, 3, margin=1, seed=seed, reveal=reveal)
        S = scores(Q, documents)
        kept = np.full(25, -np.inf, np.float32)
        kept[answer.survivors] = S[answer.survivors]
        assert answer.positions == top_k(kept, 3)
        assert answer.scores.tobytes() == S[answer.positions].tobytes()
        assert all(len(documents[i]) for i in answer.survivors)
        assert 0 < answer.coverage < 1
        N = sum(len(E) > 0 for E in documents)
        assert answer.rounds[0].active.tolist() == [i for i, E in enumerate(documents) if len(E)]
        steps = np.diff([0] + [r.revealed for r in answer.rounds])
        cells_revealed = sum(len(r.active) * int(n) for r, n in zip(answer.rounds, steps, strict=True))
        assert answer.coverage == cells_revealed / (N * 16)
        lost += answer.positions != top_k(S, 3)
    assert lost > 0  # alpha = 0.2 is a relaxation


@examples(60)
@given(ragged_cases(shortest=0), st.integers(1, 3), st.integers(1, 5), st.sampled_from(["paper", "serfling"]))
def test_an_exact_guarantee_means_the_exhaustive_answer(case: Case, K: int, block: int, radius: str) -> None:
    Q, documents = case
    answer = bandit(Q, documents, K, alpha=1.0, margin=0, block=block, radius=radius)
    if radius == "serfling":
        assert answer.guarantee == "exact"  # six tokens are far too few for the honest radius
    if answer.guarantee == "exact":
        want = certified(Q, documents, K)
        assert answer.positions == want.positions
        assert answer.scores.tobytes() == want.scores.tobytes()


def test_the_same_seed_gives_the_same_answer_and_a_new_one_another_order() -> None:
    rng = np.random.default_rng(6)
    Q = vectors(rng, 16, 31, "unit")
    documents = [vectors(rng, 3, 31, "unit") for _ in range(30)]
    first, again, other = (bandit(Q, documents, 1, margin=0, seed=seed) for seed in (1, 1, 2))
    assert [r.threshold for r in first.rounds] == [r.threshold for r in again.rounds]
    assert first.rounds[0].threshold != other.rounds[0].threshold


def test_no_documents_no_hits() -> None:
    answer = bandit(np.ones((2, 3), np.float32), [np.zeros((0, 3), np.float32)], 1)
    assert (answer.positions, answer.coverage, answer.guarantee, answer.rounds) == ([], 0.0, "exact", [])
