"""Both kinds of locks, with the same tests: those of POSIX, and those of Windows on top of Linux's byte locks."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from platforms import like_windows
from platforms.sides import fake, side

HOLDER = """
import sys
from pathlib import Path
from platforms.like_windows import fake_msvcrt
from platforms.sides import side
locking = side("locks", sys.argv[1], **({"msvcrt": fake_msvcrt()} if sys.argv[1] == "win32" else {}))
file = open(sys.argv[2], "r+b")
locking.lock_now(file.fileno())
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture(params=["linux", "win32"])
def platform(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def locking(platform: str) -> Any:
    return side("locks", platform, msvcrt=like_windows.fake_msvcrt())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "lock"
    path.write_bytes(b"1234\n")
    return path


@pytest.fixture
def handles(path: Path) -> Iterator[list[int]]:
    """Four handles of the same file. Tests close the first two by unlocking them."""
    opened = [os.open(path, os.O_RDWR) for _ in range(4)]
    yield opened
    for handle in opened[2:]:
        os.close(handle)


def test_a_second_handle_of_the_same_process_meets_the_lock(locking: Any, handles: list[int]) -> None:
    locking.lock_now(handles[0])
    with pytest.raises(BlockingIOError):
        locking.lock_now(handles[1])
    locking.unlock(handles[0])
    locking.lock_now(handles[1])
    locking.unlock(handles[1])


def test_who_did_not_get_the_lock_does_not_release_it(locking: Any, handles: list[int]) -> None:
    locking.lock_now(handles[0])
    with pytest.raises(BlockingIOError):
        locking.lock_now(handles[1])
    locking.unlock(handles[1])
    with pytest.raises(BlockingIOError):
        locking.lock_now(handles[2])
    locking.unlock(handles[0])


def test_what_is_in_the_file_can_be_read_by_others(locking: Any, handles: list[int], path: Path) -> None:
    locking.lock_now(handles[0])
    assert path.read_bytes() == b"1234\n"
    locking.unlock(handles[0])
    assert path.stat().st_size == 5


def test_a_handle_that_only_reads_can_lock(locking: Any, path: Path, handles: list[int]) -> None:
    reading = os.open(path, os.O_RDONLY)
    locking.lock_now(reading)
    with pytest.raises(BlockingIOError):
        locking.lock_now(handles[0])
    locking.unlock(handles[0])
    locking.unlock(reading)
    locking.lock_now(handles[1])
    locking.unlock(handles[1])


def test_waiting_for_it(locking: Any, handles: list[int]) -> None:
    order: list[str] = []
    locking.lock_now(handles[0])

    def release() -> None:
        time.sleep(0.2)
        order.append("released")
        locking.unlock(handles[0])

    thread = threading.Thread(target=release)
    thread.start()
    locking.wait_for_lock(handles[1])
    order.append("taken")
    thread.join()
    locking.unlock(handles[1])
    assert order == ["released", "taken"]


def test_a_killed_process_releases_its_lock(locking: Any, platform: str, path: Path, handles: list[int]) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, platform, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(BlockingIOError):
            locking.lock_now(handles[0])
        holder.kill()
        holder.wait()
    locking.lock_now(handles[0])
    locking.unlock(handles[0])
    locking.unlock(handles[1])


def test_one_byte_is_locked_beyond_the_contents_and_unlocked_before_the_handle_is_closed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows: others can't read what is locked, and closing alone unlocks only some time later."""
    calls: list[tuple[str, int, int]] = []

    def locking(handle: int, mode: int, nbytes: int) -> None:
        calls.append((("unlock", "", "lock")[mode], os.lseek(handle, 0, os.SEEK_CUR), nbytes))

    module = side("locks", "win32", msvcrt=fake("msvcrt", locking=locking, LK_UNLCK=0, LK_NBLCK=2))
    close = os.close
    monkeypatch.setattr(os, "close", lambda handle: (calls.append(("close", 0, 0)), close(handle)))
    handle = os.open(path, os.O_RDWR)
    module.lock_now(handle)
    module.unlock(handle)
    at = module.LOCKED_BYTE
    assert 1 << 20 < at < 1 << 31  # beyond the size of a number, and within the 32 bits of msvcrt
    assert calls == [("lock", at, 1), ("unlock", at, 1), ("close", 0, 0)]


def test_another_error_is_no_lock_of_somebody_else(path: Path) -> None:
    def locking(*_: int) -> None:
        raise OSError(9, "Bad file descriptor")

    module = side("locks", "win32", msvcrt=fake("msvcrt", locking=locking, LK_UNLCK=0, LK_NBLCK=2))
    with path.open("rb") as file, pytest.raises(OSError, match="Bad file descriptor") as raised:
        module.lock_now(file.fileno())
    assert not isinstance(raised.value, BlockingIOError)
