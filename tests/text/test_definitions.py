"""Functions and classes of source code: their headings, in all languages, and what hostile source can do."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxsieve.text.inputs import definitions as module
from maxsieve.text.inputs import isolated
from maxsieve.text.inputs.definitions import LONGEST_SOURCE, definitions, is_installed
from maxsieve.text.inputs.document import InputDocument
from maxsieve.text.inputs.files import read_file
from maxsieve.text.inputs.grammars import GRAMMARS
from maxsieve.text.inputs.isolated import IsolatedReader
from maxsieve.text.inputs.kinds import SOURCE
from maxsieve.text.inputs.outline import Outline
from maxsieve.text.inputs.survey import survey
from maxsieve.text.passages import guess_tokens
from maxsieve.text.splitter import Sizes, split

SOURCES = {
    ".py": (
        "import os\n\n# é\n@deco\nclass A(B):\n    x = 1\n\n    @property\n    def f(self):\n        def g(): pass\n"
        "        return 1\n\n    y = 2\n\nprint(A)\n",
        ["1 A # é", "2 f @property", "3 g def g(): pass", "3  return 1", "2  y = 2", "1  print(A)"],
    ),
    ".js": (
        "/** é */\nexport default class A {\n  m() { return 1; }\n  f = () => 1;\n}\nconst g = async (x) => x;\n"
        "module.exports.h = function() {}\nfunction* k() {}\nlet z = 1;\n",
        [
            *("1 A /** é */", "2 m m() { return 1; }", "2 f f = () => 1;", "1 g const g = async (x) => x;"),
            *("1 module.exports.h module.exports.h = function() {}", "1 k function* k() {}", "1  let z = 1;"),
        ],
    ),
    ".ts": (
        "export namespace N {\n  export interface I { a: string }\n}\nabstract class A<T> {\n  m(): void {}\n}\n"
        "enum E { A }\n",
        [
            *("1 N export namespace N {", "2 I export interface I { a: string }", "1 A abstract class A<T> {"),
            *("2 m m(): void {}", "1 E enum E { A }"),
        ],
    ),
    ".tsx": (
        "export function App() { return <b>x</b>; }\n",
        ["1 App export function App() { return <b>x</b>; }"],
    ),
    ".java": (
        "package a;\n/** d */\n@X\npublic class A {\n  int x;\n  // c\n  A() {}\n  @Override public void m() {}\n}\n",
        ["1 A /** d */", "2 A // c", "2 m @Override public void m() {}"],
    ),
    ".c": (
        "#include <a>\n/* d */\nstatic int *f(int a)\n{ return 0; }\ntypedef struct { int a; } Foo;\n"
        "typedef struct bar { int b; } Bar;\nint (*g(void))(int) { return 0; }\nint x;\n",
        [
            *("1 f /* d */", "1 Foo typedef struct { int a; } Foo;", "1 bar typedef struct bar { int b; } Bar;"),
            *("1 g int (*g(void))(int) { return 0; }", "1  int x;"),
        ],
    ),
    ".h": ("struct a { int b; };\nint f(void);\n", ["1 a struct a { int b; };", "1  int f(void);"]),
    ".cpp": (
        "namespace n {\ntemplate <class T>\nclass A {\n  ~A() {}\n  T& get() { return x; }\n};\n"
        "int B::f() { return 1; }\n}  // namespace n\n",
        [
            *("1 n namespace n {", "2 A template <class T>", "3 ~A ~A() {}", "3 get T& get() { return x; }"),
            "2 B::f int B::f() { return 1; }",
        ],
    ),
    ".cs": (
        "namespace N.M {\n  [X]\n  class A {\n    int P { get; set; }\n    void M() {}\n  }\n}\n",
        ["1 N.M namespace N.M {", "2 A [X]", "3 P int P { get; set; }", "3 M void M() {}"],
    ),
    ".go": (
        "package a\n\n// F is\nfunc F() {}\n\ntype S struct { a int }\nfunc (s *S[T]) Run() {}\ntype (\n\tA int\n"
        "\tB int\n)\nvar x = 1\n",
        [
            *("1 F // F is", "1 S type S struct { a int }", "1 S.Run func (s *S[T]) Run() {}", "1  type ("),
            *("1 A A int", "1 B B int", "1  var x = 1"),
        ],
    ),
    ".rs": (
        "/// d\n#[derive(A)]\npub struct P<T> { a: T }\nimpl<T> Tr for P<T> {\n    /// m\n    fn m(&self) {}\n}\n"
        "static X: u8 = 1;\n",
        ["1 P /// d", "1 P impl<T> Tr for P<T> {", "2 m /// m", "1  static X: u8 = 1;"],
    ),
    ".rb": (
        "# d\nmodule M\n  class A < B\n    def m\n    end\n    def self.s; end\n  end\nend\nputs 1\n",
        ["1 M # d", "2 A class A < B", "3 m def m", "3 s def self.s; end", "1  puts 1"],
    ),
    ".php": (
        "<?php\nnamespace X;\nclass A {\n  public function m() {}\n}\nfunction f() {}\n",
        ["1 A class A {", "2 m public function m() {}", "1 f function f() {}"],
    ),
    ".sh": ("set -e\n# c\nf() {\n  echo\n}\nf\n", ["1 f # c", "1  f"]),
}


@pytest.mark.parametrize("suffix", SOURCES)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_definitions_of_each_language(suffix: str, end: str) -> None:
    """Each with its level, its name, and the line that it begins with: comments and decorators are part of it."""
    source, expected = SOURCES[suffix]
    text = source.replace("\n", end)
    found = [(heading, text[heading.start :].split(end)[0]) for heading in definitions(text, suffix)]
    assert [f"{heading.level} {heading.title} {line}" for heading, line in found] == expected


def test_every_suffix_has_a_grammar_that_works() -> None:
    assert set(GRAMMARS) <= set(SOURCE)
    assert all(is_installed(grammar) for grammar in GRAMMARS.values())
    for suffix in GRAMMARS:
        assert definitions("", suffix) == []


@given(st.sampled_from(sorted(SOURCES)), st.data())
@settings(max_examples=60, deadline=None)
def test_headings_are_in_order_and_in_the_text(suffix: str, data: st.DataObject) -> None:
    """Also of source with errors: parts that were cut out of good source, in any order."""
    source = SOURCES[suffix][0]
    cuts = data.draw(st.lists(st.tuples(*[st.integers(0, len(source))] * 2), max_size=6))
    text = "𝄞é".join(source[min(cut) : max(cut)] for cut in cuts)
    found = definitions(text, suffix)
    starts = [heading.start for heading in found]
    assert starts == sorted(starts)
    assert all(0 <= heading.start < len(text) and heading.level >= 1 for heading in found)


def test_passages_begin_at_functions_and_name_them(tmp_path: Path) -> None:
    body = "        x = x + 1  # é\n" * 12
    path = tmp_path / "a.py"
    path.write_text("".join(f"class C{n}:\n" + "".join(f"    def f{m}(x):\n{body}\n" for m in (1, 2)) for n in (1, 2)))
    with IsolatedReader() as reader:
        document = read_file(path, "a.py", reader)
        plain = read_file(path, "a.py", reader, parsed=False)
    assert isinstance(document, InputDocument)
    assert document.outline is not None
    passages = split(document.text, Sizes(120, 120, 16), guess_tokens, "", document.outline)
    named = [(one.heading, document.text[one.start :].split("(")[0].split(":")[0], one.line) for one in passages]
    assert named == [
        *(("C1", "class C1", 1), ("C1.f2", "def f2", 16), ("C2", "class C2", 30), ("C2.f2", "def f2", 45)),
    ]
    assert passages[0].sections[0][1] == "C1.f1"
    titled = split(document.text, Sizes(120, 120, 16), guess_tokens, "Title", document.outline)
    assert titled[1].heading == "Title > C1.f2"
    assert isinstance(plain, InputDocument)
    assert plain.outline == Outline((), lines=True)


@pytest.mark.parametrize(("source", "suffix"), [("(" * 200_000, ".py"), ("a<" * 500_000, ".ts")])
def test_hostile_source_has_no_headings_and_the_next_file_has(source: str, suffix: str) -> None:
    """The parser takes any time, or crashes: in another process, so that the text is still read."""
    with IsolatedReader(seconds=1) as reader:
        assert reader.definitions(source, suffix) == []
        assert [heading.title for heading in reader.definitions("def f(): pass\n", ".py")] == ["f"]


def test_a_large_source_is_not_parsed() -> None:
    with IsolatedReader() as reader:
        assert reader.definitions("def f(): pass\n" + "#" * LONGEST_SOURCE, ".py") == []


def test_without_the_extra_source_is_plain_text_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.py").write_text("def f(): pass\n")
    (tmp_path / "b.kt").write_text("fun f() {}\n")
    assert survey(tmp_path).said == []
    is_installed.cache_clear()
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    monkeypatch.setattr(isolated.IsolatedReader, "_started", None)
    try:
        assert survey(tmp_path).said == [
            "1 source file is split as plain text, without names of functions and classes: pip install 'maxsieve[code]'"
        ]
        with IsolatedReader() as reader:
            document = read_file(tmp_path / "a.py", "a.py", reader)
    finally:
        is_installed.cache_clear()
    assert isinstance(document, InputDocument)
    assert document.outline is not None
    assert not document.outline.headings
