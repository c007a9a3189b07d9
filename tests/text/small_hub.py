"""A small server that speaks the hub's protocol: the files of a commit, and their contents, whole or in part."""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

COMMIT, LATER = "1" * 40, "2" * 40


class SmallHub:
    """One repository, ``some/colbert``. ``commits`` has the files of each commit, and ``main`` names the newest."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.commits = {COMMIT: dict(files)}
        self.main = COMMIT
        self.listed: dict[str, dict[str, bytes]] = {}
        """What a commit's list of files is made from, if it is not what is sent."""
        self.cut_after: int | None = None
        """Ends the connection after this many bytes of a large file, once."""
        self.asked: list[tuple[str, str, str | None]] = []
        self.endpoint = ""

    def info(self, commit: str) -> dict[str, Any]:
        """What the hub says about a commit."""
        siblings = []
        for name, content in self.listed.get(commit, self.commits[commit]).items():
            blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
            entry: dict[str, Any] = {"rfilename": name, "size": len(content), "blobId": blob}
            if name.endswith(".onnx"):
                sha = hashlib.sha256(content).hexdigest()
                entry["lfs"] = {"sha256": sha, "size": len(content), "pointerSize": 100}
            siblings.append(entry)
        return {"id": "some/colbert", "modelId": "some/colbert", "sha": commit, "siblings": siblings, "tags": []}


@contextmanager
def serving(hub: SmallHub) -> Iterator[SmallHub]:
    """Serves a hub at ``hub.endpoint``."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_HEAD(self) -> None:
            self.answer(body=False)

        def do_GET(self) -> None:
            self.answer(body=True)

        def answer(self, *, body: bool) -> None:
            hub.asked.append((self.command, self.path, self.headers.get("Range")))
            parts = self.path.partition("?")[0].strip("/").split("/")
            if parts[:4] == ["api", "models", "some", "colbert"]:
                commit = parts[5] if len(parts) > 5 else "main"
                commit = hub.main if commit == "main" else commit
                content = json.dumps(hub.info(commit)).encode() if commit in hub.commits else None
                self.reply(content, body=body)
            elif parts[:3] == ["some", "colbert", "resolve"] and parts[3] in hub.commits:
                self.reply(hub.commits[parts[3]].get("/".join(parts[4:])), body=body, commit=parts[3])
            else:
                self.reply(None, body=body)

        def reply(self, content: bytes | None, *, body: bool, commit: str = "") -> None:
            found = content if content is not None else b""
            start = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").partition("-")[0])
            self.send_response(404 if content is None else 206 if start else 200)
            if commit:
                self.send_header("X-Repo-Commit", commit)
                self.send_header("ETag", f'"{hashlib.sha256(found).hexdigest()}"')
                self.send_header("Accept-Ranges", "bytes")
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(found) - 1}/{len(found)}")
            self.send_header("Content-Length", str(len(found) - start))
            self.end_headers()
            if body:
                cut = hub.cut_after if commit and len(found) > 100_000 else None
                self.wfile.write(found[start : None if cut is None else start + cut])
                if cut is not None:
                    self.close_connection, hub.cut_after = True, None

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        hub.endpoint = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield hub
        server.shutdown()
