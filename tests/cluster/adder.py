"""Adds texts until it is killed: ``python adder.py folder count log workers [address]``.

Without workers it waits after each text for a line from the process that started it. So it never ends before it is
killed.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

from cluster.encoders import IMPORTABLE, LoggingEncoder
from maxsieve import Collection
from maxsieve.text.collection import additions as text_adding
from maxsieve.text.collection import collection_encoder
from maxsieve.text.distributed import add as adding
from text.support import sentences

DIM, SAMPLE = 6, 30


def small_batches() -> None:
    """Many batches and commits for few texts."""
    text_adding.BATCH_DOCUMENTS = 7
    text_adding.FEW_SEGMENTS = 2
    adding.COMMIT_BYTES = 3 * 4096
    adding.COMMITS = 4
    collection_encoder.SAMPLE_DOCUMENTS = SAMPLE


class WaitingEncoder(LoggingEncoder):
    """An encoder that waits for a line after each text, or for the end of all lines."""

    def _write(self, text: str) -> None:
        super()._write(text)
        sys.stdin.readline()


if __name__ == "__main__":
    folder, count, log, workers, *address = sys.argv[1:]
    small_batches()
    if address:
        import ray

        ray.init(address=address[0], log_to_driver=False, logging_level=logging.ERROR)
    texts = sentences(int(count))
    encoder = (LoggingEncoder if int(workers) else WaitingEncoder)(Path(log), seconds=0.01)
    corpus = Collection.open(folder, encoder)
    records = ({"of": text} for text in texts)
    corpus.add(texts, range(len(texts)), records, workers=int(workers), worker_options=IMPORTABLE)
