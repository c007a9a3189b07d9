"""`maxsieve mcp --install`: other settings, comments, links and permissions stay as they are."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from cli.support import CommandLine
from maxsieve.cli.mcp import clients, jsonc
from maxsieve.cli.mcp.clients import BACKUP, change_settings, settings_file

CLIENTS = ["claude-code", "codex", "cursor", "vscode", "zed"]
COMMENTED = """\
// my settings
{
  "theme": "dark", /* "mcpServers": { */
  "mcpServers": { // servers
    "other": {"command": "x", "args": ["}", "//"]}, // mine
  },
  "context_servers": {},
}
"""


@pytest.fixture(autouse=True)
def _at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CODEX_HOME", "XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def change(client: str, arguments: list[str] | None, *, really: bool = True) -> str:
    return "\n".join(change_settings(client, arguments, really=really))


@pytest.mark.parametrize("client", CLIENTS)
def test_a_new_file_is_shown_then_written_then_removed(client: str) -> None:
    file = settings_file(client)
    shown = change(client, ["mcp", "/it"], really=False)
    assert str(file.path) in shown
    assert "/it" in shown
    assert not file.path.exists()
    change(client, ["mcp", "/it"])
    read: Any = tomlkit.parse if file.toml else json.loads
    entry = read(file.path.read_text())[file.table]["maxsieve"]
    assert entry["args"][-2:] == ["mcp", "/it"]
    assert Path(entry["command"]).exists()
    assert "nothing to change" in change(client, ["mcp", "/it"])
    change(client, None)
    assert not file.path.exists()
    assert "nothing to change" in change(client, None)


@pytest.mark.parametrize("client", ["claude-code", "cursor", "vscode", "zed"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_comments_and_other_settings_stay(client: str, newline: str) -> None:
    file, before = settings_file(client), COMMENTED.replace("\n", newline).encode()
    file.path.parent.mkdir(parents=True, exist_ok=True)
    file.path.write_bytes(before)
    change(client, ["mcp", "/a"])
    change(client, ["mcp", "/b"])
    now = file.path.read_bytes().decode()
    assert jsonc.parse(now)[file.table].pop("maxsieve")["args"][-1] == "/b"
    assert jsonc.parse(now)["theme"] == "dark"
    assert all(comment in now for comment in ("// my settings", "// mine", '/* "mcpServers": { */'))
    assert ("\n" in now.replace("\r\n", "")) == (newline == "\n")
    change(client, None)
    if client != "zed":  # an object that was empty before is removed
        assert file.path.read_bytes() == before
    assert file.path.with_name(file.path.name + BACKUP).exists()


def test_comments_in_toml_stay() -> None:
    path = settings_file("codex").path
    path.parent.mkdir()
    before = '# mine\nmodel = "x" # best\n\n[mcp_servers.other]\ncommand = "y"\n\n[profiles.a]\nz = 1\n'
    path.write_text(before)
    path.chmod(0o600)
    change("codex", ["mcp", "/it"])
    now = path.read_text()
    assert tomlkit.parse(now)["mcp_servers"]["maxsieve"]["args"][-1] == "/it"
    assert all(line in now for line in before.splitlines())
    assert path.stat().st_mode & 0o777 == 0o600
    change("codex", None)
    assert tomlkit.parse(path.read_text()).unwrap() == tomlkit.parse(before).unwrap()


def test_a_link_stays_a_link() -> None:
    real = Path("dotfiles.json")
    real.write_text('{"a": 1}')
    path = settings_file("claude-code").path
    path.symlink_to(real)
    change("claude-code", ["mcp", "/it"])
    assert path.is_symlink()
    assert "maxsieve" in real.read_text()
    change("claude-code", None)
    assert real.read_text() == '{"a": 1}'


@pytest.mark.parametrize(
    "content", [b"{", b'{"mcpServers": []}', b"[]", b'{"a": 1, "a": 2}', b"\xff\xfe", b"{} {}", b'{"a" 1}', b"7"]
)
def test_a_file_that_is_not_understood_is_left_as_it_is(content: bytes) -> None:
    path = settings_file("claude-code").path
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"\.mcp\.json"):
        change("claude-code", ["mcp", "/it"])
    assert path.read_bytes() == content


def test_a_change_by_another_program_is_not_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    path = settings_file("claude-code").path
    path.write_text('{"a": 1}')
    edited = clients._edited

    def slowly(*given: Any) -> str:
        path.write_text('{"a": 2}')
        return edited(*given)

    monkeypatch.setattr(clients, "_edited", slowly)
    with pytest.raises(ValueError, match="another program"):
        change("claude-code", ["mcp", "/it"])
    assert path.read_text() == '{"a": 2}'
    assert not list(Path().glob(".maxsieve-*"))


@pytest.mark.parametrize("arguments", [["mcp", "/it"], None])
def test_a_read_only_file_is_left_as_it_is(arguments: list[str] | None) -> None:
    path = settings_file("claude-code").path
    path.write_text('{"mcpServers": {"maxsieve": {"command": "x"}}}')
    path.chmod(0o444)
    with pytest.raises(PermissionError, match="read-only"):
        change("claude-code", arguments)
    assert path.read_text() == '{"mcpServers": {"maxsieve": {"command": "x"}}}'
    assert [*Path().iterdir()] == [path]


@pytest.mark.parametrize("content", ["[mcp_servers", "mcp_servers = 1", "a = 1\na = 2"])
def test_toml_that_is_not_understood_is_left_as_it_is(content: str) -> None:
    path = settings_file("codex").path
    path.parent.mkdir()
    path.write_text(content)
    with pytest.raises(ValueError, match=r"config\.toml"):
        change("codex", ["mcp", "/it"])
    assert path.read_text() == content


def test_a_pipe_is_refused() -> None:
    os.mkfifo(settings_file("claude-code").path)
    with pytest.raises(ValueError, match="pipe"):
        change("claude-code", ["mcp", "/it"])


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from(["//", "/*", "*/", "}", ",", '"']),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(
    known=st.dictionaries(st.text(max_size=5) | st.just("servers"), VALUES, max_size=4),
    servers=st.dictionaries(st.text(max_size=5) | st.just("it"), VALUES, max_size=3) | st.none(),
    indent=st.none() | st.integers(0, 4),
    noise=st.sampled_from(["", " // note\n", "/* , } */", "\n\n", "\ufeff"]),
    value=VALUES,
)
def test_any_settings_keep_their_values(
    known: dict[str, Any], servers: dict[str, Any] | None, indent: int | None, noise: str, value: Any
) -> None:
    if servers is not None:
        known["servers"] = servers
    elif not isinstance(known.get("servers", {}), dict):
        del known["servers"]
    text = noise + json.dumps(known, indent=indent) + (noise if noise != "\ufeff" else "")
    assert jsonc.parse(text) == known
    wanted = {**known, "servers": {**known.get("servers", {}), "it": value}}
    after = jsonc.put(text, "servers", "it", value)
    assert jsonc.parse(after) == wanted
    dropped = jsonc.parse(jsonc.drop(after, "servers", "it"))
    del wanted["servers"]["it"]
    assert {"servers": {}, **dropped} == wanted


def test_the_command(line: CommandLine) -> None:
    (line.folder / "docs").mkdir()
    done = line("mcp", "docs", "--install", "claude-code")
    assert "Nothing was written" in done.stdout
    assert not (line.folder / ".mcp.json").exists()
    line("mcp", "docs", "--install", "claude-code", "--yes")
    assert str(line.folder / "docs") in (line.folder / ".mcp.json").read_text()
    line("mcp", "--uninstall", "claude-code", "--yes")
    assert not (line.folder / ".mcp.json").exists()
    line("mcp", code=2)
    line("mcp", "nowhere", code=1)
    line("mcp", "docs", "--yes", code=2)
