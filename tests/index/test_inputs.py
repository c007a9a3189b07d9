"""Every accepted form of input gives the same index and the same hits. It is read once, and copied."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maxsieve as ms
from maxsieve import spec
from maxsieve.storage import segments

from .support import Rows, answers, bits, check_sentence, contents, eighths, expected, query_of, run_script

DOCUMENTS = eighths(1, 12)
LENGTHS = [len(doc) for doc in DOCUMENTS]
LONGEST = max(LENGTHS)
FLAT = np.concatenate(DOCUMENTS)


class OnlyArray:
    """Has `__array__` and nothing else."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._rows if dtype is None else self._rows.astype(dtype)


class OnlyDlpack:
    """Has only `__dlpack__` and what belongs to it."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def __dlpack__(self, **how: Any) -> Any:
        return self._rows.__dlpack__(**how)

    def __dlpack_device__(self) -> Any:
        return self._rows.__dlpack_device__()


def padded(filling: float = np.nan, longest: int = LONGEST) -> Rows:
    """[N, L, d], with padding that would be noticed if it were read."""
    array = np.full((len(DOCUMENTS), longest, 5), filling, np.float32)
    for i, doc in enumerate(DOCUMENTS):
        array[i, : len(doc)] = doc
    return array


def scattered() -> tuple[Rows, Any]:
    """[N, L, d] and a mask that keeps tokens at any place."""
    rng = np.random.default_rng(5)
    array = np.full((len(DOCUMENTS), LONGEST + 3, 5), np.inf, np.float32)
    mask = np.zeros(array.shape[:2], np.bool_)
    for i, doc in enumerate(DOCUMENTS):
        kept = np.sort(rng.choice(LONGEST + 3, len(doc), replace=False))
        mask[i, kept] = True
        array[i, kept] = doc
    return array, mask


def every_other(rows: Rows) -> Rows:
    wide = np.full((2 * len(rows), 3 * rows.shape[1]), np.nan, np.float32)
    wide[::2, 1::3] = rows
    return wide[::2, 1::3]


def read_only(rows: Rows) -> Rows:
    rows = rows.copy()
    rows.flags.writeable = False
    return rows


def in_one_buffer(documents: list[Rows]) -> Iterator[Rows]:
    buffer = np.empty((LONGEST, 5), np.float32)
    for doc in documents:
        buffer[:] = np.nan
        buffer[: len(doc)] = doc
        yield buffer[: len(doc)]


PREFIX = np.arange(LONGEST) < np.array(LENGTHS)[:, None]
WHOLE: dict[str, Callable[[], tuple[Any, dict[str, Any]]]] = {
    "tuple": lambda: (tuple(DOCUMENTS), {}),
    "generator": lambda: ((doc for doc in DOCUMENTS), {}),
    "generator of one buffer": lambda: (in_one_buffer(DOCUMENTS), {}),
    "map": lambda: (map(np.asarray, DOCUMENTS), {}),
    "dict values": lambda: (dict(enumerate(DOCUMENTS)).values(), {}),
    "padded + lengths": lambda: (padded(), {"lengths": LENGTHS}),
    "padded + lengths, uint8": lambda: (padded(), {"lengths": np.array(LENGTHS, np.uint8)}),
    "padded + mask": lambda: (padded(), {"mask": PREFIX}),
    "padded + mask of integers": lambda: (padded(), {"mask": PREFIX.astype(np.int64)}),
    "padded + mask of floats": lambda: (padded(), {"mask": PREFIX.astype(np.float32)}),
    "padded + mask, nested lists": lambda: (padded(), {"mask": PREFIX.tolist()}),
    "padded further": lambda: (padded(longest=LONGEST + 5), {"lengths": tuple(LENGTHS)}),
    "scattered + mask": lambda: (scattered()[0], {"mask": scattered()[1]}),
    "padded, float64": lambda: (padded().astype(np.float64), {"lengths": LENGTHS}),
    "padded, Fortran order": lambda: (np.asfortranarray(padded()), {"lengths": LENGTHS}),
    "padded, only __array__": lambda: (OnlyArray(padded()), {"lengths": LENGTHS}),
    "padded, only __dlpack__": lambda: (OnlyDlpack(padded()), {"lengths": LENGTHS}),
    "flat": lambda: (FLAT, {"lengths": LENGTHS}),
    "flat, strided": lambda: (every_other(FLAT), {"lengths": LENGTHS}),
    "flat, float16": lambda: (FLAT.astype(np.float16), {"lengths": np.array(LENGTHS)}),
    "flat, only __array__": lambda: (OnlyArray(FLAT), {"lengths": LENGTHS}),
    "array of objects": lambda: (as_objects(DOCUMENTS), {}),
}


def as_objects(documents: list[Rows]) -> Any:
    array = np.empty(len(documents), object)
    array[:] = documents
    return array


EACH: dict[str, Callable[[Rows], Any]] = {
    "float16": lambda rows: rows.astype(np.float16),
    "float64": lambda rows: rows.astype(np.float64),
    "bfloat16": lambda rows: rows.astype(ml_dtypes.bfloat16),
    "big-endian": lambda rows: rows.astype(">f4"),
    "big-endian float64": lambda rows: rows.astype(">f8"),
    "big-endian float16": lambda rows: rows.astype(">f2"),
    "Fortran order": np.asfortranarray,
    "transposed": lambda rows: np.ascontiguousarray(rows.T).T,
    "reversed": lambda rows: np.ascontiguousarray(rows[::-1, ::-1])[::-1, ::-1],
    "strided": every_other,
    "read-only": read_only,
    "matrix row view": lambda rows: np.stack([rows, rows])[1],
    "unaligned": lambda rows: np.frombuffer(b"?" + rows.tobytes(), np.uint8)[1:].view(np.float32).reshape(rows.shape),
    "broadcast": lambda rows: np.broadcast_to(rows[None], (3, *rows.shape))[2],
    "memory view": lambda rows: OnlyArray(np.asarray(memoryview(np.ascontiguousarray(rows)))),
    "only __array__": OnlyArray,
    "only __dlpack__": OnlyDlpack,
    "nested lists": lambda rows: rows.tolist(),
    "nested tuples": lambda rows: tuple(map(tuple, rows.tolist())),
    "list of rows": list,
}


@pytest.fixture(scope="module")
def reference() -> ms.Index:
    index = ms.Index.build([doc.copy() for doc in DOCUMENTS])
    assert [index.vectors(i).tobytes() for i in index.ids] == [doc.tobytes() for doc in DOCUMENTS]
    return index


@pytest.mark.parametrize("form", WHOLE)
def test_every_form_of_a_corpus_is_the_same(form: str, reference: ms.Index) -> None:
    docs, how = WHOLE[form]()
    assert contents(ms.Index.build(docs, **how)) == contents(reference)
    docs, how = WHOLE[form]()
    index = ms.Index.create(5)
    index.add(docs, range(len(DOCUMENTS)), **how)
    assert contents(index) == contents(reference)
    if not how:
        docs, _ = WHOLE[form]()
        assert bits(ms.rerank(query_of(0), docs, k=7)) == bits(reference.search(query_of(0), k=7))


@pytest.mark.parametrize("form", EACH)
def test_every_form_of_a_document_and_of_a_query_is_the_same(form: str, reference: ms.Index) -> None:
    index = ms.Index.build([EACH[form](doc) for doc in DOCUMENTS if len(doc)], [i for i, n in enumerate(LENGTHS) if n])
    same = ms.Index.build([doc for doc in DOCUMENTS if len(doc)], [i for i, n in enumerate(LENGTHS) if n])
    assert contents(index) == contents(same)
    for k in (1, 5):
        assert bits(reference.search(EACH[form](query_of(k)), k)) == bits(reference.search(query_of(k), k))
    given_one = ms.maxsim([EACH[form](query_of(3))], [EACH[form](doc) for doc in DOCUMENTS if len(doc)])
    assert given_one.tobytes() == ms.maxsim(query_of(3), [doc for doc in DOCUMENTS if len(doc)]).tobytes()


def test_padded_alone_is_full() -> None:
    array = (np.random.default_rng(2).integers(-8, 9, (6, 3, 5)) / 8).astype(np.float32)
    assert contents(ms.Index.build(array)) == contents(ms.Index.build(list(array)))
    assert contents(ms.Index.build(array)) == contents(ms.Index.build(array, lengths=[3] * 6))


@pytest.mark.full
def test_torch(reference: ms.Index) -> None:
    import torch

    tensors = [torch.from_numpy(doc.copy()) for doc in DOCUMENTS]
    want = contents(reference)
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        assert contents(ms.Index.build([tensor.to(dtype) for tensor in tensors])) == want
        flat = torch.cat(tensors).to(dtype)
        assert contents(ms.Index.build(flat, lengths=torch.tensor(LENGTHS))) == want
        array, mask = scattered()
        index = ms.Index.build(torch.from_numpy(array).to(dtype), mask=torch.from_numpy(mask))
        assert contents(index) == want
        query = torch.from_numpy(query_of(0)).to(dtype)
        assert bits(reference.search(query)) == bits(reference.search(query_of(0)))
    assert contents(ms.Index.build([tensor.clone().requires_grad_() for tensor in tensors])) == want
    assert contents(ms.Index.build([tensor.T.contiguous().T for tensor in tensors])) == want
    assert (
        contents(ms.Index.build(torch.nn.utils.rnn.pad_sequence(tensors, True, 9.0), mask=torch.tensor(PREFIX))) == want
    )
    query = torch.from_numpy(query_of(0)).requires_grad_()
    assert bits(reference.search(query * 1)) == bits(reference.search(query_of(0)))
    many = reference.search_many(torch.from_numpy(np.stack([query_of(0), query_of(1)])))
    assert [bits(hits) for hits in many] == [bits(reference.search(query_of(i))) for i in (0, 1)]


@pytest.mark.full
def test_torch_bfloat16_is_widened_exactly() -> None:
    import torch

    every = torch.arange(2**16, dtype=torch.int32).to(torch.int16).view(torch.bfloat16)
    every = every[torch.isfinite(every) & (every.abs() <= 2.0**50)]
    index = ms.Index.build([every[None, : 4096 * 2 : 2], every[None, -4096:]])
    assert index.vectors(0).tobytes() == every[: 4096 * 2 : 2].float().numpy().tobytes()
    assert index.vectors(1).tobytes() == every[-4096:].float().numpy().tobytes()


def test_float64_is_rounded_once_to_float32() -> None:
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((20, 7)) * 2.0 ** rng.integers(-150, 50, (20, 7))
    assert ms.Index.build([rows]).vectors(0).tobytes() == rows.astype(np.float32).tobytes()


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_store_float16_is_the_same_as_rounding_first(similarity: Any, isa: str) -> None:
    rng = np.random.default_rng(4)
    documents = [rng.standard_normal((n, 9)).astype(np.float32) for n in (3, 0, 1, 5, 8, 2, 2)]
    documents[3][1] *= 2.0**-20  # float16 denormals
    documents[4][2] = 0
    kept = [spec.normalise(doc) if similarity == "cosine" else doc for doc in documents]
    rounded = [doc.astype(np.float16) for doc in kept]
    index = ms.Index.build(documents, store="float16", similarity=similarity)
    first = ms.Index.build(rounded, store="float32")
    assert index.nbytes < first.nbytes
    for i, doc in enumerate(rounded):
        assert index.vectors(i).dtype == np.float16
        assert index.vectors(i).tobytes() == doc.tobytes()
    query = rng.standard_normal((3, 9)).astype(np.float32)
    ready = spec.normalise(query) if similarity == "cosine" else query
    for policy in (ms.Certified(), ms.Exhaustive()):
        assert bits(index.search(query, policy=policy)) == bits(first.search(ready, policy=policy))
    wide = {i: doc.astype(np.float32) for i, doc in enumerate(rounded)}
    assert bits(index.search(query)) == expected(ready, wide, 10)


def test_cosine_is_the_normalisation_of_the_specification(isa: str) -> None:
    rng = np.random.default_rng(6)
    documents = [
        rng.standard_normal((n, 13)).astype(np.float32) * 2.0**e for n, e in ((3, 0), (2, 47), (4, -60), (0, 0))
    ]
    documents.append(np.full((2, 13), 2.0**-149, np.float32))  # the smallest denormals
    documents.append(np.array([[0.0] * 13, [-0.0] * 13, [2.0**50] * 13], np.float32))
    normalised = [spec.normalise(doc) for doc in documents]
    index = ms.Index.build(documents, similarity="cosine")
    plain = ms.Index.build(normalised)
    for i, doc in enumerate(normalised):
        assert index.vectors(i).tobytes() == doc.tobytes()
    query = rng.standard_normal((4, 13)).astype(np.float32) * 2.0**30
    query[2] = 0
    query[3] *= 2.0**-140
    before = query.copy()
    for policy in (ms.Certified(), ms.Exhaustive(), ms.Bandit()):
        assert bits(index.search(query, policy=policy)) == bits(plain.search(spec.normalise(query), policy=policy))
    assert query.tobytes() == before.tobytes(), "the caller's query was normalised in place"
    assert documents[1].max() > 2.0**40, "the caller's documents were normalised in place"


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
@pytest.mark.parametrize("store", ["float32", "float16"])
@pytest.mark.parametrize("block", [64 << 20, 60])
def test_nothing_is_aliased(store: Any, similarity: Any, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "BLOCK_BYTES", block)
    flat, lengths = FLAT.copy(), np.array(LENGTHS)
    one = (np.ones((1, 5), np.float32) / 2).copy()
    index = ms.Index.build(flat, lengths=lengths, store=store, similarity=similarity)
    index.add([one], [99])
    before = contents(index)
    flat[:] = np.nan
    one[:] = np.nan
    lengths[:] = 0
    assert contents(index) == before
    index.vectors(99)[:] = 7
    index.ids.append("x")
    assert contents(index) == before


def test_hits_keep_their_own_query() -> None:
    query = query_of(0).copy()
    index = ms.Index.build([doc.copy() for doc in DOCUMENTS])
    hits = index.search(query, k=3)
    many = index.search_many([query], k=3)[0]
    before = [hits.explain(i) for i in range(3)]
    query[:] = np.nan
    assert [hits.explain(i) for i in range(3)] == before
    assert [many.explain(i) for i in range(3)] == before


def test_a_leading_document_may_be_an_empty_list() -> None:
    index = ms.Index.build([[], [], [[1.0, 2.0]], []])
    assert (len(index), index.tokens, index.dim) == (4, 1, 2)
    assert index.search([[1.0, 0.0]]).ids == [2]
    with pytest.raises(ValueError, match="dimension") as caught:
        ms.Index.build([[], []])
    check_sentence(caught.value)


@pytest.mark.parametrize("d", [1, 4096])
def test_the_ends_of_the_range_of_dimensions(d: int) -> None:
    documents = [(np.random.default_rng(i).integers(-8, 9, (2, d)) / 8).astype(np.float32) for i in range(4)]
    index = ms.Index.build(documents)
    assert bits(index.search(documents[1])) == expected(documents[1], dict(enumerate(documents)), 10)


def test_the_longest_query() -> None:
    rng = np.random.default_rng(0)
    documents = {i: (rng.integers(-8, 9, (2, 3)) / 8).astype(np.float32) for i in range(5)}
    query = (rng.integers(-8, 9, (4096, 3)) / 8).astype(np.float32)
    index = ms.Index.build(list(documents.values()))
    assert bits(index.search(query, k=2)) == expected(query, documents, 2)


@pytest.mark.parametrize("form", ["list", "generator", "flat", "padded", "mask"])
@given(
    lengths=st.lists(st.integers(0, 9), min_size=1, max_size=12),
    rows_in_block=st.integers(0, 12),
    rounding=st.sampled_from([("float32", "dot"), ("float16", "cosine")]),
)
def test_block_boundaries_change_nothing(form: str, lengths: list[int], rows_in_block: int, rounding: Any) -> None:
    rng = np.random.default_rng(sum(lengths))
    documents = [(rng.integers(-8, 9, (length, 3)) / 8).astype(np.float32) for length in lengths]
    store, similarity = rounding
    how: dict[str, Any] = {"store": store, "similarity": similarity}
    whole = ms.Index.build(documents, **how)
    docs: Any = documents
    if form == "generator":
        docs = iter(documents)
    elif form == "flat":
        docs, how["lengths"] = np.concatenate(documents), lengths
    elif form in ("padded", "mask"):
        docs = np.full((len(lengths), 9, 3), np.nan)
        for i, doc in enumerate(documents):
            docs[i, : len(doc)] = doc
        if form == "mask":
            how["mask"] = np.arange(9) < np.array(lengths)[:, None]
        else:
            how["lengths"] = lengths
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "BLOCK_BYTES", 4 * 3 * rows_in_block)
        cut = ms.Index.build(docs, **how)
    if whole.tokens > 10 * max(9, rows_in_block):
        assert len(cut.storage.snapshot.segments) > 1
    assert contents(cut) == contents(whole)


def test_an_enormous_document_does_not_enlarge_the_blocks_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "BLOCK_BYTES", 4 * 5 * 10)
    lengths = [3, 1000, *[4] * 500]
    index = ms.Index.build(np.ones((length, 5)) for length in lengths)
    sizes = [segment.tokens for segment in index.storage.snapshot.segments]
    assert sizes[:3] == [3, 1000, 8]
    assert max(sizes[2:]) <= 10


@pytest.mark.parametrize("store", ["float32", "float16"])
def test_a_build_from_a_generator_does_not_hold_its_input_twice(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    block = 1 << 20
    monkeypatch.setattr(segments, "BLOCK_BYTES", block)
    rng = np.random.default_rng(0)

    def docs() -> Iterator[Rows]:
        for _ in range(800):
            yield rng.random((100, 64), np.float32)

    tracemalloc.start()
    try:
        index = ms.Index.build(docs(), store=store, threads=1)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert index.tokens * 64 * 4 > 15 * block
    assert peak < index.nbytes + 4 * block


RESIDENT = """
import numpy as np
import maxsieve as ms
from maxsieve.storage import segments

def peak():
    with open("/proc/self/status") as status:  # `ru_maxrss` begins with that of the process which started this one
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))

segments.BLOCK_BYTES = 8 << 20
rng = np.random.default_rng(0)
ms.Index.build((rng.random((100, 64), np.float32) for _ in range(10)))
before = peak()
index = ms.Index.build((rng.random((100, 64), np.float32) for _ in range(4000)), threads=2)
after = peak()
assert index.tokens * 256 > 12 * segments.BLOCK_BYTES
print((after - before) * 1024 - index.nbytes, segments.BLOCK_BYTES)
"""


@pytest.mark.skipif("sys.platform != 'linux'", reason="other systems count otherwise")
def test_a_build_takes_little_more_memory_than_the_index() -> None:
    done = run_script(RESIDENT)
    assert done.returncode == 0, done.stderr
    excess, block = map(int, done.stdout.split())
    assert excess < 4 * block, f"{excess / block:.1f} blocks beyond the index"


def test_a_generator_is_read_once_and_lazily() -> None:
    read = []

    def docs() -> Iterator[Rows]:
        for i, doc in enumerate(DOCUMENTS):
            read.append(i)
            yield doc

    ms.Index.build(docs())
    assert read == list(range(len(DOCUMENTS)))


def test_ids_may_be_a_generator_or_an_array(reference: ms.Index) -> None:
    count = len(DOCUMENTS)
    names = [f"d{i}" for i in range(count)]
    for ids in (names, iter(names), np.array(names), dict.fromkeys(names), tuple(names)):
        index = ms.Index.build(DOCUMENTS, ids)
        assert index.ids == names
        assert all(type(one) is str for one in index.ids)
    for whole in (range(count), np.arange(count, dtype=np.uint16), list(np.arange(count)), iter(range(count))):
        index = ms.Index.build(DOCUMENTS, whole)
        assert contents(index) == contents(reference)
        assert all(type(one) is int for one in index.ids)


@pytest.mark.full
def test_ids_of_torch() -> None:
    import torch

    count = len(DOCUMENTS)
    assert ms.Index.build(DOCUMENTS, torch.arange(count)).ids == list(range(count))


def test_progress_changes_nothing(capfd: pytest.CaptureFixture[str], reference: ms.Index) -> None:
    index = ms.Index.build(iter(DOCUMENTS), progress=True)
    assert contents(index) == contents(reference)
    out, err = capfd.readouterr()
    assert out == ""
    assert "indexing" in err


def test_numpy_error_settings_do_not_matter() -> None:
    tiny = np.full((2, 5), 1e-310)
    with np.errstate(all="raise"):
        index = ms.Index.build([tiny, np.full((1, 5), 1e-42)], store="float16", similarity="cosine")
        index.search(np.full((1, 5), 1e-300))
        assert answers(index)
        with pytest.raises(ValueError, match=r"2\*\*50"):
            ms.Index.build([np.full((1, 5), 1e300)])
        with pytest.raises(ValueError, match=r"2\*\*50"):
            index.search(np.full((1, 5), np.nan))
