"""A picture of one run: nanoseconds per document token of every method, shape by shape."""

from __future__ import annotations

from pathlib import Path

from benchmarks.runs.comparison.results import Results

OURS, THEIRS, LIMIT = "#1b6ca8", "#b0b0b0", "#c0392b"


def draw(results: Results, path: Path) -> None:
    """Bars for a shape's smallest K, one thread, one query at a time, on the first kernel; the read limit as a line."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    kernel = results.machine["kernels"].split(", ")[0]
    shapes = list(results.shapes)
    longest = max(len({row.method for row in results.find(shape=shape)}) for shape in shapes)
    columns = min(2, len(shapes))
    lines = -(-len(shapes) // columns)
    size = (7 * columns, 0.8 + lines * (0.9 + 0.26 * longest))
    figure, axes = pyplot.subplots(lines, columns, figsize=size, squeeze=False, layout="constrained")
    for axis in axes.flat[len(shapes) :]:
        axis.axis("off")
    for axis, shape in zip(axes.flat, shapes, strict=False):
        k = min(row.k for row in results.find(shape=shape))
        rows = [row for row in results.find(shape=shape, k=k, threads=1, batch=1) if row.isa in ("", kernel)]
        rows.sort(key=lambda row: -row.ns_per_token)
        bars = axis.barh(
            [row.method for row in rows],
            [row.ns_per_token for row in rows],
            color=[OURS if row.ours else THEIRS for row in rows],
        )
        labels = [f" {row.ns_per_token:,.0f}" + _misses(row.overlap) for row in rows]
        axis.bar_label(bars, labels, fontsize=8)
        if limits := [row.ns_per_token / row.times_read_limit for row in rows if row.times_read_limit]:
            axis.axvline(limits[0], color=LIMIT, linestyle="--", linewidth=1)
        axis.set_xscale("log")
        axis.margins(x=0.15)
        axis.set_title(f"{shape}: {results.shapes[shape]}, K = {k}", fontsize=9, loc="left")
        axis.tick_params(labelsize=8)
        axis.spines[["top", "right"]].set_visible(False)
    figure.suptitle(
        f"ns per document token, one thread, {results.machine['CPU']}, {kernel}\n"
        "blue: maxsieve; dashed: reading the codes; finds: mean share of the true top K",
        fontsize=9,
    )
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def _misses(overlap: float) -> str:
    return "" if overlap >= 0.9995 else f", finds {overlap:.0%}"
