"""Answers with a limited number of tokens, which say what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from maxsieve.common.printable import printable
from maxsieve.text.grep.line_answer import LineAnswer, LineHit

RESERVE = 40
"""Tokens that are kept for the sentence about what was left out."""


def count_tokens(text: str) -> int:
    """The tokens of a text: three bytes of UTF-8 count as one, which is more than most models need.

    >>> count_tokens("def f():"), count_tokens("")
    (3, 0)
    """
    return -(-len(text.encode(errors="replace")) // 3)


def limited_answer(answer: LineAnswer, max_tokens: int) -> str:
    """The hits with their texts, the guarantee in words, and what was left out of it.

    The best hits come with their texts, as long as there is space; the others with their places only.
    """
    ending = [f"Guarantee: {answer.guarantee}.", *(f"Note: {remark}." for remark in answer.remarks)]
    if not answer.hits:
        return "\n".join(["Nothing was found.", *ending])
    heads = [_head(rank, hit) for rank, hit in enumerate(answer.hits, start=1)]
    space = max_tokens - RESERVE - sum(count_tokens(line) + 1 for line in ending)
    listed = _fitting(heads, space)
    space -= sum(count_tokens(head) + 1 for head in heads[:listed])
    parts, left_out = list[str](), list[str]()
    for rank, (head, hit) in enumerate(zip(heads[:listed], answer.hits, strict=False), start=1):
        text = cut_lines(hit.text, space) if space > 0 else ""
        space = space - count_tokens(text) - 2 if text == hit.text else 0
        parts.append(f"{head}\n{text}\n" if text else head)
        if text != hit.text:
            left_out.append(f"{'the end' if text else 'the text'} of {rank}")
    left_out += [f"hit {rank}" for rank in range(listed + 1, len(heads) + 1)]
    return "\n".join([*parts, *ending, *_left_out(_merged(left_out), "read shows any lines of a document")])


def limited_lines(name: str, text: str, first: int, last: int | None, max_tokens: int) -> str:
    r"""Lines of a document, counted from 1, up to ``last``; and which lines were left out.

    >>> print(limited_lines("a.py", "one\ntwo\nthree", 2, None, 100))
    a.py:2-3 (of 3 lines)
    two
    three
    """
    lines = text.splitlines()
    last = min(len(lines), last or len(lines))
    if first > len(lines):
        raise ValueError(f"first_line is {first:,}, but {name} has {len(lines):,} lines")
    if last < first:
        raise ValueError(f"last_line is {last:,}, which is before first_line, {first:,}")
    wanted = "\n".join(lines[first - 1 : last])
    shown = cut_lines(wanted, max_tokens - RESERVE - count_tokens(name))
    end = first + shown.count("\n")
    head = f"{name}:{first}-{end} (of {len(lines):,} lines)"
    if shown == wanted:
        return f"{head}\n{shown}"
    whole = shown == "\n".join(lines[first - 1 : end])
    rest = [] if end == last else [f"lines {end + 1:,} to {last:,}"]
    missing = rest if whole else [f"the end of line {end:,}, which is long", *rest]
    return "\n".join([head, shown, *_left_out(missing, "read them with first_line")])


def limited_parts(parts: Sequence[str], ending: str, max_tokens: int, what: str) -> str:
    """As many parts as fit, and how many were left out."""
    listed = _fitting(parts, max_tokens - RESERVE - count_tokens(ending))
    missing = [f"{len(parts) - listed:,} {what}"] if listed < len(parts) else []
    return "\n".join([*parts[:listed], *([ending] if ending else []), *_left_out(missing, "")])


def cut_lines(text: str, tokens: int) -> str:
    r"""The first lines of a text with at most so many tokens; a part of the first line, if it has more.

    >>> cut_lines("abc\ndef\nghi", 3), cut_lines("abcdefghi", 2), cut_lines("abc", 1)
    ('abc\ndef', 'abcdef', 'abc')
    """
    if tokens <= 0:
        return ""
    if count_tokens(text) <= tokens:
        return text
    cut = text.encode(errors="replace")[: 3 * tokens].decode(errors="ignore")
    return cut.rpartition("\n")[0] or cut


def _head(rank: int, hit: LineHit) -> str:
    r"""The place of a hit, on one line: the name of a file must not look like another hit.

    >>> _head(1, LineHit("a\n2. b.py\x1b[0m", 3, 4, "f", 1.5, "text"))
    '1. a 2. b.py [0m:3-4  f  (score 1.50)'
    """
    heading = f"  {hit.heading}" if hit.heading else ""
    return printable(f"{rank}. {hit.id}:{hit.first}-{hit.last}{heading}  (score {hit.score:.2f})")


def _fitting(parts: Iterable[str], tokens: int) -> int:
    """How many parts have at most so many tokens in total."""
    fitting = 0
    for part in parts:
        tokens -= count_tokens(part) + 1
        if tokens < 0:
            break
        fitting += 1
    return fitting


def _merged(left_out: list[str]) -> list[str]:
    """The first and the last of what was left out, if it is a long list."""
    return left_out if len(left_out) <= 3 else [left_out[0], f"{len(left_out) - 2:,} more, up to {left_out[-1]}"]


def _left_out(missing: list[str], hint: str) -> list[str]:
    if not missing:
        return []
    ending = f"; {hint}, or ask for more max_tokens" if hint else "; ask for more max_tokens"
    return [f"Left out: {', '.join(missing)}{ending}."]
