"""Source code is found by questions in words: 25 of them about packages that the tests need anyway."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from maxsieve.service.agents.budget import count_tokens, limited_answer
from maxsieve.text import OnnxEncoder
from maxsieve.text.grep.folder_search import FolderSearch
from text.code_questions import QUESTIONS, answers

TOP, ENOUGH, SHARE = 3, 20, 0.02


@pytest.mark.full
def test_questions_about_source_code(minilm: OnnxEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One test, because passages are encoded for each question. An answer has few of the tokens of the files."""
    monkeypatch.setenv("MAXSIEVE_CACHE", str(tmp_path))
    searches: dict[str, FolderSearch] = {}
    sizes: dict[str, int] = {}
    for package in {question.package for question in QUESTIONS}:
        found = find_spec(package)
        assert found is not None
        assert found.origin is not None
        search = searches[package] = FolderSearch(Path(found.origin).parent, minilm)
        sizes[package] = sum(count_tokens(search.read(id).text) for id in search.ids(["py"]))
    missed = []
    for question in QUESTIONS:
        search = searches[question.package]
        answer = search.answer(question.text, TOP)
        assert count_tokens(limited_answer(answer, 2000)) <= SHARE * sizes[question.package]
        if not any(answers(hit, search.folder, question) for hit in answer.hits):
            missed.append(question.text)
    assert len(QUESTIONS) == 25
    assert len(QUESTIONS) - len(missed) >= ENOUGH, missed
