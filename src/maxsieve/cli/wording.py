"""Advice in the library's messages names Python calls; here it is turned into commands and options."""

from __future__ import annotations

import re

_WORDS = [
    (r"calibrate\(\.\.\., k=(\S+)\)", r"maxsieve calibrate -k \1"),
    (r"call (?:collection|index)\.calibrate\(queries\) first.*", "maxsieve calibrate does that"),
    (r"call collection\.calibrate\(queries\) with queries of your own", "give queries of your own by --queries FILE"),
    (r" or Collection\.open\(.*\), or give Collection\.open the encoder itself", ""),
    (r"use store='(\w+)'", r"use --store \1"),
    (r"; Certified\(\) is exact", "; --policy certified is exact"),
    (r"write a folder with style='colbert'", "write a folder"),
    (r"adopt=True replaces it", "--adopt replaces it"),
    (r": allow_deletes=True$", ": --allow-deletes"),
    (r"prefix= gives the files", "--prefix gives the files"),
    (r"moved_from= says so", "--moved-from says so"),
]


def as_options(sentence: str) -> str:
    """The library's message, with Python calls and keywords replaced by commands and options.

    >>> as_options("k is 20, but this index was calibrated for k up to 10: calibrate(..., k=20)")
    'k is 20, but this index was calibrated for k up to 10: maxsieve calibrate -k 20'
    """
    for python, options in _WORDS:
        sentence = re.sub(python, options, sentence, flags=re.DOTALL)
    return sentence
