"""Errors on the command line name commands and options, not Python calls."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import maxsieve
from cli.support import CommandLine
from maxsieve.cli.wording import as_options

PACKAGE = Path(maxsieve.__file__).parent
PYTHON = re.compile(r"[a-z_]+\([^ )]*\)|\b[a-z_]+='?(?=[\w{(,;]|$)")
LIBRARY_ONLY = {
    "progress=True needs rich: pip install 'maxsieve[cli]'",  # the command line handles it
    "ids: {} is already in the collection, with {}; replace=True replaces it",  # cli/indexing.py says the same
    "ids: {} is in the index already; replace=True replaces it",  # the collection looks for it earlier
    "the list of queries is empty; calibrate() without queries uses sentences of the documents",  # cli checks
    "rerank can't use Calibrated(): its texts were not calibrated; leave policy out",  # cli checks
    "there are no documents, so the dimension is unknown: start with Index.create(dim)",
    "{} is a masked array: pass the rows that are not masked, or the array and mask=",
    "a flat [tokens, d] array needs lengths=; put a single document into a list",
    "column {} is {}, with all vectors concatenated: give dim=, the dimension of a vector",
    "no document has a token, so the dimension is unknown: give dim=",
    "there is no array called {}, only {}: give names=",
    "there is no array called {}, only {}: give lengths=",
    "{}: this format has its own lengths; leave out lengths=",
    "{}: the lengths of documents are not known: give lengths=, or one of these files beside it: {}",
    "which column holds the vectors? Give column=, one of {}",
    "policy must be Certified(), Calibrated(), Bandit() or Exhaustive(), not {}",
    "it was read before, and can be read only once; joined() keeps all of it",
    "{} can be read only once, but writing reads it twice: write its joined()",
    "{}: add needs ids, and there are none: give ids=, or id_column= of a table",
    "{}: which multivector? Give vector=, one of {}",
    "commit needs the lock: call it while writing()",  # a mistake in calling code
    "this process is connected to Ray at {} already, not at {}; ray.shutdown() first",  # no command connects twice
}


def sentences() -> Iterator[str]:
    """The messages of the library's errors and warnings, with ``{}`` for each value."""
    for path in PACKAGE.rglob("*.py"):
        if path.relative_to(PACKAGE).parts[0] in ("cli", "lab", "spec"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            called = node.func if isinstance(node, ast.Call) else None
            name = (
                called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""
            )
            if isinstance(node, ast.Call) and (name.endswith("Error") or name in ("warn", "cls")) and node.args:
                yield text_of(node.args[0])


def text_of(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return ""


def test_no_sentence_of_the_library_advises_in_python() -> None:
    said = {sentence for sentence in sentences() if PYTHON.search(as_options(sentence))}
    assert said == LIBRARY_ONLY


def test_more_hits_than_were_calibrated_for(docs: CommandLine) -> None:
    many = "\n".join(f"red fox number {word} by the river" for word in "abcdefghijklmnopqrstuvwxyz")
    docs("index", "many.ms", "--dim", "0", stdin=many)
    docs("calibrate", "many.ms", "-k", "5")
    said = docs("search", "many.ms", "red", "-k", "9", "--policy", "calibrated", "--overlap", "0.5", code=1).stderr
    assert said == "maxsieve: k is 9, but this index was calibrated for k up to 5: maxsieve calibrate -k 9\n"


def test_no_sentences_to_calibrate_on(line: CommandLine) -> None:
    line("index", "it.ms", "--dim", "0", stdin="red\nowl\n")
    said = line("calibrate", "it.ms", code=1).stderr
    assert said == (
        "maxsieve: no document has a sentence of 4 to 40 words: give queries of your own by --queries FILE\n"
    )


def test_an_encoder_that_must_be_named(docs: CommandLine) -> None:
    said = docs.unaided("search", "docs.ms", "red", code=1).stderr
    assert said.endswith(f"give it yourself, by --encoder '{docs.model}'\n")


def test_all_of_the_exact_answer(docs: CommandLine) -> None:
    said = docs("search", "docs.ms", "red", "--policy", "calibrated", "--overlap", "1", code=2).stderr
    assert "not 1.0; --policy certified is exact; see maxsieve search --help" in said


def test_a_format_that_is_not_written(docs: CommandLine) -> None:
    assert (
        docs("export", "docs.ms", "it.pt", code=1).stderr == "maxsieve: it.pt: .pt can only be read; write a folder\n"
    )


@pytest.mark.parametrize("command", ["index", "rerank"])
def test_an_encoder_of_the_hub(line: CommandLine, command: str) -> None:
    said = line(command, "it.ms", "--encoder", "who/what", stdin="red", code=1).stderr
    assert "'st:who/what'" in said
