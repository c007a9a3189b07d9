"""A small encoder for tests: a word is a unit vector made of its letters, which never changes."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

WORD = re.compile(r"\w+")


class WordEncoder:
    """Counts what it encodes. ``seen`` is called with each text of a document."""

    def __init__(
        self, dim: int = 16, salt: str = "", name: str = "words", seen: Callable[[str], object] | None = None
    ) -> None:
        self.name, self.dim = name, dim
        self.fingerprint = {"salt": salt, "model": hashlib.sha256(salt.encode()).hexdigest()}
        self.encoded: list[str] = []
        self._seen = seen or self.encoded.append

    def encode_documents(self, texts: Sequence[str], *, progress: bool = False) -> list[NDArray[np.float32]]:
        for text in texts:
            self._seen(text)
        return self.encode_queries(texts)

    def encode_queries(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        return [self._rows(text) for text in texts]

    def document_spans(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in WORD.finditer(text)]

    def query_spans(self, text: str) -> list[tuple[int, int]]:
        return self.document_spans(text)

    def _rows(self, text: str) -> NDArray[np.float32]:
        words = WORD.findall(text.lower())
        return np.array([self._vector(word) for word in words], np.float32).reshape(-1, self.dim)

    def _vector(self, word: str) -> NDArray[np.float32]:
        digest = hashlib.sha256((self.fingerprint["salt"] + word).encode("utf-8", "surrogatepass")).digest()
        vector = np.random.default_rng(int.from_bytes(digest[:8], "little")).standard_normal(self.dim)
        return np.asarray(vector / np.linalg.norm(vector), np.float32)


class Untraceable:
    """The same, without the places of words in the text."""

    def __init__(self, dim: int = 16) -> None:
        inner = WordEncoder(dim)
        self.name, self.dim, self.fingerprint = inner.name, inner.dim, inner.fingerprint
        self.encode_documents, self.encode_queries = inner.encode_documents, inner.encode_queries


def sentences(count: int, start: int = 0) -> list[str]:
    """Different texts, of 3 to 12 words from a small vocabulary."""
    texts = []
    for i in range(start, start + count):
        rng = np.random.default_rng(i)
        texts.append(" ".join([f"n{i}", *(f"w{word}" for word in rng.integers(0, 200, rng.integers(2, 12)))]))
    return texts


def tree(folder: Path) -> dict[str, bytes]:
    """Every file in a folder, except locks."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "lock"
    }


def start_python(*arguments: str) -> subprocess.Popen[str]:
    """Runs a separate Python, in which ``text.support`` can be imported."""
    env = {**os.environ, "PYTHONPATH": os.fspath(Path(__file__).parents[1])}
    return subprocess.Popen(
        [sys.executable, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
    )


def kill_after(process: subprocess.Popen[str], count: int) -> list[str]:
    """The lines that an adder or syncer has printed when it is killed: so many, and up to eight more.

    It may continue while it is being killed, so that it is killed at any moment of a batch.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n" * (count + 7))
    process.stdin.flush()
    lines = [process.stdout.readline() for _ in range(count)]
    process.kill()
    return lines + process.stdout.readlines()


class ShortSighted(WordEncoder):
    """Reads the first ``max_tokens`` words of a text; nothing is added to them."""

    max_tokens = 40

    def encode_documents(self, texts: Sequence[str], *, progress: bool = False) -> list[NDArray[np.float32]]:
        return [rows[: self.max_tokens] for rows in super().encode_documents(texts)]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(WORD.findall(text)) for text in texts]
