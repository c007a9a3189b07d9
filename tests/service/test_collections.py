"""Collections of a running service: others write to them, replace them, damage them, remove them."""

from __future__ import annotations

import errno
import gc
import json
import os
import shutil
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from maxsieve import Collection
from maxsieve.service.open_collections import OpenCollections
from maxsieve.service.schemas import AddAnswer, DeleteAnswer, DocumentAnswer
from maxsieve.storage.lock import writer_lock
from maxsieve.text import OnnxEncoder
from service.conftest import make_docs
from service.support import ANIMALS, PATIENCE, YEARS, Served, detail, posted, serving, until
from text.support import WordEncoder

PATH = "/v1/collections/docs/documents"


def ids(served: Served, query: str = "coffee") -> list[Any]:
    answer = served.search(query=query, k=100)
    assert answer.status_code == 200, answer.text
    return [hit["id"] for hit in answer.json()["hits"]]


def add(served: Served, *documents: dict[str, Any], **options: Any) -> Any:
    return served.client.post(PATH, json={"documents": documents, **options})


def delete(served: Served, *unwanted: Any) -> Any:
    return served.client.request("DELETE", PATH, json={"ids": unwanted})


def elsewhere(docs: Path, encoder: OnnxEncoder, change: str) -> None:
    """A change by another process."""
    code = (
        "import sys; from maxsieve import Collection; from maxsieve.text import OnnxEncoder\n"
        f"with Collection.open(sys.argv[1], OnnxEncoder(sys.argv[2])) as collection: collection.{change}"
    )
    subprocess.run([sys.executable, "-c", code, str(docs), str(encoder.folder)], check=True)


def test_what_another_process_commits_is_found(docs: Path, encoder: OnnxEncoder) -> None:
    with serving(encoder, {"docs": docs}) as served:
        before = ids(served)
        elsewhere(docs, encoder, "add(['Hot coffee.'], ['coffee'])")
        assert ids(served)[0] == "coffee"
        elsewhere(docs, encoder, "delete(['coffee'])")
        assert ids(served) == before
        elsewhere(docs, encoder, "compact()")
        assert ids(served) == before


def test_documents_come_and_go(docs: Path, encoder: OnnxEncoder) -> None:
    with serving(encoder, {"docs": docs}, writable=True) as served:
        answer = add(served, {"id": "c", "text": "Hot coffee.", "metadata": {"year": 1}}, {"id": "d", "text": "tea"})
        assert answer.json() == {"added": 2, "skipped": 0, "replaced": 0}
        AddAnswer.model_validate(answer.json())
        assert served.search(query="coffee", k=1).json()["hits"][0]["metadata"] == {"year": 1}
        assert add(served, {"id": "d", "text": "tea"}).json()["skipped"] == 1
        conflict = add(served, {"id": "d", "text": "bread"})
        assert conflict.status_code == 409
        assert '"replace": true' in detail(conflict)
        assert add(served, {"id": "d", "text": "bread"}, replace=True).json()["replaced"] == 1
        assert delete(served, "d", "c").json() == {"deleted": 2}
        DeleteAnswer.model_validate({"deleted": 2})
        assert "c" not in ids(served)
        unknown = delete(served, "owl", "c")
        assert unknown.status_code == 404
        assert "'c'" in detail(unknown)
        assert "owl" in ids(served)  # all or none
        nameless = add(served, {"text": "a text of its own"}).json()
        assert nameless["added"] == 1
        with Collection.open(docs, encoder) as collection:
            assert len(collection) == 5


@pytest.mark.parametrize(
    ("body", "status", "word"),
    [
        ({"documents": []}, 422, "documents"),
        ({"documents": [{"text": "a"}] * 1001}, 422, "1000"),
        ({"documents": [{"text": 3}]}, 422, "text"),
        ({"documents": [{"id": 1.5, "text": "a"}]}, 422, "id"),
        ({"documents": [{"id": True, "text": "a"}]}, 422, "id"),
        ({"documents": [{"id": 2**64, "text": "a"}]}, 422, "id"),
        ({"documents": [{"id": "a", "text": "a"}, {"text": "b"}]}, 422, "all of them an id"),
        ({"documents": [{"id": 7, "text": "a"}]}, 400, "str ids"),
        ({"documents": [{"text": "a", "path": "/etc/passwd"}]}, 422, "path"),
        (
            {"documents": [{"id": "a", "text": "a" * 1_000_001}, {"id": "b", "text": "a" * 1_000_001}]},
            413,
            "characters",
        ),
    ],
)
def test_what_can_not_be_added(docs: Path, encoder: OnnxEncoder, body: Any, status: int, word: str) -> None:
    with serving(encoder, {"docs": docs}, writable=True) as served:
        answer = served.client.post(PATH, json=body)
        assert answer.status_code == status
        assert word in detail(answer)
        assert len(ids(served)) == 4


def test_a_service_that_only_reads(docs: Path, encoder: OnnxEncoder) -> None:
    with serving(encoder, {"docs": docs}) as served:
        for answer in (add(served, {"text": "a"}), delete(served, "owl")):
            assert answer.status_code == 403
            assert "writable" in detail(answer)
        assert len(ids(served)) == 4


def test_a_whole_document(docs: Path, encoder: OnnxEncoder, tmp_path: Path) -> None:
    long = "".join(f"Part {number} of the river. " for number in range(400))
    strange = "7 a/b.md#page=3?&"
    with Collection.create(tmp_path / "numbers", encoder) as made:
        made.add([long], [7], [{"title": "River"}])
        assert made.info()["passages"] > 3
    with Collection.create(tmp_path / "names", encoder) as made:
        made.add(["tea", "bread"], [strange, ".."])
    places = {"docs": docs, "numbers": tmp_path / "numbers", "names": tmp_path / "names"}
    with serving(encoder, places) as served:

        def get(collection: str, id: str) -> Any:
            return served.client.get(PATH.replace("docs", collection), params={"id": id})

        DocumentAnswer.model_validate(get("docs", "owl").json())
        assert get("docs", "owl").json() == {"id": "owl", "text": ANIMALS["owl"], "metadata": {"year": YEARS["owl"]}}
        assert get("numbers", "7").json() == {"id": 7, "text": long, "metadata": {"title": "River"}}
        assert [get("names", id).json()["text"] for id in (strange, "..")] == ["tea", "bread"]
        for collection, id in [("docs", "nobody"), ("docs", ""), ("numbers", "7#i1"), ("numbers", "9" * 30)]:
            assert get(collection, id).status_code == 404
            assert detail(get(collection, id)) == f"no document has the id {id!r}"
        assert get("docs", "a" * 10_001).status_code == served.client.get(PATH).status_code == 422


def test_another_writer(docs: Path, encoder: OnnxEncoder) -> None:
    with serving(encoder, {"docs": docs}, writable=True) as served:
        with writer_lock(docs):
            for answer in (add(served, {"text": "a"}), delete(served, "owl")):
                assert answer.status_code == 423
                assert answer.headers["retry-after"] == "1"
                assert str(docs) not in detail(answer)
            assert len(ids(served)) == 4  # readers are not disturbed
        assert delete(served, "owl").status_code == 200


def test_two_services_on_one_collection(docs: Path, encoder: OnnxEncoder) -> None:
    with (
        serving(encoder, {"docs": docs}, writable=True) as one,
        serving(encoder, {"docs": docs}, writable=True) as other,
    ):
        assert add(one, {"id": "c", "text": "coffee"}).status_code == 200
        assert ids(other)[0] == "c"
        assert delete(other, "c").status_code == 200
        assert "c" not in ids(one)


def test_a_collection_that_is_removed_and_comes_back(docs: Path, encoder: OnnxEncoder, tmp_path: Path) -> None:
    with serving(encoder, {"docs": docs}) as served:
        assert served.client.get("/readyz").status_code == 200
        docs.rename(tmp_path / "away")
        gone = served.search(query="river")
        assert gone.status_code == 503
        assert str(tmp_path) not in detail(gone)
        ready = served.client.get("/readyz")
        assert ready.status_code == 503
        assert "docs" in detail(ready)
        assert served.client.get("/healthz").status_code == 200
        assert served.client.get("/v1/collections").status_code == 503
        (tmp_path / "away").rename(docs)
        assert len(ids(served)) == 4
        assert served.client.get("/readyz").status_code == 200


def test_another_collection_in_its_place(docs: Path, encoder: OnnxEncoder) -> None:
    with serving(encoder, {"docs": docs}) as served:
        assert len(ids(served)) == 4
        shutil.rmtree(docs)
        with Collection.create(docs, encoder, dim=8) as other:
            other.add(["red", "blue tea"], [1, 2])
        assert sorted(ids(served)) == [1, 2]
        assert served.client.get("/v1/collections/docs").json()["dim"] == 8


def test_who_searches_while_it_is_replaced(
    docs: Path, encoder: OnnxEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search has begun in the old collection, and is answered by it."""
    began, go_on = threading.Event(), threading.Event()
    answer = Collection.answer

    def search(*given: Any, **options: Any) -> Any:
        began.set()
        assert go_on.wait(PATIENCE)
        return answer(*given, **options)

    with serving(encoder, {"docs": docs}) as served:
        with monkeypatch.context() as patch:
            patch.setattr(Collection, "answer", search)
            found: list[Any] = []
            asked = threading.Thread(target=lambda: found.extend(ids(served)))
            asked.start()
            assert began.wait(PATIENCE)
            docs.rename(tmp_path / "away")
            with Collection.create(docs, encoder) as other:
                other.add(["red", "blue tea"], [1, 2])
            assert served.client.get("/v1/collections/docs").json()["documents"] == 2
            go_on.set()
            asked.join(PATIENCE)
        assert sorted(found) == ["fox", "owl", "path", "tea"]
        assert sorted(ids(served)) == [1, 2]


def open_files(folder: Path) -> int:
    """How many descriptors of this process belong to files in a folder, or that were there."""
    count = 0
    for one in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # it was closed by now
            count += os.readlink(one).startswith(str(folder))
    return count


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system lists no open files")
def test_files_are_closed_when_they_are_not_used_any_more(docs: Path, encoder: OnnxEncoder, tmp_path: Path) -> None:
    """Hang-ups, changes and other collections at the same place; nothing waits for Python's search for cycles."""
    gc.collect()
    gc.disable()
    try:
        with serving(encoder, {"docs": docs}, writable=True) as served:
            counts: list[int] = []
            for number in range(5):
                make_docs(tmp_path / "new", encoder)
                docs.rename(tmp_path / f"old{number}")
                (tmp_path / "new").rename(docs)
                for options in ({"hybrid": 0.5}, {"first_stage": "bm25"}, {"where": {"year": 2001}}, {"trace": True}):
                    assert served.search(query="river", **options).status_code == 200
                with served.connect() as gone:
                    gone.sendall(posted("/v1/collections/docs/search", b'{"query": "owl", "hybrid": "rrf"}'))
                assert add(served, {"id": "more", "text": "coffee"}).status_code == 200
                assert delete(served, "more").status_code == 200
                assert delete(served, "nobody").status_code == 404
                assert served.search(query="river", hybrid="rrf").status_code == 200
                until(lambda: served.service.requests_in_progress() == 0)
                if counts:
                    until(lambda: open_files(tmp_path) <= counts[0])
                counts.append(open_files(tmp_path))
    finally:
        gc.enable()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk(docs: Path, encoder: OnnxEncoder, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def full(*_: Any) -> None:
        raise OSError(code, os.strerror(code), str(docs))

    with serving(encoder, {"docs": docs}, writable=True) as served:
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            for answer in (add(served, {"id": "c", "text": "coffee"}), delete(served, "owl")):
                assert answer.status_code == 507
                assert "full" in detail(answer)
                assert str(docs) not in detail(answer)
            assert served.search(query="river", hybrid="rrf").status_code == 200
        assert sorted(ids(served)) == ["fox", "owl", "path", "tea"]
        assert add(served, {"id": "c", "text": "coffee"}).status_code == 200


def test_a_damaged_collection(docs: Path, encoder: OnnxEncoder) -> None:
    with serving(encoder, {"docs": docs}) as served:
        manifest = next(docs.rglob("manifest*"))
        whole = manifest.read_bytes()
        manifest.write_bytes(whole[: len(whole) // 2])
        damaged = served.search(query="river")
        assert damaged.status_code == 503
        assert "damaged" in detail(damaged)
        assert served.client.get("/readyz").status_code == 503
        manifest.write_bytes(whole)
        assert len(ids(served)) == 4


def test_a_projection_that_is_fitted_under_a_running_service(tmp_path: Path, encoder: OnnxEncoder) -> None:
    Collection.create(tmp_path / "docs", encoder, dim=6).close()
    with serving(encoder, {"docs": tmp_path / "docs"}) as served:
        assert ids(served) == []
        texts = ["red fox", "blue owl", "green tea", "coffee and bread"] * 4
        elsewhere(tmp_path / "docs", encoder, f"add({texts!r}, range(16))")
        with Collection.open(tmp_path / "docs", encoder) as alone:
            expected = [(hit, score) for hit, score in alone.search("owl", 16)]
        hits = served.search(query="owl", k=16).json()["hits"]
        assert [(hit["id"], hit["score"]) for hit in hits] == expected


def test_metadata_of_any_shape_comes_back(docs: Path, encoder: OnnxEncoder) -> None:
    deep: Any = "end"
    for _ in range(150):
        deep = [deep]
    shapes = [deep, {"": {"a": [1, 2.5, None, True, "\x1b[31m"]}}, 2**70, -0.0, "", [], {}]
    with serving(encoder, {"docs": docs}, writable=True) as served:
        for number, metadata in enumerate(shapes):
            answer = add(served, {"id": f"m{number}", "text": f"coffee {number}", "metadata": metadata})
            assert answer.status_code == 200, answer.text
            hit = served.search(query=f"coffee {number}", candidates=[f"m{number}"]).json()["hits"][0]
            assert json.dumps(hit["metadata"]) == json.dumps(metadata)


def test_each_collection_has_its_own_encoder(tmp_path: Path, docs: Path, encoder: OnnxEncoder) -> None:
    words = WordEncoder()
    with Collection.create(tmp_path / "words", words) as other:
        other.add(["coffee and tea", "a river"], ["drinks", "river"])
    both = OpenCollections({"docs": docs, "words": tmp_path / "words"}, encoder, words)
    try:
        with both["docs"].using() as one, both["words"].using() as two:
            assert (one.encoder.name, two.encoder.name) == (encoder.name, words.name)
            assert two.search("tea", k=1).ids == ["drinks"]
    finally:
        both.close()
    with pytest.raises(ValueError, match="encoder 'words'"):
        OpenCollections({"words": tmp_path / "words"}, encoder)
