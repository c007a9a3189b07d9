"""Pages as documents: their pictures, the places of their words, heat maps, and what happens to damaged ones."""

from __future__ import annotations

import io
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from maxsieve import Collection
from maxsieve.errors import DamagedIndexError, MaxsieveError
from maxsieve.text.pages.heat_map import COLOUR, heat_map
from maxsieve.text.pages.ocr import in_reading_order
from maxsieve.text.pages.page import facts_of, file_of, open_picture, page_id
from maxsieve.text.pages.places import Box, Grid, Word
from maxsieve.text.pages.rendering import KEPT_SIDE, RENDERED_SIDE, opened, to_page
from text.made_files import make_pdf
from text.made_pages import BrightEncoder, coloured_page, page_of
from text.support import WordEncoder

FOX, CROW = "the hungry fox\nand sour grapes", "the thirsty crow\nand pebbles"


def made(path: Path) -> Collection:
    collection = Collection.create(path, WordEncoder(), pages=True)
    collection.add([page_of(FOX), page_of(CROW)], ["a.pdf#page=1", "a.pdf#page=2"])
    return collection


def test_a_page_has_its_text_its_words_and_a_picture() -> None:
    page = page_of(FOX)
    assert page.text.split() == FOX.split()
    assert [page.text[word.start : word.end] for word in page.words] == FOX.split()
    image = np.asarray(page.image().convert("L"), float)
    assert max(page.width, page.height) <= KEPT_SIDE
    for word in page.words:  # there is ink in the box of each word, and none beside the text
        left, top, right, bottom = word.box.pixels(page.width, page.height)
        assert image[top:bottom, left:right].min() < 100
    assert image[: page.words[0].box.pixels(page.width, page.height)[1] - 3].min() > 200


@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
def test_boxes_follow_the_rotation_and_the_crop_box_of_a_page(rotate: int) -> None:
    content = make_pdf(["word"]).replace(
        b"/MediaBox [0 0 600 800]", f"/MediaBox [-50 -20 600 800] /CropBox [0 10 500 790] /Rotate {rotate}".encode()
    )
    with opened(io.BytesIO(content), ".pdf") as source:
        page = to_page(source.render(0), source.text(0))
    [word] = page.words
    ink = np.asarray(page.image().convert("L")) < 128
    rows, columns = np.nonzero(ink)
    seen = Box(columns.min() / page.width, rows.min() / page.height, columns.max() / page.width,
               rows.max() / page.height)  # fmt: skip
    assert word.box.left - 0.01 <= seen.left <= seen.right <= word.box.right + 0.01
    assert word.box.top - 0.01 <= seen.top <= seen.bottom <= word.box.bottom + 0.01
    assert word.box.overlap(seen) > 0.4


def test_a_match_knows_the_box_of_its_word(tmp_path: Path) -> None:
    with made(tmp_path / "it.ms") as collection:
        hits = collection.search("crow")
        assert hits.ids[0] == "a.pdf#page=2"
        [match] = hits.explain(0)
        page = collection.page("a.pdf#page=2")
        [word] = [word for word in page.words if page.text[word.start : word.end] == "crow"]
        assert match.box == word.box
        assert match.to_plain()["box"] == [round(side, 4) for side in word.box]
        drawn, plain = np.asarray(hits[0].picture(), int), np.asarray(page.image(), int)
        changed = np.argwhere((drawn != plain).any(axis=2))
        left, top, right, bottom = word.box.pixels(page.width, page.height)
        assert changed.min(axis=0).tolist() == [top, left]
        assert changed.max(axis=0).tolist() == [bottom, right]
        both = collection.search("crow pebbles")
        assert (np.asarray(both[0].picture("crow")) == drawn).all()
        assert not (np.asarray(both[0].picture()) == drawn).all()
        with pytest.raises(ValueError, match="'fox' is not"):
            both[0].picture("fox")


def test_passages_of_a_long_page_keep_their_own_words(tmp_path: Path) -> None:
    lines = [f"word{i} other{i} more{i} text{i} and{i}" for i in range(45)]
    page = page_of("\n".join(lines))

    class Short(WordEncoder):
        max_tokens = 40

        def count_tokens(self, texts: list[str]) -> list[int]:
            return [len(text.split()) for text in texts]

    with Collection.create(tmp_path / "it.ms", Short(), pages=True) as collection:
        collection.add([page], ["long.pdf#page=1"])
        assert collection.index.storage.snapshot.n_documents > 3
        assert collection.page("long.pdf#page=1").words == page.words
        assert collection.text("long.pdf#page=1") == page.text
        for asked in ("text3", "more44"):
            [match] = collection.search(asked).explain(0)
            [word] = [word for word in page.words if page.text[word.start : word.end] == asked]
            assert match.box == word.box


def test_hits_of_pages_can_be_pickled_and_say_that_pictures_stay(tmp_path: Path) -> None:
    with made(tmp_path / "it.ms") as collection:
        hits = collection.search("crow")
        again = pickle.loads(pickle.dumps(hits))
    assert again.explain(0) == hits.explain(0)
    with pytest.raises(ValueError, match="pickled"):
        again[0].picture()


def test_a_page_is_stored_once_and_replaced_when_its_picture_changes(tmp_path: Path) -> None:
    first, other = coloured_page("red", 0, 0), coloured_page("blue", 3, 2)
    with Collection.create(tmp_path / "it.ms", WordEncoder(), pages=True) as collection:
        assert collection.add([first], ["a"]) == (1, 0, 0)
        assert collection.add([first, first], ["a", "b"]) == (1, 1, 0)
        assert len(list((tmp_path / "it.ms/pictures").rglob("*.webp"))) == 1
        with pytest.raises(ValueError, match="with another picture"):
            collection.add([other], ["a"])
        assert collection.add([other], ["a"], replace=True) == (0, 0, 1)
        collection.delete("b")
        collection.compact()
        assert [path.stem for path in (tmp_path / "it.ms/pictures").rglob("*.webp")] == [other.digest]
        collection.verify()


def test_damaged_pictures_and_records_are_damage(tmp_path: Path) -> None:
    with made(tmp_path / "it.ms") as collection:
        path = sorted((tmp_path / "it.ms/pictures").rglob("*.webp"))[0]
        content = path.read_bytes()
        path.write_bytes(content[:-1] + b"?")
        with pytest.raises(DamagedIndexError, match="SHA-256"):
            collection.verify()
        path.unlink()
        path.symlink_to("/etc/hostname")
        with pytest.raises(DamagedIndexError):
            collection.verify()
        path.unlink()
        with pytest.raises(DamagedIndexError, match="is missing"):
            collection.verify()
    good = {"picture": "0" * 64, "size": [10, 10], "words": [[0, 1, 0, 0, 1, 1]], "grids": [[2, 2, 0, 0, 0, 1, 1]]}
    assert facts_of(good).grids == (Grid(2, 2, 0, Box(0, 0, 0.0001, 0.0001)),)
    for name, bad in [
        ("picture", "../../../etc/passwd"),
        ("size", [10**6, 10**6]),
        ("size", [0, 1]),
        ("words", [[0, 1, 0, 0, 1]]),
        ("words", [[5, 1, 0, 0, 1, 1]]),
        ("words", {"a": 1}),
        ("words", [[0, 1, 0, 0, 1, 20_000]]),
        ("grids", [[0, 2, 0, 0, 0, 1, 1]]),
    ]:
        with pytest.raises(ValueError, match=r"."):
            facts_of({**good, name: bad})


def test_an_older_maxsieve_refuses_a_collection_of_pages_by_its_version(tmp_path: Path) -> None:
    made(tmp_path / "it.ms").close()
    described = json.loads((tmp_path / "it.ms/collection.json").read_text())
    assert (described["version"], described["pages"]) == (3, True)
    described["pages"] = "yes"
    (tmp_path / "it.ms/collection.json").write_text(json.dumps(described))
    with pytest.raises(MaxsieveError, match="pages"):
        Collection.open(tmp_path / "it.ms", WordEncoder())


@pytest.mark.parametrize("size", [(300, 400), (600, 200), (300, 300)])
@pytest.mark.parametrize("cell", [(0, 0), (2, 1), (3, 2)])
def test_a_visual_encoder_finds_the_bright_patch(tmp_path: Path, size: tuple[int, int], cell: tuple[int, int]) -> None:
    pages = [coloured_page("red", *cell, size), coloured_page("blue", 1, 1, size)]
    with Collection.create(tmp_path / "it.ms", BrightEncoder(), store="float32") as collection:
        assert collection.has_pages
        collection.add(pages, ["red.png", "blue.png"])
        hits = collection.search("red")
        assert hits.ids[0] == "red.png"
        [match] = hits.explain(0)
        row, column = cell
        assert match.query == "red"
        assert match.box == pytest.approx((column / 3, row / 4, (column + 1) / 3, (row + 1) / 4), abs=1e-9)
        drawn, plain = (np.asarray(image, float) for image in (hits[0].picture(), pages[0].image()))
        change = drawn[:, :, 1] - plain[:, :, 1]  # no pixel had green before
        place = np.unravel_index(change.argmax(), change.shape)
        height, width = change.shape
        assert (place[0] * 4 // height, place[1] * 3 // width) == cell
        with pytest.raises(TypeError, match="'c' is"):
            collection.add(["a text"], ["c"])


def test_a_heat_map_of_imported_vectors() -> None:
    vectors = np.eye(12, dtype=np.float32)
    picture = Image.new("RGB", (60, 80), "white")
    drawn = heat_map(picture, vectors[[4, 11]], vectors, grid=(4, 3), tokens=[1])
    assert min(drawn.getpixel((50, 70))) < 140 < min(drawn.getpixel((30, 30)))
    with pytest.raises(ValueError, match=r"20 patches, .* 12 vectors"):
        heat_map(picture, vectors, vectors, grid=(4, 5))
    with pytest.raises(ValueError, match=r"\(rows, columns\)"):
        heat_map(picture, vectors, vectors, grid=7)
    shifted = heat_map(picture, vectors[:1], vectors, grid=Grid(2, 3, first=6))
    assert np.asarray(shifted).shape == (80, 60, 3)
    assert COLOUR[0] == 255


def test_lines_are_read_column_by_column() -> None:
    left = [(Box(0.1, y / 20, 0.47, (y + 0.8) / 20), f"l{y}") for y in range(2, 8)]
    right = [(Box(0.53, y / 20, 0.9, (y + 0.8) / 20), f"r{y}") for y in range(2, 8)]
    title, end = (Box(0.2, 0.02, 0.8, 0.06), "title"), (Box(0.1, 0.5, 0.9, 0.55), "end")
    mixed = [line for pair in zip(right, left, strict=True) for line in pair]
    expected = ["title", *(text for _, text in left), *(text for _, text in right), "end"]
    assert in_reading_order([end, *mixed, title]) == expected
    table = [(Box(0.1, y / 20, 0.2, (y + 0.8) / 20), f"k{y}") for y in range(5)]
    table += [(Box(0.3, y / 20, 0.9, (y + 0.8) / 20), f"v{y}") for y in range(5)]
    assert in_reading_order(table) == [f"{kind}{y}" for y in range(5) for kind in "kv"]


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "P", "1", "CMYK", "I;16", "LA"])
def test_pictures_of_every_kind_become_rgb(mode: str) -> None:
    image = Image.new("L", (50, 40), "white").convert(mode) if mode != "I;16" else Image.new(mode, (50, 40), 65535)
    content = io.BytesIO()
    image.save(content, "TIFF")
    with opened(content, ".tiff") as source:
        page = to_page(source.render(0), source.text(0))
    assert (page.width, page.height, page.image().getpixel((20, 20))) == (50, 40, (255, 255, 255))


def test_large_pages_and_pictures_are_rendered_small() -> None:
    poster = make_pdf(["huge"]).replace(b"[0 0 600 800]", b"[0 0 14400 14400]")
    with opened(io.BytesIO(poster), ".pdf") as source:
        assert max(source.render(0).size) <= RENDERED_SIDE
    bomb = io.BytesIO()
    Image.new("1", (20_000, 20_000)).save(bomb, "PNG")
    with opened(bomb, ".png") as source, pytest.raises(ValueError, match="100,000,000"):
        source.render(0)


def test_ids_of_pages_name_their_file() -> None:
    assert file_of(page_id("a/b.pdf", 12)) == "a/b.pdf"
    assert file_of("a#page=0") == "a#page=0"
    assert Word(0, 1, Box(0, 0, 1, 1)).box.pixels(10, 20) == (0, 0, 10, 20)
    with pytest.raises(ValueError, match="not a WebP"):
        open_picture(b"RIFF....")
