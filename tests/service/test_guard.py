"""Who may send which requests, from where, and how strictly they are read."""

from __future__ import annotations

import asyncio
import hmac
import json
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute

from cli.support import CommandLine
from maxsieve.service import app, document_routes, rerank_routes, schema, search_routes
from maxsieve.text import OnnxEncoder
from service.support import Served, detail, parsed, posted, received, serving

JSON = {"Content-Type": "application/json"}
RERANK = {"query": "a river", "texts": ["river", "owl"]}


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:99", "127.0.0.1:8800", "[::1]:1", "127.9.9.9", "LOCALHOST"])
def test_names_of_this_machine(shared: Served, host: str) -> None:
    assert shared.client.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8800", "127.0.0.1.evil.example", "8.8.8.8", "", "[::1", "localhost.", "a@b"]
)
def test_other_names_are_misdirected(shared: Served, host: str) -> None:
    answer = shared.client.get("/healthz", headers={"Host": host})
    assert answer.status_code in (400, 421)
    detail(answer)


def test_pages_of_other_sites(shared: Served) -> None:
    own = {"Origin": f"http://127.0.0.1:{shared.port}"}
    assert shared.client.post("/rerank", json=RERANK, headers=own).status_code == 200
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1", "http://localhost", "//", "http://[::1"):
        answer = shared.client.post("/rerank", json=RERANK, headers={"Origin": origin})
        assert answer.status_code == 403
        assert "other sites" in detail(answer)
    preflight = shared.client.options("/rerank", headers={"Access-Control-Request-Method": "POST"})
    assert preflight.status_code == 405
    assert not any(name.startswith("access-control") for name in preflight.headers)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "application/json; charset=x"])
def test_only_json(shared: Served, kind: str) -> None:
    answer = shared.client.post("/rerank", content=json.dumps(RERANK), headers={"Content-Type": kind})
    assert answer.status_code == 415
    assert "application/json" in detail(answer)


@pytest.mark.parametrize("path", ["/healthz", "/docs", "/nowhere", "/openapi.json"])
def test_headers_that_keep_browsers_strict(shared: Served, path: str) -> None:
    headers = shared.client.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    policy = headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert headers["cache-control"] == "no-store"
    assert "server" not in headers


def test_an_api_key(encoder: OnnxEncoder) -> None:
    with serving(encoder, api_key="sésame") as served:
        for headers in (
            {},
            {"Authorization": "Bearer"},
            {"Authorization": "Bearer other"},
            {"Authorization": "Basic s\xe9same".encode("latin-1")},
            {"X-API-Key": ""},
            {"X-API-Key": b"s\xff"},
        ):
            for path in ("/rerank", "/metrics", "/docs", "/v1/collections"):
                answer = served.client.request("POST" if path == "/rerank" else "GET", path, headers=headers)
                assert answer.status_code == 401
                assert answer.headers["www-authenticate"] == "Bearer"
                assert "API key" in detail(answer)
        key = "sésame".encode()
        for headers in ({"Authorization": b"Bearer " + key}, {"Authorization": b"bearer " + key}, {"X-API-Key": key}):
            assert served.client.post("/rerank", json=RERANK, headers=headers).status_code == 200
            # with the key, any host name is allowed: that of a proxy, for instance
            assert served.client.get("/v1/collections", headers={**headers, "Host": "example.org"}).status_code == 200
        assert served.client.get("/healthz").status_code == 200
        assert served.client.get("/readyz").status_code == 200


def test_the_time_of_a_check_says_nothing_about_the_key(encoder: OnnxEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is sent, values of one length are compared by the function that looks at all of them."""
    compared: list[tuple[bytes, bytes]] = []
    compare = hmac.compare_digest

    def spy(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return compare(one, other)

    with serving(encoder, api_key="open sesame") as served:
        monkeypatch.setattr(hmac, "compare_digest", spy)
        keys = ["", "o", "open sesam", "open sesame", "open sesame!", "x" * 11, "x" * 8000]
        statuses = [served.client.get("/v1/collections", headers={"X-API-Key": key}).status_code for key in keys]
    assert statuses == [401, 401, 401, 200, 401, 401, 401]
    assert {len(value) for pair in compared for value in pair} == {32}
    assert len(compared) == len(keys)
    assert not any(b"sesame" in value for pair in compared for value in pair)


def test_other_machines_need_a_key(tmp_path: Path) -> None:
    line = CommandLine(tmp_path, tmp_path, tmp_path)
    for host in ("0.0.0.0", "::", "example.org"):
        said = line.unaided("serve", "--host", host, code=2).stderr
        assert "--api-key" in said


HOSTILE: dict[str, bytes] = {
    "nested lists": b"[" * 100_000 + b"]" * 100_000,
    "nested objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "nested in a field": b'{"query": "a", "texts": ["b"], "x": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    "NaN": b'{"query": "a", "texts": ["b"], "top_n": NaN}',
    "infinity": b'{"query": "a", "texts": ["b"], "top_n": -Infinity}',
    "a huge number": b'{"query": "a", "texts": ["b"], "top_n": ' + b"9" * 100_000 + b"}",
    "a huge exponent": b'{"query": "a", "texts": ["b"], "top_n": 1e999999999}',
    "no UTF-8": b'{"query": "\xff\xfe", "texts": ["b"]}',
    "an overlong form": b'{"query": "\xc0\xaf", "texts": ["b"]}',
    "a surrogate in UTF-8": b'{"query": "\xed\xa0\x80", "texts": ["b"]}',
    "a lone surrogate": b'{"query": "\\ud800", "texts": ["b"]}',
    "a low surrogate": b'{"query": "a", "texts": ["\\udc00"]}',
    "a bare control character": b'{"query": "a\x00b", "texts": ["b"]}',
    "an unfinished text": b'{"query": "a',
    "two values": b'{"query": "a", "texts": ["b"]} {}',
    "UTF-16": json.dumps(RERANK).encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf" + json.dumps(RERANK).encode(),
    "nothing": b"",
    "null": b"null",
    "a comment": b'{"query": "a", /* */ "texts": ["b"]}',
    "a pickle": b"\x80\x04\x95\x1e\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94.",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_json(shared: Served, name: str) -> None:
    answer = shared.client.post("/rerank", content=HOSTILE[name], headers=JSON)
    assert answer.status_code in (400, 422), answer.text
    detail(answer)
    assert shared.client.post("/rerank", json=RERANK).status_code == 200


def test_control_characters_of_texts_come_back_escaped(shared: Served) -> None:
    text = "\x1b]0;title\x07 \u202e river \x9b31m"
    answer = shared.client.post("/rerank", json={"query": "river", "texts": [text], "return_text": True})
    assert answer.json()[0]["text"] == text
    assert not {0x1B, 0x07} & set(answer.content)
    assert "\u202e" not in answer.text


def test_large_bodies(encoder: OnnxEncoder) -> None:
    with serving(encoder, body_bytes=20_000) as served:
        exact = {"query": "a", "texts": ["b"], "x": ""}
        exact["x"] = "x" * (20_000 - len(json.dumps(exact)))
        for extra, status in (("", 200), ("x", 413)):
            body = json.dumps({**exact, "x": exact["x"] + extra}).encode()
            assert parsed(served.raw(posted("/rerank", body)))[0] == status
            chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
            told = posted("/rerank", chunked, "Transfer-Encoding: chunked", length=False)
            assert parsed(served.raw(told))[0] == status
        for more in ("/rerank", "/nowhere", "/healthz"):  # a body that is not needed is read anyway
            body = json.dumps({**exact, "x": exact["x"] * 2}).encode()
            assert served.client.post(more, content=body, headers=JSON).status_code == 413
            assert served.client.post(more, content=body[:9000], headers=JSON).status_code in (400, 404, 405)
        refused = served.raw(posted("/rerank", b"", "Content-Length: 99999999", "Expect: 100-continue", length=False))
        assert parsed(refused)[0] == 413
        status, answer = parsed(served.raw(posted("/rerank", b"", "Content-Length: 99999999999999999", length=False)))
        assert (status, answer) == (413, {"detail": "the body has more than 20,000 bytes"})
        assert served.service.requests_in_progress() == 0


@pytest.mark.parametrize(
    "sent",
    [
        b"GARBAGE\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
        b"GET /healthz HTTP/1.1\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        posted("/rerank", b"{}", "Content-Length: 5"),
        posted("/rerank", b"0\r\n\r\n", "Transfer-Encoding: chunked, chunked", length=False),
        posted("/rerank", b"zz\r\n", "Transfer-Encoding: chunked", length=False),
    ],
)
def test_what_is_no_http(shared: Served, sent: bytes) -> None:
    with shared.connect() as connection:
        connection.sendall(sent)
        connection.shutdown(1)
        answer = received(connection)
    if answer:
        status, body = parsed(answer)
        assert status in (400, 404, 408, 413, 421)
        assert "detail" in body
    assert shared.client.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/nowhere", 404), ("GET", "/rerank", 405), ("PUT", "/v1/rerank", 405), ("GET", "/../../etc/passwd", 404)],
)
def test_no_such_route(shared: Served, method: str, path: str, status: int) -> None:
    answer = shared.client.request(method, path)
    assert answer.status_code == status
    detail(answer)
    if status == 405:
        assert answer.headers["allow"] == "POST"


def test_the_schema_and_its_page(shared: Served) -> None:
    schema = shared.client.get("/openapi.json").json()
    routes = {(method, path) for path, methods in schema["paths"].items() for method in methods}
    assert {("post", "/v2/rerank"), ("post", "/v1/collections/{name}/search"), ("get", "/metrics")} <= routes
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            assert {"200", "400", "429", "503"} <= set(operation["responses"]), (method, path)
    page = shared.client.get("/docs")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "http" not in page.text.replace('href="', "")  # nothing is loaded from other sites
    assert "<script" not in page.text
    for _, path in routes:
        assert path in page.text


def test_metrics(shared: Served) -> None:
    def counted() -> dict[str, float]:
        lines = shared.client.get("/metrics").text.splitlines()
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}

    before: dict[str, Any] = counted()
    shared.search(query="river")
    shared.client.post("/rerank", json=RERANK)
    after = counted()

    def grown(name: str) -> float:
        return after[name] - before.get(name, 0)

    assert grown('maxsieve_searches_total{collection="docs",guarantee="exact"}') == 1
    assert grown("maxsieve_reranked_documents_total") == 2
    assert grown('maxsieve_requests_total{route="/rerank",status="200"}') == 1
    assert grown('maxsieve_group_size_count{what="searching"}') == 1
    assert after["maxsieve_requests_in_progress"] == 0


def test_every_request_is_handled_on_the_event_loop() -> None:
    """FastAPI would call other functions on threads, of which there are few, and for which nobody can wait."""
    for module in (rerank_routes, search_routes, document_routes, app, schema):
        for route in module.router.routes:
            assert isinstance(route, APIRoute)
            calls = [route.endpoint, *(one.call for one in route.dependant.dependencies)]
            assert all(asyncio.iscoroutinefunction(call) for call in calls), route.path
