"""A small collection for the adapters of text frameworks, and encoders that show whether the event loop is blocked."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxsieve import Collection
from maxsieve.text import fetch_model
from text.support import ShortSighted

T = TypeVar("T")

PARTS = [f"## Part {n}\n" + f"what number n{n} has to say about tea. " * 8 for n in range(1, 5)]
GUIDE = "# Tea\n\n" + "\n\n".join(PARTS)
TEXTS = {
    "fox": "the fox and the sour grapes",
    "hare": "the hare and the tortoise",
    "crow": "the crow and the pitcher",
    "guide": GUIDE,
    "blank": "",
}
METADATA: dict[str, Any] = {"fox": {"page": 1}, "hare": None, "crow": ["not", "a", "dict"], "guide": {"page": 7}}

STORIES = {
    "fox": "A fox saw grapes that hung too high. They are sour, he said, and went away.",
    "hare": "A hare mocked the slow tortoise, slept on the way, and lost the race.",
    "crow": "A thirsty crow dropped stones into a pitcher until the water rose.",
}
PAGES = [{"page": 1}, {"page": 2}, {"page": 3}]
SECTIONS = ["Water", "Leaf", "Cup", "Milk"]


class Words(ShortSighted):
    """Records how many queries it gets at a time."""

    def __init__(self) -> None:
        super().__init__(dim=32, name="words")
        self.asked: list[int] = []

    def encode_queries(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        self.asked.append(len(texts))
        return self._all(texts)

    def encode_documents(self, texts: Sequence[str], *, progress: bool = False) -> list[NDArray[np.float32]]:
        return [rows[: self.max_tokens] for rows in self._all(texts)]

    def _all(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        return [self._rows(text) for text in texts]


class Gate(Words):
    """Encodes no query before it is opened. If the event loop is blocked, it is never opened."""

    def __init__(self) -> None:
        super().__init__()
        self.opened = threading.Event()
        self.stood_still = False

    def encode_queries(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        self.stood_still |= not self.opened.wait(20)
        return super().encode_queries(texts)


def make(path: Path, encoder: Any = None) -> Collection:
    """The fables, and a guide of several passages."""
    collection = Collection.create(path, Words() if encoder is None else encoder)
    collection.add(TEXTS.values(), ids=TEXTS, metadata=[METADATA.get(one) for one in TEXTS])
    return collection


def make_minilm(path: Path) -> Collection:
    """The same with the built-in model, which can be named."""
    fetch_model("minilm")
    return make(path, "minilm")


def names() -> dict[str, Any]:
    """What the sections of docs/adapters.md assume: a collection in the folder ``fables.ms``."""
    fetch_model("minilm")
    parts = [f"## {what}\n" + f"The {what.lower()} matters more than one thinks. " * 20 for what in SECTIONS]
    with Collection.create("fables.ms") as collection:
        collection.add([*STORIES.values(), "# Tea\n\n" + "\n\n".join(parts)], [*STORIES, "tea"], [*PAGES, {"page": 7}])
    return {}


def beside(gate: Gate, work: Callable[[], Awaitable[T]]) -> T:
    """Returns the result of some work that needs a running event loop."""

    async def run() -> T:
        async def wait() -> T:
            return await work()

        task = asyncio.create_task(wait())
        await asyncio.sleep(0.01)
        gate.opened.set()
        return await task

    done = asyncio.run(run())
    assert not gate.stood_still
    return done
