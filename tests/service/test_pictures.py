"""Pictures of pages over HTTP."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maxsieve import Collection
from maxsieve.service.schemas import SearchAnswer
from maxsieve.text import OnnxEncoder
from service.support import Served, serving
from text.made_pages import BrightEncoder, coloured_page, page_of

PAGE, TEXT = "slides/a b.pdf#page=3", "plain"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, encoder: OnnxEncoder) -> Iterator[Served]:
    path = tmp_path_factory.mktemp("pages") / "docs"
    with Collection.create(path, encoder, pages=True) as collection:
        collection.add([page_of("the hungry fox"), "a plain text about a fox"], [PAGE, TEXT])
    with serving(encoder, {"docs": path}) as served:
        yield served


def test_a_hit_names_its_picture_and_where_it_matched(served: Served) -> None:
    answer = served.search(query="hungry fox", k=2)
    SearchAnswer.model_validate_json(answer.content)
    hits = {hit["id"]: hit for hit in answer.json()["hits"]}
    picture = hits[PAGE]["picture"]
    assert picture["kind"] == "words"
    assert all(len(match["box"]) == 4 for match in hits[PAGE]["matches"] if match["start"] < match["end"])
    assert "picture" not in hits[TEXT]
    assert not any("box" in match for match in hits[TEXT]["matches"])
    found = served.client.get(picture["path"])
    assert (found.status_code, found.headers["content-type"]) == (200, "image/webp")
    assert found.content[8:12] == b"WEBP"
    assert found.headers["x-content-type-options"] == "nosniff"
    again = served.client.get(picture["path"], headers={"If-None-Match": found.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_maps_of_patches(tmp_path: Path) -> None:
    bright: Any = BrightEncoder()
    with Collection.create(tmp_path / "docs", bright, pages=True) as collection:
        collection.add([coloured_page("red", 1, 2), coloured_page("blue", 3, 0)], ["a", "b"])
        with serving(bright, {"docs": tmp_path / "docs"}) as served:
            answer = served.search(query="red blue", maps=True)
            SearchAnswer.model_validate_json(answer.content)
            for hit in answer.json()["hits"]:
                picture = hit["picture"]
                assert picture["grids"] == [{"rows": 4, "columns": 3, "box": [0, 0, 1, 1]}]
                maps = {one["query_start"]: list(b64decode(one["values"])) for one in picture["maps"]}
                cell = {"a": 1 * 3 + 2, "b": 3 * 3}[hit["id"]]
                assert maps.keys() == {0, 4}
                seen = maps[0 if hit["id"] == "a" else 4]
                assert seen[cell] == 255
                assert max(seen[:cell] + seen[cell + 1 :]) < 10
            assert "maps" not in served.search(query="red blue").json()["hits"][0]["picture"]


def test_maps_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maxsieve.service.search_routes.MAPS", 30)
    bright: Any = BrightEncoder()
    with Collection.create(tmp_path / "docs", bright, pages=True) as collection:
        collection.add([coloured_page("red", 1, 2), coloured_page("blue", 3, 0)], ["a", "b"])
    with serving(bright, {"docs": tmp_path / "docs"}) as served:
        hits = served.search(query="red blue", maps=True).json()["hits"]
        assert ["maps" in hit["picture"] for hit in hits] == [True, False]


@pytest.mark.parametrize("id", ["nothing", TEXT, "../docs", "..%2F..%2Fcollection.json", "%00", "7"])
def test_what_is_no_page_is_not_found(served: Served, id: str) -> None:
    assert served.client.get(f"/v1/collections/docs/pages/{id}").status_code == 404


def test_a_page_without_its_picture_is_damage_and_nothing_else_fails(tmp_path: Path, encoder: OnnxEncoder) -> None:
    with Collection.create(tmp_path / "docs", encoder, pages=True) as collection:
        collection.add([page_of("fox")], [PAGE])
    for path in (tmp_path / "docs/pictures").rglob("*.webp"):
        path.unlink()
    with serving(encoder, {"docs": tmp_path / "docs"}) as served:
        path = served.search(query="fox").json()["hits"][0]["picture"]["path"]
        assert served.client.get(path).status_code == 503


def test_the_key_guards_pictures(tmp_path: Path, encoder: OnnxEncoder) -> None:
    with Collection.create(tmp_path / "docs", encoder, pages=True) as collection:
        collection.add([page_of("fox")], [PAGE])
    with serving(encoder, {"docs": tmp_path / "docs"}, api_key="secret") as served:
        assert served.client.get("/v1/collections/docs/pages/x").status_code == 401
