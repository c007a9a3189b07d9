"""Pictures of pages over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from maxsieve import Collection
from maxsieve.service.schemas import SearchAnswer
from maxsieve.text import OnnxEncoder
from service.support import Served, serving
from text.made_pages import page_of

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
