"""`index` and `sync` calibrate if it pays or is asked for, in bounded time, and say what it bought."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli import test_calibrate
from cli.support import CommandLine
from cli.test_calibrate import texts
from maxsieve._core import StoppedError
from maxsieve.cli import fast_path
from maxsieve.cli.fast_path import make_fast, searches_text
from maxsieve.text import Collection
from maxsieve.text.collection import fast_path as rule

made = test_calibrate.made


@pytest.fixture
def collection(line: CommandLine, made: Path) -> Iterator[Collection]:
    """A copy of 300 documents."""
    shutil.copytree(made, line.folder / "docs.ms")
    with Collection.open(line.folder / "docs.ms", str(line.model)) as found:
        yield found


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if an exact search of them took long."""
    monkeypatch.setattr(rule, "QUICK", 0.0)
    monkeypatch.setattr(fast_path, "QUICK", 0.0)
    monkeypatch.setattr(rule, "EXPECTED", 1)


def test_a_small_collection_is_not_calibrated(line: CommandLine) -> None:
    source = "\n".join(texts(120, 1, 9))
    said = line("index", "it.ms", stdin=source).stdout
    assert len(said.splitlines()) == 1
    assert line.json("info", "it.ms")[0]["calibration"] is None
    [facts] = line.json("index", "it.ms", stdin=source)
    assert "calibration" not in facts


def test_it_is_calibrated_if_asked_for(line: CommandLine) -> None:
    source = "\n".join(texts(150, 1, 9))
    said = line("index", "it.ms", "--calibrate", stdin=source).stdout.splitlines()
    assert re.fullmatch(
        r"  calibrated on 150 sentences of its documents in [\d.]+ s: searches stay exact, because they are quick; "
        r"--policy calibrated follows up \d+ of 150 documents|.*it bought nothing, because \d+ of 150 documents.*",
        said[1],
    )
    assert line.json("info", "it.ms")[0]["calibration"]["calibrated_on"] == "own sentences"
    assert len(line("index", "it.ms", "--calibrate", stdin=source).stdout.splitlines()) == 1, "it is calibrated already"


def test_sync(line: CommandLine) -> None:
    for number, text in enumerate(texts(120, 1, 9)):
        line.write(f"notes/{number}.txt", text)
    [facts] = line.json("sync", "it.ms", "notes", "--dry-run", "--calibrate")
    assert "calibration" not in facts
    [facts] = line.json("sync", "it.ms", "notes", "--calibrate")
    assert facts["calibration"]["calibrated_on"] == "120 sentences of its documents"
    assert facts["calibration"]["used"] is False
    [facts] = line.json("sync", "it.ms", "notes", "--calibrate")
    assert "calibration" not in facts


def test_exact_is_one_word(line: CommandLine) -> None:
    line("index", "it.ms", stdin="red fox\nblue owl\n")
    assert "exact among" in line("search", "it.ms", "--exact", "red").stdout
    assert "exact among" in line("search", "it.ms", "--exact", "--policy", "certified", "red").stdout
    wrong = line("search", "it.ms", "--exact", "--policy", "bandit", "red", code=2).stderr
    assert "give --exact or --policy bandit, not both" in wrong
    assert (
        "--overlap works only with --policy calibrated"
        in line("search", "it.ms", "--overlap", "0.9", "red", code=2).stderr
    )


@pytest.mark.usefixtures("slow")
def test_what_it_bought(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule, "SAVING", 1)
    facts = make_fast(collection, None, 0.0, progress=False)
    assert facts["calibrated_on"] == "200 sentences of its documents"
    assert facts["used"]
    assert facts["said"] == f"searches follow up {facts['followed_up']} of 300 documents; exact is --exact"
    [usual] = texts(1, 8, 9)
    assert collection.search(usual).report.guarantee == "calibrated on sentences"
    assert make_fast(collection, None, 0.0, progress=False) == {}, "once is enough"
    monkeypatch.setattr(rule, "SAVING", 1000)
    assert "searches stay exact: it bought nothing" in fast_path.use_of(collection)["said"]
    assert collection.search(usual).report.guarantee == "exact"


@pytest.mark.usefixtures("slow")
def test_info_says_how_it_is_searched(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    assert searches_text(collection) == "exact, about 0 ms in one thread; maxsieve calibrate makes them faster"
    monkeypatch.setattr(rule, "EXPECTED", 1000)
    assert searches_text(collection) == "exact"
    collection.calibrate(k=10)
    monkeypatch.setattr(rule, "SAVING", 1)
    assert re.fullmatch(r"follow up \d+ of 300 documents; exact is --exact", searches_text(collection))


@pytest.mark.usefixtures("slow")
def test_new_documents_are_calibrated_for(collection: Collection) -> None:
    collection.calibrate(k=10)
    collection.add(texts(400, 9, 9))
    assert make_fast(collection, False, 0.0, progress=False) == {}
    assert make_fast(collection, None, 0.0, progress=False)["calibrated_on"] == "200 sentences of its documents"
    assert collection.info()["calibration"]["added"] == 0


@pytest.mark.usefixtures("slow")
def test_it_is_left_out_or_offered(
    collection: Collection, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert make_fast(collection, False, 0.0, progress=False) == {}
    monkeypatch.setattr(rule, "SECONDS", 1.0)
    assert make_fast(collection, None, 0.0, progress=False) == {}
    said = " ".join(capsys.readouterr().err.split())
    assert "searches stay exact: calibrating takes about" in said
    assert "`maxsieve calibrate" in said
    assert not collection.calibrated
    assert make_fast(collection, None, 1e6, progress=False), "it may take as long as the command has taken"


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize(("problem", "expected"), [(StoppedError, None), (KeyboardInterrupt, KeyboardInterrupt)])
def test_it_may_be_interrupted(
    collection: Collection,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    problem: type[BaseException],
    expected: type[BaseException] | None,
) -> None:
    def interrupted(*_: Any) -> None:
        raise problem

    monkeypatch.setattr("maxsieve.calibrate._ranks", interrupted)
    before = collection.index.storage.snapshot.here.version
    if expected is None:
        assert make_fast(collection, None, 0.0, progress=False) == {}
        assert "was given up" in capsys.readouterr().err
    else:
        with pytest.raises(expected, match="is valid and has 300 documents"):
            make_fast(collection, None, 0.0, progress=False)
    assert collection.index.storage.snapshot.here.version == before
    collection.verify()
    assert collection.search(texts(1, 8, 9)[0]).report.guarantee == "exact"


@pytest.mark.usefixtures("slow")
def test_the_time_is_limited(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_path, "LEAST", 0.0)
    monkeypatch.setattr(rule, "SECONDS", 0.0)
    original = Collection.calibrate

    def calibrate(self: Collection, **options: Any) -> None:
        while True:  # longer than any limit
            original(self, **options)

    monkeypatch.setattr(Collection, "calibrate", calibrate)
    assert make_fast(collection, None, 0.05, progress=False) == {}


@pytest.mark.usefixtures("slow")
def test_without_sentences_nothing_is_said(line: CommandLine) -> None:
    with Collection.create(line.folder / "short.ms", str(line.model)) as collection:
        collection.add(["red fox", "blue owl", "green tea", "a river", "a path"])
        assert make_fast(collection, None, 0.0, progress=False) == {}
        with pytest.raises(ValueError, match="sentence"):
            make_fast(collection, True, 0.0, progress=False)
