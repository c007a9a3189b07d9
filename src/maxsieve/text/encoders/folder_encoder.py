"""What the encoders of ONNX folders share: their files and name, and how many texts are encoded.

Every text is run by itself on one thread, and the texts are distributed over the threads. So a text's vectors have the
same bits whatever other texts are encoded, on any number of threads. In a batch they would not: a quantised model takes
the scale of its activations over the whole batch. Nothing is padded, and it is not slower.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from maxsieve.common.progress import progress_bar
from maxsieve.common.threads import thread_count
from maxsieve.text.encoders.encoder import F32
from maxsieve.text.encoders.onnx_files import OnnxFiles
from maxsieve.text.encoders.truncation_warning import report_truncation
from maxsieve.text.encoders.workers import spread

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
        self._name = self._files.name if name is None else name

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **self._asked), (self._files.model,)

    def __deepcopy__(self: Self, memo: dict[int, Any]) -> Self:
        return self  # it never changes

    @property
    def name(self) -> str:
        """The name for `load_encoder`: a known model's name, or the folder, or the model's file."""
        return self._name

    @property
    def folder(self) -> Path:
        """The model's folder."""
        return self._files.folder

    def _encode_all(
        self, encode: Callable[[str], Encoded], texts: list[str], *, limit: int, progress: bool = False
    ) -> list[F32]:
        """The rows of all texts, each encoded by itself; reports texts that are longer than the limit."""
        with progress_bar("encoding", len(texts), shown=progress, unit="texts") as advance:

            def done(one: Encoded) -> None:
                advance(1, len(one.rows))

            encoded = spread(encode, texts, threads=self._threads, done=done, size=len)
        report_truncation(texts, [(one.length, one.exact) for one in encoded], limit)
        return [one.rows for one in encoded]
