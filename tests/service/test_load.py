"""Too many requests, late requests, clients that disconnect or are slow, and the end of a service."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from cli.support import CommandLine
from maxsieve.text import OnnxEncoder
from service.support import PATIENCE, GatedEncoder, Served, detail, parsed, posted, received, serving, until

RERANK = {"query": "river", "texts": ["river", "owl"]}


@pytest.fixture
def gated(encoder: OnnxEncoder) -> Iterator[GatedEncoder]:
    """An encoder whose gate is always opened at the end."""
    gated = GatedEncoder(encoder)
    yield gated
    gated.gate.set()


class Asked(threading.Thread):
    """A request in a separate thread."""

    def __init__(self, served: Served, body: Any = RERANK, path: str = "/rerank") -> None:
        super().__init__()
        self._ask = lambda: served.client.post(path, json=body)
        self.start()

    def run(self) -> None:
        self.answer = self._ask()

    def wait(self) -> httpx.Response:
        self.join(PATIENCE)
        return self.answer


def test_too_many_are_told_to_wait(gated: GatedEncoder) -> None:
    with serving(gated, waiting=3) as served:
        asked = [Asked(served) for _ in range(3)]
        until(lambda: served.service.requests_in_progress() == 3)
        for _ in range(2):
            refused = served.client.post("/rerank", json=RERANK)
            assert refused.status_code == 429
            assert refused.headers["retry-after"] == "1"
            assert "too many requests" in detail(refused)
        assert served.client.get("/healthz").status_code == 200  # it must not starve
        gated.gate.set()
        assert {one.wait().status_code for one in asked} == {200}
        assert served.client.post("/rerank", json=RERANK).status_code == 200
        assert "maxsieve_refused_total 2.0" in served.client.get("/metrics").text


def test_too_many_bytes_are_told_to_wait(gated: GatedEncoder) -> None:
    with serving(gated, waiting_bytes=1000) as served:
        body = {**RERANK, "x": "x" * 600}
        asked = Asked(served, body)
        until(lambda: served.service.requests_in_progress() == 1)
        assert served.client.post("/rerank", json=body).status_code == 429
        chunked = posted("/rerank", b"0\r\n\r\n", "Transfer-Encoding: chunked", length=False)
        assert parsed(served.raw(chunked))[0] == 429  # it might be as long as any other
        gated.gate.set()
        assert asked.wait().status_code == 200


def test_deadlines(gated: GatedEncoder, docs: Path) -> None:
    with serving(gated, {"docs": docs}, deadline=0.2) as served:
        for path, body in (("/rerank", RERANK), ("/v1/collections/docs/search", {"query": "river"})):
            late = served.client.post(path, json=body)
            assert late.status_code == 504
            assert detail(late) == "there was no answer within 0.2 seconds"
        assert 'maxsieve_given_up_total{why="too late"} 2.0' in served.client.get("/metrics").text
        gated.gate.set()
        until(lambda: served.client.post("/rerank", json=RERANK).status_code == 200)


def test_a_deadline_of_the_client(gated: GatedEncoder) -> None:
    with serving(gated) as served:
        late = served.client.post("/rerank", json=RERANK, headers={"X-Timeout-Seconds": "0.1"})
        assert late.status_code == 504
        for wrong in ("0", "-1", "nan", "inf", "soon", ""):
            answer = served.client.post("/rerank", json=RERANK, headers={"X-Timeout-Seconds": wrong})
            assert answer.status_code == 422
            assert "Timeout" in detail(answer)
        gated.gate.set()  # otherwise the service waits for the late request before it ends


def test_who_hangs_up_before_the_turn_is_skipped(gated: GatedEncoder) -> None:
    with serving(gated) as served:
        first = Asked(served)
        assert gated.came.acquire(timeout=PATIENCE)
        with served.connect() as connection:
            connection.sendall(posted("/rerank", json.dumps({"query": "gone", "texts": ["gone"]}).encode()))
            until(lambda: served.service.requests_in_progress() == 2)
        until(lambda: served.service.requests_in_progress() == 1)
        gated.gate.set()
        assert first.wait().status_code == 200
        assert not any("gone" in call for call in gated.calls)
        assert 'maxsieve_given_up_total{why="hung up"} 1.0' in served.client.get("/metrics").text


def test_who_hangs_up_stops_what_is_left(gated: GatedEncoder) -> None:
    """A long list is encoded a few texts at a time: after the client has disconnected, no more of them are."""
    with serving(gated) as served:
        gated.gate.set()
        assert served.client.post("/rerank", json=RERANK).status_code == 200
        gated.gate.clear()
        gated.calls.clear()
        with served.connect() as connection:
            texts = [f"text {number}" for number in range(200)]
            connection.sendall(posted("/rerank", json.dumps({"query": "river", "texts": texts}).encode()))
            until(lambda: gated.calls)
        until(lambda: served.service.requests_in_progress() == 0)
        gated.gate.set()
        assert served.client.post("/rerank", json={"query": "last", "texts": ["last"]}).status_code == 200
        assert sum(map(len, gated.calls)) < 30


def test_headers_that_never_come(encoder: OnnxEncoder) -> None:
    with serving(encoder, patience=0.3) as served:
        idle, slow = served.connect(), served.connect()
        with idle, slow:
            slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: ")
            with contextlib.suppress(ConnectionError):
                for letter in b"localhost" * 1000:
                    slow.sendall(bytes([letter]))
                    time.sleep(0.05)
            assert received(slow) == b""
            assert received(idle) == b""
        assert served.client.get("/healthz").status_code == 200


def test_a_body_that_never_comes(encoder: OnnxEncoder) -> None:
    with serving(encoder, patience=0.3) as served, served.connect() as connection:
        connection.sendall(posted("/rerank", b"", "Content-Length: 100", length=False))
        status, body = parsed(received(connection))
        assert status == 408
        assert "did not arrive" in body["detail"]
        until(lambda: served.service.requests_in_progress() == 0)


def test_an_answer_that_nobody_takes(encoder: OnnxEncoder) -> None:
    with serving(encoder, patience=0.5) as served, socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", served.port))
        texts = ["river" + " " * 1900] * 1000
        body = json.dumps({"query": "river", "texts": texts, "return_text": True}).encode()
        connection.settimeout(PATIENCE)
        request = posted("/rerank", body).replace(b"Connection: close\r\n", b"")
        with pytest.raises(ConnectionError):
            connection.sendall(request * 20)  # their answers are larger than the buffers of both ends
        until(lambda: served.service.requests_in_progress() == 0)
        assert served.client.get("/healthz").status_code == 200


def test_too_many_connections(encoder: OnnxEncoder) -> None:
    with serving(encoder, connections=5) as served, contextlib.ExitStack() as kept:
        opened = [kept.enter_context(served.connect()) for _ in range(20)]
        time.sleep(0.1)
        refused = 0
        for one in opened:
            one.setblocking(False)
            try:
                refused += one.recv(1) == b""
            except ConnectionResetError:
                refused += 1
            except BlockingIOError:
                pass
        assert refused >= 15
        kept.close()
        until(lambda: _answers(served))


def _answers(served: Served) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{served.port}/healthz").status_code == 200
    except httpx.TransportError:
        return False


@pytest.fixture
def line(tmp_path: Path, encoder: OnnxEncoder) -> CommandLine:
    """The command line."""
    return CommandLine(tmp_path, encoder.folder, tmp_path / "cache")


@contextlib.contextmanager
def started(line: CommandLine, *arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """``maxsieve serve`` in a separate process, and its address."""
    command = ["serve", "--port", "0", "--encoder", str(line.model), *arguments]
    with line.start(*command, stderr=subprocess.PIPE) as process:
        try:
            assert process.stderr is not None
            said = process.stderr.readline().decode()
            assert "serving at http://127.0.0.1:" in said
            yield process, said.partition("serving at ")[2].partition("/;")[0]
        finally:
            process.kill()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_running_requests_are_answered_before_the_end(line: CommandLine, docs: Path, how: signal.Signals) -> None:
    with started(line, str(docs)) as (process, address):
        texts = [" ".join(["river"] * 200)] * 1000
        answers: list[httpx.Response] = []

        def ask() -> None:
            answers.append(httpx.post(f"{address}/rerank", json={"query": "owl", "texts": texts}, timeout=PATIENCE))

        thread = threading.Thread(target=ask)
        with httpx.Client(base_url=address) as client:
            thread.start()
            until(lambda: "maxsieve_requests_in_progress 1.0" in client.get("/metrics").text or answers)
            process.send_signal(how)
            thread.join(PATIENCE)
            assert process.wait(PATIENCE) == 0
        assert [(one.status_code, len(one.json())) for one in answers] == [(200, 1000)]
        assert process.stderr is not None
        assert process.stderr.read() == b""


def test_the_command(line: CommandLine, docs: Path) -> None:
    with started(line, str(docs), "--waiting", "7", "--deadline", "9", "--max-body", "1") as (_, address):
        with httpx.Client(base_url=address) as client:
            answer = client.post("/v1/collections/docs/search", json={"query": "river"})
            assert answer.json()["hits"][0]["id"] in ("fox", "path")
            assert client.post("/rerank", json={**RERANK, "x": "x" * 10**6}).status_code == 413
        port = address.rpartition(":")[2]
        said = line("serve", "--port", port, "--encoder", str(line.model), code=1).stderr
        assert f"can't listen at 127.0.0.1 port {port}" in said


def test_libraries_say_nothing_in_its_log(line: CommandLine, docs: Path) -> None:
    with started(line, str(docs)) as (process, address):
        with httpx.Client(base_url=address, timeout=PATIENCE) as client:
            answer = client.post("/v1/collections/docs/search", json={"query": "river", "hybrid": "rrf"})
            assert answer.status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""


def test_collections_that_can_not_be_served(line: CommandLine, docs: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    twin = tmp_path / "other" / "docs.ms"
    twin.symlink_to(docs)
    model = ["--port", "0", "--encoder", str(line.model)]
    assert "both be called 'docs'" in line("serve", str(docs), str(twin), *model, code=1).stderr
    assert "nothing-here" in line("serve", "nothing-here", *model, code=1).stderr
    assert "can't be part of a URL" in line("serve", "a b", *model, code=1).stderr
    assert "no encoder is called" in line("serve", "--port", "0", "--encoder", "nobody", code=1).stderr


def test_the_extra_that_is_missing(tmp_path: Path) -> None:
    code = "import sys; sys.modules['fastapi'] = None\nfrom maxsieve.cli.app import run\nsys.exit(run(['serve']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert "maxsieve[serve]" in done.stderr
