"""Figures from the paper, for comparison with ours where the experiments correspond; and what is missing.

All are for ColBERTv2 vectors with 32 query tokens on BEIR corpora, unless said otherwise.
"""

from __future__ import annotations

from typing import NamedTuple

BANDIT, DOC_UNIFORM, BALL_CARVING = "Bandit", "Doc-Uniform", "Ball-carving"
"""The methods."""

EFFICIENCY: dict[tuple[str, int, str], str] = {
    (measure, k, method): coverage
    for (measure, k), coverages in {
        ("Overlap", 5): ("98%", "46%", "14%"),
        ("Overlap", 50): ("100%", "43%", "18%"),
        ("nDCG", 5): ("57%", "29%", "13%"),
        ("nDCG", 50): ("38%", "23%", "13%"),
    }.items()
    for method, coverage in zip((DOC_UNIFORM, BALL_CARVING, BANDIT), coverages, strict=True)
}
"""Mean coverage for 95 %, by measure, K and method (tab:main_benchmark_universal_eff_combined)."""

EFFECTIVENESS: dict[tuple[str, float], float] = {
    (BANDIT, 0.2): 0.987,
    (BALL_CARVING, 0.2): 0.821,
    (DOC_UNIFORM, 0.2): 0.556,
    (BANDIT, 0.4): 0.989,
    (BALL_CARVING, 0.4): 0.919,
    (DOC_UNIFORM, 0.4): 0.746,
}
"""Share of nDCG@1 kept, by method and coverage; all nine corpora (tab:retrieval_effectiveness)."""

ALPHA_GUIDANCE: dict[float, tuple[str, str]] = {
    0.1: ("12.5-12.9%", "0.76-0.91"),
    0.2: ("12.6-14.4%", "0.92-0.99"),
    0.3: ("12.9-17.4%", "0.98-1.00"),
    1.0: ("27.7-58.9%", "1.00"),
}
"""Coverage and Ov@5 over four corpora, by alpha (tab:alpha_guidance)."""

MARGIN: dict[int, tuple[str, str]] = {0: ("14-18%", "0.93-0.94"), 5: ("14-18%", "0.98"), 10: ("14-19%", "0.98")}
"""Coverage and Ov@5 on SciDocs and HotpotQA, by margin (tab:ablations_M)."""

K_SENSITIVITY: dict[int, str] = {5: "6.3x", 100: "4.7x", 500: "2.4x", 1000: "1.6x"}
"""Speed over exhaustive scoring on ArguAna, whose size is nearest to the corpora here, by K (tab:k_sensitivity)."""

WALLCLOCK: dict[int, tuple[str, str, str]] = {
    5: ("0.93-0.99", "13-21%", "4.7-8.8x"),
    100: ("0.93-0.97", "13-47%", "3.2-8.5x"),
}
"""Overlap, coverage and speed over exhaustive scoring at alpha = 0.2, one thread, by K (tab:wallclock_cpu)."""

OVERHEAD = ("96.1-99.0%", "0.98-3.88%")
"""Shares of the kernel and of the rest, one thread, K = 5 (tab:overhead_breakdown)."""

MAXSIM_CPU = "11.2-11.5x"
"""Bandit at alpha = 0.2 over maxsim-cpu, one thread, AVX2 (tab:mcpu_x86)."""


class Gap(NamedTuple):
    """A part of the paper that can't be reproduced here."""

    what: str
    labels: tuple[str, ...]
    """Of the paper's tables and figures."""
    why: str


GAPS = (
    Gap(
        "CPU against GPU",
        ("tab:cpu_vs_a100",),
        "There is no GPU here, and maxsieve has no code for one.",
    ),
    Gap(
        "Jina-ColBERTv2",
        ("tab:main_benchmark_universal_eff_combined", "tab:matryoshka"),
        "Its weights are not in a package registry. A checkpoint on disk can be given as the encoder st:FOLDER.",
    ),
    Gap(
        "Granite Vision Embedding 3.2 and REAL-MM-RAG",
        ("fig:pareto_finslides", "tab:per_dataset_eff_overlap_mm_combinedK", "tab:retrieval_real_mm_all"),
        "No package registry has the weights or the pages. Embeddings that were made elsewhere can be given as .npz.",
    ),
    Gap(
        "Corpora of 500,000 to 2.7 million documents: HotpotQA, Quora, NQ",
        ("tab:wallclock_cpu", "tab:dataset_stats"),
        "To embed them on a few CPU cores takes days. How time grows with the corpus is in the experiment scaling.",
    ),
    Gap(
        "The paper's machines: AMD EPYC 7763 and Apple M1 Max",
        ("tab:wallclock_cpu_threads", "tab:m1_neon"),
        "Times belong to the machine named above. Coverage, and speed over exhaustive scoring, can be compared.",
    ),
)
