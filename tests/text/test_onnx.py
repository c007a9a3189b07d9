"""The default encoder on all kinds of text."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from long_form import scaled
from maxsieve.text import Encoder, OnnxEncoder, Traceable, TruncationWarning
from maxsieve.text.encoders.folder_encoder import spread

STRANGE = [
    "",
    " \t\n",
    "a\0b",
    "\ud800 alone \udfff",
    "\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467 emoji",
    "naïve Ångström e\u0301",
    "日本語のテキスト",
    "العربية עברית",
    "नमस्ते दुनिया",
    "สวัสดีชาวโลก",
    "[SEP] [CLS] [PAD] [UNK] [MASK]",
    "x" * 500,
    "#" * 300,
]
TEXTS = st.text(st.characters(), max_size=40)  # surrogates too


def test_it_is_what_it_says(minilm: OnnxEncoder) -> None:
    assert isinstance(minilm, Encoder)
    assert isinstance(minilm, Traceable)
    assert (minilm.name, minilm.dim, minilm.max_tokens) == ("minilm", 384, 512)


@pytest.mark.parametrize("text", STRANGE)
def test_strange_texts(minilm: OnnxEncoder, text: str) -> None:
    (rows,) = minilm.encode_documents([text])
    assert rows.shape == (len(minilm.document_spans(text)), 384)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=0, atol=1e-5)


@settings(max_examples=scaled(20))
@example(STRANGE)
@given(st.lists(TEXTS, max_size=6))
def test_a_text_has_the_same_bits_in_any_batch(minilm: OnnxEncoder, texts: list[str]) -> None:
    together = minilm.encode_documents(texts)
    assert len(together) == len(texts)
    for text, rows in zip(texts, together, strict=True):
        np.testing.assert_array_equal(rows, minilm.encode_queries([text])[0])


def test_the_number_of_threads_changes_nothing(minilm: OnnxEncoder) -> None:
    folder = minilm.fingerprint
    for threads in (1, 3):
        other = OnnxEncoder(minilm.folder, threads=threads)
        assert other.fingerprint == folder
        for some, same in zip(other.encode_documents(STRANGE), minilm.encode_documents(STRANGE), strict=True):
            np.testing.assert_array_equal(some, same)


@given(st.text(st.characters(), max_size=60))
def test_spans_lie_in_the_text_one_after_the_other(minilm: OnnxEncoder, text: str) -> None:
    spans = minilm.document_spans(text)
    assert len(spans) == len(minilm.encode_documents([text])[0])
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(one[0] <= other[0] for one, other in pairwise(spans))


def test_spans_count_characters(minilm: OnnxEncoder) -> None:
    text = "\U0001f600 Unbelievably naïve: 日本!"
    pieces = [text[start:end] for start, end in minilm.query_spans(text)]
    assert pieces == ["\U0001f600", "Un", "bel", "ie", "va", "bly", "naïve", ":", "日", "本", "!"]


def test_long_texts_are_cut_and_that_is_said(minilm: OnnxEncoder) -> None:
    long = "word " * 2000
    with pytest.warns(TruncationWarning, match=r"\b1 of 2\b.*\b512\b.*\b2002\b") as said:
        cut, short = minilm.encode_documents([long, "word"])
    assert [warning.filename for warning in said] == [__file__]
    assert (len(cut), len(short)) == (510, 1)
    np.testing.assert_array_equal(cut, minilm.encode_documents([long[: 5 * 510]])[0])
    assert minilm.document_spans(long)[-1] == (5 * 509, 5 * 509 + 4)
    with pytest.warns(TruncationWarning, match="1 of 1"):
        minilm.encode_queries([long])


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        ("one text", "^texts.*list"),
        (b"bytes", "^texts.*list"),
        (7, r"^texts\b.*\bint\b"),
        (["one", None], r"^texts\[1\].*NoneType"),
        (["one", b"two"], r"^texts\[1\].*bytes"),
    ],
)
def test_what_is_no_list_of_texts(minilm: OnnxEncoder, texts: Sequence[str], sentence: str) -> None:
    for encode in (minilm.encode_documents, minilm.encode_queries):
        with pytest.raises(TypeError, match=sentence):
            encode(texts)
    with pytest.raises(TypeError, match=r"^text\b"):
        minilm.document_spans(None)  # type: ignore[arg-type]


def test_progress_is_shown_on_standard_error(minilm: OnnxEncoder, capsys: pytest.CaptureFixture[str]) -> None:
    minilm.encode_documents(["one", "two", "three"], progress=True)
    shown = capsys.readouterr()
    assert not shown.out
    assert "3/3" in shown.err


def test_threads_are_checked(minilm: OnnxEncoder) -> None:
    with pytest.raises(ValueError, match=r"^threads"):
        OnnxEncoder(minilm.folder, threads=0)


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted under /proc")
def test_no_thread_outlives_a_call_and_a_fork_can_go_on(minilm: OnnxEncoder) -> None:
    script = """
import os, sys, time
import onnxruntime, tokenizers
from maxsieve.text import OnnxEncoder

def threads():
    return len(os.listdir("/proc/self/task"))

before = threads()
encoder = OnnxEncoder(sys.argv[1], threads=3)
rows = encoder.encode_documents(["one", "two", "three"])[2]
patience = time.monotonic() + 30  # a thread that was joined may take a moment to vanish
while threads() > before and time.monotonic() < patience:
    time.sleep(0.01)
assert threads() == before, (threads(), before)
child = os.fork()
if not child:
    os._exit(int((encoder.encode_queries(["three"])[0] != rows).any()))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    command = [sys.executable, "-W", "ignore", "-c", script, str(minilm.folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_spread_keeps_the_order_and_stops_at_an_error(threads: int) -> None:
    done: list[str | None] = []
    assert spread(str, range(50), threads=threads, done=done.append) == [str(i) for i in range(50)]
    assert sorted(done) == sorted(map(str, range(50)))
    begun = []
    bad = threading.Event()

    def work(item: int) -> None:
        begun.append(item)
        if item == 3:
            bad.set()
            raise ValueError("3 is bad")
        bad.wait(10)

    with pytest.raises(ValueError, match="3 is bad"):
        spread(work, [3, *range(100, 1000)], threads=threads, done=done.append)
    assert len(begun) < 500


@pytest.mark.parametrize("threads", [1, 2])
def test_spread_begins_with_the_largest(threads: int) -> None:
    begun: list[str] = []
    items = ["bb", "a", "dddd", "ccc", "aa"]

    def work(item: str) -> str:
        begun.append(item)
        return item * 2

    assert spread(work, items, threads=threads, done=lambda _: None, size=len) == [item * 2 for item in items]
    assert sorted(begun) == sorted(items)
    assert begun == ["dddd", "ccc", "bb", "aa", "a"] or threads > 1


def test_spread_of_nothing() -> None:
    assert spread(str, [], threads=2, done=lambda _: None) == []
