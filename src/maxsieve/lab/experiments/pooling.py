"""Ward token pooling under Bandit: the loss by pooling and the loss by elimination."""

from __future__ import annotations

from dataclasses import dataclass

from maxsieve import Bandit, Exhaustive
from maxsieve.lab.dataset import Dataset
from maxsieve.lab.embedded import Embedded, answers_of, mean_coverage, policy_name
from maxsieve.lab.experiments import Options
from maxsieve.lab.metrics.confidence import Mean, difference, mean
from maxsieve.lab.metrics.quality import overlaps
from maxsieve.lab.metrics.sentences import faster, speed
from maxsieve.lab.results import Cell, Chart, Column, ExperimentResult, Series, Table
from maxsieve.lab.times import Timed, Times, measure, timed_queries
from maxsieve.pooling import Merges, cut, merges

K = 5
FACTORS = (2, 4, 8)
QUICK_FACTORS = (2, 8)
BANDIT = Bandit(0.2)


@dataclass(frozen=True)
class Pooled:
    """One pool factor: overlaps query by query, times of calls, and what is stored."""

    factor: int
    coverage: float
    fidelity: list[float]
    """Of Bandit with exhaustive scoring, both on pooled documents."""
    exhaustive: list[float]
    """Of exhaustive scoring on pooled documents with that on the documents as they were."""
    bandit: list[float]
    """Of Bandit on pooled documents with exhaustive scoring on the documents as they were."""
    times: tuple[Times, Times]
    """Exhaustive, Bandit."""
    tokens: int
    nbytes: int

    @property
    def by_pooling(self) -> Mean:
        """What pooling loses of the overlap."""
        return mean([1 - overlap for overlap in self.exhaustive])

    @property
    def by_elimination(self) -> Mean:
        """What elimination loses of what pooling left."""
        return difference(self.exhaustive, self.bandit)

    @property
    def altogether(self) -> float:
        """What both lose."""
        return 1 - mean(self.bandit).value


def pooling(dataset: Dataset, options: Options) -> ExperimentResult:
    """Two rows for each factor, unpooled first, and the loss in two parts."""
    data = dataset.embedded().first(options.count)
    factors = QUICK_FACTORS if options.quick else FACTORS
    trees = _trees(data, options)
    pooled = [_measured(data, pooled_corpus(data, trees, factor), factor, options) for factor in (1, *factors)]
    return ExperimentResult(
        "pooling",
        data.name,
        f"Each document's tokens pooled by Ward's rule to L // factor unit vectors, then searched at K = {K}; "
        f"{data.extent(documents=True)}. Milliseconds are medians over queries, one thread.",
        [_table(pooled), _losses(pooled)],
        [_chart(pooled, data.name)],
        _remarks(pooled),
    )


def pooled_corpus(data: Embedded, trees: dict[str, Merges], factor: int) -> Embedded:
    """The corpus with every document pooled; its hierarchy is the same for every factor.

    Factor 1 makes a copy, too: all are then stored in one way, and times and sizes can be compared.
    """
    documents = iter(trees.values())  # in the order of the index, in which it is rebuilt
    words = f"{data.encoder}, pooled {factor}x"
    return data.with_vectors(words, lambda rows: cut(rows, next(documents), factor), queries_too=False)


def _trees(data: Embedded, options: Options) -> dict[str, Merges]:
    found = {}
    with options.bar("clustering tokens", len(data.index)) as advance:
        for doc_id in data.ids:
            found[doc_id] = merges(data.vectors(doc_id))
            advance(1)
    return found


def _measured(original: Embedded, data: Embedded, factor: int, options: Options) -> Pooled:
    true, best = original.truth(K, threads=options.cores), data.truth(K, threads=options.cores)
    hits = data.search(K, BANDIT, threads=options.cores)
    found = answers_of(hits)
    ways = Timed(Exhaustive(), K), Timed(BANDIT, K)
    times = measure(timed_queries(data, options), ways, options)
    return Pooled(
        factor,
        mean_coverage(hits),
        overlaps(found, best, K),
        overlaps(best, true, K),
        overlaps(found, true, K),
        (times[ways[0]], times[ways[1]]),
        data.index.tokens,
        data.index.nbytes,
    )


def _name(factor: int) -> str:
    return "unpooled" if factor == 1 else f"Ward {factor}x"


def _table(pooled: list[Pooled]) -> Table:
    rows: list[list[Cell]] = []
    for level in pooled:
        stored = [level.tokens, level.nbytes / 2**20]
        alone, with_bandit = (way.milliseconds for way in level.times)
        rows.append([f"{_name(level.factor)}, exhaustive", 1.0, None, mean(level.exhaustive).value, alone, *stored])
        means = [mean(level.fidelity).value, mean(level.bandit).value]
        rows.append([f"+ {policy_name(BANDIT)} ({_name(level.factor)})", level.coverage, *means, with_bandit, *stored])
    columns = [Column("method"), Column("coverage", ".1%"), Column(f"fidelity Ov@{K}", ".3f")]
    columns += [Column(f"end-to-end Ov@{K}", ".3f"), Column("ms, 1 thread", ".2f"), Column("tokens", ",")]
    columns.append(Column("MiB", ".1f"))
    note = (
        f"Share of a true top {K} that is found, mean over queries. Fidelity: the true one is exhaustive scoring's on "
        "the pooled documents; end-to-end: on the documents as they were. MiB: the index, rows and codes."
    )
    return Table("Pooling and Bandit", columns, rows, "tab:ward_compose", note)


def _losses(pooled: list[Pooled]) -> Table:
    rows: list[list[Cell]] = []
    for level in pooled:
        both = [cell for part in _parts(level) for cell in (100 * part.value, _interval(part))]
        rows.append([_name(level.factor), *both, 100 * level.altogether])
    columns = [Column("documents"), Column("by pooling", ".1f"), Column("95 %"), Column("by elimination", ".1f")]
    columns += [Column("95 % "), Column("altogether", ".1f")]
    note = (
        "Percentage points of end-to-end overlap lost: by pooling, from 1 to exhaustive scoring of pooled documents; "
        "by elimination, from there to Bandit's. The two add up. Intervals are 95 % bootstrap intervals over queries."
    )
    return Table(f"The loss of Ov@{K} in two parts", columns, rows, "tab:ward_compose", note)


def _interval(part: Mean) -> str:
    return f"{100 * part.low:.1f} to {100 * part.high:.1f}"


def _chart(pooled: list[Pooled], corpus: str) -> Chart:
    names = [_name(level.factor) for level in pooled]
    series = []
    for name, parts in zip(("by pooling", "by elimination"), zip(*map(_parts, pooled), strict=True), strict=True):
        value, low, high = ([100 * getattr(part, end) for part in parts] for end in ("value", "low", "high"))
        series.append(Series(name, names, value, low, high, kind="bars"))
    fidelity = [mean(level.fidelity).value for level in pooled]
    series.append(Series(f"fidelity Ov@{K} (right)", names, fidelity, kind="marks"))
    title = f"{corpus}: loss of Overlap@{K}, by pooling and by elimination"
    return Chart("losses", title, "", "percentage points", series, f"fidelity Ov@{K}", label="tab:ward_compose")


def _remarks(pooled: list[Pooled]) -> list[str]:
    unpooled, *rest = pooled
    pooling, elimination = ([100 * part.value for part in parts] for parts in zip(*map(_parts, rest), strict=True))
    fidelity = [mean(level.fidelity).value for level in rest]
    coverages = [level.coverage for level in rest]
    speeds = [
        faster(
            f"Bandit ({_name(level.factor)})",
            "exhaustive scoring",
            speed(level.times[1].seconds, level.times[0].seconds),
        )
        for level in rest
    ]
    return [
        f"Pooling loses {min(pooling):.1f} to {max(pooling):.1f} percentage points of Overlap@{K}, elimination "
        f"{min(elimination):.1f} to {max(elimination):.1f} more (unpooled: {100 * unpooled.by_elimination.value:.1f}); "
        "the table has their intervals. The paper has 9 to 41 and 0.8 to 4.0.",
        f"Bandit's fidelity on pooled documents is {min(fidelity):.3f} at least, its "
        f"coverage {min(coverages):.1%} to {max(coverages):.1%} (unpooled: {unpooled.coverage:.1%}).",
        f"Of the same documents: {'; '.join(speeds)}.",
        f"{_name(rest[-1].factor)} keeps {rest[-1].tokens / unpooled.tokens:.1%} of the tokens.",
    ]


def _parts(level: Pooled) -> tuple[Mean, Mean]:
    return level.by_pooling, level.by_elimination
