"""The first page of an SQLite file, checked before SQLite reads it: it must list our one table, and nothing else.

SQLite parses all definitions in a file when it opens it, and a forged definition can take any time and memory. Our
writer always makes the same one. SQLite's own checks of whole files (``PRAGMA quick_check``) are no help: they call
themselves for each level of a tree, and crash if a forged file has a hundred thousand levels.
"""

from __future__ import annotations

import struct

MAGIC = b"SQLite format 3\0"
ENCODING, UTF_8 = 56, 1
TREE, LEAF = 100, 13
"""Where the list of definitions starts, and the kind of page that it has if it is short."""
MOST = 1 << 16
"""Bytes of the largest page that SQLite has."""


def lists_only(page: bytes, table: str, schema: str) -> bool:
    """Whether a file that starts with these bytes has this one table, made by this statement, and nothing else."""
    if len(page) <= TREE + 10 or not page.startswith(MAGIC):
        return False
    (encoding,) = struct.unpack_from(">I", page, ENCODING)
    kind, _, definitions, _, _, place = struct.unpack_from(">BHHHBH", page, TREE)
    if (encoding, kind, definitions) != (UTF_8, LEAF, 1):
        return False
    before, after = _definition(table.encode(), schema.encode())
    found = page[place : place + len(before) + 1 + len(after)]
    return found.startswith(before) and found[len(before) + 1 :] == after


def _definition(table: bytes, schema: bytes) -> tuple[bytes, bytes]:
    """The stored row of a table: what is before and after the byte that says where the table itself starts."""
    texts = b"table", table, table
    kinds = b"".join(_text_kind(text) for text in texts) + b"\1" + _text_kind(schema)  # 1: a number of one byte
    before = bytes([len(kinds) + 1]) + kinds + b"".join(texts)
    return bytes([len(before) + 1 + len(schema), 1]) + before, schema


def _text_kind(text: bytes) -> bytes:
    number = 13 + 2 * len(text)
    return bytes([number]) if number < 128 else bytes([128 | number >> 7, number & 127])
