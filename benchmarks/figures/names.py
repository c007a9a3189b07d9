"""What the figures of the README and of docs/ are made of: which runs and rows, and their names."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.figures import published
from benchmarks.figures.published import Measured, Run

RUNS = (
    "zen5-engines",
    "zen5-million",
    "zen4-engines",
    "zen4-avx512vnni",
    "zen3-avx2",
    "zen3-avx2-calibrated",
    "zen3-avx2-fast-plaid",
    "amx",
)
"""Files of benchmarks/results, in the order in which they are shown. Missing ones are left out."""
MACHINES = {"zen4-avx512vnni": "AVX-512 VNNI (Zen 4)", "zen3-avx2": "AVX2 (Zen 3)"}
"""Runs of all libraries, and the name of their CPU in headings."""
KERNELS = ("amx", "avx512vnni", "avx2", "neon", "scalar")
"""The best first."""
EXACT = 0.9995
"""Overlaps from this one on are written as 1."""

OURS = {
    "calibrated-0.9": "Calibrated(0.90)",
    "calibrated-0.95": "Calibrated(0.95)",
    "calibrated-0.99": "Calibrated(0.99)",
    "certified": "Certified",
    "bandit-0.1": "Bandit(0.1)",
    "bandit-0.2": "Bandit(0.2)",
    "bandit-0.3": "Bandit(0.3)",
    "bandit-1": "Bandit(1)",
    "exhaustive": "Exhaustive",
}
PEERS = {
    "colbandit-0.2": ("colbandit", "alpha 0.2"),
    "colbandit-1": ("colbandit", "alpha 1"),
    "colbandit-full": ("colbandit", "full"),
    "numkong-f32": ("numkong", "packed f32"),
    "numkong-bf16": ("numkong", "packed bf16"),
    "maxsim-cpu": ("maxsim-cpu", ""),
    "torch": ("torch", ""),
    "sentence-transformers": ("sentence-transformers", ""),
    "pylate": ("pylate", ""),
    "qdrant-local": ("qdrant-client", "local mode"),
    "qdrant-edge": ("qdrant-edge-py", ""),
    "lancedb": ("lancedb", "default"),
    "lancedb-refine-10": ("lancedb", "refine 10"),
    "lancedb-thorough": ("lancedb", "100 probes, refine 50"),
    "fast-plaid": ("fast-plaid", ""),
    "tachiom-fast": ("TACHIOM", "c5 ef10 d50"),
    "tachiom-100": ("TACHIOM", "c10 d100"),
    "tachiom-200": ("TACHIOM", "d200"),
    "tachiom-default": ("TACHIOM", "default: c20 ef30 d500"),
    "tachiom-1000": ("TACHIOM", "c80 ef120 d1000"),
    "tachiom-4000": ("TACHIOM", "c160 d4000"),
}
APPROXIMATE = ("colbandit-0.2", "colbandit-1", "colbandit-full", "numkong-f32", "numkong-bf16")
"""Peers that find the best token among codes, so that they do not compute MaxSim."""
TITLES = {
    "scifact": "SciFact",
    "hotpotqa": "hotpotqa_1k",
    "rerank": "1,000 synthetic documents",
}
ENGINES = {"hotpotqa": "hotpotqa_1k, 9,221 documents", "mid": "150,000 documents"}
"""Shapes of the run of other engines."""
OTHERS = {"scifact": "SciFact", "hotpotqa-96": "hotpotqa_1k, d = 96", "blog": "blog, T = 12"}
"""Further shapes of that run."""


def runs() -> dict[str, Run]:
    """The existing runs, in the order of `RUNS`. Others come last."""
    there = {path.stem for path in published.FOLDER.glob("*.json")}
    names = [name for name in RUNS if name in there] + sorted(there - set(RUNS))
    return {name: published.read(name) for name in names}


def side_by_side() -> dict[str, Run]:
    """The runs of all libraries, one for each machine."""
    return {name: run for name, run in runs().items() if name in MACHINES and set(run.shapes) & set(TITLES)}


def alone(run: Run, shape: str) -> dict[str, Measured]:
    """By method: one query at a time on one thread, at the smallest K, on the machine's best kernel."""
    rows = list(run.find(shape=shape, threads=1, batch=1, k=smallest_k(run)))
    best = next((isa for isa in KERNELS if any(row.isa == isa for row in rows)), "")
    return {row.method: row for row in rows if row.isa in ("", best) and row.method in (*OURS, *PEERS)}


def smallest_k(run: Run) -> int:
    """The K whose figures are shown."""
    return min(row.k for row in run.rows)


def label(method: str) -> str:
    """The name beside a point of a chart."""
    library, how = PEERS.get(method, ("", ""))
    return OURS.get(method) or f"{library} {how.removeprefix('packed ')}".strip()


def name(method: str, run: Run) -> str:
    """The name in a table."""
    if method in OURS:
        return f"maxsieve `{OURS[method]}`"
    library, how = PEERS.get(method, (method, ""))
    version = run.versions.get(library, "").partition("+")[0]  # without the kind of build
    return f"{library} {version}".strip() + (f", {how}" if how else "")


def number(value: float) -> str:
    """Three digits.

    >>> number(1186.2), number(55.91), number(2.784)
    ('1,186', '55.9', '2.78')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def share(value: float) -> str:
    """An overlap.

    >>> share(0.99999), share(0.9971), share(0.954)
    ('**1**', '0.997', '0.95')
    """
    return "**1**" if value >= EXACT else f"{value:.2f}" if value < 0.995 else f"{value:.3f}"


def spread(values: Sequence[float]) -> str:
    """From the smallest to the largest.

    >>> spread([4.13, 23.7, 9.0]), spread([2.0, 2.01])
    ('4.1 to 24', '2.0')
    """
    low, high = _few(min(values)), _few(max(values))
    return low if low == high else f"{low} to {high}"


def _few(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"
