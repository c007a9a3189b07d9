"""Lists on every kernel: the specification's names, arrays, proxies, places and answers, bit by bit."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxsieve as ms
from maxsieve import _core, spec
from maxsieve.cluster.agreement import Offers, merge

F32 = np.ndarray


def a_corpus(rng: np.random.Generator, d: int, documents: int, longest: int) -> list[F32]:
    """Documents of 1 to `longest` tokens around some centres, of several lengths."""
    centres = rng.standard_normal((12, d))
    return [
        (centres[rng.integers(0, 12, length)] + 0.3 * rng.standard_normal((length, d))).astype(np.float32)
        * np.float32(rng.choice([0.01, 1.0, 30.0]))
        for length in rng.integers(1, longest + 1, documents)
    ]


def padded(codes: np.ndarray, d: int) -> np.ndarray:
    out = np.zeros((len(codes), _core.code_stride(d)), np.int8)
    out[:, :d] = codes
    return out


def fine_codebook(documents: list[F32], d: int, centroids: int, groups: int, probes: int, threads: int = 1) -> tuple:
    """What the engine learns, and the same for the specification."""
    quantised = [spec.quantise_document(E) for E in documents]
    codes = padded(np.concatenate([c.codes for c in quantised]), d)
    scale = np.concatenate([np.full(len(c.codes), c.scale, np.float32) for c in quantised])
    made = _core.train(d, codes, scale, centroids, 7, threads, groups, probes)
    heads, starts, book_codes, book_scale, length = made
    assert len(heads) == groups
    return _core.Codebook(d, *made), spec.Codebook(
        heads[:, :d], starts, book_codes[:, :d], np.float32(book_scale), length
    )


def segment(documents: list[F32], d: int, sequence: np.ndarray | None = None) -> _core.Segment:
    quantised = [spec.quantise_document(E) for E in documents]
    offsets = np.concatenate([[0], np.cumsum([len(E) for E in documents])]).astype(np.int64)
    rows = np.concatenate([np.zeros((0, d), np.float32), *documents])
    codes = padded(np.concatenate([np.zeros((0, d), np.int8), *(c.codes for c in quantised)]), d)
    bounds = [np.array([getattr(c, name) for c in quantised], np.float32) for name in ("scale", "rho", "nu")]
    return _core.Segment(d, offsets, rows, codes, *bounds, None, sequence)


def listed(
    documents: list[F32], d: int, native: _core.Codebook, centroids: int, block: int, probes: int
) -> _core.ListPart:
    arrays = _core.make_lists(native, (segment(documents, d),), block, probes, 1)
    return _core.ListPart(len(documents), block, centroids, *arrays)


def listed_corpus(
    documents: list[F32], d: int, native: _core.Codebook, centroids: int, block: int, probes: int, covered: int
) -> _core.Corpus:
    """Two segments; two parts of lists that end elsewhere, and cover only the first documents."""
    half, first = len(documents) // 2, covered // 3
    segments = tuple(segment(some, d) for some in (documents[:half], documents[half:]))
    parts = [documents[:first], documents[first:covered]]
    lists = tuple(listed(some, d, native, centroids, block, probes) for some in parts if some)
    firsts = [at for at, some in zip((0, first), parts, strict=True) if some]
    return _core.Corpus(d, segments, None, _core.Lists(native, lists, firsts))


@pytest.mark.parametrize(("d", "groups", "probes", "block"), [(1, 4, 1, 5), (33, 16, 2, 3), (128, 8, 8, 65536)])
def test_lists_are_those_of_the_specification(isa: str, d: int, groups: int, probes: int, block: int) -> None:
    rng = np.random.default_rng(d)
    documents = a_corpus(rng, d, 40, 20)
    documents[7] = np.zeros((0, d), np.float32)  # an empty document is in no list
    native, book = fine_codebook([E for E in documents if len(E)], d, 256, groups, probes)
    named = [spec.assign(book, spec.quantise_document(E).codes, probes) for E in documents]
    wanted = spec.make_lists(named, 256, block)
    segments = tuple(segment(some, d) for some in (documents[:11], [], documents[11:]))
    for threads in (1, 3):
        made = _core.make_lists(native, segments, block, probes, threads)
        for one, another in zip(made, wanted, strict=True):
            assert one.dtype == another.dtype
            assert one.tobytes() == another.tobytes()
    assert _core.ListPart(40, block, 256, *made).has_sane_members()


@settings(deadline=None)
@given(st.lists(st.lists(st.sets(st.integers(0, 69)), min_size=1, max_size=9), min_size=1, max_size=5), st.data())
def test_merged_lists_are_those_of_all_documents(parts: list[list[set[int]]], data: st.DataObject) -> None:
    block = data.draw(st.sampled_from([1, 2, 5, 65536]))
    named = [[np.array(sorted(ids), np.int64) for ids in part] for part in parts]
    views = [_core.ListPart(len(part), block, 70, *spec.make_lists(part, 70, block)) for part in named]
    merged = _core.merge_lists(tuple(views))
    for one, another in zip(merged, spec.make_lists([ids for part in named for ids in part], 70, block), strict=True):
        assert one.dtype == another.dtype
        assert one.tobytes() == another.tobytes()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([1, 5, 17, 33, 100]), st.sampled_from([3, 32, 70]), st.data())
def test_proxies_places_and_answers_are_those_of_the_specification(
    seed: int, T: int, d: int, data: st.DataObject
) -> None:
    rng = np.random.default_rng(seed)
    documents = a_corpus(rng, d, 24, 8)
    groups, probes = data.draw(st.sampled_from([(1, 1), (4, 2), (16, 1), (16, 8)]))
    walk = spec.Walk(data.draw(st.sampled_from([1, 2, 7, 100])), data.draw(st.sampled_from([1, 3, 50])), probes)
    covered = data.draw(st.sampled_from([24, 20, 2]))
    native, book = fine_codebook(documents, d, 64, groups, probes)
    corpus = listed_corpus(documents, d, native, 64, data.draw(st.sampled_from([1, 7, 65536])), probes, covered)
    Q = (rng.standard_normal((T, d)) * rng.choice([1e-6, 1.0, 1e6])).astype(np.float32)
    proxies = spec.walked_proxies(Q, documents, book, walk)
    proxies[covered:] = -1
    candidates = np.sort(rng.permutation(24)[: rng.integers(1, 25)])
    mine = proxies[candidates]
    pair = (walk.near, walk.opened)
    for name in ms.isas():
        _core.use_isa(name)
        try:
            for threads in (1, 2):
                assert _core.tier0(corpus, Q, candidates, threads, pair).tolist() == mine.tolist()
                places = _core.ranks(corpus, Q, candidates, candidates, threads, pair)
                assert places.tolist() == spec.ranks_by_proxy(mine, list(range(len(mine)))).tolist()
                before = _core.count_before(corpus, Q, candidates, mine.astype(np.int32), candidates, threads, pair)
                known = mine >= 0
                assert (before[known] + 1).tolist() == places[known].tolist()
                for n, since in ((1, 24), (3, 24), (2, 9)):
                    check_answer(corpus, Q, documents, mine, candidates, n, min(since, covered), pair, threads)
        finally:
            _core.use_isa("")


@pytest.mark.parametrize("near", [8, 24])
def test_lists_with_few_and_with_many_members_for_their_documents(isa: str, near: int) -> None:
    """A walk adds their weights in two ways. Several lists of one token have the same document, in both."""
    rng = np.random.default_rng(1)
    documents = a_corpus(rng, 8, 700, 3)
    native, book = fine_codebook(documents, 8, 256, 8, 1)
    lists = _core.Lists(native, (listed(documents, 8, native, 256, 65536, 1),), [0])
    corpus = _core.Corpus(8, (segment(documents, 8),), None, lists)
    Q, walk = rng.standard_normal((24, 8)).astype(np.float32), spec.Walk(near, 3, 1)
    named = [set(spec.assign(book, spec.quantise_document(E).codes, 1).tolist()) for E in documents]
    weights = spec.list_weights(book, spec.quantise_query(Q), walk)
    assert max(len(ids & of.keys()) for ids in named for of in weights) > 1
    mean = sum(map(len, named)) / len(set.union(*named))
    assert (16 * mean * sum(map(len, weights)) / 24 >= 700) == (near == 24)
    proxies = spec.walked_proxies(Q, documents, book, walk)
    assert _core.tier0(corpus, Q, np.arange(700), 1, (walk.near, walk.opened)).tolist() == proxies.tolist()


def check_answer(
    corpus: _core.Corpus,
    Q: F32,
    documents: list[F32],
    proxies: np.ndarray,
    candidates: np.ndarray,
    n: int,
    since: int,
    pair: tuple[int, int],
    threads: int,
) -> None:
    """The certified top 3 of what the specification follows up. A mean length of a thousand makes every walk pay."""
    policy = _core.Calibrated(n, 1000.0, pair, _core.Candidates(np.arange(since, len(documents))))
    given = _core.Candidates(candidates)
    (answer,) = _core.search(corpus, [Q], [given], 3, policy, threads, False)
    split = int(np.searchsorted(candidates, since))
    wanted = spec.followed(proxies, n, split, 3) if n < split else np.arange(len(candidates))
    expected = spec.certified(Q, [documents[i] for i in candidates[wanted]], 3)
    assert answer.positions == candidates[wanted][expected.positions].tolist()
    assert answer.scores.tobytes() == expected.scores.tobytes()
    assert answer.survivors == len(wanted)
    chosen = len(spec.survivors(proxies[:split], n)) + len(candidates) - split
    assert answer.guarantee == ("exact" if n >= split or chosen < min(3, len(candidates)) else "none")
    (traced,) = _core.search(corpus, [Q], [candidates], 3, policy, threads, True)
    assert traced.positions == answer.positions
    assert candidates[traced.trace.dropped != -1].tolist() == candidates[wanted].tolist()
    if answer.counts:
        assert traced.trace.tier0[:split].tolist() == proxies[:split].tolist()
        assert traced.trace.bytes["lists"] == 2 * answer.counts["postings"]


@pytest.mark.parametrize("sequenced", [False, True])
def test_the_first_of_many_documents_are_found(sequenced: bool) -> None:
    """So many that thresholds rise within a block and from block to block, with many equal proxies."""
    rng = np.random.default_rng(11)
    documents = a_corpus(rng, 4, 6000, 2)
    native, book = fine_codebook(documents, 4, 64, 8, 1)
    order = rng.permutation(6000) if sequenced else np.arange(6000)
    part = listed(documents, 4, native, 64, 2500, 1)
    corpus = _core.Corpus(
        4, (segment(documents, 4, order if sequenced else None),), None, _core.Lists(native, (part,), [0])
    )
    named = [spec.assign(book, spec.quantise_document(E).codes, 1) for E in documents]
    candidates = np.sort(rng.permutation(6000)[:5500])
    for n, T in ((3, 2), (20, 3), (700, 5), (2600, 1)):
        Q = rng.standard_normal((T, 4)).astype(np.float32)
        proxies = spec.list_proxies(spec.list_weights(book, spec.quantise_query(Q), spec.Walk(30, 5, 1)), named)
        placed = candidates[proxies[candidates] >= 0]
        wanted = np.sort(placed[np.lexsort((order[placed], -proxies[placed]))[:n]])
        for threads in (1, 2):
            policy = _core.Calibrated(n, 1000.0, (30, 5))
            (answer,) = _core.search(corpus, [Q], [candidates], len(wanted), policy, threads, False)
            assert sorted(answer.positions) == wanted.tolist()


@pytest.mark.usefixtures("isa")
def test_long_queries_and_many_groups() -> None:
    """Query tokens come in strips of 32, heads in blocks of 32: here are more of both. Some heads are the same."""
    rng = np.random.default_rng(5)
    documents = a_corpus(rng, 8, 400, 3)
    native, book = fine_codebook(documents, 8, 256, 70, 1)
    heads = np.array(book.heads)
    heads[40:44] = heads[3]
    twice = _core.Codebook(8, padded(heads, 8), book.starts, padded(book.codes, 8), float(book.scale), book.length)
    named = [spec.assign(book, spec.quantise_document(E).codes, 1) for E in documents]
    corpus = listed_corpus(documents, 8, native, 256, 150, 1, 400)
    part = listed(documents, 8, native, 256, 150, 1)
    equal = _core.Corpus(8, (segment(documents, 8),), None, _core.Lists(twice, (part,), [0]))
    Q = rng.standard_normal((45, 8)).astype(np.float32)
    Q[7] = Q[33] = spec.quantise_query(heads[3:4].astype(np.float32)).codes
    y = spec.quantise_query(Q)
    for walk in (spec.Walk(20, 3, 1), spec.Walk(300, 70, 1), spec.Walk(9, 33, 1)):
        for searched, used in ((corpus, book), (equal, book._replace(heads=heads))):
            proxies = spec.list_proxies(spec.list_weights(used, y, walk), named)
            wanted = np.arange(400)[proxies >= 0]
            ranks = _core.ranks(searched, Q, np.arange(400), wanted, 2, (walk.near, walk.opened))
            assert ranks.tolist() == spec.ranks_by_proxy(proxies, wanted.tolist()).tolist()


@pytest.mark.parametrize("sequenced", [False, True])
def test_of_thousands_of_equal_ones_the_first_added_are_found(sequenced: bool) -> None:
    documents = [np.eye(2, dtype=np.float32)[[i % 2]] for i in range(6000)]
    native, _ = fine_codebook(documents, 2, 2, 2, 1)
    order = np.random.default_rng(2).permutation(6000) if sequenced else np.arange(6000)
    part = listed(documents, 2, native, 2, 2500, 1)
    corpus = _core.Corpus(
        2, (segment(documents, 2, order if sequenced else None),), None, _core.Lists(native, (part,), [0])
    )
    policy = _core.Calibrated(7, 1000.0, (2, 2))
    (answer,) = _core.search(corpus, [np.eye(2, dtype=np.float32)[:1]], [np.arange(6000)], 7, policy, 1, False)
    equals = np.arange(0, 6000, 2)
    assert answer.positions == equals[np.argsort(order[equals])[:7]].tolist()


def test_answers_are_those_of_the_whole_specification() -> None:
    rng = np.random.default_rng(3)
    documents = a_corpus(rng, 16, 60, 10)
    native, book = fine_codebook(documents, 16, 128, 16, 1)
    corpus = listed_corpus(documents, 16, native, 128, 16, 1, 60)
    for since in (60, 50, 0):
        Q = rng.standard_normal((6, 16)).astype(np.float32)
        policy = _core.Calibrated(8, 1000.0, (20, 4), _core.Candidates(np.arange(since, len(documents))))
        (answer,) = _core.search(corpus, [Q], [np.arange(60)], 5, policy, 1, False)
        expected = spec.first_by_lists(Q, documents, book, 5, 8, spec.Walk(20, 4, 1), since)
        assert answer.positions == expected.positions
        assert answer.scores.tobytes() == expected.scores.tobytes()
        assert (answer.survivors, answer.rescored) == (expected.survivors, expected.rescored)
        assert answer.guarantee == ("none" if since else "exact")


def test_lists_that_hold_too_few_documents_are_no_answer() -> None:
    documents = [np.eye(4, dtype=np.float32)[[i % 4]] for i in range(40)]
    native, _ = fine_codebook(documents, 4, 4, 4, 1)
    corpus = listed_corpus(documents, 4, native, 4, 65536, 1, 40)
    query = np.eye(4, dtype=np.float32)[[0]]
    policy = _core.Calibrated(15, 1000.0, (2, 4))
    (answer,) = _core.search(corpus, [query], [np.arange(40)], 12, policy, 1, False)
    assert answer.guarantee == "exact"  # ten documents have a place, and twelve are wanted
    assert answer.survivors == 40
    (answer,) = _core.search(corpus, [query], [np.arange(40)], 10, policy, 1, False)
    assert answer.positions == list(range(0, 40, 4))
    assert (answer.guarantee, answer.survivors, answer.counts["postings"]) == ("none", 10, 10)


def test_a_walk_says_what_it_has_read() -> None:
    documents = [np.eye(4, dtype=np.float32)[[i % 4, 0]] for i in range(40)]
    native, _ = fine_codebook(documents, 4, 4, 4, 1)
    corpus = listed_corpus(documents, 4, native, 4, 65536, 1, 40)
    query = np.eye(4, dtype=np.float32)[:2]
    (answer,) = _core.search(corpus, [query], [np.arange(40)], 3, _core.Calibrated(5, 1000.0, (2, 4)), 1, False)
    # Two parts; in each, the list of the first centroid has every document, that of the second a quarter of them.
    assert answer.counts == {"centroids": 2 * (4 + 4), "lists": 4, "postings": 40 + 10, "tokens": 10}
    assert list(answer.stages) == ["centroids", "lists", "scan", "sieve", "rescore"]


def test_a_fine_codebook_is_the_same_on_every_kernel_and_number_of_threads() -> None:
    documents = a_corpus(np.random.default_rng(1), 40, 60, 30)
    made = []
    for name in ms.isas():
        _core.use_isa(name)
        try:
            made += [fine_codebook(documents, 40, 128, 32, 2, threads)[1] for threads in (1, 2, 5)]
        finally:
            _core.use_isa("")
    for other in made[1:]:
        for one, another in zip(made[0], other, strict=True):
            assert np.asarray(one).tobytes() == np.asarray(another).tobytes()


def test_groups_of_queries_get_the_answers_of_single_ones() -> None:
    rng = np.random.default_rng(8)
    documents = a_corpus(rng, 24, 50, 12)
    native, _ = fine_codebook(documents, 24, 64, 16, 1)
    corpus = listed_corpus(documents, 24, native, 64, 20, 1, 50)
    queries = [rng.standard_normal((T, 24)).astype(np.float32) for T in (3, 1, 40, 7, 7)]
    everyone = _core.Candidates(np.arange(50))
    policy = _core.Calibrated(6, 1000.0, (16, 4))
    single = [_core.search(corpus, [Q], [everyone], 4, policy, 1, False)[0] for Q in queries]
    for threads in (1, 2, 4):
        many = _core.search(corpus, queries, [everyone] * 5, 4, policy, threads, False)
        for one, another in zip(single, many, strict=True):
            assert one.positions == another.positions
            assert (one.survivors, one.counts) == (another.survivors, another.counts)


@pytest.mark.parametrize("depth", [1, 5, 30])
def test_members_of_a_search_follow_up_what_one_index_would(depth: int) -> None:
    rng = np.random.default_rng(depth)
    documents = a_corpus(rng, 16, 60, 6)
    native, _ = fine_codebook(documents, 16, 64, 16, 1)
    whole = listed_corpus(documents, 16, native, 64, 65536, 1, 60)
    Q = rng.standard_normal((5, 16)).astype(np.float32)
    policy = _core.Calibrated(depth, 1000.0, (8, 4))
    (alone,) = _core.search(whole, [Q], [np.arange(60)], 4, policy, 1, False)
    shard_of = rng.integers(0, 2, 60)
    mine = [np.flatnonzero(shard_of == shard) for shard in (0, 1)]
    offers: list = [None, None]
    barrier = threading.Barrier(2)
    found: list = [None, None]

    def member(shard: int) -> None:
        def share(some: list) -> list[float]:
            offers[shard] = some
            barrier.wait()
            reply = list(merge([Offers.of(items) for items in offers]))
            barrier.wait()
            return reply

        own = [documents[i] for i in mine[shard]]
        part = listed(own, 16, native, 64, 65536, 1)
        corpus = _core.Corpus(16, (segment(own, 16, mine[shard]),), None, _core.Lists(native, (part,), [0]))
        everyone = np.arange(len(own))
        found[shard] = _core.search(corpus, [Q], [everyone], 4, policy, 1, False, share)[0]

    threads = [threading.Thread(target=member, args=(shard,)) for shard in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    hits = sorted(
        (-score, int(mine[shard][position]))
        for shard in (0, 1)
        for position, score in zip(found[shard].positions, found[shard].scores.tolist(), strict=True)
    )[:4]
    assert [position for _, position in hits] == alone.positions
    assert sum(answer.survivors for answer in found) == alone.survivors
    assert {answer.guarantee for answer in found} == {alone.guarantee}
