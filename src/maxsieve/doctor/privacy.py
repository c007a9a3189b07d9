"""Removes the names of the user and of the machine: a report will be public."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NAMES_OF_THE_USER = ("USER", "LOGNAME", "USERNAME", "SUDO_USER")
"""Variables that systems put the user's name into."""

END = r"(?=$|[/\\\s'\":;,)])"


def without_user(value: Any) -> Any:
    """The same data; in texts the home folder is ``~``, and as parts of a path the user is ``USER``, the host ``HOST``.

    >>> from unittest import mock
    >>> with mock.patch.dict(os.environ, HOME="/home/mary", USERPROFILE="/home/mary"):
    ...     without_user({"folder": "/home/mary/x", "other": ["/data/mary/y", 7, "rosemary"]})
    {'folder': '~/x', 'other': ['/data/USER/y', 7, 'rosemary']}
    """
    if isinstance(value, dict):
        return {key: without_user(each) for key, each in value.items()}
    if isinstance(value, list):
        return [without_user(each) for each in value]
    return _cleaned(value) if isinstance(value, str) else value


def _cleaned(text: str) -> str:
    homes = list(_homes())
    for home in homes:
        text = re.sub(rf"(?<![\w.-]){re.escape(home)}{END}", "~", text, flags=re.IGNORECASE)
    users = [Path(home).name for home in homes] + [os.environ.get(name, "") for name in NAMES_OF_THE_USER]
    host = platform.node()
    for word, names in (("USER", users), ("HOST", [host, host.partition(".")[0]])):
        for name in sorted(filter(None, names), key=len, reverse=True):
            text = re.sub(rf"(?<=[/\\]){re.escape(name)}{END}", word, text, flags=re.IGNORECASE)
    return text


def _homes() -> Iterator[str]:
    """The home folder, and where it is if that is a link; nothing if there is none, or it is the root of everything."""
    home = os.path.expanduser("~")
    for path in dict.fromkeys([home, os.path.realpath(home)]):
        if os.path.isabs(path) and Path(path).name:
            yield path
