"""Damaged copies of a small index, and the results of reading them. Runs as a program: a crash ends only that."""

from __future__ import annotations

import faulthandler
import json
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import maxsieve as ms
from maxsieve.errors import DamagedIndexError, MaxsieveError

DIM = 5
QUERY = np.random.default_rng(1).standard_normal((3, DIM)).astype(np.float32)
ABSENT = {"str": "nobody", "int": 10**6}


def build(path: Path, id_type: str, store: Any = "float32") -> None:
    """Two segments, both with tombstones and records; one empty document."""
    rng = np.random.default_rng(0)
    ids: list[Any] = [f"dö{i}" for i in range(14)] if id_type == "str" else [7 * i - 30 for i in range(14)]
    docs = [rng.standard_normal((length, DIM)) for length in [3, 1, 0, 4, 2, 5, 1, 2, 3, 1, 2, 2, 1, 3]]
    records = [{"text": f"täxt {i}", "n": [i]} if i % 3 else None for i in range(14)]
    with ms.Index.build(docs[:10], ids[:10], metadata=records[:10], path=path, store=store) as index:
        index.add(docs[10:], ids[10:], metadata=records[10:])
        index.delete([ids[1], ids[6], ids[12]])


def answer(path: Path) -> list[Any]:
    """All that an index can be asked, as plain values."""
    with ms.Index.open(path) as index:
        ids = index.ids
        content = [[one, index.vectors(one).tobytes().hex(), index.metadata(one)] for one in ids]
        known = [one in index for one in ids] + [absent in index for absent in ABSENT.values()]
        found: list[Any] = []
        for policy in (ms.Certified(), ms.Exhaustive(), ms.Bandit()):
            hits = index.search(QUERY, k=4, policy=policy)
            found.append([hits.ids, hits.scores.tobytes().hex(), hits.metadata, hits.report.guarantee])
        found.append(index.search(QUERY, k=20, candidates=ids[:5], exclude=ids[:1]).ids)
        return [len(index), index.tokens, content, known, found]


def outcome(path: Path, expected: list[Any]) -> str:
    """``error``, ``same``, ``reported`` (a wrong answer, but `verify` finds it), or a result that is not allowed."""
    try:
        got = answer(path)
        if json.dumps(got) == json.dumps(expected):
            return "same"
        what = "answered wrongly"
    except (MaxsieveError, OSError) as problem:
        return "error" if str(problem) else "an error without a word"
    except KeyError:
        what = "did not find an id it has"
    except Exception as problem:
        return f"raised {problem!r}"
    if not _reported(path):
        return f"{what}, unnoticed by verify"
    with ms.Index.open(path) as index:
        try:
            index.compact()
        except MaxsieveError:
            return "reported"
    return "reported" if _reported(path) else f"{what}, and compact covered it up"


def _reported(path: Path) -> bool:
    try:
        with ms.Index.open(path) as index:
            index.verify()
    except DamagedIndexError:
        return True
    return False


def copy(original: Path, folder: Path, damaged: str, change: Callable[[bytearray], None]) -> None:
    """A copy of an index in which one file is changed; the others are the same files."""
    folder.mkdir()
    for file in original.iterdir():
        if file.name == damaged:
            content = bytearray(file.read_bytes())
            change(content)
            (folder / file.name).write_bytes(content)
        elif file.name != "lock":
            os.link(file, folder / file.name)


def sampled(original: Path, case: int, folder: Path) -> str:
    """Writes damaged copy number ``case``, and returns what was done to it."""
    rng = random.Random(case)
    names = sorted(file.name for file in original.iterdir() if file.name != "lock")
    name = rng.choice(names)
    size = (original / name).stat().st_size
    kind = rng.choice(["bit", "bit", "bit", "bits", "cut", "longer", "zeros"])
    place = rng.randrange(size)
    if kind != "cut" and size > 2048 and rng.random() < 0.3:
        place = rng.randrange(1024)  # the header is small compared with the rest

    def change(content: bytearray) -> None:
        if kind == "bit":
            content[place] ^= 1 << rng.randrange(8)
        elif kind == "bits":
            for _ in range(rng.randint(2, 9)):
                content[rng.randrange(size)] ^= 1 << rng.randrange(8)
        elif kind == "cut":
            del content[place:]
        elif kind == "longer":
            content += bytes(rng.randrange(256) for _ in range(rng.randint(1, 5000)))
        else:
            length = min(rng.choice([1, 8, 64, 512, 4096]), size - place)
            content[place : place + length] = bytes(length)

    copy(original, folder, name, change)
    return f"case {case}: {kind} at {place} of {name}"


def main(original: Path, work: Path, first: int, last: int) -> None:
    """Prints the result of each case, as JSON."""
    expected = answer(original)
    for case in range(first, last):
        folder = work / f"case {case}"
        faulthandler.dump_traceback_later(30, exit=True)  # a hang ends like a crash
        what = sampled(original, case, folder)
        print(json.dumps([what, outcome(folder, expected)]), flush=True)
        shutil.rmtree(folder)
    faulthandler.cancel_dump_traceback_later()


def judge(original: Path, folder: Path) -> None:
    """Prints the result of one copy, as JSON."""
    faulthandler.dump_traceback_later(30, exit=True)
    print(json.dumps([folder.name, outcome(folder, answer(original))]), flush=True)


if __name__ == "__main__":
    faulthandler.enable()
    if len(sys.argv) > 3:
        with tempfile.TemporaryDirectory(dir=sys.argv[2]) as work:
            main(Path(sys.argv[1]), Path(work), int(sys.argv[3]), int(sys.argv[4]))
    else:
        for path in sorted(Path(sys.argv[2]).iterdir()):
            judge(Path(sys.argv[1]), path)
