"""Measures `maxsieve serve` under load: many clients at once, whose requests are gathered, beside one client alone.

    python -m benchmarks.runs.load                        # the demo's docstrings, 100 clients for 60 seconds
    python -m benchmarks.runs.load --collection docs.ms --clients 20 --seconds 10
    python -m benchmarks.runs.load --hostile 20           # 80 clients that ask once a second each, and 20 that attack

The service is a process of its own, started and ended here; everything is on loopback. After a warm-up one client asks
alone, then all at once, then one alone again. The clients share the machine with the service. The exit code is 1 if an
answer is neither 200 nor 429.

With ``--hostile``, so many of the clients attack (`hostile_clients.py`). The others ask once a second each, whether or
not the answer before has come in time; a request's time is counted from the moment when it was due. The exit code is 1
if one of them is not answered with 200.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from urllib.parse import urlsplit

from rich.console import Console
from rich.table import Table

from benchmarks.runs import hostile_clients
from benchmarks.runs.arguments import positive

FINE, LATER = 200, 429
VERBS = ("split", "join", "sort", "measure", "copy", "parse", "compare", "round", "count", "compress", "remove", "find")
NOUNS = ("a path", "a list", "an array", "a file", "dates", "numbers", "a process", "a matrix", "text", "a message")
QUERIES = [f"how do I {verb} {noun}" for verb, noun in product(VERBS, NOUNS)]
WARM_UP = 15
PATIENCE = 120
"""Seconds for the service to start."""


@dataclass
class Outcome:
    """The answers of a phase."""

    seconds: float = 0.0
    statuses: Counter[int] = field(default_factory=Counter)
    times: list[float] = field(default_factory=list)
    """Of answers with status 200."""
    together: list[int] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Such answers per second."""
        return self.statuses[FINE] / self.seconds if self.seconds else 0.0

    def quantile(self, share: float) -> float:
        """Milliseconds within which this share was answered."""
        ordered = sorted(self.times)
        return 1e3 * ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(
            self.seconds + other.seconds,
            self.statuses + other.statuses,
            self.times + other.times,
            self.together + other.together,
        )


@dataclass(frozen=True)
class Target:
    """The address for requests."""

    host: str
    port: int
    path: str

    def request(self, query: str) -> bytes:
        """A request in the bytes of HTTP."""
        body = json.dumps({"query": query, "k": 10, "matches": False}).encode()
        head = f"POST {self.path} HTTP/1.1\r\nHost: {self.host}\r\nContent-Type: application/json\r\n"
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def client(target: Target, first: int, until: float, outcome: Outcome) -> None:
    """Asks one query after the other on one connection."""
    reader, writer = await asyncio.open_connection(target.host, target.port)
    number = first
    while time.perf_counter() < until:
        started = time.perf_counter()
        writer.write(target.request(QUERIES[number % len(QUERIES)]))
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = re.search(r"content-length: (\d+)", head, re.IGNORECASE)
        body = await reader.readexactly(int(length[1]) if length else 0)
        status = int(head.split(" ", 2)[1])
        outcome.statuses[status] += 1
        if status == FINE:
            outcome.times.append(time.perf_counter() - started)
            outcome.together.append(json.loads(body)["report"]["together"])
        elif status == LATER:
            await asyncio.sleep(1)
        number += 1
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


async def patient_client(target: Target, number: int, clients: int, until: float, outcome: Outcome) -> None:
    """Asks once a second, on a connection of its own each time the last one was closed."""
    due = time.perf_counter() + number / clients
    while due < until:
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        try:
            reader, writer = await asyncio.open_connection(target.host, target.port)
            writer.write(target.request(QUERIES[number % len(QUERIES)]))
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            status = int(head.split(" ", 2)[1])
            writer.close()
        except (OSError, asyncio.IncompleteReadError):
            status = 0
        outcome.statuses[status] += 1
        outcome.times.append(time.perf_counter() - due)
        due, number = due + 1, number + clients


async def under_attack(
    target: Target, clients: int, hostile: int, seconds: float, process: int
) -> tuple[Outcome, float]:
    """Clients that ask once a second beside hostile ones; and the most memory in MB that the service had."""
    attack = (target.host, target.port, target.path, hostile, seconds)
    attackers = multiprocessing.get_context("spawn").Process(target=hostile_clients.run, args=attack)
    attackers.start()
    outcome, started = Outcome(), time.perf_counter()
    tasks = [patient_client(target, i, clients, started + seconds, outcome) for i in range(clients)]
    await asyncio.gather(*tasks)
    outcome.seconds = time.perf_counter() - started
    await asyncio.to_thread(attackers.join)
    return outcome, status_mb(process, "VmHWM")


async def phase(target: Target, clients: int, seconds: float) -> Outcome:
    """Runs so many clients for so many seconds."""
    outcome, started = Outcome(), time.perf_counter()
    places = range(0, len(QUERIES) * clients, len(QUERIES) // 7)
    tasks = [client(target, places[i], started + seconds, outcome) for i in range(clients)]
    await asyncio.gather(*tasks)
    outcome.seconds = time.perf_counter() - started
    return outcome


def status_mb(process: int, name: str = "VmRSS") -> float:
    """MB of memory that a process has, or has had at most (``VmHWM``)."""
    found = re.search(rf"{name}:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    return int(found[1]) / 1000 if found else float("nan")


def start(collection: Path | None) -> tuple[subprocess.Popen[str], Target]:
    """The service, and its address."""
    arguments = ["demo", "--serve"] if collection is None else ["serve", str(collection)]
    command = [sys.executable, "-m", "maxsieve.cli", *arguments, "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    end = time.monotonic() + PATIENCE
    for line in process.stderr:
        if found := re.search(r"serving at (http://\S+)/;", line):
            address = urlsplit(found[1])
            name = "docstrings" if collection is None else collection.stem
            return process, Target(address.hostname or "", address.port or 0, f"/v1/collections/{name}/search")
        sys.stderr.write(line)
        if time.monotonic() > end:
            break
    process.kill()
    raise SystemExit("the service did not start")


def shown(outcome: Outcome) -> list[str]:
    """A row of the table."""
    statuses = ", ".join(f"{status}: {count:,}" for status, count in sorted(outcome.statuses.items()))
    group = statistics.mean(outcome.together) if outcome.together else float("nan")
    times = [f"{outcome.quantile(share):,.0f}" for share in (0.5, 0.99)]
    return [f"{outcome.rate:.1f}", *times, f"{group:.1f}", statuses]


def attacked(process: subprocess.Popen[str], target: Target, clients: int, hostile: int, seconds: float) -> int:
    """The load with hostile clients: prints what the others saw."""
    try:
        asyncio.run(phase(target, 1, 2))
        outcome, most = asyncio.run(under_attack(target, clients, hostile, seconds, process.pid))
    finally:
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        code = process.wait(PATIENCE)
    print(
        f"{clients} clients, once a second each, beside {hostile} hostile ones: {sum(outcome.statuses.values()):,} "
        f"requests in {outcome.seconds:.0f} s, p50 {outcome.quantile(0.5):,.0f} ms, p99 {outcome.quantile(0.99):,.0f} "
        f"ms, longest {outcome.quantile(1):,.0f} ms; statuses {dict(outcome.statuses)}"
    )
    print(f"the service had at most {most:,.0f} MB, and ended with {code} after {time.monotonic() - began:.1f} s")
    print(f"on {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}")
    return 0 if set(outcome.statuses) == {FINE} and code == 0 else 1


def main() -> int:
    """Starts the service, sends requests, prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collection", type=Path, help="a collection; by default that of maxsieve demo")
    parser.add_argument("--clients", type=positive, default=100)
    parser.add_argument("--seconds", type=positive, default=60, help="of all clients at once; one alone has half of it")
    parser.add_argument("--hostile", type=positive, help="so many of the clients attack the service")
    given = parser.parse_args()
    process, target = start(given.collection)
    if given.hostile is not None:
        return attacked(process, target, given.clients - given.hostile, given.hostile, given.seconds)
    try:
        asyncio.run(phase(target, given.clients, WARM_UP))
        before = status_mb(process.pid)
        alone = asyncio.run(phase(target, 1, given.seconds / 4))
        many = asyncio.run(phase(target, given.clients, given.seconds))
        alone += asyncio.run(phase(target, 1, given.seconds / 4))
        after = status_mb(process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        code = process.wait(PATIENCE)
    table = Table("clients", "answers/s", "p50, ms", "p99, ms", "mean group", "statuses")
    table.add_row("1", *shown(alone))
    table.add_row(str(given.clients), *shown(many))
    Console(width=100).print(table)
    print(f"gathered over one at a time: {many.rate / alone.rate:.2f}" if alone.rate else "nothing was answered")
    print(
        f"memory of the service: {before:,.0f} MB after the warm-up, {after:,.0f} MB at the end; it ended with {code}"
    )
    print(f"on {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}")
    return 0 if set(alone.statuses | many.statuses) <= {FINE, LATER} and code == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
