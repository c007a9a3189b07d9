"""Only files are opened: no links inside our folders, no pipes, devices or sockets, no endless files."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from maxsieve.common.files import open_regular, read_small, replacing, replacing_as


def make_link(path: Path) -> None:
    path.symlink_to("secret")


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        folder = os.getcwd()
        os.chdir(path.parent)  # the name of a socket must be short
        try:
            one.bind(path.name)
        finally:
            os.chdir(folder)


@pytest.mark.parametrize(("make", "kind"), [(make_pipe, "a pipe"), (make_socket, "a socket")])
@pytest.mark.parametrize("follow_links", [False, True])
def test_only_regular_files_are_opened(tmp_path, make, kind, follow_links):
    make(tmp_path / "it")
    with pytest.raises(ValueError, match=f"it is {kind}"):
        open_regular(tmp_path / "it", follow_links=follow_links)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/tty"])
def test_devices_are_not_opened_even_behind_a_link(tmp_path, device):
    (tmp_path / "it").symlink_to(device)
    with pytest.raises(ValueError, match="is a device"):
        read_small(tmp_path / "it", at_most=10, follow_links=True)


def test_links_are_followed_only_when_asked(tmp_path):
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")
    assert read_small(tmp_path / "link", at_most=7, follow_links=True) == b"content"
    with pytest.raises(ValueError, match=r"link .* link"):
        read_small(tmp_path / "link", at_most=7)


@pytest.mark.parametrize(("make", "kind"), [(make_link, "a link"), (make_pipe, "a pipe")])
def test_what_takes_the_files_place_is_neither_followed_nor_waited_for(tmp_path, monkeypatch, make, kind):
    """The name may change its meaning between the check and the opening."""
    (tmp_path / "it").write_bytes(b"content")
    (tmp_path / "secret").write_bytes(b"secret")
    honest = os.stat

    def stat_then_swap(*arguments, **options):
        status = honest(*arguments, **options)
        monkeypatch.setattr(os, "stat", honest)
        (tmp_path / "it").unlink()
        make(tmp_path / "it")
        return status

    monkeypatch.setattr(os, "stat", stat_then_swap)
    with pytest.raises(ValueError, match=f"it is {kind}"):
        open_regular(tmp_path / "it")


def test_no_more_is_read_than_allowed(tmp_path):
    (tmp_path / "it").write_bytes(b"12345678")
    assert read_small(tmp_path / "it", at_most=8) == b"12345678"
    with pytest.raises(ValueError, match=r"\bit\b.*\b7\b"):
        read_small(tmp_path / "it", at_most=7)


def test_a_folder_and_a_missing_file_are_what_they_always_were(tmp_path):
    with pytest.raises(IsADirectoryError):
        open_regular(tmp_path)
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "nothing")


def test_a_link_under_the_temporary_name_is_not_written_through(tmp_path):
    (tmp_path / "precious").write_bytes(b"precious")
    (tmp_path / "it.tmp").symlink_to("precious")
    with replacing_as(tmp_path / "it.tmp", tmp_path / "it") as file:
        file.write(b"new")
    assert (tmp_path / "precious").read_bytes() == b"precious"
    assert (tmp_path / "it").read_bytes() == b"new"
    assert not (tmp_path / "it").is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["it", "precious"]


def test_a_failed_replacement_leaves_the_old_file_alone(tmp_path):
    (tmp_path / "it").write_bytes(b"old")

    def fail():
        with replacing(tmp_path / "it") as file:
            file.write(b"new")
            raise RuntimeError("half-way")

    with pytest.raises(RuntimeError, match="half-way"):
        fail()
    assert (tmp_path / "it").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["it"]
