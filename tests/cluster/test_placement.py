"""Which node serves which shards."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from maxsieve.cluster.placement import Placement, Seat, cover, place

SIZES = st.lists(st.integers(0, 1000), min_size=1, max_size=40)
NODES = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=8, unique=True)


def loads(sizes: list[int], placement: Placement) -> dict[str, int]:
    nodes = dict.fromkeys((seat.node for seat in placement.seats), 0)
    for shard, owners in enumerate(placement.owners):
        for seat in owners:
            nodes[seat.node] += sizes[shard] + 1
    return nodes


@given(SIZES, NODES, st.integers(1, 4), st.integers(1, 3))
def test_each_shard_is_on_so_many_nodes(sizes: list[int], nodes: list[str], replicas: int, per_node: int) -> None:
    placement = place(sizes, nodes, replicas=replicas, actors_per_node=per_node)
    assert set(placement.seats) == {Seat(node, slot) for node in nodes for slot in range(per_node)}
    for owners in placement.owners:
        assert len({seat.node for seat in owners}) == len(owners) == min(replicas, len(nodes))
    full, empty = max(loads(sizes, placement).values()), min(loads(sizes, placement).values())
    assert full - empty <= max(sizes) + 1


@given(SIZES, NODES, NODES, st.integers(1, 3))
def test_shards_stay_where_they_were(sizes: list[int], nodes: list[str], later: list[str], replicas: int) -> None:
    before = place(sizes, nodes, replicas=replicas)
    assert place(sizes, nodes, replicas=replicas, before=before) == before
    after = place(sizes, later, replicas=replicas, before=before)
    assert all(len({seat.node for seat in owners}) == min(replicas, len(later)) for owners in after.owners)
    assert {seat.node for owners in after.owners for seat in owners} <= set(later)
    full, empty = max(loads(sizes, after).values()), min(loads(sizes, after).values())
    assert full - empty <= max(sizes) + 1


def test_a_lost_node_moves_only_its_own_shards() -> None:
    sizes = [100] * 12
    before = place(sizes, "abcd")
    after = place(sizes, "abc", before=before)
    kept = [owners for owners in before.owners if owners[0].node != "d"]
    assert all(owners == after.owners[shard] for shard, owners in enumerate(before.owners) if owners in kept)


def test_a_new_node_gets_its_share() -> None:
    sizes = [100] * 12
    after = place(sizes, "abcd", before=place(sizes, "abc"))
    assert [len(after.of(Seat(node, 0))) for node in "abcd"] == [3, 3, 3, 3]


@given(SIZES, NODES, st.integers(1, 3), st.integers(1, 3), st.data())
def test_a_cover_has_every_shard_once(
    sizes: list[int], nodes: list[str], replicas: int, per_node: int, data: st.DataObject
) -> None:
    placement = place(sizes, nodes, replicas=replicas, actors_per_node=per_node)
    avoid = data.draw(st.sets(st.sampled_from(placement.seats)))
    turn = data.draw(st.integers(0, 100))
    chosen = cover(sizes, placement, avoid=avoid, turn=turn)
    assert sorted(shard for shards in chosen.values() for shard in shards) == list(range(len(sizes)))
    if avoid != set(placement.seats):
        assert not avoid.intersection(chosen)
    for seat, shards in chosen.items():
        for shard in shards:
            healthy = [one for one in placement.owners[shard] if one not in avoid]
            assert seat in healthy or not healthy


def test_searches_are_spread_evenly_over_replicas() -> None:
    sizes = [10, 10, 10, 10]
    placement = place(sizes, "ab", replicas=2)
    assert {len(shards) for shards in cover(sizes, placement).values()} == {2}
    one = place([10], "abc", replicas=3)
    asked = [next(iter(cover([10], one, turn=turn))).node for turn in range(6)]
    assert sorted(asked) == ["a", "a", "b", "b", "c", "c"]


@given(SIZES, NODES, st.integers(1, 3), st.integers(1, 2))
def test_there_are_as_many_covers_as_replicas(sizes: list[int], nodes: list[str], replicas: int, per_node: int) -> None:
    """A member has to open each set of shards that it is asked for. A new set for each search would be slow."""
    placement = place(sizes, nodes, replicas=replicas, actors_per_node=per_node)
    different = {tuple(cover(sizes, placement, turn=turn).items()) for turn in range(50)}
    assert len(different) <= min(replicas, len(nodes))
