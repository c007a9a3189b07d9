"""`maxsieve sync` as people use it."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from cli.support import TIMEOUT, CommandLine
from maxsieve.text.sync.record import sync_lock


@pytest.fixture
def notes(line: CommandLine) -> CommandLine:
    """A folder of notes."""
    for name in ("a.md", "b.txt", "deep/c.md"):
        line.write(f"notes/{name}", f"red fox {name}")
    return line


def test_a_collection_is_made_and_follows(notes: CommandLine) -> None:
    told = notes("sync", "it.ms", "notes", "--dry-run").stdout
    assert told == "it.ms: would be created with 3 documents\n"
    assert not (notes.folder / "it.ms").exists()
    made = notes.json("sync", "it.ms", "notes", "--dim", "8", "--store", "float16")[0]
    assert (made["added"], made["changed"], made["deleted"], made["documents"]) == (3, 0, 0, 3)
    facts = notes.json("info", "it.ms")[0]
    assert (facts["dim"], facts["store"]) == (8, "float16")
    notes.write("notes/a.md", "blue owl")
    (notes.folder / "notes/b.txt").unlink()
    said = notes("sync", "it.ms", "notes", "--dry-run").stdout
    assert said == "it.ms: there would be 0 added, 1 changed, 1 deleted, 1 unchanged\n"
    said = notes("sync", "it.ms", "notes").stdout
    assert said.startswith("it.ms: 0 added, 1 changed, 1 deleted, 1 unchanged in ")
    assert "can't be changed" in notes("sync", "it.ms", "notes", "--dim", "4", code=1).stderr


def test_a_calibration_follows(notes: CommandLine) -> None:
    notes("sync", "it.ms", "notes", "--dim", "8", "--store", "int8")
    notes.write("queries.txt", "\n".join(f"red fox {i}" for i in range(20)))
    notes("calibrate", "it.ms", "--queries", "queries.txt", "-k", "2")
    for i in range(20):
        notes.write(f"notes/new{i}.md", f"blue owl {i}")
    said = notes("sync", "it.ms", "notes").stdout.splitlines()
    assert said[1:] == ["  calibrated again, after 20 documents added since the last time"]
    assert notes.json("info", "it.ms")[0]["calibration"]["added"] == 0
    assert notes.json("sync", "it.ms", "notes")[0]["recalibrated"] is False


def test_what_is_refused(notes: CommandLine) -> None:
    assert "there is no folder nowhere" in notes("sync", "it.ms", "nowhere", code=1).stderr
    assert "is a file; sync follows folders" in notes("sync", "it.ms", "notes/a.md", code=1).stderr
    (notes.folder / "empty").mkdir()
    assert "there is no file in" in notes("sync", "it.ms", "empty", code=1).stderr
    assert not (notes.folder / "it.ms").exists()
    notes("index", "it.ms", "notes")
    notes.write("notes/a.md", "blue owl")
    said = notes("index", "it.ms", "notes", code=1).stderr
    assert said.strip().endswith("; maxsieve sync it.ms notes --adopt replaces it")
    assert "which was not added by sync; --adopt replaces it" in notes("sync", "it.ms", "notes", code=6).stderr
    assert notes.json("sync", "it.ms", "notes", "--adopt")[0]["changed"] == 1
    for path in (notes.folder / "notes").rglob("*.*"):
        path.unlink()
    said = notes("sync", "it.ms", "notes", code=1).stderr
    assert "has 0 documents, but 3 came from it: is a disk not mounted?" in said
    assert said.strip().endswith("--allow-deletes")
    assert notes.json("sync", "it.ms", "notes", "--allow-deletes")[0]["deleted"] == 3


def test_index_of_a_changed_file_advises_what_there_is(line: CommandLine) -> None:
    line("index", "it.ms", stdin='{"id": "a", "text": "red"}')
    said = line("index", "it.ms", stdin='{"id": "a", "text": "blue"}', code=1).stderr
    assert said.strip().endswith("; maxsieve add --replace replaces it")


def test_watching(notes: CommandLine) -> None:
    watch = notes.start(
        "sync", "it.ms", "notes", "--watch", "--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    )
    try:
        assert watch.stdout is not None
        assert json.loads(watch.stdout.readline())["added"] == 3
        notes.write("notes/bad.md", b"\xff\0")
        notes.write("notes/new.md", "a new owl")
        told = [json.loads(watch.stdout.readline())]
        while sum(one["added"] + one["bad"] for one in told) < 2:
            told.append(json.loads(watch.stdout.readline()))
        (notes.folder / "notes").rename(notes.folder / "away")  # a disk that is unmounted, and mounted again
        time.sleep(3)
        (notes.folder / "away").rename(notes.folder / "notes")
        (notes.folder / "notes/a.md").unlink()
        assert json.loads(watch.stdout.readline())["deleted"] == 1
    finally:
        watch.send_signal(signal.SIGINT)
        out, err = watch.communicate(timeout=TIMEOUT)
    assert (watch.returncode, out) == (0, b"")
    lines = err.decode().splitlines()
    assert "bad.md: it is binary" in lines[1]
    assert lines[-1] == "maxsieve: stopped; it.ms is valid and has 3 documents"
    assert sum("trying again" in one for one in lines) <= 1, "said once"
    assert notes.json("verify", "it.ms")[0]["documents"] == 3


def test_watching_waits_for_another_sync(notes: CommandLine) -> None:
    notes("sync", "it.ms", "notes")
    notes.write("notes/new.md", "a new owl")
    with sync_lock(notes.folder / "it.ms"):
        assert notes("sync", "it.ms", "notes", code=4).stderr, "once, it is refused"
        watch = notes.start(
            "sync", "it.ms", "notes", "--watch", "--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )
        assert watch.stdout is not None
        assert watch.stderr is not None
        assert b"is being written to by process" in watch.stderr.readline()
    try:
        assert json.loads(watch.stdout.readline())["added"] == 1
    finally:
        watch.send_signal(signal.SIGINT)
        watch.communicate(timeout=TIMEOUT)
    assert watch.returncode == 0


def test_an_interrupted_sync_goes_on(line: CommandLine) -> None:
    count = 2500
    for i in range(count):
        line.write(f"notes/{i}.md", f"fox {i}")
    process = line.start("sync", "it.ms", "notes", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _wait_for(line.folder / "it.ms" / "sync", process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=TIMEOUT)
    if process.returncode:
        assert process.returncode == 130
        assert b"run the same command again to continue" in err
    done = line.json("sync", "it.ms", "notes")[0]
    assert (done["documents"], done["added"] + done["unchanged"]) == (count, count)


def _wait_for(folder: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline and process.poll() is None and not folder.exists():
        time.sleep(0.02)


def test_formats_and_delimiters(line: CommandLine) -> None:
    line.write("it.csv", "id~text\na~red; fox\n")
    assert line.json("index", "a.ms", "it.csv", "--delimiter", "~")[0]["added"] == 1
    assert "must be one character" in line("index", "b.ms", "it.csv", "--delimiter", "ab", code=2).stderr
    line.write("it.json", '[{"id": "a", "text": "red"}, {"id": "b", "text": "owl"}]')
    assert line.json("index", "c.ms", "it.json")[0]["added"] == 2
    assert line.json("index", "d.ms", "--format", "json", stdin='[{"id": "a", "text": "red"}]')[0]["added"] == 1
