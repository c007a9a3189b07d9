"""The settings of agents: where they are, and maxsieve's entry in them. All other settings stay as they are."""

from __future__ import annotations

import difflib
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from maxsieve.cli.mcp import jsonc
from maxsieve.common.files import read_small, replacing
from maxsieve.common.optional import optional

NAME = "maxsieve"
BACKUP = ".before-maxsieve"
LARGEST = 10 << 20
"""Limit on the bytes of a settings file."""


class SettingsFile(NamedTuple):
    """Where an agent's servers are: a file, and the table in it that has a member for each server."""

    path: Path
    table: str
    toml: bool = False
    stdio: bool = False
    """Whether an entry says that the server speaks over standard input and output."""


def settings_file(client: str) -> SettingsFile:
    """The file of an agent. Claude Code and VS Code have one in the current folder, others in the user's home."""
    home = Path.home()
    if client == "claude-code":
        return SettingsFile(Path(".mcp.json"), "mcpServers", stdio=True)
    if client == "vscode":
        return SettingsFile(Path(".vscode", "mcp.json"), "servers", stdio=True)
    if client == "cursor":
        return SettingsFile(home / ".cursor" / "mcp.json", "mcpServers")
    if client == "codex":
        return SettingsFile(
            Path(os.environ.get("CODEX_HOME") or home / ".codex", "config.toml"), "mcp_servers", toml=True
        )
    roaming = os.environ.get("APPDATA")  # of Windows alone
    folder = Path(roaming, "Zed") if roaming else Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config", "zed")
    return SettingsFile(folder / "settings.json", "context_servers")


def change_settings(client: str, arguments: list[str] | None, *, really: bool) -> Iterator[str]:
    """Adds maxsieve to an agent's settings, or removes it without arguments. Yields lines about what is changed.

    Unless ``really``, nothing is written. A copy of the file as it was is left beside it.
    """
    file = settings_file(client)
    before = _content(file.path)
    entry = None if arguments is None else _entry(file, arguments)
    try:
        after = _edited(file, before or "", entry)
    except Exception as problem:  # whatever a parser raises: the file is left as it is
        by_hand = "" if entry is None else f"; add this by hand to {file.table!r}: {NAME!r}: {entry}"
        raise ValueError(f"{file.path} can't be changed safely: {problem}{by_hand}") from None
    if after == (before or ""):
        yield f"{file.path}: nothing to change"
        return
    gone = entry is None and after.strip() in ("", "{}") and not file.path.is_symlink()
    yield f"{file.path}{':' if before is not None else ' (new):'}"
    shown = ("" if gone else after).splitlines()
    for line in list(difflib.unified_diff((before or "").splitlines(), shown, lineterm="", n=2))[2:]:
        yield f"  {line}"
    if not really:
        yield "Nothing was written; --yes does that."
        return
    _write(file.path, before, None if gone else after)
    yield "Written." if before is None or gone else f"Written; {file.path.name}{BACKUP} is the file as it was."


def _content(path: Path) -> str | None:
    """The text of a settings file; None if there is none."""
    try:
        return read_small(path, at_most=LARGEST, follow_links=True).decode()
    except FileNotFoundError:
        if path.is_symlink():
            raise ValueError(f"{path} is a link to a file that does not exist") from None
        return None
    except UnicodeDecodeError as problem:
        raise ValueError(f"{path} is not UTF-8: {problem.reason} at byte {problem.start}") from None


def _entry(file: SettingsFile, arguments: list[str]) -> dict[str, Any]:
    script = shutil.which("maxsieve", path=Path(sys.executable).parent)
    command = [sys.executable, "-m", "maxsieve.cli"] if script is None else [script]
    kind = {"type": "stdio"} if file.stdio else {}
    return {**kind, "command": command[0], "args": [*command[1:], *arguments]}


def _edited(file: SettingsFile, before: str, entry: dict[str, Any] | None) -> str:
    """The new content, in which only our entry differs: it is read again to make sure."""
    parse: Callable[[str], Any] = _parse_toml if file.toml else jsonc.parse
    known = parse(before) if before.strip("\ufeff \t\r\n") else {}
    if not isinstance(known, dict) or not isinstance(known.get(file.table, {}), dict):
        raise ValueError(f"{file.table!r} is not a table in it")
    if entry is None and NAME not in known.get(file.table, {}):
        return before
    wanted = {**known, file.table: {name: value for name, value in known.get(file.table, {}).items() if name != NAME}}
    if entry is not None:
        wanted[file.table][NAME] = entry
    after = _edited_toml(before, file.table, entry) if file.toml else _edited_json(before, file.table, entry)
    found = parse(after) if after.strip() else {}
    if {file.table: {}, **found} != wanted:
        raise ValueError("an edit would change other settings")
    return after


def _edited_json(before: str, table: str, entry: dict[str, Any] | None) -> str:
    return jsonc.drop(before, table, NAME) if entry is None else jsonc.put(before, table, NAME, entry)


def _parse_toml(text: str) -> Any:
    return optional("tomlkit", "mcp").parse(text).unwrap()


def _edited_toml(before: str, table: str, entry: dict[str, Any] | None) -> str:
    tomlkit = optional("tomlkit", "mcp")
    document = tomlkit.parse(before)
    if entry is not None:
        own = tomlkit.table()
        own.update(entry)
        if table not in document:
            document[table] = tomlkit.table(is_super_table=True)
        document[table][NAME] = own
        return str(tomlkit.dumps(document))
    del document[table][NAME]
    if not document[table]:
        del document[table]
    return str(tomlkit.dumps(document))


def _write(path: Path, before: str | None, after: str | None) -> None:
    """Replaces the file (or removes it), unless another program has changed it since it was read."""
    if before is not None and not path.stat().st_mode & stat.S_IWUSR:
        raise PermissionError(f"{path} is read-only, and was left as it is")
    if before is None:
        path.parent.mkdir(parents=True, exist_ok=True)
    elif after is not None:
        shutil.copy2(path, path.with_name(path.name + BACKUP))
    if after is None:
        _check_unchanged(path, before)
        path.unlink()
        return
    with replacing(path) as file:
        file.write(after.encode())
        file.flush()
        if before is not None:
            shutil.copymode(path, file.name)
        _check_unchanged(path, before)


def _check_unchanged(path: Path, before: str | None) -> None:
    if _content(path) != before:
        raise ValueError(f"{path} was changed by another program meanwhile, and was left as it is: try again")
