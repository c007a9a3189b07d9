"""Adds texts until it is killed: ``python adder.py folder count`` prints each text when it is encoded.

After each text it waits for a line from the process that started it. So it never ends before it is killed.
"""

from __future__ import annotations

import sys

from maxsieve.text.collection import additions, collection_encoder
from maxsieve.text.collection.collection import Collection
from text.support import WordEncoder, sentences

DIM, SAMPLE = 6, 30


def small_batches() -> None:
    """Many commits and merges for few texts."""
    additions.BATCH_DOCUMENTS = 7
    additions.LOOKUPS = 5
    additions.COMMITS = 4
    additions.FEW_SEGMENTS = 2
    collection_encoder.SAMPLE_DOCUMENTS = SAMPLE


def announce(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
    sys.stdin.readline()


if __name__ == "__main__":
    small_batches()
    texts = sentences(int(sys.argv[2]))
    Collection.open(sys.argv[1], WordEncoder(seen=announce)).add(texts, range(len(texts)), ({"of": t} for t in texts))
