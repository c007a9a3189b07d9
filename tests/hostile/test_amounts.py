"""Small files that claim to be large: no more is read, kept or multiplied than the file itself could need."""

from __future__ import annotations

import json
import struct
import tracemalloc
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxsieve as ms
from hostile.fables import make_collection
from hostile.support import build, reseal_tiers, rewrite_blocks
from maxsieve.errors import DamagedIndexError
from maxsieve.lab.corpora import read_corpus
from maxsieve.storage.blocks import ENTRY, FIXED, HEADER_BYTES
from maxsieve.text.collection import additions as adding
from maxsieve.text.collection.collection import Collection
from maxsieve.text.inputs import parquet
from maxsieve.text.inputs.columns import as_columns
from maxsieve.text.inputs.document import BadInput, Fields, InputDocument, Place
from maxsieve.text.inputs.parquet import read_parquet
from maxsieve.text.splitter import Sizes, split
from text.support import WordEncoder

HUGE = 1 << 33
"""The size of a sparse file: it uses no space on disk, and all its bytes are zero."""


def stretch(file: Path, block: str, nbytes: int = HUGE) -> None:
    """Makes a block huge. Its checksum stays wrong, because nothing may read the block."""
    content = bytearray(file.read_bytes()[:HEADER_BYTES])
    end = -(-file.stat().st_size // 64) * 64
    for i in range(FIXED.unpack_from(content)[4]):
        place = FIXED.size + i * ENTRY.size
        entry = list(ENTRY.unpack_from(content, place))
        if entry[0].rstrip(b"\0").decode() == block:
            entry[2:4] = end, nbytes
            ENTRY.pack_into(content, place, *entry)
    struct.pack_into("<Q", content, 16, end + nbytes)
    struct.pack_into("<I", content, HEADER_BYTES - 4, zlib.crc32(content[: HEADER_BYTES - 4]))
    with open(file, "r+b") as changed:
        changed.write(content)
        changed.truncate(end + nbytes)


def test_a_huge_list_of_deleted_documents(tmp_path: Path) -> None:
    build(tmp_path / "i")
    [file] = (tmp_path / "i").glob("*.deleted")
    stretch(file, "deleted")
    with pytest.raises(DamagedIndexError, match=f"{file.name}.* larger"):
        ms.Index.open(tmp_path / "i")


@pytest.mark.parametrize(("kind", "block"), [("codebook", "codes"), ("calibration", "rows"), ("calibration", "ranks")])
def test_a_huge_codebook_or_calibration(tmp_path: Path, kind: str, block: str) -> None:
    rng = np.random.default_rng(0)
    index = ms.Index.build([rng.standard_normal((3, 4)) for _ in range(30)], path=tmp_path / "i")
    index.calibrate([rng.standard_normal((2, 4)) for _ in range(20)], 3)
    index.close()
    [file] = (tmp_path / "i").glob(f"*.{kind}")
    stretch(file, block)
    reseal_tiers(tmp_path / "i")
    with pytest.raises(DamagedIndexError, match=f"{file.name}.* larger"):
        ms.Index.open(tmp_path / "i")


@pytest.mark.parametrize("block", ["data", "indices", "indptr", "vocabulary"])
def test_a_huge_table_of_words(tmp_path: Path, block: str) -> None:
    pytest.importorskip("bm25s")
    path = make_collection(tmp_path / "c")
    with Collection.open(path, WordEncoder()) as collection:
        expected = collection.bm25("fox", 10)
    [table] = (path / "bm25").iterdir()
    stretch(table, block)
    with Collection.open(path, WordEncoder()) as collection:
        with pytest.raises(DamagedIndexError, match=f"{table.name}.* larger"):
            collection.verify()
        assert collection.bm25("fox", 10) == expected


def test_a_word_that_has_no_column(tmp_path: Path) -> None:
    pytest.importorskip("bm25s")
    path = make_collection(tmp_path / "c")
    with Collection.open(path, WordEncoder()) as collection:
        expected = collection.bm25("fox", 10)
    [table] = (path / "bm25").iterdir()

    def change(blocks: dict[str, Any]) -> None:
        words = json.loads(blocks["vocabulary"].tobytes())
        words["fox"] = len(blocks["indptr"]) - 1
        blocks["vocabulary"] = np.frombuffer(json.dumps(words).encode(), np.uint8)[:, None]

    rewrite_blocks(table, change)
    with Collection.open(path, WordEncoder()) as collection:
        with pytest.raises(DamagedIndexError, match=table.name):
            collection.verify()
        assert collection.bm25("fox", 10) == expected


def test_metadata_of_a_document_of_many_passages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is kept with each of them."""
    monkeypatch.setattr(adding, "MOST_COPIED", 1 << 18)
    text = " ".join(f"fox {i}." for i in range(1000))
    with Collection.create(tmp_path / "c", WordEncoder()) as collection:
        with pytest.raises(ValueError, match=r"'heavy'.*\b100,002\b.*\b1\d\b"):
            collection.add(["a fox", text], ["fox", "heavy"], [None, "y" * 100_000])
        assert collection.ids == [], "one batch, nothing of it"
        collection.add([text, "a fox"], ["light", "fox"], ["y" * 1000, "y" * 1_000_000])
        assert len(collection) == 2


@pytest.mark.parametrize("field", ["text", "metadata"])
def test_documents_are_not_gathered_beyond_a_batch(tmp_path: Path, field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of an input may have 64 MiB. Not even 64 of them may be in memory at once, whichever field is long."""
    long = "." * (adding.BATCH_CHARACTERS // 2)
    taken = added = most = 0

    def documents() -> Iterator[InputDocument]:
        nonlocal taken, most
        for number in range(100):
            taken += 1
            most = max(most, taken - added)
            text, metadata = (f"fox {long}", None) if field == "text" else ("fox", {"note": long})
            yield InputDocument(str(number), text, metadata, Place("it"))

    with Collection.create(tmp_path / "c", WordEncoder(), split=False) as collection:
        add = collection.index.add

        def counting(vectors: Any, ids: list[str], **options: Any) -> None:
            nonlocal added
            add(vectors, ids, **options)
            added += len(ids)

        monkeypatch.setattr(collection.index, "add", counting)
        collection.add(**as_columns(documents(), None, str))
        assert len(collection) == 100
    assert most <= 4, f"{most} documents were in memory at once"


@pytest.mark.parametrize("text", ["a\n", "# a\n", ". "], ids=["lines", "headings", "sentences"])
def test_a_text_of_many_short_pieces(text: str) -> None:
    """Each needs some bytes, not some objects."""
    whole = text * (100_000 // len(text))
    tracemalloc.start()
    passages = split(whole, Sizes(504, 256, 32), lambda texts: [1] * len(texts))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(passages) > 50
    assert peak < 32 * len(whole), f"{peak / len(whole):.0f} bytes a character"


def test_a_line_without_an_end_in_a_corpus(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"_id": "a", "text": "Tea"}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "tea"}\n')
    (tmp_path / "qrels.tsv").write_text("q\ta\t1\n")
    for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv"):
        path = tmp_path / name
        content = path.read_bytes()
        with open(path, "r+b") as file:
            file.truncate(HUGE)
        with pytest.raises(BadInput, match=f"{name}, line .: .*longer"):
            read_corpus(tmp_path)
        path.write_bytes(content)
    assert read_corpus(tmp_path).documents == {"a": "Tea"}


def test_a_parquet_file_that_repeats_a_long_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows, long = 1024, "y" * (1 << 18)
    texts = pa.array([long]).dictionary_encode().take(pa.array([0] * rows))
    pq.write_table(pa.table({"_id": list(map(str, range(rows))), "text": texts}), tmp_path / "it.parquet")
    assert (tmp_path / "it.parquet").stat().st_size < len(long)
    tracemalloc.start()
    found = read_parquet(tmp_path / "it.parquet", Fields())
    assert sum(isinstance(one, InputDocument) for one in found) == rows
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 * len(long), f"{peak >> 20} MiB"
    monkeypatch.setattr(parquet, "LONGEST_LINE", 1 << 18)
    [first, *_] = read_parquet(tmp_path / "it.parquet", Fields())
    assert str(first) == f"{tmp_path}/it.parquet, row 1: it has 262,145 characters; at most 262,144 are read"
