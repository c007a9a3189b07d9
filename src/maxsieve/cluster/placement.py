"""Decides which nodes serve which shards, and which members answer for them in a search."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple


class Seat(NamedTuple):
    """The place of a member: a node of the cluster, and the number of the member on that node, from 0."""

    node: str
    slot: int


class Placement(NamedTuple):
    """All seats, and the seats that serve each shard (its ``owners``).

    Any member can answer for any shard, because storage is shared. The owners have its files mapped and in memory.
    """

    seats: tuple[Seat, ...]
    owners: tuple[tuple[Seat, ...], ...]

    def of(self, seat: Seat) -> tuple[int, ...]:
        """The shards that a seat serves."""
        return tuple(shard for shard, owners in enumerate(self.owners) if seat in owners)


def place(
    sizes: Sequence[int],
    nodes: Iterable[str],
    *,
    replicas: int = 1,
    actors_per_node: int = 1,
    before: Placement | None = None,
) -> Placement:
    """Places each shard on ``replicas`` different nodes, or on all if there are fewer, and balances the load.

    ``sizes`` are the tokens of each shard. Shards stay on the nodes of the placement ``before``, as long as these nodes
    exist, because their files are in memory there. Only as many shards move to a new node as the balance requires.

    >>> place([5, 5, 5, 5], ["a", "b"]).of(Seat("a", 0))
    (0, 2)
    >>> place([5, 5], ["a", "b"], replicas=2).owners[0]
    (Seat(node='a', slot=0), Seat(node='b', slot=0))
    """
    there = sorted(set(nodes))
    weights = [size + 1 for size in sizes]  # an empty shard is some load, too
    hosts = _on_nodes(weights, there, min(replicas, len(there)), _hosts_before(before, len(sizes)))
    seats = tuple(Seat(node, slot) for node in there for slot in range(actors_per_node))
    slots = {node: _slots(weights, hosts, node, actors_per_node) for node in there}
    owners = tuple(tuple(Seat(node, slots[node][shard]) for node in nodes) for shard, nodes in enumerate(hosts))
    return Placement(seats, owners)


def cover(
    sizes: Sequence[int], placement: Placement, *, avoid: Collection[Seat] = (), turn: int = 0
) -> dict[Seat, tuple[int, ...]]:
    """Chooses one seat for each shard so that the load is balanced. Returns the shards of each chosen seat.

    A shard goes to the owner with the smallest load so far. ``turn``, which is different for each search, breaks ties,
    so that searches use all replicas. There are at most as many different results as replicas, because a member must
    open each new set of shards. If all owners of a shard are to be avoided (``avoid``), any other seat takes the shard,
    if there is one.

    >>> cover([5, 5], place([5, 5], ["a", "b"], replicas=2))
    {Seat(node='a', slot=0): (0,), Seat(node='b', slot=0): (1,)}
    """
    healthy = [seat for seat in placement.seats if seat not in avoid] or list(placement.seats)
    turn %= max(map(len, placement.owners), default=1)
    load = dict.fromkeys(healthy, 0)
    chosen: dict[Seat, list[int]] = {}
    for shard in _largest_first(sizes):
        able = [seat for seat in placement.owners[shard] if seat in load] or healthy
        first = turn % len(able)
        seat = min([*able[first:], *able[:first]], key=load.__getitem__)
        load[seat] += sizes[shard] + 1
        chosen.setdefault(seat, []).append(shard)
    return {seat: tuple(sorted(chosen[seat])) for seat in placement.seats if seat in chosen}


def _hosts_before(before: Placement | None, shards: int) -> list[list[str]]:
    if before is None or len(before.owners) != shards:
        return [[] for _ in range(shards)]
    return [[seat.node for seat in owners] for owners in before.owners]


def _on_nodes(
    weights: Sequence[int], nodes: Sequence[str], replicas: int, before: Sequence[Sequence[str]]
) -> list[list[str]]:
    load = dict.fromkeys(nodes, 0)
    hosts = [[node for node in known if node in load][:replicas] for known in before]
    for shard, known in enumerate(hosts):
        for node in known:
            load[node] += weights[shard]
    for shard in _largest_first(weights):
        while len(hosts[shard]) < replicas:
            node = min((candidate for candidate in nodes if candidate not in hosts[shard]), key=load.__getitem__)
            hosts[shard].append(node)
            load[node] += weights[shard]
    _level(weights, hosts, load)
    return hosts


def _level(weights: Sequence[int], hosts: list[list[str]], load: dict[str, int]) -> None:
    """Moves shards from the node with the largest load to the one with the smallest, while that balances them."""
    while load:
        full, empty = max(load, key=load.__getitem__), min(load, key=load.__getitem__)
        movable = [
            shard
            for shard, known in enumerate(hosts)
            if full in known and empty not in known and weights[shard] < load[full] - load[empty]
        ]
        if not movable:
            return
        shard = min(movable, key=lambda moved: abs(load[full] - load[empty] - 2 * weights[moved]))
        hosts[shard][hosts[shard].index(full)] = empty
        load[full] -= weights[shard]
        load[empty] += weights[shard]


def _slots(weights: Sequence[int], hosts: Sequence[Sequence[str]], node: str, slots: int) -> Mapping[int, int]:
    """The slot (member) of a node for each of its shards."""
    load, chosen = [0] * slots, {}
    for shard in _largest_first(weights):
        if node in hosts[shard]:
            chosen[shard] = load.index(min(load))
            load[chosen[shard]] += weights[shard]
    return chosen


def _largest_first(sizes: Sequence[int]) -> list[int]:
    return sorted(range(len(sizes)), key=lambda shard: (-sizes[shard], shard))
