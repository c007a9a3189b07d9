"""Edits JSON with comments and trailing commas, and leaves all other characters of the file as they are."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

_TOKEN = re.compile(
    r'(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<mark>[{}\[\],:])|(?P<other>[^\s{}\[\],:"]+)',
    re.DOTALL,
)
INDENT = 2


class JsonMember(NamedTuple):
    """A member of an object: where its key starts, and where its value starts and ends."""

    key: int
    start: int
    end: int


def parse(text: str) -> Any:
    """The value of a JSON text, which may have comments and trailing commas.

    >>> parse('{"a": [1, 2,], // two' + chr(10) + '}')
    {'a': [1, 2]}
    """
    plain = list(text.removeprefix("\ufeff").rjust(len(text)))
    comma: int | None = None
    for token in _TOKEN.finditer("".join(plain)):
        if token.lastgroup == "comment":
            plain[token.start() : token.end()] = " " * len(token[0])
            continue
        if comma is not None and token[0] in "}]":
            plain[comma] = " "
        comma = token.start() if token[0] == "," else None
    return json.loads("".join(plain), object_pairs_hook=_without_repeats)


def put(text: str, container: str, name: str, value: Any) -> str:
    """The text with ``{container: {name: value}}`` in its outermost object; a member of this name is replaced.

    >>> print(put('{"theme": "dark"}', "servers", "it", {"command": "x"}))
    {
      "servers": {
        "it": {
          "command": "x"
        }
      },"theme": "dark"}
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    if not text.strip("\ufeff \t\r\n"):
        return json.dumps({container: {name: value}}, indent=INDENT) + "\n"
    outer = members(text, _outermost(text))
    if container not in outer:
        return _inserted(text, _outermost(text), container, {name: value}, 1, bool(outer))
    inner = members(text, outer[container].start)
    if name in inner:
        written = json.dumps(value, indent=INDENT).replace("\n", newline + " " * 2 * INDENT)
        return text[: inner[name].start] + written + text[inner[name].end :]
    return _inserted(text, outer[container].start, name, value, 2, bool(inner))


def drop(text: str, container: str, name: str) -> str:
    """The text without that member; an object that is empty then is removed as well. What `put` added is gone.

    >>> drop(put('{"theme": "dark"}', "servers", "it", {"command": "x"}), "servers", "it")
    '{"theme": "dark"}'
    """
    outer = members(text, _outermost(text))
    inner = members(text, outer[container].start) if container in outer else {}
    if name not in inner:
        return text
    text = _removed(text, inner[name])
    left = members(text, _outermost(text))[container]
    return _removed(text, left) if not text[left.start + 1 : left.end - 1].strip() else text


def members(text: str, start: int) -> dict[str, JsonMember]:
    """The members of the object that starts here; `ValueError` if there is none."""
    found: dict[str, JsonMember] = {}
    depth, key, value = 0, None, None
    if text[start : start + 1] != "{":
        raise ValueError("it is not an object where one is expected")
    for token in _TOKEN.finditer(text, start):
        if token.lastgroup == "comment":
            continue
        if depth == 1:
            if key is None and token.lastgroup == "string":
                key = token
            elif key is not None and value is None and token[0] != ":":
                value = token.start()
        depth += (token[0] in "{[") - (token[0] in "}]") if token.lastgroup == "mark" else 0
        ended = depth == 0 or (depth == 1 and token[0] == ",")
        if key is not None and value is not None and not ended:
            found[json.loads(key[0])] = JsonMember(key.start(), value, token.end())
        if ended:
            key = value = None
        if depth == 0:
            return found
    raise ValueError("an object has no end")


def _outermost(text: str) -> int:
    """Where the outermost object starts."""
    for token in _TOKEN.finditer(text):
        if token.lastgroup != "comment" and token[0] != "\ufeff":
            return token.start()
    raise ValueError("it has no object")


def _inserted(text: str, start: int, name: str, value: Any, level: int, others: bool) -> str:
    """A new first member of the object that starts here."""
    written = json.dumps({name: value}, indent=INDENT)[1:-1].strip()
    indent = "\n" + " " * INDENT * (level - 1)
    written = f"\n{' ' * INDENT * level}" + written.replace("\n", indent) + ("," if others else indent)
    written = written.replace("\n", "\r\n" if "\r\n" in text else "\n")
    return text[: start + 1] + written + text[start + 1 :]


def _removed(text: str, member: JsonMember) -> str:
    """Without a member, the white space before it, and the comma after it or, if it is the last, before it."""
    start, end = len(text[: member.key].rstrip()), member.end
    after = re.compile(r"\s*,").match(text, end)
    if after:
        return text[:start] + text[after.end() :]
    if text[start - 1] == ",":
        return text[: start - 1] + text[end:]
    return text[:start] + text[end + len(text[end:]) - len(text[end:].lstrip()) :]


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is there twice")
    return found
