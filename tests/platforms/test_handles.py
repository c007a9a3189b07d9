"""Open files on each system: which operations are retried, and what is done instead."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from platforms.sides import fake, side

FULL_SYNC = 51


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(os, "O_BINARY", 0, raising=False)
    monkeypatch.setattr(os, "O_NOINHERIT", 0, raising=False)
    return side("handles", "win32")


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were made. None takes any time."""
    made: list[float] = []
    monkeypatch.setattr(time, "sleep", made.append)
    return made


def refusing(times: int) -> Any:
    """Works after it was refused so many times."""
    left = [times]

    def action() -> str:
        if left[0]:
            left[0] -= 1
            raise PermissionError(13, "in use")
        return "done"

    return action


@pytest.mark.parametrize("times", [0, 1, 10])
def test_what_windows_refuses_is_tried_again(windows: Any, pauses: list[float], times: int) -> None:
    assert windows.with_retries(refusing(times)) == "done"
    assert len(pauses) == times


def test_for_a_second_and_no_longer(windows: Any, pauses: list[float]) -> None:
    with pytest.raises(PermissionError, match="in use"):
        windows.with_retries(refusing(11))
    assert 1 < sum(pauses) < 1.1


def test_other_errors_are_not_tried_again(windows: Any, pauses: list[float], tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        windows.replace_file(tmp_path / "nothing", tmp_path / "it")
    assert not pauses


def test_elsewhere_nothing_is_tried_again(pauses: list[float]) -> None:
    with pytest.raises(PermissionError):
        side("handles", "linux").with_retries(refusing(1))
    assert not pauses


@pytest.mark.parametrize("platform", ["linux", "win32"])
def test_reading_and_writing_at_an_offset(platform: str, windows: Any, tmp_path: Path) -> None:
    module = windows if platform == "win32" else side("handles", platform)
    path = tmp_path / "it"
    path.write_bytes(b"0123456789")
    handle = os.open(path, os.O_RDWR)
    assert module.read_at(handle, 4, 3) == b"3456"
    module.write_at(handle, b"ab", 1)
    assert module.read_at(handle, 100, 0) == b"0ab3456789"
    assert module.read_at(handle, 4, 10) == b""
    os.close(handle)


def test_a_folder_can_not_be_synced_on_windows(windows: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "open", lambda *_, **__: pytest.fail("a folder was opened"))
    windows.sync_folder_handle(tmp_path)


def on_macos(monkeypatch: pytest.MonkeyPatch, *, able: bool) -> tuple[Any, list[str]]:
    done: list[str] = []

    def control(handle: int, command: int) -> None:
        assert command == FULL_SYNC
        done.append("full")
        if not able:
            raise OSError(45, "Operation not supported")

    monkeypatch.setattr(os, "fsync", lambda handle: done.append("fsync"))
    return side("handles", "darwin", fcntl=fake("fcntl", fcntl=control, F_FULLFSYNC=FULL_SYNC)), done


@pytest.mark.parametrize(("able", "wanted"), [(True, ["full"]), (False, ["full", "fsync"])])
def test_macos_has_its_drive_write_what_it_was_given(
    able: bool, wanted: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    macos, done = on_macos(monkeypatch, able=able)
    with (tmp_path / "it").open("wb") as file:
        macos.sync_file(file.fileno())
    assert done == wanted
    done.clear()
    macos.sync_folder_handle(tmp_path)
    assert done == wanted
