"""The MCP server, called by the official SDK's client: over standard input and output, over HTTP, and in-process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError

from maxsieve.service.agents.budget import count_tokens
from maxsieve.service.agents.library import Library, named_folders
from maxsieve.service.agents.server import AgentServer
from maxsieve.service.open_collections import OpenCollections
from maxsieve.service.service import Service
from maxsieve.service.settings import Settings
from maxsieve.text import OnnxEncoder
from service.support import PATIENCE, Served, posted, serving

MODES = ["legacy", "auto"]
"""The protocol with a handshake, and the one of 2026 without."""

Asking = Callable[[Client], Awaitable[None]]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with a secret beside it, and links that lead to the secret."""
    (tmp_path / "secret.md").write_text("the secret fox\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "more.md").write_text("another secret fox\n")
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "fox.md").write_text("# Animals\n\nA red fox by the river.\n\nAn owl.\n")
    (folder / "tea.md").write_text("Green tea and blue bread.\n")
    (folder / ".hidden.md").write_text("a hidden secret fox\n")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    (folder / "folder").symlink_to(tmp_path / "outside")
    (folder / "inner.md").symlink_to(folder / "tea.md")
    return folder


@contextmanager
def agent_server(
    encoder: OnnxEncoder, collections: dict[str, Path], folders: list[Path], **settings: Any
) -> Iterator[AgentServer]:
    """A server in this process."""
    service = Service(OpenCollections(collections, encoder), encoder, Settings(**settings))
    try:
        yield AgentServer(Library(service, named_folders(folders, encoder)))
    finally:
        service.close()


def asking(server: AgentServer, work: Asking, mode: str = "auto") -> None:
    """Connects a client to a server of this process."""

    async def run() -> None:
        with anyio.fail_after(PATIENCE):
            async with Client(server.mcp, mode=mode) as client:
                await work(client)

    anyio.run(run)


async def called(client: Client, tool: str, **arguments: Any) -> str:
    """The text of an answer that is no error."""
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    return str(answer.content[0].text)


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """The text of an answer that is an error."""
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error, answer.content
    return str(answer.content[0].text)


async def everything(client: Client) -> None:
    """What any client does: list the tools, search, read what was found, rank texts."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == {"search", "read", "rerank", "collections"}
    assert all(tool.annotations.read_only_hint and tool.description for tool in tools.values())
    assert "4 documents" in await called(client, "collections")
    found = await called(client, "search", query="a red fox", k=2)
    assert found.startswith("1. fox:1-1")
    assert "A red fox by the river." in found
    assert "Guarantee: exact among 4 " in found
    assert await called(client, "read", id="owl") == "owl:1-1 (of 1 lines)\nAn owl on a mountain."
    assert "texts[1]" in (await called(client, "rerank", query="tea", texts=["bread", "green tea"])).splitlines()[0]
    listed = await client.list_resources()
    assert [resource.name for resource in listed.resources] == ["fox", "owl", "tea", "path"]
    [content] = (await client.read_resource(listed.resources[1].uri)).contents
    assert content.text == "An owl on a mountain."
    assert "docs" in await refused(client, "search", query="fox", collection="other")


@pytest.mark.parametrize("mode", MODES)
def test_a_client_of_the_sdk_over_stdio(mode: str, docs: Path, encoder: OnnxEncoder) -> None:
    async def run() -> None:
        command = ["-m", "maxsieve.cli", "mcp", str(docs), "--encoder", encoder.name]
        server = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
        with anyio.fail_after(PATIENCE):
            async with Client(stdio_client(server), mode=mode) as client:
                await everything(client)

    anyio.run(run)


@pytest.mark.parametrize("mode", MODES)
def test_a_client_of_the_sdk_over_http(mode: str, shared: Served) -> None:
    async def run() -> None:
        with anyio.fail_after(PATIENCE):
            async with Client(f"http://127.0.0.1:{shared.port}/mcp", mode=mode) as client:
                await everything(client)

    anyio.run(run)


def test_the_guard_is_in_front(docs: Path, encoder: OnnxEncoder) -> None:
    ping = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
    accepts = "Accept: application/json, text/event-stream"
    with serving(encoder, {"docs": docs}, api_key="key") as served:
        assert served.raw(posted("/mcp", ping, accepts)).startswith(b"HTTP/1.1 401")
        assert served.raw(posted("/mcp", ping, accepts, "X-Api-Key: key")).startswith(b"HTTP/1.1 200")
        evil = served.raw(posted("/mcp", ping, accepts, "X-Api-Key: key", "Origin: http://evil.example"))
        assert evil.startswith(b"HTTP/1.1 403")
        assert served.client.get("/mcp", headers={"X-Api-Key": "key"}).status_code == 405
    with serving(encoder, {"docs": docs}) as served:
        rebound = posted("/mcp", ping, accepts).replace(b"Host: 127.0.0.1", b"Host: evil.example")
        assert served.raw(rebound).startswith(b"HTTP/1.1 421")
        assert served.raw(posted("/mcp", b"[" * 10_000, accepts)).startswith(b"HTTP/1.1 400")
        assert served.raw(posted("/mcp", b"{" + b" " * (5 << 20) + b"}", accepts)).startswith(b"HTTP/1.1 413")


def test_answers_are_bounded_and_say_what_is_left_out(tmp_path: Path, encoder: OnnxEncoder) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(20):
        (folder / f"fox{number}.md").write_text(f"A red fox, number {number}.\n" + "A path to the river.\n" * 40)

    async def work(client: Client) -> None:
        for limit in (100, 300, 1000, 5000):
            found = await called(client, "search", query="red fox river", k=20, max_tokens=limit)
            assert count_tokens(found) <= limit
            assert found.startswith("1. fox")
            assert ("Left out: " in found) == (limit < 5000)
            lines = await called(client, "read", id="fox3.md", max_tokens=limit)
            assert count_tokens(lines) <= limit
            assert ("Left out: lines" in lines) == (limit < 400)
        ranked = await called(client, "rerank", query="fox", texts=["fox " * 5000] * 50, k=50, max_tokens=500)
        assert count_tokens(ranked) <= 500
        assert "Left out: " in ranked
        assert "max_tokens" in await refused(client, "search", query="fox", max_tokens=10)

    with agent_server(encoder, {}, [folder]) as server:
        asking(server, work)


def test_nothing_outside_of_the_folder_is_read(tree: Path, encoder: OnnxEncoder) -> None:
    outside = ["../secret.md", str(tree.parent / "secret.md"), "link.md", "folder/more.md", ".hidden.md", "", "."]
    outside += ["fox.md/../../secret.md", "..\\secret.md", "fox.md\0", "/etc/passwd", "~/.ssh/id_rsa"]

    async def work(client: Client) -> None:
        found = await called(client, "search", query="secret fox", k=100, max_tokens=50_000)
        assert "fox.md:1-5" in found
        assert "secret" not in found
        assert "Green tea" in await called(client, "read", id="inner.md")
        for path in outside:
            assert "secret fox" not in await refused(client, "read", id=path)
            with pytest.raises(MCPError):
                await client.read_resource(f"maxsieve://tree/{path}")
        names = [resource.name for resource in (await client.list_resources()).resources]
        assert names == ["fox.md", "inner.md", "tea.md"]
        for uri in ("file:///etc/passwd", "maxsieve://../etc/passwd", "maxsieve://tree"):
            with pytest.raises(MCPError):
                await client.read_resource(uri)

    with agent_server(encoder, {}, [tree]) as server:
        asking(server, work)


HOSTILE: list[tuple[str, dict[str, Any]]] = [
    ("search", {}),
    ("search", {"query": 7}),
    ("search", {"query": ""}),
    ("search", {"query": " \n"}),
    ("search", {"query": "x" * 100_000}),
    ("search", {"query": "fox", "k": 0}),
    ("search", {"query": "fox", "k": 10**9}),
    ("search", {"query": "fox", "k": "10"}),
    ("search", {"query": "fox", "where": {"year": {"near": 7}}}),
    ("search", {"query": "fox", "where": [1]}),
    ("search", {"query": "fox", "collection": "../docs"}),
    ("search", {"query": "fox", "policy": "bandit"}),
    ("read", {"id": None}),
    ("read", {"id": "fox", "first_line": 99}),
    ("read", {"id": "fox", "first_line": 0}),
    ("read", {"id": 1.5}),
    ("rerank", {"query": "fox", "texts": []}),
    ("rerank", {"query": "fox", "texts": ["x"] * 10_000}),
    ("rerank", {"query": "fox", "texts": ["x" * 1_000_000] * 3}),
    ("rerank", {"query": "fox", "texts": "fox"}),
    ("collections", {"name": "docs"}),
]


def test_hostile_arguments_get_clear_errors(docs: Path, encoder: OnnxEncoder) -> None:
    async def work(client: Client) -> None:
        for tool, arguments in HOSTILE:
            said = await refused(client, tool, **arguments)
            assert 5 < len(said) < 1100
            assert "unexpected" not in said
            assert "Traceback" not in said
        for tool in ("add", "delete", "x" * 10_000):
            with pytest.raises(MCPError):
                await client.call_tool(tool, {"ids": ["fox"], "documents": [{"text": "new"}]})
        assert "4 documents" in await called(client, "collections")

    with agent_server(encoder, {"docs": docs}, []) as server:
        asking(server, work)


def test_thousands_of_calls(docs: Path, encoder: OnnxEncoder) -> None:
    """Those beyond the limit are told to try again; all others are answered."""

    async def work(client: Client) -> None:
        outcomes: list[str] = []

        async def call() -> None:
            answer = await client.call_tool("search", {"query": "a red fox", "k": 1})
            outcomes.append("too many" if answer.is_error else answer.content[0].text[:5])

        async with anyio.create_task_group() as calls:
            for _ in range(2000):
                calls.start_soon(call)
        assert len(outcomes) == 2000
        assert set(outcomes) == {"1. fo", "too many"}
        assert outcomes.count("1. fo") >= 100
        assert (await called(client, "search", query="a red fox", k=1)).startswith("1. fox")

    with agent_server(encoder, {"docs": docs}, [], waiting=100) as server:
        asking(server, work)


def test_only_a_writable_server_adds_and_deletes(docs: Path, encoder: OnnxEncoder) -> None:
    async def work(client: Client) -> None:
        assert {"add", "delete"} <= {tool.name for tool in (await client.list_tools()).tools}
        new = [{"id": "cow", "text": "A blue cow."}]
        assert (await called(client, "add", documents=new)).startswith("1 added")
        assert (await called(client, "search", query="a blue cow", k=1)).startswith("1. cow:1-1")
        assert "replace" in await refused(client, "add", documents=[{"id": "cow", "text": "Another."}])
        assert await called(client, "delete", ids=["cow"]) == "1 deleted"
        assert "cow" in await refused(client, "delete", ids=["cow"])

    with agent_server(encoder, {"docs": docs}, [], writable=True) as server:
        asking(server, work)


def test_a_hostile_client_over_stdio(docs: Path, encoder: OnnxEncoder) -> None:
    """Lines that are no JSON, no requests or too large: what comes after them is answered."""
    large = json.dumps({"jsonrpc": "2.0", "id": 3, "method": "ping", "params": {"x": "y" * (17 << 20)}})
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "it", "version": "1"}}
    lines = [
        "this is no JSON",
        "[" * 100_000,
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json.dumps({"jsonrpc": "2.0", "id": 2, "method": "no/such/method", "params": {}}),
        large,
        "\x00\x1b[31m\ufffd",
        json.dumps({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "collections"}}),
    ]
    command = [sys.executable, "-m", "maxsieve.cli", "mcp", str(docs), "--encoder", encoder.name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(line + "\n" for line in lines).encode())
        process.stdin.flush()
        answers: dict[Any, Any] = {}
        while 4 not in answers:
            answer = json.loads(process.stdout.readline())
            answers[answer.get("id")] = answer
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
    assert answers[1]["result"]["serverInfo"]["name"] == "maxsieve"
    assert "error" in answers[2]
    assert "bytes" in answers[3]["error"]["message"]
    assert "4 documents" in answers[4]["result"]["content"][0]["text"]
