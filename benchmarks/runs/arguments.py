"""Arguments that several measuring commands have in common."""

from __future__ import annotations

import argparse
from pathlib import Path


def positive(text: str) -> int:
    """A whole number of at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not at least 1")
    return number


def corpus_folder(text: str) -> Path:
    """A folder in BEIR form."""
    folder = Path(text)
    if not (folder / "corpus.jsonl").is_file():
        raise argparse.ArgumentTypeError(f"{folder} holds no corpus.jsonl")
    return folder
