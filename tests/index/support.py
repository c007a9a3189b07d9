"""Small corpora, the specification's answer to a search, and answers of an index, in a form that can be compared."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

import maxsieve as ms
from maxsieve import _core, calibrate, spec
from maxsieve.storage.codebook import Codebook, gather_tokens, locate_tokens
from maxsieve.storage.disk import DiskStorage
from maxsieve.storage.lists import BLOCK
from maxsieve.storage.snapshot import Snapshot

Rows: TypeAlias = NDArray[np.float32]
POLICIES: tuple[Any, ...] = (ms.Certified(), ms.Exhaustive(), ms.Bandit(alpha=0.1, margin=0, block=1))


def eighths(seed: int, count: int, d: int = 5, longest: int = 4) -> list[Rows]:
    """Documents of different lengths, some empty, of multiples of 1/8 up to 1: exact in every type, with many ties."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, longest + 1, count)
    return [(rng.integers(-8, 9, (length, d)) / 8).astype(np.float32) for length in lengths]


def query_of(seed: int, tokens: int = 3, d: int = 5) -> Rows:
    return (np.random.default_rng(10_000 + seed).integers(-8, 9, (tokens, d)) / 8).astype(np.float32)


def expected(query: Rows, documents: Mapping[Any, Rows], k: int) -> list[tuple[Any, bytes]]:
    """The specification's hits among documents in insertion order, as (id, bits of the score)."""
    ids = list(documents)
    scores = spec.scores(query, list(documents.values()))
    return [(ids[i], scores[i].tobytes()) for i in spec.top_k(scores, k)]


def listed(snapshot: Snapshot) -> dict[Any, list[int]]:
    """The centroids of each document that is not deleted, as its lists have them."""
    found: dict[int, list[int]] = {}
    for first, lists in snapshot.lists:
        blocks = -(-lists.documents // BLOCK)
        present = np.flatnonzero(np.unpackbits(lists.present.view(np.uint8), bitorder="little"))
        for i, (start, end) in enumerate(pairwise(lists.starts.tolist())):
            for member in lists.members[start:end].tolist():
                found.setdefault(first + BLOCK * (i % blocks) + member, []).append(int(present[i // blocks]))
    return {id: found.get(at, []) for id, at in zip(snapshot.live_ids(), snapshot.live.tolist(), strict=True)}


def give_tier0(index: ms.Index) -> None:
    """Gives an index on disk a codebook of tier 0, as earlier versions of maxsieve made it."""
    state = index.storage.snapshot.here
    lengths = state.lengths * state.alive
    codes, scale = gather_tokens(state.segments, *locate_tokens(lengths, np.arange(lengths.sum())))
    centroids = min(MOST_OF_TIER0, 1 << max(4, (8 * index.tokens).bit_length() // 2))
    made = _core.train(index.dim, codes, scale, centroids, 0, 1)
    assert isinstance(index.storage, DiskStorage)
    index.storage.replace_codebook(Codebook(index.dim, *made, index.tokens))


MOST_OF_TIER0 = 64


def small_codebooks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few centroids, so that with a thousand documents not all of them are followed up."""
    monkeypatch.setattr("maxsieve.storage.codebook.FEWEST", 16)
    monkeypatch.setattr("maxsieve.storage.codebook.MOST", 64)


@contextmanager
def interrupted_after(steps: int) -> Iterator[None]:
    """An update is interrupted after so many steps, in the middle of the next one; with groups, after half as many."""
    left, ranks = [steps], calibrate._ranks  # called once a step for each kind of hits, if there are 32 queries

    def counted(*given: Any) -> Any:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return ranks(*given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibrate, "_ranks", counted)
        yield


def bits(hits: ms.Hits) -> list[tuple[Any, bytes]]:
    return [(one, score.tobytes()) for one, score in zip(hits.ids, hits.scores, strict=True)]


def answer(hits: ms.Hits) -> tuple[Any, ...]:
    """The parts of an answer that must be the same on every machine."""
    report = hits.report
    return (bits(hits), report.guarantee, report.coverage, report.rescored, report.rounds)


def answers(index: ms.Index, k: int = 4) -> list[tuple[Any, ...]]:
    """The answers of an index to a few queries under every policy."""
    queries = [query_of(seed, tokens, index.dim) for seed, tokens in enumerate((1, 3, 9))]
    return [answer(index.search(query, k, policy=policy)) for query in queries for policy in POLICIES]


def contents(index: ms.Index) -> tuple[Any, ...]:
    """Everything an index shows of itself."""
    vectors = [index.vectors(one) for one in index.ids]
    stored = [(array.dtype, array.shape, array.tobytes()) for array in vectors]
    return (index.ids, stored, len(index), index.tokens, index.dim, answers(index))


@contextmanager
def refused(index: ms.Index, error: type[Exception] | tuple[type[Exception], ...], *words: str) -> Iterator[None]:
    """The body raises an error with these words, and the index is unchanged afterwards."""
    before = contents(index), index.nbytes
    with pytest.raises(error) as caught:
        yield
    check_sentence(caught.value, *words)
    assert (contents(index), index.nbytes) == before


def check_sentence(error: BaseException, *words: str) -> None:
    text = str(error.args[0])
    assert " " in text, f"no sentence: {text!r}"
    for word in words:
        assert word in text, f"{word!r} is not in {text!r}"


def run_script(script: str, *arguments: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a script in a separate Python."""
    command: Sequence[str] = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=env, check=False)
