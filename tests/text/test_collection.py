"""Collections: what is added comes back, errors are clear sentences, and nothing is left half done."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxsieve as ms
from long_form import scaled
from maxsieve.errors import ClosedIndexError, DamagedIndexError, IndexLockedError, MaxsieveError
from maxsieve.storage import lock
from maxsieve.storage.lock import writer_lock
from maxsieve.text.collection import additions, collection_encoder
from maxsieve.text.collection.collection import Collection
from maxsieve.text.encoders.projection import ProjectedEncoder, fit_projection
from maxsieve.text.passages import Passage

from .support import Untraceable, WordEncoder, sentences, start_python, tree

FABLES = ["The fox and the grapes", "The hare and the tortoise", "The lion and the mouse"]


@pytest.fixture
def fables(tmp_path: Path) -> Iterator[Collection]:
    with Collection.create(tmp_path / "fables", WordEncoder(), dim=None) as collection:
        collection.add(FABLES, ["fox", "hare", "lion"], [{"page": 1}, None, ["a", 2]])
        yield collection


def test_texts_go_in_and_come_back(fables: Collection) -> None:
    assert len(fables) == 3
    assert fables.ids == ["fox", "hare", "lion"]
    assert "hare" in fables
    assert "frog" not in fables
    assert fables.text("hare") == FABLES[1]
    assert [fables.metadata(one) for one in fables.ids] == [{"page": 1}, None, ["a", 2]]
    hits = fables.search("a mouse", k=2)
    assert hits.ids[0] == "lion"
    hit = hits[0]
    assert hit == ("lion", hits.scores[0])
    assert (hit.text, hit.metadata, hit.passage) == (FABLES[2], ["a", 2], Passage(FABLES[2]))
    with pytest.raises(KeyError, match="'frog'"):
        fables.text("frog")


def test_it_is_found_again_with_everything(fables: Collection) -> None:
    before = fables.search("the tortoise", k=3)
    fables.close()
    with pytest.raises(ClosedIndexError):
        fables.search("the tortoise")
    with Collection.open(fables.path, WordEncoder()) as again:
        after = again.search("the tortoise", k=3)
        assert (after.ids, after.scores.tolist(), after.texts) == (before.ids, before.scores.tolist(), before.texts)
        again.verify()


def test_the_answers_are_those_of_an_index_of_the_encoders_vectors(tmp_path: Path) -> None:
    texts, encoder = sentences(200), WordEncoder()
    collection = Collection.create(tmp_path / "c", encoder, dim=None, store="float32")
    collection.add(texts)
    index = ms.Index.build(encoder.encode_documents(texts))
    for query in sentences(20, start=500):
        hits, expected = collection.search(query), index.search(encoder.encode_queries([query])[0])
        assert hits.texts == [texts[int(one)] for one in expected.ids]
        assert hits.scores.tobytes() == expected.scores.tobytes()


@settings(max_examples=scaled(30))
@given(texts=st.lists(st.text(max_size=20), max_size=8), metadata=st.data())
def test_any_text_and_metadata_come_back_as_given(
    texts: list[str], metadata: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
    values = st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5)
    records = [metadata.draw(values) for _ in texts]
    folder = tmp_path_factory.mktemp("any") / "c"
    with Collection.create(folder, WordEncoder(), dim=None) as collection:
        assert collection.add(texts, range(len(texts)), records).added == len(texts)
        assert collection.add(texts, range(len(texts)), records).skipped == len(texts)
    with Collection.open(folder) as again:
        assert [again.text(i) for i in range(len(texts))] == texts
        assert [again.metadata(i) for i in range(len(texts))] == records


def test_a_text_without_a_word_is_kept_and_never_a_hit(tmp_path: Path) -> None:
    collection = Collection.create(tmp_path / "c", WordEncoder(), dim=4)
    assert collection.add(["", "...", " "], ["none", "dots", "space"]) == (3, 0, 0)
    assert collection.info()["projection"] == "to be fitted"
    assert collection.search("anything").ids == []
    collection.add(["one two three four five six seven eight " * 3, ""], ["words", "empty"])
    assert collection.text("none") == ""
    assert collection.search("one", k=10).ids == ["words"]


def test_without_ids_the_text_decides(tmp_path: Path) -> None:
    collection = Collection.create(tmp_path / "c", WordEncoder(), dim=None)
    assert collection.add([*FABLES, FABLES[0]]) == (3, 1, 0)
    assert collection.add(reversed(FABLES)) == (0, 3, 0)
    assert sorted(map(collection.text, collection.ids)) == sorted(FABLES)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="metadata"):
        collection.add(["new", FABLES[0]], metadata=[None, "other"])
    assert len(collection) == 3, "nothing of the batch was added"
    assert collection.add([FABLES[0], "new", "new"], metadata=["other", 1, 2], replace=True) == (1, 0, 2)
    assert collection.search("new", k=1).metadata == [2]


def test_deleted_documents_are_gone(fables: Collection) -> None:
    fables.delete("lion")
    fables.compact()
    assert fables.ids == ["fox", "hare"]
    assert "lion" not in fables.search("the lion and the mouse", k=3).ids
    with pytest.raises(KeyError, match="'lion'"):
        fables.delete(["fox", "lion"])
    assert "fox" in fables


def test_what_there_is_to_say_is_json(fables: Collection) -> None:
    fables.delete("fox")
    info = json.loads(json.dumps(fables.info()))
    assert info["documents"] == 2
    assert info["deleted"] == 1
    assert info["tokens"] == 10
    assert (info["dim"], info["store"], info["projection"]) == (16, "residual4", None)
    assert info["encoder"] == {"name": "words", "dim": 16, "fingerprint": WordEncoder().fingerprint}
    assert info["path"] == str(fables.path)
    assert info["bytes"] > 0


# The encoder


def test_another_encoder_is_refused_with_both_named(fables: Collection) -> None:
    with pytest.raises(ValueError, match=r"'words'.*'others'.*model"):
        Collection.open(fables.path, WordEncoder(salt="x", name="others"))
    with pytest.raises(ValueError, match=r"\b16\b.*'words'.*\b8\b"):
        Collection.open(fables.path, WordEncoder(dim=8))
    moved = WordEncoder(name="somewhere else")
    assert Collection.open(fables.path, moved).search("grapes", k=1).ids == ["fox"]


def test_a_loaded_encoder_is_checked_as_well(fables: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []

    def load(name: str, threads: int | None = None) -> WordEncoder:
        loaded.append(name)
        return WordEncoder(salt="y" if len(loaded) == 1 else "")

    monkeypatch.setattr("maxsieve.text.collection.collection_encoder.load_encoder", load)
    monkeypatch.setattr("maxsieve.text.collection.collection_encoder.BUILT_IN_ENCODERS", {"words"})
    again = Collection.open(fables.path)
    assert (len(again), again.text("fox"), loaded) == (3, FABLES[0], []), "reading needs no encoder"
    with pytest.raises(ValueError, match=r"'words'.*'words'"):
        again.search("the fox")
    assert again.search("grapes", k=1).ids == ["fox"]
    assert again.search("mouse", k=1).ids == ["lion"]
    assert loaded == ["words", "words"], "once it has loaded, it stays"


def test_an_encoder_that_has_no_name_to_load_must_be_given(fables: Collection) -> None:
    again = Collection.open(fables.path)
    with pytest.raises(ValueError, match=r"'words'.*built-in"):
        again.search("fox")


def test_an_encoder_without_a_fingerprint_goes_by_its_name(tmp_path: Path) -> None:
    encoder = WordEncoder()
    encoder.fingerprint = {}
    Collection.create(tmp_path / "c", encoder).close()
    renamed = WordEncoder(name="others")
    renamed.fingerprint = {}
    with pytest.raises(ValueError, match=r"'words'.*'others'"):
        Collection.open(tmp_path / "c", renamed)


# The projection


def test_the_projection_is_fitted_once_and_kept(tmp_path: Path) -> None:
    texts, encoder = sentences(300), WordEncoder(dim=16)
    collection = Collection.create(tmp_path / "c", encoder, dim=6, store="float16")
    collection.add(texts[:200])
    matrix = np.load(tmp_path / "c" / "projection.npy")
    assert np.allclose(matrix, fit_projection(encoder.encode_documents(texts[:200]), 6), atol=1e-5)
    collection.add(texts[200:])
    assert np.array_equal(np.load(tmp_path / "c" / "projection.npy"), matrix)
    projected = ProjectedEncoder(encoder, matrix)
    again = Collection.open(tmp_path / "c", WordEncoder(dim=16))
    assert again.encoder.fingerprint == projected.fingerprint
    for one, rows in zip(again.ids, projected.encode_documents(texts), strict=True):
        assert again.index.vectors(one).tobytes() == rows.astype(np.float16).tobytes()
    assert again.search(texts[250], k=1).texts == [texts[250]]


def test_each_text_is_encoded_once_though_some_are_sampled_first(tmp_path: Path) -> None:
    encoder = WordEncoder()
    Collection.create(tmp_path / "c", encoder, dim=4).add(sentences(150))
    assert sorted(encoder.encoded) == sorted(sentences(150))


def test_what_was_encoded_ahead_is_handed_out_once_and_forgotten() -> None:
    encoder = WordEncoder()
    ahead = collection_encoder.RememberingEncoder(encoder)
    assert ahead.fit(["one two", "three four five"], 2, progress=False) is not None
    assert [len(rows) for rows in ahead.encode_documents(["one two", "six", "one two"])] == [2, 1, 2]
    assert encoder.encoded == ["one two", "three four five", "six"]
    ahead.encode_documents(["one two"])
    assert encoder.encoded[3:] == ["one two"]
    ahead.encode_documents(["three four five"])
    assert len(encoder.encoded) == 4


def test_the_sample_is_spread_over_a_list_and_over_the_head_of_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection_encoder, "SAMPLE_DOCUMENTS", 50)
    texts = [str(i) for i in range(10_000)]
    places = [int(text) for text in collection_encoder.sample_of(texts)]
    assert places == [int(text) for text in collection_encoder.sample_of(texts)]
    assert len(set(places)) == 50
    assert np.histogram(places, 5, (0, 10_000))[0].min() > 0
    head, stream = collection_encoder.peek(iter(texts))
    assert head == texts[:50]
    assert list(stream) == texts


def test_a_large_sample_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection_encoder, "SAMPLE_TOKENS", 60)
    monkeypatch.setattr(additions, "BATCH_DOCUMENTS", 5)
    seen: list[int] = []

    def fit(vectors: Any, dim: int) -> Any:
        seen.append(len(vectors))
        return fit_projection(vectors, dim)

    monkeypatch.setattr(collection_encoder, "fit_projection", fit)
    encoder = WordEncoder()
    collection = Collection.create(tmp_path / "c", encoder, dim=4)
    collection.add(sentences(100))
    assert seen == [60]
    assert len(encoder.encoded) == 100


def test_few_tokens_are_enough_for_a_projection_and_nothing_is_said(tmp_path: Path) -> None:
    collection = Collection.create(tmp_path / "c", WordEncoder(), dim=8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        collection.add(FABLES)
        collection.add(["one more"])
    assert collection.search("the tortoise", k=1).texts == [FABLES[1]]


def test_a_projection_can_be_given(tmp_path: Path) -> None:
    matrix = np.eye(16, 5)
    collection = Collection.create(tmp_path / "c", WordEncoder(), projection=matrix)
    collection.add(FABLES)
    assert collection.index.dim == 5
    assert collection.encoder.encode_queries(["fox"])[0].shape == (1, 5)
    with pytest.raises(ValueError, match=r"^dim\b.*\b7\b.*\b5\b"):
        Collection.create(tmp_path / "d", WordEncoder(), dim=7, projection=matrix)
    with pytest.raises(ValueError, match=r"shape \(5, 16\)"):
        Collection.create(tmp_path / "d", WordEncoder(), projection=matrix.T)
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize("dim", [None, 16, 100])
def test_no_projection_where_none_is_needed(tmp_path: Path, dim: int | None) -> None:
    collection = Collection.create(tmp_path / "c", WordEncoder(), dim)
    collection.add(FABLES)
    assert collection.index.dim == 16
    assert not (tmp_path / "c" / "projection.npy").exists()


def test_a_reader_learns_of_a_projection_fitted_elsewhere(tmp_path: Path) -> None:
    writer = Collection.create(tmp_path / "c", WordEncoder(), dim=4)
    reader = Collection.open(tmp_path / "c", WordEncoder())
    assert reader.search("fox").ids == []
    writer.add(sentences(50))
    assert reader.search("fox").ids == []
    reader.refresh()
    assert reader.search(sentences(50)[7], k=1).texts == [sentences(50)[7]]


# What is refused


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        (("one text",), TypeError, "texts must have an entry for each document, not be a single str"),
        ((["a", 5],), TypeError, "texts: document 1 is int, not str"),
        ((["a", "b"], ["x"]), ValueError, "there are 2 texts but 1 ids"),
        ((["a", "b"], iter(["x"])), ValueError, "there are only 1 ids, but more texts"),
        ((["a"], iter(["x", "y"])), ValueError, "there are only 1 texts, but more ids"),
        ((["a", "b"], None, [1]), ValueError, "there are 2 texts but 1 metadata"),
        ((["a", "b"], ["x", "x"]), ValueError, "ids: 'x' occurs twice"),
        ((["a", "b"], ["x", 1]), TypeError, "ids must be all str or all int"),
        ((["a"], [True]), TypeError, "an id must be a str or an int, not True"),
        ((["a"], [7]), TypeError, "ids: 7 is int; this collection has str ids"),
        ((["a"], ["x"], [{1, 2}]), TypeError, "document 'x': metadata must be what JSON can hold"),
        ((["a"], ["x"], {"k": 1}), TypeError, "metadata must have an entry for each document, not be a single dict"),
        ((["a"], ["fox"]), ValueError, "'fox' is already in the collection, with another text; replace=True"),
        (([FABLES[0]], ["fox"], [{"page": 2}]), ValueError, "'fox' is already in the collection, with other metadata"),
        ((5,), TypeError, "texts must have an entry for each document, not be 5"),
    ],
)
def test_bad_input_changes_nothing_and_says_why(
    fables: Collection, arguments: Any, error: type[Exception], sentence: str
) -> None:
    before = tree(fables.path)
    with pytest.raises(error) as caught:
        fables.add(*arguments)
    assert sentence in str(caught.value)
    assert tree(fables.path) == before
    assert isinstance(fables.encoder, WordEncoder)
    assert fables.encoder.encoded == FABLES, "nothing is encoded in vain"


def test_replacing_is_asked_for(fables: Collection) -> None:
    assert fables.add(["The fox and the crow", FABLES[1]], ["fox", "hare"], replace=True) == (0, 1, 1)
    assert fables.ids == ["hare", "lion", "fox"]
    assert fables.search("crow", k=1)[0].text == "The fox and the crow"
    assert fables.metadata("fox") is None


def test_one_writer_at_a_time(fables: Collection) -> None:
    with writer_lock(fables.path):
        for change in (lambda: fables.add(["x"]), lambda: fables.delete("fox"), fables.compact):
            with pytest.raises(IndexLockedError, match=f"process {os.getpid()}"):
                change()
        assert fables.search("fox", k=1).ids == ["fox"]


# The folder


def test_a_folder_with_something_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="not empty"):
        Collection.create(tmp_path / "c", WordEncoder())
    assert tree(tmp_path / "c") == {"notes.txt": b"mine"}
    with pytest.raises(FileExistsError, match=r"notes\.txt"):
        Collection.create(tmp_path / "c" / "notes.txt", WordEncoder())
    Collection.create(tmp_path / "d", WordEncoder()).close()
    before = tree(tmp_path / "d")
    with pytest.raises(FileExistsError, match="not empty"):
        Collection.create(tmp_path / "d", WordEncoder())
    assert tree(tmp_path / "d") == before


def test_of_two_that_create_at_once_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other process is done between the first check of the folder and the lock."""
    taken = lock.writer_lock

    def late(folder: Path) -> Any:
        monkeypatch.setattr(lock, "writer_lock", taken)
        Collection.create(folder, WordEncoder(), dim=None).add(FABLES)
        return taken(folder)

    monkeypatch.setattr(lock, "writer_lock", late)
    with pytest.raises(FileExistsError, match="not empty"):
        Collection.create(tmp_path / "c", WordEncoder(dim=8))
    assert len(Collection.open(tmp_path / "c", WordEncoder())) == 3


def test_an_index_with_documents_is_no_leftover(tmp_path: Path) -> None:
    ms.Index.build([[[1.0]]], path=tmp_path / "c" / "index").close()
    before = tree(tmp_path)
    with pytest.raises(FileExistsError, match="not empty"):
        Collection.create(tmp_path / "c", WordEncoder())
    assert tree(tmp_path) == before


@pytest.mark.parametrize("step", ["write_projection", "write_description", "Index.create"])
@pytest.mark.parametrize("existed", [False, True])
def test_a_failed_creation_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, existed: bool
) -> None:
    folder = tmp_path / "c"
    if existed:
        folder.mkdir()

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(f"maxsieve.text.collection.description.{step}", fail)
        with pytest.raises(OSError, match="No space left"):
            Collection.create(folder, WordEncoder(), projection=np.eye(16, 5))
    assert folder.exists() == existed
    assert not existed or not list(folder.iterdir())
    Collection.create(folder, WordEncoder(), projection=np.eye(16, 5)).add(FABLES)


def test_a_killed_creation_is_no_collection_and_no_obstacle(tmp_path: Path) -> None:
    """A kill leaves a prefix of what is written: stop after each write in turn."""
    script = """
import os, sys
from maxsieve.text.collection.collection import Collection
from text.support import WordEncoder
import numpy as np
left = int(sys.argv[2])
replace, mkdir = os.replace, os.mkdir
def counted(real):
    def call(*arguments, **options):
        global left
        if left == 0:
            os._exit(9)
        left -= 1
        return real(*arguments, **options)
    return call
os.replace, os.mkdir = counted(os.replace), counted(os.mkdir)
Collection.create(sys.argv[1], WordEncoder(), projection=np.eye(16, 5))
"""
    for steps in range(20):
        folder = tmp_path / str(steps)
        with start_python("-c", script, str(folder), str(steps)) as process:
            process.wait()
        if process.returncode == 0:
            break
        assert process.returncode == 9
        with pytest.raises(FileNotFoundError, match=r"does not exist|collection\.json"):
            Collection.open(folder)
        Collection.create(folder, WordEncoder(), dim=None).add(FABLES)
        assert Collection.open(folder, WordEncoder()).search("fox", k=1).texts == [FABLES[0]]
    assert process.returncode == 0
    assert steps >= 4, "folder, index, manifest, projection, record"
    assert len(Collection.open(tmp_path / str(steps), WordEncoder())) == 0


@pytest.mark.parametrize(
    ("content", "error", "sentence"),
    [
        (b"{", DamagedIndexError, "can't be read"),
        (b"[]", DamagedIndexError, "does not describe a collection"),
        (b"\xff", DamagedIndexError, "can't be read"),
        (
            b'{"format": "maxsieve collection", "version": 9}',
            MaxsieveError,
            "format version 9; this maxsieve reads up to 3",
        ),
        (b'{"format": "maxsieve collection", "version": 1}', DamagedIndexError, "can't be read"),
    ],
)
def test_a_damaged_record_is_named(fables: Collection, content: bytes, error: type[Exception], sentence: str) -> None:
    (fables.path / "collection.json").write_bytes(content)
    with pytest.raises(error, match=r"collection\.json") as caught:
        Collection.open(fables.path)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    "change", [{"dim": 0}, {"dim": True}, {"dim": 17}, {"encoder": 5}, {"fingerprint": {"a": 1}}, {"fingerprint": []}]
)
def test_a_record_that_no_writer_writes_is_refused(fables: Collection, change: dict[str, Any]) -> None:
    path = fables.path / "collection.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(DamagedIndexError, match=r"collection\.json"):
        Collection.open(fables.path)


def test_an_index_of_other_dimensions_is_refused(fables: Collection) -> None:
    path = fables.path / "collection.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "dim": 8}))
    with pytest.raises(DamagedIndexError, match=r"fables\b.*\b8\b.*\b16\b"):
        Collection.open(fables.path)


def test_a_damaged_projection_is_named(tmp_path: Path) -> None:
    Collection.create(tmp_path / "c", WordEncoder(), projection=np.eye(16, 5)).add(FABLES)
    path = tmp_path / "c" / "projection.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    collection = Collection.open(tmp_path / "c", WordEncoder())
    for use in (lambda: collection.search("fox"), lambda: collection.add(["x"]), collection.verify):
        with pytest.raises(DamagedIndexError, match=r"projection\.npy\b.*SHA-256"):
            use()
    path.unlink()
    with pytest.raises(DamagedIndexError, match=r"projection\.npy is missing"):
        collection.verify()


def test_opening_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nothing"):
        Collection.open(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError, match=r"collection\.json"):
        Collection.open(tmp_path)


def test_an_untraceable_encoder_will_do(tmp_path: Path) -> None:
    collection = Collection.create(tmp_path / "c", Untraceable(), dim=None)
    collection.add(FABLES)
    hits = collection.search("grapes", k=1)
    assert hits.texts == [FABLES[0]]
    assert hits.explain(0) == []


# The package


def test_the_package_is_light_and_has_collections_all_the_same() -> None:
    script = """
import sys, maxsieve
heavy = {"onnxruntime", "tokenizers", "typer", "rich", "torch", "bm25s", "sentence_transformers", "maxsieve.text"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
from maxsieve.text.collection.collection import Collection
assert maxsieve.Collection is Collection and "Collection" in dir(maxsieve)
assert not (heavy - {"maxsieve.text"}) & set(sys.modules), heavy & set(sys.modules)
try:
    maxsieve.nothing
except AttributeError as problem:
    assert "nothing" in str(problem)
"""
    with start_python("-c", script) as process:
        assert process.wait() == 0
