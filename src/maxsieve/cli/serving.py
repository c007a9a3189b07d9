"""`maxsieve serve`: collections and a reranker over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from maxsieve.cli.console import say
from maxsieve.common.optional import optional
from maxsieve.text.encoder import DEFAULT_ENCODER


def register(app: typer.Typer) -> None:
    """Puts the command into the tree."""
    app.command(epilog="Example:  maxsieve serve docs.ms")(serve)


def serve(
    collections: Annotated[
        list[Path] | None, typer.Argument(metavar="[COLLECTION]...", help="Folders of collections.", show_default=False)
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for any that is free.")] = 8800,
    encoder: Annotated[str, typer.Option(help="minilm, a folder with an ONNX model, or st:NAME.")] = DEFAULT_ENCODER,
    writable: Annotated[bool, typer.Option("--writable", help="Let requests add and delete documents.")] = False,
    api_key: Annotated[
        str | None,
        typer.Option(envvar="MAXSIEVE_API_KEY", show_default=False, help="What requests must carry."),
    ] = None,
) -> None:
    """Serve search and reranking over HTTP, and a page to try it on.

    It is for this machine only, unless --host says otherwise, which needs --api-key.
    """
    for package in ("fastapi", "uvicorn", "prometheus_client"):
        optional(package, "serve")
    from maxsieve.service.running import bind
    from maxsieve.service.running import serve as run
    from maxsieve.service.service import Service
    from maxsieve.service.settings import Settings, is_loopback
    from maxsieve.service.shelf import Shelf
    from maxsieve.text.encoder import load_encoder

    if not is_loopback(host) and not api_key:
        raise typer.BadParameter(f"--host {host} can be reached from other machines: give --api-key, too")
    with bind(host, port) as listener:
        loaded = load_encoder(encoder)
        service = Service(
            Shelf(collections or [], loaded), loaded, Settings(api_key=api_key or None, writable=writable)
        )
        address, actual = listener.getsockname()[:2]
        shown = f"[{address}]" if ":" in address else address
        run(service, listener, lambda: say(f"serving at http://{shown}:{actual}/; Ctrl-C ends it"))
