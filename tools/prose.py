"""Checks that prose is plain: Markdown, docstrings, comments and messages in every file, tests included.

A problem is a phrase of RIDDLES, a word that is written twice in a row, or a line of Markdown that is too long.
`python tools/prose.py` reads all files that git knows, `python tools/prose.py FILE...` only these.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

RIDDLES = {
    r"a hair apart": "almost equal",
    r"afresh|anew": "again, or new",
    r"albeit|betwixt|forthwith|henceforth|hitherto|lest|naught|nought|shall|thereof|whence|wherein": "a common word",
    r"all of them are meant": "say which",
    r"all there is to say": "everything",
    r"as ever": "as before",
    r"asked of (the|what|whoever)": "say who asks whom",
    r"at hand": "current, or known",
    r"at (its|their) word": "exactly",
    r"be (it|they)": "even if it is, or whether it is",
    r"brings? (them |it )?along|come along": "contain, or are given",
    r"(can|could|may|might|can't|can not) be had": "is available",
    r"can't do without": "needs",
    r"(comes?|came) up for breath": "say what happens",
    r"(what|that|whatever) (comes?|came|becomes|became) of": "the result of, or what happens to",
    r"dawdles?": "is slow",
    r"does not have its checksum": "has a wrong checksum",
    r"enem(y|ies)": "attacker",
    r"fall ill": "fail",
    r"far sooner": "much faster",
    r"for ever": "always, or never",
    r"for want of": "without",
    r"gone on with|goes? on (from|meanwhile|where|while|with)": "continues",
    r"(has|have) (a|no) say": "is combined with, or decides",
    r"holds? on to": "keeps",
    r"however well": "even if",
    r"in any company": "with any others",
    r"in (nobody'?s|no one'?s) way|in the way of": "disturbs",
    r"in the midst of": "during",
    r"in vain": "for nothing",
    r"is no json|that are no documents": "is not",
    r"last words": "the end of its output",
    r"(files|lay|lies|lie|left|be) about(?= that| and|[.,;:])": "is left over",
    r"lets? go|letting go": "closes, or releases",
    r"made to fit": "corrected",
    r"make(s)? do with": "uses only",
    r"may go along": "belongs to it",
    r"means itself": "is taken literally",
    r"(maximum|nobody|who reads) (does not |doesn't )?minds?": "does not change it, or accepts it",
    r"nobody'?s business|none of (their|its) business": "ignored, or not shown",
    r"of different minds": "that disagree",
    r"of equals": "of equal ones",
    r"of no consequence": "does not matter",
    r"of one name": "with the same name",
    r"on (its|their|the) way (in|out)": "that are being added, or when it is read",
    r"on the spot": "here, or at once",
    r"on the wall": "wall-clock time",
    r"rich in": "with many",
    r"sake": "because of, or for",
    r"seems? dear": "costs much",
    r"sees? to (it|that)": "does this",
    r"stands? in for": "replaces",
    r"stands? still": "is blocked",
    r"stay (his|theirs)": "does not change",
    r"steers? (a )?terminals?": "control characters",
    r"takes? (\w+ )?for granted": "assumes",
    r"takes the room": "disk usage",
    r"the callers? to mend": "the caller must correct it",
    r"unasked": "without being asked for",
    r"under way": "running, or current",
    r"what it is short of": "what it lacks",
    r"what it took": "what it cost",
    r"who(m)?ever": "any process, user or library that",
    r"worth a look": "say what is done",
}
"""Phrases that readers with English as a second language had to solve, and what to write instead."""
PATTERNS = {
    re.compile(rf"\b({riddle})\b".replace(" ", r"\s+"), re.IGNORECASE): plain for riddle, plain in RIDDLES.items()
}

DOUBLED = re.compile(r"\b([A-Za-z]{2,})[ \n]\1\b")
ARGUMENT = re.compile(r"^( *)(\w+(?:, \w+)*)\n(?=\1 {4}\S)", re.MULTILINE)
"""A name on a line of its own, above its description, which may begin with the same word."""
EXAMPLE = re.compile(r"^>>>.*?(\n\n|\Z)|```.*?```|^( {4}|\|)[^\n]*", re.MULTILINE | re.DOTALL)
"""Code and tables."""

COLUMNS = 100
FIGURES = 5
"""A table in Markdown with at least this many columns has figures, and its rows can't be broken."""
GENERATED = "<!-- What follows is written by `make results"
"""The rest of docs/results.md is not written by hand."""

C_LIKE = {".cpp", ".hpp", ".h", ".c", ".js", ".css"}
C_TEXT = re.compile(r'"((?:\\.|[^"\\\n])*)"|//([^\n]*(?:\n[ \t]*//[^\n]*)*)|/\*(.*?)\*/', re.DOTALL)
HASHED = {".sh", ".yml", ".yaml", ".toml"}
HASHED_NAMES = {"Makefile", "CMakeLists.txt", "run"}
HASH_TEXT = re.compile(r"(?<!\S)#([^\n]*(?:\n[ \t]*#[^\n]*)*)")
"""Comments on neighbouring lines are one text."""


def main(arguments: list[str]) -> int:
    """Prints all problems; the exit status."""
    known = arguments or subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split("\n")
    problems = [problem for name in known if name for problem in problems_of(ROOT / name)]
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


def problems_of(path: Path) -> list[str]:
    """What is wrong in a file: its name, the line, the words, and what to write instead."""
    if path.resolve() == Path(__file__).resolve() or not path.is_file():
        return []
    shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    found = []
    for first, text in texts_of(path):
        words = EXAMPLE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
        problems = [
            (riddle, f"write {plain!r}") for pattern, plain in PATTERNS.items() for riddle in pattern.finditer(text)
        ]
        problems += [(doubled, "a word is written twice") for doubled in DOUBLED.finditer(words)]
        for phrase, advice in problems:
            said = " ".join(phrase[0].split())
            found.append((first + text.count("\n", 0, phrase.start()), f"{said!r}: {advice}"))
    if path.suffix == ".md":
        lines = too_long(path.read_text(encoding="utf-8").partition(GENERATED)[0])
        found += [(line, f"more than {COLUMNS} columns") for line in lines]
    return [f"{shown}:{line}: {problem}" for line, problem in sorted(found)]


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """The texts in a file that people read, and the line where each begins."""
    if path.suffix == ".md":
        yield 1, path.read_text(encoding="utf-8").partition(GENERATED)[0]
    elif path.suffix == ".py":
        yield from python_texts(path.read_text(encoding="utf-8"), test="tests" in path.parts)
    elif path.suffix in C_LIKE:
        yield from comments_of(path.read_text(encoding="utf-8"), C_TEXT)
    elif path.suffix in HASHED or path.name in HASHED_NAMES:
        yield from comments_of(path.read_text(encoding="utf-8"), HASH_TEXT)


def python_texts(source: str, test: bool) -> Iterator[tuple[int, str]]:
    """Docstrings and comments; of tests the names, which are sentences, of other modules the messages."""
    for node in ast.walk(ast.parse(source)):
        text = node if not test else node.value if isinstance(node, ast.Expr) else None
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            lines = ARGUMENT.sub(r"\1\2:\n", text.value).split("\n")
            yield text.lineno, "\n".join(line.strip() for line in lines)
        elif test and isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.lineno, node.name.replace("_", " ")
    comments = [""] * (source.count("\n") + 2)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            comments[token.start[0]] = token.string
    yield from comments_of("\n".join(comments[1:]), HASH_TEXT)


def comments_of(source: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """What a pattern finds, without the marks at the beginnings of lines."""
    for found in pattern.finditer(source):
        text = next(group for group in found.groups() if group is not None)
        yield source.count("\n", 0, found.start()) + 1, re.sub(r"\n[ \t]*(//|#|\*)", "\n", text)


def too_long(text: str) -> Iterator[int]:
    """The numbers of lines of Markdown that could be shorter."""
    generated, columns = False, 0
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.strip()
        generated = (generated or stripped.startswith("<!-- figures")) and not stripped.startswith("<!-- /figures")
        columns = (columns or stripped.count("|") - 1) if stripped.startswith("|") else 0
        breakable = " " in re.sub(r"^([-*>]|\d+\.) ", "", stripped)
        if not generated and columns < FIGURES and breakable and len(line) > COLUMNS:
            yield number


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
