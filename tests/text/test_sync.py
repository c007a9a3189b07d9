"""A collection that follows a folder: nothing is encoded twice, and documents of others are not touched."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from long_form import scaled
from maxsieve import Calibrated
from maxsieve.errors import IndexLockedError
from maxsieve.text import FolderSync, Synced
from maxsieve.text.collection import additions as adding
from maxsieve.text.collection.collection import Collection
from maxsieve.text.inputs import files
from maxsieve.text.inputs.document import BadInput
from maxsieve.text.sync import run as sync_run
from maxsieve.text.sync.record import SyncRecord, record_path, sync_lock

from . import syncer
from .support import WordEncoder, kill_after, sentences, start_python, tree

LONG_AGO = 1_000_000_000_000_000_001
"""A file time, in nanoseconds."""


class Notes:
    """A folder, a collection that follows it, and what is read and encoded meanwhile."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.encoder, self.clock = path / "notes", WordEncoder(), LONG_AGO
        self.folder.mkdir(parents=True)
        self.collection = Collection.create(path / "it.ms", self.encoder)
        self.read: list[str] = []
        monkeypatch.setattr(files, "read_file", self._reading(files.read_file))

    def _reading(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def read(path: Path, one: str, apart: Any) -> Any:
            self.read.append(one)
            return real(path, one, apart)

        return read

    def write(self, name: str, text: str | bytes, folder: Path | None = None) -> Path:
        path = (folder or self.folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        self.clock += 10**9
        os.utime(path, ns=(self.clock, self.clock))
        return path

    def sync(self, folder: Path | None = None, *, run: dict[str, Any] | None = None, **options: Any) -> Synced:
        self.read.clear()
        self.encoder.encoded.clear()
        return FolderSync(self.collection, folder or self.folder, **options).run(**(run or {}))

    @property
    def content(self) -> dict[Any, str]:
        return {one: self.collection.text(one) for one in self.collection.ids}


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Notes:
    return Notes(tmp_path, monkeypatch)


def test_a_thousand_files_of_which_ten_change(notes: Notes) -> None:
    texts = sentences(1000)
    for i, text in enumerate(texts):
        notes.write(f"{i % 7}/{i}.md", text)
    assert notes.sync() == Synced(added=1000)
    assert len(notes.encoder.encoded) == 1000
    assert notes.sync() == Synced(unchanged=1000)
    assert (notes.read, notes.encoder.encoded) == ([], [])
    for i in range(0, 1000, 100):
        notes.write(f"{i % 7}/{i}.md", f"changed {i}")
    assert notes.sync() == Synced(changed=10, unchanged=990)
    assert sorted(notes.encoder.encoded) == sorted(f"changed {i}" for i in range(0, 1000, 100))
    assert len(notes.read) == 10
    notes.collection.verify()


def test_a_calibration_is_brought_up_to_date_when_that_pays(notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maxsieve.storage.codebook.FEWEST", 16)
    for i, text in enumerate(sentences(400)):
        notes.write(f"{i}.md", text)
    notes.sync()
    notes.collection.calibrate(k=10)
    calibration = notes.collection.index.storage.snapshot.calibration
    assert calibration is not None
    depth = calibration.depth(10, Fraction("0.99"), kind="groups")
    follower = FolderSync(notes.collection, notes.folder)
    for first, last, expected in ((0, depth, None), (depth, depth + 1, (depth + 1, 0)), (depth + 1, depth + 2, None)):
        for i in range(first, last):
            notes.write(f"new{i}.md", f"an unusual note {i}")
        assert follower.run(dry_run=True).added == last - first
        assert follower.recalibrated is None
        follower.run()
        assert follower.recalibrated == expected
        changes = notes.collection.index.storage.snapshot.changes
        assert changes.added == (0 if expected else last - first)
    report = notes.collection.search("an unusual note", k=10, policy=Calibrated()).report
    assert (report.guarantee, report.added) == ("calibrated on sentences", 1)


def test_new_changed_and_deleted_files_follow(notes: Notes) -> None:
    for name in ("a.md", "b.txt", "deep/c.md"):
        notes.write(name, f"red {name}")
    notes.write("skipped.unknown", "no document")
    notes.sync()
    assert notes.content == {"a.md": "red a.md", "b.txt": "red b.txt", "deep/c.md": "red deep/c.md"}
    notes.write("b.txt", "blue")
    notes.write("d.md", "new")
    (notes.folder / "a.md").rename(notes.folder / "renamed.md")
    shutil.rmtree(notes.folder / "deep")
    assert notes.sync() == Synced(added=2, changed=1, deleted=2)
    assert notes.content == {"b.txt": "blue", "d.md": "new", "renamed.md": "red a.md"}
    assert notes.sync() == Synced(unchanged=3)


def test_a_file_that_was_touched_is_read_but_not_encoded(notes: Notes) -> None:
    path = notes.write("a.md", "red")
    notes.sync()
    os.utime(path, ns=(LONG_AGO, LONG_AGO + 5))
    assert notes.sync() == Synced(unchanged=1)
    assert (notes.read, notes.encoder.encoded) == (["a.md"], [])
    notes.sync()
    assert notes.read == []


def test_a_file_of_this_moment_is_read_once_more(notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    """It could be written again within a tick of the clock, with the same size, and nothing would show it."""
    path = notes.write("a.md", "red")
    for whole_seconds, age, again in ((False, 10**7, True), (False, 10**8, False), (True, 10**9, True)):
        notes.clock += 100 * 10**9
        written = notes.clock // 10**9 * 10**9 + (0 if whole_seconds else 1)
        os.utime(path, ns=(written, written))
        monkeypatch.setattr(sync_run.time, "time_ns", lambda now=written + age: now)
        notes.sync()
        notes.sync()
        assert bool(notes.read) == again
    path.write_bytes(b"bad")  # as long as before
    os.utime(path, ns=(written, written))
    assert notes.sync().changed == 1


def test_what_a_sync_did_not_put_there_stays(notes: Notes) -> None:
    notes.collection.add(["mine", "also mine"], ["x.md", "deep/y.md"])
    notes.write("a.md", "red")
    notes.write("b.md", "blue")
    notes.sync()
    (notes.folder / "a.md").unlink()
    assert notes.sync() == Synced(deleted=1, unchanged=1)
    assert notes.content == {"x.md": "mine", "deep/y.md": "also mine", "b.md": "blue"}


def test_another_document_with_a_files_id_is_replaced_only_if_asked(notes: Notes) -> None:
    notes.collection.add(["mine"], ["a.md"])
    notes.write("a.md", "the file's")
    notes.write("b.md", "blue")
    with pytest.raises(BadInput, match=r"'a\.md'.*adopt"):
        notes.sync(run={"strict": True})
    assert notes.sync() == Synced(added=1, bad=1)
    assert notes.content["a.md"] == "mine"
    (notes.folder / "a.md").unlink()
    assert notes.sync() == Synced(unchanged=1)
    assert notes.content["a.md"] == "mine"
    notes.write("a.md", "the file's")
    assert notes.sync(adopt=True) == Synced(changed=1, unchanged=1)
    (notes.folder / "a.md").unlink()
    assert notes.sync().deleted == 1


def test_a_document_that_somebody_replaced_is_not_the_folders_any_more(notes: Notes) -> None:
    path = notes.write("a.md", "red")
    notes.write("b.md", "blue")
    notes.sync()
    notes.collection.add(["mine"], ["a.md"], replace=True)
    path.unlink()
    assert notes.sync() == Synced(unchanged=1)
    assert notes.content == {"a.md": "mine", "b.md": "blue"}


def test_a_document_that_somebody_deleted_comes_back(notes: Notes) -> None:
    notes.write("a.md", "red")
    notes.sync()
    notes.collection.delete("a.md")
    assert notes.sync() == Synced(added=1)


def test_a_folder_that_was_indexed_before_is_taken_up_without_encoding(notes: Notes) -> None:
    notes.collection.add(["red", "blue"], ["a.md", "b.md"])
    notes.write("a.md", "red")
    notes.write("b.md", "blue")
    assert notes.sync() == Synced(unchanged=2)
    assert notes.encoder.encoded == []
    notes.write("a.md", "another")
    assert notes.sync() == Synced(changed=1, unchanged=1)


def test_two_folders_in_one_collection(notes: Notes, tmp_path: Path) -> None:
    other = tmp_path / "other"
    notes.write("a.md", "red")
    notes.write("same.md", "same")
    notes.write("a.md", "green", other)
    notes.write("same.md", "same", other)
    notes.sync()
    with pytest.raises(BadInput, match=r"'a\.md'.*notes.*prefix"):
        notes.sync(other, prefix="", run={"strict": True})
    assert notes.sync(other, prefix="").bad == 2, "even one with the same text"
    assert notes.sync(other, prefix="other/") == Synced(added=2)
    assert notes.sync(other) == Synced(unchanged=2), "the prefix is remembered"
    assert sorted(notes.content) == ["a.md", "other/a.md", "other/same.md", "same.md"]
    (other / "a.md").unlink()
    assert notes.sync(other).deleted == 1
    assert notes.sync() == Synced(unchanged=2)
    assert notes.sync(other, prefix="new/") == Synced(added=1, deleted=1)
    assert sorted(notes.content) == ["a.md", "new/same.md", "same.md"]


def test_a_folder_that_was_moved(notes: Notes, tmp_path: Path) -> None:
    for i in range(5):
        notes.write(f"{i}.md", f"text {i}")
    notes.sync(prefix="p/")
    new = tmp_path / "elsewhere"
    notes.folder.rename(new)
    with pytest.raises(FileNotFoundError, match="notes"):
        notes.sync()
    (new / "0.md").unlink()
    notes.write("1.md", "changed", new)
    with pytest.raises(ValueError, match="record"):
        notes.sync(new, moved_from=tmp_path / "never")
    assert notes.sync(new, moved_from=notes.folder, run={"dry_run": True}) == Synced(changed=1, deleted=1, unchanged=3)
    assert notes.sync(new, moved_from=notes.folder) == Synced(changed=1, deleted=1, unchanged=3)
    assert notes.encoder.encoded == ["changed"]
    assert notes.sync(new, moved_from=notes.folder) == Synced(unchanged=4), "asked for once more"
    assert notes.sync(new) == Synced(unchanged=4)
    assert "p/1.md" in notes.content


@pytest.mark.parametrize("left", [0, 3])
def test_a_folder_that_has_lost_its_files_is_refused(notes: Notes, left: int) -> None:
    for i in range(30):
        notes.write(f"{i}.md", f"text {i}")
    notes.sync()
    for i in range(left, 30):
        (notes.folder / f"{i}.md").unlink()
    before = tree(notes.collection.path)
    with pytest.raises(ValueError, match=rf"\b{left}\b.*\b30\b"):
        notes.sync()
    assert tree(notes.collection.path) == before
    assert notes.sync(allow_deletes=True) == Synced(deleted=30 - left, unchanged=left)


def test_renaming_everything_is_no_loss(notes: Notes) -> None:
    for i in range(30):
        notes.write(f"old/{i}.md", f"text {i}")
    notes.sync()
    (notes.folder / "old").rename(notes.folder / "new")
    assert notes.sync() == Synced(added=30, deleted=30)


def test_an_empty_folder_is_refused(notes: Notes) -> None:
    with pytest.raises(ValueError, match=r"no file in .*can be read"):
        notes.sync()


def test_the_collection_may_be_in_the_folder(notes: Notes, tmp_path: Path) -> None:
    notes.write("a.md", "red")
    notes.write("it.ms/inside.md", "not this", tmp_path)
    assert notes.sync(tmp_path) == Synced(added=1)
    assert list(notes.content) == ["notes/a.md"]


def test_bad_files_are_refused_or_counted_and_their_documents_stay(notes: Notes) -> None:
    notes.write("a.md", "red")
    notes.write("b.md", "blue")
    notes.sync()
    notes.write("a.md", b"\xff\0")
    notes.write("c.pdf", b"no PDF")
    notes.write("d.md", "new")
    with pytest.raises(BadInput, match=r"a\.md: .*binary"):
        notes.sync(run={"strict": True})
    assert notes.sync() == Synced(added=1, unchanged=1, bad=2)
    assert notes.content == {"a.md": "red", "b.md": "blue", "d.md": "new"}


def test_links_to_files_are_followed_and_one_to_nowhere_is_named(notes: Notes, tmp_path: Path) -> None:
    target = notes.write("far.txt", "far away", tmp_path)
    (notes.folder / "link.txt").symlink_to(target)
    (notes.folder / "loop").symlink_to(notes.folder)
    assert notes.sync() == Synced(added=1)
    target.unlink()
    with pytest.raises(BadInput, match=r"link\.txt: "):
        notes.sync(run={"strict": True})
    assert notes.content == {"link.txt": "far away"}


def test_a_file_that_goes_while_others_are_read_is_left_for_the_next_time(
    notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.md", "b.md"):
        notes.write(name, name)
    real = files.read_file

    def read(path: Path, one: str, apart: Any) -> Any:
        (notes.folder / "b.md").unlink(missing_ok=True)
        return real(path, one, apart)

    monkeypatch.setattr(files, "read_file", read)
    assert notes.sync() == Synced(added=1, waiting=1)
    assert notes.sync() == Synced(unchanged=1)


def test_a_file_that_changes_while_it_is_read_is_read_again(notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    path = notes.write("a.md", "before")
    real = files.read_file

    def read(*given: Any) -> Any:
        document = real(*given)
        notes.write("a.md", "after")
        return document

    with monkeypatch.context() as patch:
        patch.setattr(files, "read_file", read)
        notes.sync()
    assert path.read_text() == "after"
    assert notes.content == {"a.md": "before"}
    assert notes.sync() == Synced(changed=1)
    assert notes.content == {"a.md": "after"}


def test_a_dry_run_changes_nothing_and_tells_the_same(notes: Notes) -> None:
    for name in ("a.md", "b.md", "c.md", "d.md"):
        notes.write(name, name)
    before = tree(notes.collection.path)
    assert notes.sync(run={"dry_run": True}) == Synced(added=4)
    assert tree(notes.collection.path) == before
    notes.sync()
    notes.write("a.md", "changed")
    notes.write("b.md", "b.md")
    (notes.folder / "c.md").unlink()
    before = tree(notes.collection.path)
    told = notes.sync(run={"dry_run": True})
    assert notes.encoder.encoded == []
    assert tree(notes.collection.path) == before
    assert told == notes.sync() == Synced(changed=1, deleted=1, unchanged=2)


def test_one_sync_at_a_time(notes: Notes) -> None:
    notes.write("a.md", "red")
    with sync_lock(notes.collection.path), pytest.raises(IndexLockedError, match=f"process {os.getpid()}"):
        notes.sync()
    assert notes.sync() == Synced(added=1)


def test_a_lost_record_costs_reading_only(notes: Notes) -> None:
    for i in range(20):
        notes.write(f"{i}.md", f"text {i}")
    notes.sync()
    shutil.rmtree(notes.collection.path / "sync")
    assert notes.sync() == Synced(unchanged=20)
    assert (len(notes.read), notes.encoder.encoded) == (20, [])
    assert notes.sync() == Synced(unchanged=20)
    assert notes.read == []


def test_the_record_is_kept_short(notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maxsieve.text.sync.record.SPARE_LINES", 10)
    record = record_path(notes.collection.path, str(notes.folder))
    for i in range(40):
        notes.write("a.md", f"text {i}")
        notes.sync()
        assert len(record.read_bytes().splitlines()) <= 13


def test_the_record_of_a_new_folder_has_a_line_for_each_file(notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maxsieve.text.sync.record.SPARE_LINES", 10)
    for number in range(60):
        notes.write(f"{number}.md", f"text {number}")
    notes.sync()
    record = record_path(notes.collection.path, str(notes.folder))
    assert len(record.read_bytes().splitlines()) == 61


def test_watching_waits_until_files_are_settled(notes: Notes) -> None:
    notes.write("a.md", "red")
    follower = FolderSync(notes.collection, notes.folder)
    look = {"settled": True}
    assert follower.run(**look).added == 1, "at first, all there is"
    notes.write("b.md", "half a sen")
    assert follower.run(**look) == Synced(unchanged=1, waiting=1)
    notes.write("b.md", "half a sentence, then all of it")
    assert follower.run(**look) == Synced(unchanged=1, waiting=1)
    assert follower.run(**look) == Synced(added=1, unchanged=1)
    (notes.folder / "a.md").unlink()
    assert follower.run(**look) == Synced(unchanged=1, waiting=1), "it may be written anew"
    notes.write("a.md", "red")
    assert follower.run(**look).waiting == 1
    notes.encoder.encoded.clear()
    assert follower.run(**look) == Synced(unchanged=2)
    assert notes.encoder.encoded == []
    notes.read.clear()
    assert follower.run(**look) == Synced(unchanged=2)
    (notes.folder / "a.md").unlink()
    follower.run(**look)
    assert follower.run(**look) == Synced(deleted=1, unchanged=1)
    assert notes.read == []


def test_watching_names_a_bad_file_once(notes: Notes) -> None:
    notes.write("a.md", "red")
    notes.write("b.md", b"\xff\0")
    follower = FolderSync(notes.collection, notes.folder)
    look = {"settled": True}
    assert follower.run(**look) == Synced(added=1, bad=1)
    assert [str(one).endswith("it is binary, not text") for one in follower.problems] == [True]
    notes.write("c.md", "new")
    follower.run(**look)
    notes.read.clear()
    assert follower.run(**look) == Synced(added=1, unchanged=1)
    assert (notes.read, follower.problems) == (["c.md"], [])
    notes.write("b.md", "mended")
    follower.run(**look)
    assert follower.run(**look).added == 1


def test_killed_at_any_moment_the_next_one_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notes, rng = Notes(tmp_path, monkeypatch), random.Random(5)
    notes.collection.add(["mine"], ["mine.md"])
    notes.collection.close()
    for i, text in enumerate(sentences(60)):
        notes.write(f"{i}.md", text)
    kills = 0
    for turn in range(scaled(15, at_least=8)):
        for _ in range(30):  # the folder still changes meanwhile
            i = rng.randrange(60)
            path = notes.folder / f"{i}.md"
            if path.exists() and rng.random() < 0.3:
                path.unlink()
            else:
                notes.write(f"{i}.md", f"turn {turn} of {i} {rng.random()}")
        with Collection.open(tmp_path / "it.ms", WordEncoder()) as before:
            inside = {before.text(one) for one in before.ids}
        with start_python(syncer.__file__, str(tmp_path / "it.ms"), str(notes.folder)) as process:
            seen = kill_after(process, rng.randint(1, 20))
        kills += process.returncode != 0
        encoded = {line.strip() for line in seen if line.endswith("\n")}
        assert not encoded & inside, "what is in is not encoded again"
        with Collection.open(tmp_path / "it.ms", WordEncoder()) as after:
            after.verify()
            assert after.text("mine.md") == "mine"
    assert kills > 3
    notes.collection = Collection.open(tmp_path / "it.ms", notes.encoder)
    notes.sync()
    expected = {path.name: path.read_text() for path in notes.folder.iterdir()}
    assert notes.content == {"mine.md": "mine", **expected}


@pytest.mark.parametrize("where", ["add", "delete", "note"])
def test_a_crash_between_two_steps(notes: Notes, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """After documents were added or deleted, the record has not been updated yet; or the other way round."""
    monkeypatch.setattr(adding, "BATCH_DOCUMENTS", 2)
    for i in range(6):
        notes.write(f"{i}.md", f"text {i}")
    notes.sync()
    notes.write("0.md", "changed")
    notes.write("9.md", "new")
    (notes.folder / "1.md").unlink()
    owner, name = (SyncRecord, "note") if where == "note" else (Collection, where)
    real, calls = getattr(owner, name), []

    def crash(*given: Any, **options: Any) -> Any:
        real(*given, **options)
        calls.append(1)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, crash)
        with pytest.raises(KeyboardInterrupt):
            notes.sync()
    assert calls
    (notes.folder / "9.md").unlink()  # perhaps it is in, and only the note made before says whose it is
    notes.sync()
    assert notes.content == {"0.md": "changed", **{f"{i}.md": f"text {i}" for i in range(2, 6)}}
    assert notes.sync() == Synced(unchanged=5)


class Following(RuleBasedStateMachine):
    """Any order of changes in the folder and in the collection: sync makes them agree, and leaves the rest alone."""

    NAMES = st.sampled_from(["a.md", "b.md", "deep/c.txt", "deep/d.md"])
    TEXTS = st.sampled_from(["red", "blue", "a green owl", ""])

    @initialize()
    def start(self) -> None:
        self.patch = pytest.MonkeyPatch()
        self.tmp = tempfile.TemporaryDirectory()
        self.notes = Notes(Path(self.tmp.name), self.patch)
        self.notes.write("always.md", "here")
        self.foreign: dict[str, str] = {}
        self.synced: dict[str, str] = {}

    @rule(name=NAMES, text=TEXTS)
    def write(self, name: str, text: str) -> None:
        self.notes.write(name, text)

    @rule(name=NAMES)
    def remove(self, name: str) -> None:
        (self.notes.folder / name).unlink(missing_ok=True)

    @rule(text=TEXTS, number=st.integers(0, 2))
    def add_foreign(self, text: str, number: int) -> None:
        self.notes.collection.add([text], [f"foreign {number}"], replace=True)
        self.foreign[f"foreign {number}"] = text

    @rule()
    def forget(self) -> None:
        """Between two syncs the record is lost: documents whose files are gone by then belong to no sync."""
        gone = {one: text for one, text in self.synced.items() if not (self.notes.folder / one).exists()}
        differs = any(
            (self.notes.folder / one).read_text() != text for one, text in self.synced.items() if one not in gone
        )
        if not differs:
            shutil.rmtree(self.notes.collection.path / "sync", ignore_errors=True)
            self.foreign |= gone

    @rule()
    def sync(self) -> None:
        wanted = {
            path.relative_to(self.notes.folder).as_posix(): path.read_text()
            for path in self.notes.folder.rglob("*")
            if path.is_file()
        }
        self.notes.sync(adopt=True)
        new = [text for one, text in wanted.items() if {**self.foreign, **self.synced}.get(one) != text]
        assert sorted(self.notes.encoder.encoded) == sorted(new)
        for one in wanted:
            self.foreign.pop(one, None)
        self.synced = wanted
        assert self.notes.content == {**self.foreign, **wanted}
        assert self.notes.sync(run={"dry_run": True}) == Synced(unchanged=len(wanted))

    @invariant()
    def what_is_foreign_stays(self) -> None:
        content = self.notes.content if hasattr(self, "notes") else {}
        assert all(content[one] == text for one, text in getattr(self, "foreign", {}).items())

    def teardown(self) -> None:
        self.patch.undo()
        self.notes.collection.close()
        self.tmp.cleanup()


TestFollowing = Following.TestCase
TestFollowing.settings = settings(max_examples=scaled(15), stateful_step_count=15, deadline=None)
