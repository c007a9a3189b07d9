"""`maxsieve cluster` and the service over shards answer as they do for one collection."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.support import CommandLine
from cli.tiny_model import write_tiny_model
from hostile.trap import Trap
from maxsieve import Collection
from maxsieve.cli.app import run
from maxsieve.service.open_collections import Shelf
from maxsieve.text import OnnxEncoder
from service.support import ANIMALS, serving

WORDS = ("fox", "river", "stone", "bread", "winter", "lamp", "horse", "glass")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that takes no time."""
    folder = tmp_path_factory.mktemp("models") / "tiny"
    write_tiny_model(folder)
    return folder


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    path = tmp_path / "documents.jsonl"
    texts = [f"{WORDS[i % 8]} {WORDS[(i * 3 + 1) % 8]} {WORDS[(i // 8) % 8]}" for i in range(40)]
    path.write_text("\n".join(json.dumps({"id": f"d{i}", "text": text, "year": i}) for i, text in enumerate(texts)))
    return path


def said(capsys: Any, *arguments: str) -> list[Any]:
    capsys.readouterr()
    assert run(list(arguments)) == 0, capsys.readouterr().err
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def refused(capsys: Any, *arguments: str) -> str:
    capsys.readouterr()
    assert run(list(arguments)) not in (0, None)
    message: str = capsys.readouterr().err
    assert "Traceback" not in message
    return message


def test_the_commands_over_shards_say_what_the_usual_ones_say(
    cluster: Any, model: Path, documents: Path, tmp_path: Path, capsys: Any
) -> None:
    one, many = str(tmp_path / "one.ms"), str(tmp_path / "many.ms")
    encoder = ("--encoder", str(model))
    (made,) = said(capsys, "cluster", "index", many, str(documents), *encoder, "--shards", "3", "--json")
    (usual,) = said(capsys, "index", one, str(documents), *encoder, "--json")
    assert {**made, "collection": one, "seconds": 0} == {**usual, "seconds": 0}
    for options in ((), ("--policy", "bandit"), ("--where", '{"year": {"lt": 20}}', "-k", "3")):
        (found,) = said(capsys, "cluster", "search", many, "a fox by the river", *encoder, *options, "--json")
        (expected,) = said(capsys, "search", one, "a fox by the river", *encoder, *options, "--json")
        assert found["hits"] == expected["hits"]
        assert found["report"]["guarantee"] == expected["report"]["guarantee"]
    (again,) = said(capsys, "cluster", "index", many, str(documents), *encoder, "--json")
    assert (again["added"], again["skipped"]) == (0, 40)
    (facts,) = said(capsys, "cluster", "info", many, "--json")
    assert (facts["documents"], len(facts["shards"])) == (40, 3)
    said(capsys, "cluster", "rebalance", many, "--shards", "5", "--json")
    said(capsys, "cluster", "delete", many, "d0", "d7", "--json")
    said(capsys, "delete", one, "d0", "d7", "--json")
    said(capsys, "cluster", "compact", many, "--json")
    said(capsys, "cluster", "verify", many, "--json")
    (facts,) = said(capsys, "info", many, "--json")  # the usual command opens shards, too
    assert (facts["documents"], len(facts["shards"])) == (38, 5)
    (found,) = said(capsys, "search", many, "a fox by the river", *encoder, "--json")
    (expected,) = said(capsys, "search", one, "a fox by the river", *encoder, "--json")
    assert found["hits"] == expected["hits"]
    assert "which this command does not support" in refused(capsys, "export", many, str(tmp_path / "out.npz"))
    assert "without shards" in refused(capsys, "cluster", "rebalance", one, "--shards", "2")
    assert "without shards" in refused(capsys, "cluster", "index", one, str(documents), *encoder)
    assert "--shards 5, which maxsieve cluster rebalance changes" in refused(
        capsys, "cluster", "index", many, str(documents), *encoder, "--shards", "4"
    )
    assert "maxsieve cluster index makes one" in refused(capsys, "cluster", "search", str(tmp_path / "no"), "fox")
    assert "--shards" in refused(capsys, "cluster", "index", str(tmp_path / "no"), str(documents), "--shards", "0")


def test_a_service_starts_the_members_before_the_first_request(cluster: Any, model: Path, tmp_path: Path) -> None:
    encoder = OnnxEncoder(model)
    with Collection.create(tmp_path / "many", encoder, shards=3) as many:
        many.add(ANIMALS.values(), ANIMALS)
        assert many.info()["members"] == []
    shelf = Shelf({"many": tmp_path / "many"}, encoder)
    assert len(shelf["many"].current().info()["members"]) == 3, "one on each node"
    shelf.close()


def test_the_service_serves_shards(cluster: Any, model: Path, tmp_path: Path) -> None:
    encoder = OnnxEncoder(model)
    with Collection.create(tmp_path / "one", encoder) as one:
        one.add(ANIMALS.values(), ANIMALS)
    with Collection.create(tmp_path / "many", encoder, shards=3) as many:
        many.add(ANIMALS.values(), ANIMALS)
    with serving(encoder, {"one": tmp_path / "one", "many": tmp_path / "many"}, writable=True) as served:

        def search(name: str, **body: Any) -> Any:
            return served.search(name, **{"query": "a fox", **body})

        assert search("many").json()["hits"] == search("one").json()["hits"]
        assert search("many").json()["report"]["guarantee"] == "exact"
        traced = search("many", trace=True)
        assert (traced.status_code, "can't be traced" in traced.text) == (400, True)
        assert search("many", hybrid=0.3).status_code == 400
        added = served.client.post(
            "/v1/collections/many/documents", json={"documents": [{"id": "new", "text": "a fox"}]}
        )
        assert added.json()["added"] == 1
        assert "new" in [hit["id"] for hit in search("many").json()["hits"]]


def test_workers_import_nothing_from_the_current_folder(
    cluster: Any, model: Path, documents: Path, tmp_path: Path
) -> None:
    (tmp_path / "here").mkdir()
    trap = Trap(CommandLine(tmp_path / "here", model, tmp_path / "cache"))
    options = ("--encoder", str(model), "--address", cluster.address)
    assert "40 added" in trap("cluster", "index", "it.ms", str(documents), *options)
    assert "fox" in trap("cluster", "search", "it.ms", "a fox", *options)
