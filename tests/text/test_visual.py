"""Visual models of two real architectures, with random weights: vectors, grids, search, heat map."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maxsieve import Collection
from maxsieve.text import load_encoder
from maxsieve.text.encoders.visual import VisualEncoder, _square_grids
from maxsieve.text.pages.places import Box
from service.support import serving
from text import tiny_visual
from text.made_pages import coloured_page

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore")]

SIZES = {"portrait": (300, 400), "landscape": (600, 200), "square": (240, 240)}
QUERY = "which hungry fox?"


@pytest.fixture(scope="module", params=["colpali", "colqwen2"])
def encoder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> VisualEncoder:
    folder = getattr(tiny_visual, request.param)(tmp_path_factory.mktemp(request.param) / "model")
    found = load_encoder(f"st:{folder}")
    assert isinstance(found, VisualEncoder)
    return found


def test_rows_are_those_of_the_library(encoder: VisualEncoder) -> None:
    pages = [coloured_page("red", 1, 1, size) for size in SIZES.values()]
    model: Any = encoder.model
    for rows, page in zip(encoder.encode_documents(pages), pages, strict=True):
        own = model.encode_document([page.image()])[0].float().numpy()
        assert rows == pytest.approx(own, abs=1e-5)  # in a batch, torch adds in another order
        assert (rows == encoder.encode_documents([page])[0]).mean() > 0
    assert (encoder.encode_queries([QUERY])[0] == model.encode_query([QUERY])[0].float().numpy()).all()


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("cell", [(0, 0), (0, 2), (3, 0), (3, 2)])
def test_the_rows_of_a_bright_patch_are_where_the_grid_says(
    encoder: VisualEncoder, shape: str, cell: tuple[int, int]
) -> None:
    row, column = cell
    lit, dark = coloured_page("white", row, column, SIZES[shape]), coloured_page("black", 0, 0, SIZES[shape])
    [grid] = encoder.grids(lit)
    rows, other = encoder.encode_documents([lit]), encoder.encode_documents([dark])
    change = np.linalg.norm(rows[0] - other[0], axis=1)[grid.first : grid.first + grid.cells]
    box = grid.cell(grid.first + int(change.argmax()))
    assert box is not None
    assert box.overlap(Box(column / 3, row / 4, (column + 1) / 3, (row + 1) / 4)) > 0.05


def test_grids_have_the_shape_of_the_page(encoder: VisualEncoder) -> None:
    shapes = {}
    for shape, size in SIZES.items():
        [grid] = encoder.grids(coloured_page("red", 0, 0, size))
        shapes[shape] = grid.rows - grid.columns
    if "colpali" in encoder.name:
        assert set(shapes.values()) == {0}
    else:
        assert shapes["landscape"] < shapes["square"] == 0 < shapes["portrait"]


def test_tiles_of_a_page_and_the_whole_page_have_a_grid_each() -> None:
    tokens = [*"ab", "<row_1_col_1>", *"iiii", "<row_1_col_2>", *"iiii", "<global-img>", *"iiii"]
    runs = [(3, 4), (8, 4), (13, 4)]
    left, right, whole = _square_grids(runs, tokens)
    assert (left.box, right.box, whole.box) == (Box(0, 0, 0.5, 1), Box(0.5, 0, 1, 1), Box(0, 0, 1, 1))
    assert right.cell(9) == Box(0.75, 0, 1, 0.5)


def test_words_of_a_query_have_their_rows(encoder: VisualEncoder) -> None:
    spans = encoder.query_spans(QUERY)
    assert len(spans) == len(encoder.encode_queries([QUERY])[0])
    assert [QUERY[start:end] for start, end in spans if start < end] == ["which", "hungry", "fox", "?"]


def test_encode_index_search_heat_map_and_service(encoder: VisualEncoder, tmp_path: Path) -> None:
    pages = [coloured_page(colour, 1, 1, SIZES["portrait"]) for colour in ("red", "green", "blue")]
    with Collection.create(tmp_path / "it", encoder, store="float32") as collection:
        collection.add(pages, [f"slides.pdf#page={number}" for number in (1, 2, 3)])
        hits = collection.search(QUERY)
        asked, rows = encoder.encode_queries([QUERY])[0], encoder.encode_documents(pages)
        scores = {hit.id: hit.score for hit in hits}
        for number, own in enumerate(rows, start=1):
            assert scores[f"slides.pdf#page={number}"] == pytest.approx((asked @ own.T).max(axis=1).sum(), rel=1e-5)
        assert [match.query for match in hits.explain(0)] == ["which", "hungry", "fox", "?"]
        plain = collection.page(hits.ids[0]).image()
        assert hits[0].picture().size == plain.size
        assert (np.asarray(hits[0].picture("fox")) != np.asarray(plain)).any()
    with serving(encoder, {"it": tmp_path / "it"}) as served:
        answer = served.client.post("/v1/collections/it/search", json={"query": QUERY, "k": 1}).json()
        [hit] = answer["hits"]
        assert hit["picture"]["kind"] == "patches"
        assert [word["word"] for word in answer["query"]["words"]] == ["which", "hungry", "fox", "?"]
        assert served.client.get(hit["picture"]["path"]).headers["content-type"] == "image/webp"


def test_fewer_dimensions_and_pooled_pages(encoder: VisualEncoder, tmp_path: Path) -> None:
    pages = [coloured_page(colour, 1, 1) for colour in ("red", "green", "blue")]
    with Collection.create(tmp_path / "small.ms", encoder, dim=4) as collection:
        collection.add(pages, ["a", "b", "c"])
        assert collection.index.dim == 4
        assert collection.search(QUERY).pages[0].grids
    with Collection.create(tmp_path / "pooled.ms", encoder, pool=2) as collection:
        collection.add(pages, ["a", "b", "c"])
        hits = collection.search(QUERY)
        assert not hits.pages[0].grids
        assert hits.explain(0) == []


def test_a_visual_encoder_can_be_pickled_and_refuses_texts(encoder: VisualEncoder) -> None:
    again = pickle.loads(pickle.dumps(encoder))
    assert type(again) is VisualEncoder
    assert again.fingerprint == encoder.fingerprint
    with pytest.raises(TypeError, match="encodes pages"):
        encoder.encode_documents(["a text"])
