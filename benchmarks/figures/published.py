"""Results that are kept in the repository, one file for each run: the source of the README's figures.

`bench.py --results FILE` writes one. If a run left only a table, the file was written by hand from it. Then its `note`
says so, and what the table did not have is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarks.runs.comparison.results import Results
from maxsieve.common.files import replacing

KEEPING = ("results", "note", "machine")
"""Options that are about what is kept, not about what is measured."""
FOLDER = Path(__file__).parents[1] / "results"
KEPT = ("shape", "method", "ours", "k", "isa", "threads", "batch", "runs", "milliseconds", "quartiles", "p95")
KEPT += ("ns_per_token", "times_read_limit", "overlap", "exact_sets", "rescored")


@dataclass(frozen=True)
class Measured:
    """One method with its settings on one shape. What is not known is None."""

    shape: str
    method: str
    k: int
    isa: str = ""
    threads: int = 1
    batch: int = 1
    milliseconds: float | None = None
    p95: float | None = None
    ns_per_token: float | None = None
    times_read_limit: float | None = None
    overlap: float | None = None
    resident_bytes_per_token: float | None = None

    @property
    def time(self) -> float:
        """Milliseconds, which must be known."""
        if self.milliseconds is None:
            raise ValueError(f"the milliseconds of {self.method} on {self.shape} are not known")
        return self.milliseconds

    @property
    def ns(self) -> float:
        """Nanoseconds a token, which must be known."""
        if self.ns_per_token is None:
            raise ValueError(f"the nanoseconds of {self.method} on {self.shape} are not known")
        return self.ns_per_token

    @property
    def found(self) -> float:
        """The overlap, which must be known."""
        if self.overlap is None:
            raise ValueError(f"the overlap of {self.method} on {self.shape} is not known")
        return self.overlap


@dataclass(frozen=True)
class Run:
    """One file."""

    machine: str
    date: str
    command: str
    note: str
    shapes: dict[str, str]
    versions: dict[str, str]
    rows: list[Measured]

    def find(self, **settings: object) -> Iterator[Measured]:
        """Rows with these settings."""
        return (row for row in self.rows if all(getattr(row, name) == value for name, value in settings.items()))

    def one(self, **settings: object) -> Measured:
        """The row with these settings."""
        [row] = self.find(**settings)
        return row


def read(name: str) -> Run:
    """The run in the file `name`, without its suffix."""
    saved = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    known = Measured.__dataclass_fields__
    rows = [Measured(**{key: value for key, value in row.items() if key in known}) for row in saved.pop("rows")]
    return Run(**saved, rows=rows)


def write(results: Results, path: Path, arguments: str, note: str, machine: str = "") -> None:
    """Saves what a run of the benchmark measured; ``machine`` describes the machine better than the name of its CPU."""
    versions = dict(results.machine)
    about = [versions.pop("CPU"), f"{versions.pop('CPUs to use')} cores", f"kernels: {versions.pop('kernels')}"]
    versions.pop("system")
    held = {(one.shape, one.holder): one.bytes_per_token for one in results.holdings}
    rows: list[dict[str, Any]] = []
    for row in results.rows:
        rows.append({name: asdict(row)[name] for name in KEPT})
        if (resident := held.get((row.shape, f"maxsieve, resident, {row.method}"))) is not None:
            rows[-1]["resident_bytes_per_token"] = resident
    kept = {
        "machine": machine or ", ".join(about),
        "date": datetime.now(timezone.utc).date().isoformat(),
        "command": f'make bench ARGS="{arguments}"',
        "note": note,
        "shapes": results.shapes,
        "versions": versions,
        "rows": [{name: _short(value) for name, value in row.items()} for row in rows],
    }
    with replacing(path) as file:
        file.write((json.dumps(kept, indent=1) + "\n").encode())


def measuring(arguments: list[str]) -> list[str]:
    """Those arguments that say what to measure.

    >>> measuring(["--k", "10", "--note", "a quiet machine", "--queries", "3"])
    ['--k', '10', '--queries', '3']
    """
    about = {place + after for place, one in enumerate(arguments) if one[2:] in KEEPING for after in (0, 1)}
    return [one for place, one in enumerate(arguments) if place not in about]


def _short(value: Any) -> Any:
    """Four digits of a measured number."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    return [_short(one) for one in value] if isinstance(value, list | tuple) else value
