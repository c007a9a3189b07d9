"""What the encoders of ONNX folders share: their files and name, and how many texts are encoded.

Every text is run by itself on one thread, and the texts are distributed over the threads. So a text's vectors have the
same bits whatever other texts are encoded, on any number of threads. In a batch they would not: a quantised model takes
the scale of its activations over the whole batch. Nothing is padded, and it is not slower.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from maxsieve.common.progress import progress_bar
from maxsieve.common.threads import thread_count
from maxsieve.text.encoders.encoder import F32
from maxsieve.text.encoders.onnx_files import OnnxFiles
from maxsieve.text.encoders.truncation_warning import report_truncation

Item = TypeVar("Item")
Result = TypeVar("Result")


def spread(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    threads: int,
    done: Callable[[Result], None],
    size: Callable[[Item], int] = lambda _: 0,
) -> list[Result]:
    """``[work(item) for item in items]``; calls ``done(result)`` after each, one at a time.

    The largest items are started first, so that no thread starts a long one when the others have finished. The threads
    end with the call. An error, or Ctrl-C, stops the other threads after their current item.

    >>> spread(len, ["a", "bcd"], threads=2, done=lambda _: None)
    [1, 3]
    """
    results: dict[int, Result] = {}
    places = iter(sorted(range(len(items)), key=lambda place: -size(items[place])))
    one_at_a_time = threading.Lock()
    stopped = threading.Event()

    def run_worker() -> None:
        try:
            while not stopped.is_set():
                with one_at_a_time:
                    place = next(places, None)
                if place is None:
                    return
                results[place] = result = work(items[place])
                with one_at_a_time:
                    done(result)
        finally:
            stopped.set()

    if threads == 1 or len(items) < 2:
        run_worker()
    else:
        with ThreadPoolExecutor(min(threads, len(items))) as crew:
            try:
                for job in [crew.submit(run_worker) for _ in range(threads)]:
                    job.result()
            finally:
                stopped.set()
    return [results[place] for place in range(len(items))]


Self = TypeVar("Self", bound="FolderEncoder")


class Encoded(NamedTuple):
    """The rows of a text, and its number of tokens before truncation: exact, or a lower bound."""

    rows: F32
    length: int
    exact: bool


class FolderEncoder:
    """An encoder whose model is in a folder. Pickling stores only the path; unpickling loads the model from it."""

    def __init__(self, folder: str | Path, *, threads: int | None, name: str | None, **asked: Any) -> None:
        self._asked = {"threads": threads, "name": name, **asked}
        self._threads = thread_count(threads)
        self._files = OnnxFiles.find(Path(folder))
        self.folder = self._files.folder
        """The model's folder."""
        self.name = self._files.name if name is None else name
        """The name for `load_encoder`: a known model's name, or the folder, or the model's file."""

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **self._asked), (self._files.model,)

    def __deepcopy__(self: Self, memo: dict[int, Any]) -> Self:
        return self  # it never changes

    def _encode_all(
        self, encode: Callable[[str], Encoded], texts: list[str], *, limit: int, progress: bool = False
    ) -> list[F32]:
        """The rows of all texts, each encoded by itself; reports texts that are longer than the limit."""
        with progress_bar("encoding", len(texts), shown=progress, unit="texts") as advance:

            def done(text: Encoded) -> None:
                advance(1, len(text.rows))

            encoded = spread(encode, texts, threads=self._threads, done=done, size=len)
        report_truncation(texts, [(text.length, text.exact) for text in encoded], limit)
        return [text.rows for text in encoded]
