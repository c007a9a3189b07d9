"""Figures that the paper prints, to stand beside ours where the experiment is the same in kind.

All are for ColBERTv2 vectors with 32 query tokens on BEIR corpora, unless said otherwise.
"""

from __future__ import annotations

EFFICIENCY: dict[tuple[str, int, str], str] = {
    ("Overlap", 5, "Doc-Uniform"): "98%",
    ("Overlap", 50, "Doc-Uniform"): "100%",
    ("nDCG", 5, "Doc-Uniform"): "57%",
    ("nDCG", 50, "Doc-Uniform"): "38%",
    ("Overlap", 5, "Ball-carving"): "46%",
    ("Overlap", 50, "Ball-carving"): "43%",
    ("nDCG", 5, "Ball-carving"): "29%",
    ("nDCG", 50, "Ball-carving"): "23%",
    ("Overlap", 5, "Bandit"): "14%",
    ("Overlap", 50, "Bandit"): "18%",
    ("nDCG", 5, "Bandit"): "13%",
    ("nDCG", 50, "Bandit"): "13%",
}
"""Mean coverage for 95 %, by measure, K and method (tab:main_benchmark_universal_eff_combined)."""

EFFECTIVENESS: dict[tuple[str, float], float] = {
    ("Bandit", 0.2): 0.987,
    ("Ball-carving", 0.2): 0.821,
    ("Doc-Uniform", 0.2): 0.556,
    ("Bandit", 0.4): 0.989,
    ("Ball-carving", 0.4): 0.919,
    ("Doc-Uniform", 0.4): 0.746,
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
