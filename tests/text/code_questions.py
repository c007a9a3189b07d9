"""Questions about three well-known packages, each with the names that answer it. They were written before any search.

An answer is a passage that shares lines with the definition of one of the names: a function or a class of the file.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

from maxsieve.text.grep.line_answer import LineHit


class CodeQuestion(NamedTuple):
    """A question about a package: the file and the names of the definitions that answer it."""

    package: str
    text: str
    file: str
    names: tuple[str, ...]


QUESTIONS = (
    [
        CodeQuestion("starlette", *one)
        for one in [
            ("how is the host header checked against the allowed hosts", "middleware/trustedhost.py", ("__call__",)),
            ("answer preflight requests of other origins", "middleware/cors.py", ("preflight_response",)),
            (
                "compress responses with gzip",
                "middleware/gzip.py",
                ("GZipMiddleware", "GZipResponder", "IdentityResponder"),
            ),
            ("parse a multipart form with uploaded files", "formparsers.py", ("MultiPartParser",)),
            ("sign the cookie of a session", "middleware/sessions.py", ("SessionMiddleware",)),
            ("send only a range of a file as the response", "responses.py", ("FileResponse",)),
            ("turn a path with parameters into a regular expression", "routing.py", ("compile_path",)),
            ("run a blocking function in a thread", "concurrency.py", ("run_in_threadpool",)),
            ("read an environment variable and cast it to a type", "config.py", ("get", "_perform_cast")),
        ]
    ]
    + [
        CodeQuestion("rich", *one)
        for one in [
            (
                "how many cells of the terminal does a character take",
                "cells.py",
                ("get_character_cell_size", "cell_len"),
            ),
            ("parse markup tags such as [bold] in a text", "markup.py", ("_parse", "render")),
            ("how wide should the columns of a table be", "table.py", ("_calculate_column_widths",)),
            ("replace a true color by the nearest of 256 colors", "color.py", ("downgrade",)),
            (
                "a progress bar that pulses while the total is unknown",
                "progress_bar.py",
                ("_render_pulse", "_get_pulse_segments"),
            ),
            ("estimate how long a task still takes", "progress.py", ("time_remaining",)),
            ("where to break a line of words so that it fits the width", "_wrap.py", ("divide_line",)),
            ("find out the size of the terminal", "console.py", ("size",)),
        ]
    ]
    + [
        CodeQuestion("jinja2", *one)
        for one in [
            ("how is the source of a template divided into tokens", "lexer.py", ("tokeniter", "tokenize", "wrap")),
            ("forbid a template to leave the folder of templates", "loaders.py", ("split_template_path",)),
            ("cut a string to a length and append an ellipsis", "filters.py", ("do_truncate",)),
            (
                "which attributes may be accessed in the sandbox",
                "sandbox.py",
                ("is_safe_attribute", "is_internal_attribute"),
            ),
            ("store compiled templates on disk", "bccache.py", ("FileSystemBytecodeCache",)),
            ("parse a for loop", "parser.py", ("parse_for",)),
            ("a cache that forgets what was not used for longest", "utils.py", ("LRUCache",)),
            ("turn addresses in a text into links", "utils.py", ("urlize",)),
        ]
    ]
)


def lines_of(folder: Path, question: CodeQuestion) -> list[tuple[int, int]]:
    """The first and the last line of each definition that answers a question."""
    found = [
        (node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(ast.parse((folder / question.file).read_text()))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name in question.names
    ]
    assert found, f"{question.file} has no {question.names}"
    return found


def answers(hit: LineHit, folder: Path, question: CodeQuestion) -> bool:
    """Whether a hit shares lines with a definition that answers the question."""
    spans = lines_of(folder, question) if hit.id == question.file else []
    return any(hit.first <= last and first <= hit.last for first, last in spans)
