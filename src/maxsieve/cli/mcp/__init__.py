"""`maxsieve mcp`: search for agents, over standard input and output; and its entry in the settings of agents."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from maxsieve.cli import options
from maxsieve.cli.collections import is_collection
from maxsieve.cli.console import print_line
from maxsieve.common.optional import optional
from maxsieve.text.encoders.encoder import DEFAULT_ENCODER


class Client(str, Enum):
    """An agent whose settings are known."""

    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    CURSOR = "cursor"
    VSCODE = "vscode"
    ZED = "zed"


def mcp(
    sources: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[COLLECTION | FOLDER]...", help="What may be searched and read.", show_default=False),
    ] = None,
    writable: Annotated[bool, typer.Option("--writable", help="Let the agent add and delete documents.")] = False,
    index: Annotated[
        bool, typer.Option("--index", help="Encode the folders in the background, and keep that in the cache.")
    ] = False,
    encoder: Annotated[
        str, typer.Option(help="The encoder of folders, of reranking and of the collections.")
    ] = DEFAULT_ENCODER,
    threads: options.Threads = None,
    install: Annotated[
        Client | None, typer.Option("--install", help="Show the entry for this agent's settings.", show_default=False)
    ] = None,
    uninstall: Annotated[
        Client | None, typer.Option("--uninstall", help="Remove the entry from its settings.", show_default=False)
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="With --install or --uninstall: change the settings.")] = False,
) -> None:
    """Let agents search collections and folders, by the Model Context Protocol.

    It speaks to one agent over standard input and output. maxsieve serve speaks the same protocol at /mcp.
    """
    if install is not None and uninstall is not None:
        raise typer.BadParameter("give --install or --uninstall, not both")
    if yes and install is None and uninstall is None:
        raise typer.BadParameter("--yes works only with --install or --uninstall")
    chosen = install or uninstall
    if chosen is not None:
        from maxsieve.cli.mcp.clients import change_settings

        given = [*(["--writable"] * writable), *(["--index"] * index)]
        given += [] if encoder == DEFAULT_ENCODER else ["--encoder", encoder]
        arguments = None if uninstall else ["mcp", *given, *(str(path.absolute()) for path in sources or ())]
        if arguments is not None:
            _check(sources or [])
        for line in change_settings(chosen.value, arguments, really=yes):
            print_line(line)
        return
    _check(sources or [])
    _serve(sources or [], writable=writable, index=index, encoder=encoder, threads=threads)


def _check(sources: list[Path]) -> None:
    if not sources:
        raise typer.BadParameter("name at least one collection or folder that may be searched")
    for path in sources:
        if not path.is_dir():
            raise FileNotFoundError(f"there is no collection or folder {path}")


def _serve(sources: list[Path], *, writable: bool, index: bool, encoder: str, threads: int | None) -> None:
    for package in ("mcp", "fastapi", "prometheus_client"):
        optional(package, "mcp")
    from maxsieve.cli.serve import report_by_saying
    from maxsieve.service.agents.library import Library, named_folders
    from maxsieve.service.agents.server import AgentServer
    from maxsieve.service.agents.stdio import serve_stdio
    from maxsieve.service.open_collections import OpenCollections, named
    from maxsieve.service.service import Service
    from maxsieve.service.settings import Settings
    from maxsieve.text.encoders.encoder import load_encoder

    report_by_saying()
    loaded = load_encoder(encoder)
    folders = named_folders([path for path in sources if not is_collection(path)], loaded)
    collections = OpenCollections(named([path for path in sources if is_collection(path)]), loaded)
    service = Service(collections, loaded, Settings(writable=writable, threads=threads))
    try:
        serve_stdio(AgentServer(Library(service, folders, index=index)), service.settings.body_bytes)
    finally:
        service.close()
