"""Text of any encoding: UTF-8, what the file declares, or what charset-normalizer finds."""

from __future__ import annotations

import re

from maxsieve.common.optional import optional
from maxsieve.text.inputs.lines import BOM, WIDE_BOMS

LOOKED_AT = 1 << 18
"""How many bytes are looked at to find an encoding."""

NUL_WITHIN = 1 << 13
_DECLARED = re.compile(rb"""(?:coding[:=][ \t]*|encoding=["']|\\usepackage\[)([-\w.]{3,20})""")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a]")
ENCODINGS = re.compile(
    r"(us-)?ascii|utf-?8|iso-?8859-\d{1,2}|latin-?\d|windows-\d{3,4}|cp\d{3,4}|koi8-[ru]|shift[_-]jis|euc-(jp|kr)"
    r"|iso-2022-jp|gb2312|gbk|gb18030|big5(-hkscs)?|mac(intosh|-roman)"
)
"""Encodings that a file may declare. Python has other codecs, and some of them do not encode text."""

_NO_GUESS = ["utf_7", "utf_16", "utf_16_be", "utf_16_le", "utf_32", "utf_32_be", "utf_32_le"]
"""Any few bytes are also characters of these. A file of 2 or 4 bytes a character begins with a mark or has NULs."""


def decode_text(content: bytes) -> tuple[str, str | None]:
    r"""The text, and its encoding if that is not UTF-8. `ValueError` if it is binary, or nothing fits.

    Of encodings that fit equally well, Windows-1252 is taken, because it is by far the most common.

    >>> decode_text(b"caf\xc3\xa9"), decode_text(b"# -*- coding: latin-1 -*-\ncaf\xe9")[1]
    (('café', None), 'latin-1')
    >>> decode_text(b"a caf\xe9")
    ('a café', 'cp1252')
    """
    if content.startswith(WIDE_BOMS):
        return content.decode("utf-16"), "utf-16"
    content = content.removeprefix(BOM)
    if b"\0" in content[:NUL_WITHIN]:
        raise ValueError("it is binary, not text")
    try:
        return content.decode(), None
    except UnicodeDecodeError as problem:
        if _CONTROL.search(content[:NUL_WITHIN]):
            raise ValueError("it is binary, not text") from None
        found = _declared(content) or _detected(content)
        try:
            if found is not None:
                return content.decode(found), found
        except (UnicodeDecodeError, LookupError):
            pass
        place = f"byte {content[problem.start]:#04x} at {problem.start}"
        raise ValueError(f"it is not UTF-8 ({place}), and its encoding can't be told") from None


def _declared(content: bytes) -> str | None:
    found = _DECLARED.search(b"\n".join(content[:1000].split(b"\n", 2)[:2]))
    name = found[1].decode("ascii").lower() if found else ""
    return name if ENCODINGS.fullmatch(name) and name not in ("utf-8", "utf8") else None


def _detected(content: bytes) -> str | None:
    found = optional("charset_normalizer", "text").from_bytes(content[:LOOKED_AT], cp_exclusion=_NO_GUESS)
    best = found.best()
    if best is None:
        return None
    usual = any("cp1252" in one.could_be_from_charset and one.coherence >= best.coherence for one in found)
    return "cp1252" if usual else str(best.encoding).replace("_", "-")
