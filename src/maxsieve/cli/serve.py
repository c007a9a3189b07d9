"""`maxsieve serve`: search in collections, and reranking, over HTTP."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from maxsieve.cli import options
from maxsieve.cli.collections import ClusterOptions, cluster_options
from maxsieve.cli.console import say
from maxsieve.cli.remembered import encoder_for
from maxsieve.common.optional import optional
from maxsieve.text.collection.query_log import KEPT
from maxsieve.text.encoders.encoder import DEFAULT_ENCODER

if TYPE_CHECKING:
    from maxsieve.service.settings import Settings

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8800


def serve(
    collections: Annotated[
        list[Path] | None, typer.Argument(metavar="[COLLECTION]...", help="Folders of collections.", show_default=False)
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = DEFAULT_HOST,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port to listen on; 0 for any free port.")
    ] = DEFAULT_PORT,
    encoder: Annotated[
        list[str] | None,
        typer.Option(
            help="The encoder of reranking, and further ones of the collections: a name, a folder, or st:NAME. Repeat "
            "the option for more.",
            show_default=DEFAULT_ENCODER,
        ),
    ] = None,
    writable: Annotated[bool, typer.Option("--writable", help="Let requests add and delete documents.")] = False,
    api_key: Annotated[
        str | None,
        typer.Option(envvar="MAXSIEVE_API_KEY", show_default=False, help="The API key that every request must send."),
    ] = None,
    waiting: Annotated[
        int, typer.Option(min=1, help="The most requests at a time; further ones are told to retry.")
    ] = 256,
    deadline: Annotated[float, typer.Option(min=0.001, help="Seconds after which a request is cancelled.")] = 30,
    max_body: Annotated[int, typer.Option(min=1, help="The largest request body, in megabytes.")] = 16,
    audit: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            show_default=False,
            help="The share of calibrated searches to repeat exactly: 0.01.",
        ),
    ] = None,
    log_queries: Annotated[
        bool,
        typer.Option(
            "--log-queries",
            help=f"Keep a sample of up to {KEPT:,} queries in the collection's folder, for calibrate --from-log.",
        ),
    ] = False,
    threads: options.Threads = None,
) -> None:
    """Serve search and reranking over HTTP, with a page to try them in a browser.

    By default only this machine can reach it. For others, give --host and --api-key. Ctrl-C stops it after the running
    requests are answered.
    """
    _needed_packages()
    from maxsieve.service.open_collections import named
    from maxsieve.service.settings import Settings, is_loopback

    if not is_loopback(host) and not api_key:
        raise typer.BadParameter(f"--host {host} can be reached from other machines: give --api-key as well")
    settings = Settings(
        api_key=api_key or None,
        writable=writable,
        waiting=waiting,
        body_bytes=max_body * 10**6,
        deadline=deadline,
        threads=threads,
        audit=audit or None,
        log_queries=log_queries,
    )
    serve_collections(named(collections or []), settings, encoder or (), host=host, port=port)


def serve_collections(
    collections: Mapping[str, Path],
    settings: Settings | None = None,
    encoders: Sequence[str] = (),
    *,
    host: str = DEFAULT_HOST,
    port: int = DEFAULT_PORT,
) -> None:
    """Serves collections by name until Ctrl-C or SIGTERM."""
    _needed_packages()
    from maxsieve.service.open_collections import OpenCollections
    from maxsieve.service.server import Server, bind
    from maxsieve.service.service import Service
    from maxsieve.service.settings import Settings
    from maxsieve.text.encoders.encoder import load_encoder

    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # the service reports errors itself
    report_by_saying()
    with bind(host, port) as listener:
        known = [encoder_for(path, None) for path in collections.values()]
        names = dict.fromkeys([*(encoders or [DEFAULT_ENCODER]), *(name for name in known if name is not None)])
        loaded = list(map(load_encoder, names))
        cluster = (cluster_options() or ClusterOptions()).cluster
        settings = settings or Settings()
        opened = OpenCollections(collections, *loaded, audit=settings.audit, cluster=cluster)
        service = Service(opened, loaded[0], settings)
        address, actual = listener.getsockname()[:2]
        shown = f"[{address}]" if ":" in address else address
        started = partial(say, f"serving at http://{shown}:{actual}/; Ctrl-C ends it")
        Server(service, started).serve_at(listener)


def report_by_saying() -> None:
    """Prints warnings and errors of all libraries on standard error."""
    logging.basicConfig(handlers=[_Said(logging.WARNING)])  # the handler's level holds for every library's messages


class _Said(logging.Handler):
    """Prints messages of the service on standard error, like all other messages."""

    def emit(self, record: logging.LogRecord) -> None:
        """Prints one message."""
        say(self.format(record))


def _needed_packages() -> None:
    for package in ("fastapi", "uvicorn", "prometheus_client"):
        optional(package, "serve")
