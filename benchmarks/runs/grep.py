"""How long `maxsieve grep` takes in a tree of source files: its start, the first answer, and an answer from an index.

    python -m benchmarks.runs.grep

The tree has Python files of the standard library and of the installed packages, up to 50 kB each, chosen by digests of
their names. To encode it all would take long, so the vectors of its index are looked up: each is the vector of a word
piece alone, with noise and a part of the passage's mean. With --encode they are those of the model. The index is kept
in the cache for further runs.

Runs of the commands take turns. The least and the median are printed of elapsed and of processor time, and the
difference between the least times of an answer and of the start. One run comes before, which is not counted: it
compiles the package, as an installation does.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import statistics
import subprocess
import sys
import sysconfig
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.runs.arguments import positive
from maxsieve.text.encoders.encoder import DEFAULT_ENCODER, F32, load_encoder, unit_rows
from maxsieve.text.encoders.onnx import OnnxEncoder
from maxsieve.text.grep.folder_search import FolderSearch
from maxsieve.text.inputs.definitions import definitions

LARGEST = 50_000
"""Bytes of a file."""

QUESTIONS = ("where is a path split into parts", "how is a header of a request parsed", "round a number to even")
START, FIRST, INDEXED = "start: maxsieve grep --help", "first answer", "answer from an index"
FIRST_LIMIT, INDEXED_LIMIT = 5.0, 0.3
"""Seconds that are allowed: for the first answer, and for an answer from an index beyond the start."""


class Times(NamedTuple):
    """Seconds of some runs of a command."""

    elapsed: list[float]
    processor: list[float]

    def __str__(self) -> str:
        return " | ".join(f"{min(times):.3f} | {statistics.median(times):.3f}" for times in self)


def main() -> None:
    """Make the tree and its index, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=positive, default=2000)
    parser.add_argument("--folder", type=Path, default=Path("build", "grep"))
    parser.add_argument("--runs", type=positive, default=9)
    parser.add_argument("--encode", action="store_true", help="index the vectors of the model")
    given = parser.parse_args()
    plain = given.folder.absolute() / f"tree-{given.files}"
    indexed = plain.with_name(f"{plain.name}-{'encoded' if given.encode else 'indexed'}")
    for folder in (plain, indexed):
        make_tree(folder, given.files)
    report_tree(plain)
    FolderSearch(indexed, DEFAULT_ENCODER if given.encode else LookedUp()).index(progress=True)
    found = {name: Times([], []) for name in (START, FIRST, INDEXED)}
    run(["grep", QUESTIONS[0], str(plain)], Times([], []))
    for number in range(given.runs):
        question = QUESTIONS[number % len(QUESTIONS)]
        run(["grep", "--help"], found[START])
        run(["grep", question, str(plain)], found[FIRST])
        run(["grep", question, str(indexed)], found[INDEXED])
    print("\n| seconds | elapsed: least | median | processor: least | median |\n|---|---|---|---|---|")
    for name, times in found.items():
        print(f"| {name} | {times} |")
    start, first, later = (min(times.elapsed) for times in found.values())
    print(f"\nfirst answer: {first:.2f} s; at most {FIRST_LIMIT:g} are allowed")
    beyond = 1000 * (later - start)
    print(f"answer from an index, beyond the start: {beyond:.0f} ms; at most {1000 * INDEXED_LIMIT:.0f} are allowed")


def make_tree(folder: Path, count: int) -> None:
    """Copies files, unless they are there."""
    if folder.exists():
        return
    found: dict[str, Path] = {}
    for root in sorted({sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")}):
        for path in Path(root).rglob("*.py"):
            name = path.relative_to(root).as_posix()
            if not name.startswith("site-packages/") and 0 < path.stat().st_size <= LARGEST:
                found[name] = path
    making = folder.with_suffix(".part")
    shutil.rmtree(making, ignore_errors=True)
    for name in sorted(found, key=lambda name: hashlib.sha256(name.encode()).digest())[:count]:
        (making / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(found[name], making / name)
    making.rename(folder)


def report_tree(folder: Path) -> None:
    """Prints how large the tree is, and how long it takes to parse."""
    texts = [path.read_text(errors="replace") for path in sorted(folder.rglob("*.py"))]
    began = time.process_time()
    names = sum(bool(heading.title) for text in texts for heading in definitions(text, ".py"))
    seconds = time.process_time() - began
    print(f"{len(texts):,} files, {sum(map(len, texts)) / 1e6:.1f} million characters")
    print(f"{names:,} functions and classes, parsed in {seconds:.1f} s of processor time")


class LookedUp:
    """The default model for questions; documents have vectors that are looked up, in a hundredth of the time."""

    def __init__(self) -> None:
        model = load_encoder(DEFAULT_ENCODER)
        assert isinstance(model, OnnxEncoder)
        self._model = model
        self.name, self.dim, self.fingerprint = self._model.name, self._model.dim, self._model.fingerprint
        self.encode_queries, self.document_spans = self._model.encode_queries, self._model.document_spans
        self.query_spans, self.count_tokens = self._model.query_spans, self._model.count_tokens
        self.max_tokens = self._model.max_tokens
        self._noise = np.random.default_rng(0)
        self._pieces: dict[str, F32] = {}

    def encode_documents(self, texts: Sequence[str], *, progress: bool = False) -> list[F32]:
        """The rows of each text."""
        words = [[text[start:end].lower() for start, end in self.document_spans(text)] for text in texts]
        new = list({word for own in words for word in own} - self._pieces.keys())
        for word, rows in zip(new, self._model.encode_documents(new), strict=True):
            self._pieces[word] = rows.mean(axis=0) if len(rows) else np.zeros(self.dim, np.float32)
        return [self._rows(own) for own in words]

    def _rows(self, words: list[str]) -> F32:
        if not words:
            return np.empty((0, self.dim), np.float32)
        rows = unit_rows(np.array([self._pieces[word] for word in words]))
        rows += 0.035 * self._noise.standard_normal(rows.shape, dtype=np.float32)
        return unit_rows(rows + rows.mean(axis=0) / 2)


def run(words: list[str], times: Times) -> None:
    """Runs the command line, and notes its times with those of the processes that it starts."""
    before, began = _processor(), time.perf_counter()
    quiet = subprocess.DEVNULL
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([sys.executable, "-m", "maxsieve.cli", *words], check=True, stdout=quiet, stderr=quiet, env=env)
    times.elapsed.append(time.perf_counter() - began)
    times.processor.append(_processor() - before)


def _processor() -> float:
    times = os.times()
    return times.children_user + times.children_system


if __name__ == "__main__":
    main()
