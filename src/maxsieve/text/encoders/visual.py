"""Visual late-interaction checkpoints (ColPali, ColQwen2 and others), through Sentence Transformers and torch.

Queries are texts and documents are pages. Each patch of a page has a token vector; `grids` says which patch that is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

from maxsieve.common.optional import optional
from maxsieve.common.progress import progress_bar
from maxsieve.text.encoders.encoder import F32, SENTENCE_TRANSFORMERS, Span
from maxsieve.text.encoders.hub import find_checkpoint
from maxsieve.text.encoders.multi_vector import SentenceTransformersEncoder, read_json
from maxsieve.text.pages.page import PageDocument
from maxsieve.text.pages.places import WHOLE, Box, Grid

BATCH = 4
"""Pages that are encoded together. On a CPU more take no less time, and much more memory."""

_TILE = re.compile(r"<row_(\d+)_col_(\d+)>")


class VisualEncoder(SentenceTransformersEncoder):
    """A visual checkpoint: a folder, or a name on the hub (downloaded before, see `fetch_model`).

    ``batch`` is the number of pages that are encoded together, ``device`` and ``dtype`` are torch's names of a device
    (``"cuda"``) and of a type (``"bfloat16"``); by default, those that Sentence Transformers chooses.
    """

    def __init__(
        self,
        model: Any,
        *,
        threads: int | None = None,
        device: str | None = None,
        dtype: str | None = None,
        batch: int = BATCH,
    ) -> None:
        super().__init__(model, threads=threads, device=device, dtype=dtype)
        self._asked["batch"] = self._batch = batch
        self._layout = lru_cache(maxsize=1024)(self._find_grids)

    def encode_documents(self, texts: Sequence[Any], *, progress: bool = False) -> list[F32]:
        """The rows [L, d] of each page (`PageDocument`), as the checkpoint encodes images."""
        rows: list[F32] = []
        with progress_bar("encoding", len(texts), shown=progress, unit="pages") as advance:
            for start in range(0, len(texts), self._batch):
                some = texts[start : start + self._batch]
                images = [_page(page).image() for page in some]
                encoded = self._encode(self._model.encode_document, images)
                rows += encoded
                advance(len(some), sum(map(len, encoded)))
        return rows

    def grids(self, page: PageDocument) -> tuple[Grid, ...]:
        """Which patch of the page each row belongs to; empty if the order of the rows is not known."""
        return self._layout(page.width, page.height)

    def query_spans(self, text: str) -> list[Span]:
        """One (start, end) per row of the query; those of prompts and special tokens are empty."""
        tools = optional("sentence_transformers.multi_vector_encoder.interpretability", "st")
        own = tools.real_query_token_slice(self._model, text)
        ids = _attended(self._model[0].preprocess([text], prompt=self._model.prompts.get("query"), task="query"))
        spans, place = list[Span](), 0
        for number, token in enumerate(ids):
            piece = self._model.tokenizer.decode([token]).strip() if own.start <= number < own.stop else ""
            start = text.casefold().find(piece.casefold(), place) if piece else -1
            spans.append((start, start + len(piece)) if start >= 0 else (place, place))
            place = spans[-1][1]
        return spans

    def _find_grids(self, width: int, height: int) -> tuple[Grid, ...]:
        blank = optional("PIL.Image", "pages").new("RGB", (width, height))
        features = self._model[0].preprocess([blank], task="document")
        ids, image = _attended(features), _image_token(self._model)
        if image is None:
            return ()
        runs = list(_runs(ids, image))
        if len(runs) == 1 and "image_grid_thw" in features:
            merged = int(self._model.processor.image_processor.merge_size)
            _, rows, columns = (int(size) for size in features["image_grid_thw"][0])
            return _fitting([Grid(rows // merged, columns // merged, runs[0][0])], runs)
        tokens = self._model.tokenizer.convert_ids_to_tokens(ids)
        return _fitting(list(_square_grids(runs, tokens)), runs)


def open_checkpoint(model: Any, *, threads: int | None = None) -> SentenceTransformersEncoder:
    """The encoder of a checkpoint, by name, or of a `MultiVectorEncoder`: a `VisualEncoder` if it reads images."""
    if isinstance(model, str):
        visual = is_visual_folder(find_checkpoint(model).folder)
    else:
        visual = "image" in getattr(model, "modalities", ())
    return (VisualEncoder if visual else SentenceTransformersEncoder)(model, threads=threads)


def is_visual(name: str) -> bool:
    """Whether a name of `load_encoder` is a visual checkpoint. Only its configuration is read."""
    if not name.startswith(SENTENCE_TRANSFORMERS):
        return False
    return is_visual_folder(find_checkpoint(name.removeprefix(SENTENCE_TRANSFORMERS)).folder)


def is_visual_folder(folder: Path) -> bool:
    """Whether a checkpoint has a vision model."""
    settings = read_json(folder / "config.json", {})
    return any(name in settings for name in ("vision_config", "vlm_config"))


def _page(given: object) -> PageDocument:
    if not isinstance(given, PageDocument):
        raise TypeError(f"a visual model encodes pages (PageDocument), not {type(given).__name__}")
    return given


def _attended(features: Any) -> list[int]:
    """The tokens of the only input that have rows: all but padding."""
    ids: list[int] = features["input_ids"][0][features["attention_mask"][0].bool()].tolist()
    return ids


def _image_token(model: Any) -> int | None:
    found = getattr(model.processor, "image_token_id", None)
    return int(found) if found is not None else None


def _runs(ids: Sequence[int], image: int) -> Iterator[tuple[int, int]]:
    """Where tokens of patches begin, and how many follow each other."""
    for wanted, group in groupby(enumerate(ids), lambda pair: pair[1] == image):
        if wanted:
            places = [place for place, _ in group]
            yield places[0], len(places)


def _square_grids(runs: Sequence[tuple[int, int]], tokens: Sequence[str]) -> Iterator[Grid]:
    """A square of patches for each run. The token before it names its tile; without one, it is the whole page."""
    tiles = [_TILE.fullmatch(tokens[start - 1]) if start else None for start, _ in runs]
    places = [(int(tile[1]), int(tile[2])) for tile in tiles if tile]
    rows, columns = (max((place[axis] for place in places), default=1) for axis in (0, 1))
    for (start, count), tile in zip(runs, tiles, strict=True):
        side = math.isqrt(count)
        row, column = (int(tile[1]), int(tile[2])) if tile else (0, 0)
        box = Box((column - 1) / columns, (row - 1) / rows, column / columns, row / rows) if tile else WHOLE
        yield Grid(side, side, start, box)


def _fitting(grids: Sequence[Grid], runs: Sequence[tuple[int, int]]) -> tuple[Grid, ...]:
    """The grids, if each has as many patches as there are tokens; none otherwise: a wrong map is worse than none."""
    fits = [(grid.first, grid.cells) for grid in grids] == list(runs)
    return tuple(grids) if fits else ()
