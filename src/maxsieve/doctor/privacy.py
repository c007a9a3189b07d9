"""Removes personal names: a report will be public."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any


def without_user(value: Any) -> Any:
    """The same data; in every text the home folder is ``~`` and the user's name, as a part of a path, is ``USER``.

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
    home = os.path.expanduser("~")
    if len(home) <= 1:  # no home folder, or the root folder
        return text
    text = re.sub(rf"{re.escape(home)}(?=$|[/\\\s'\":;,)])", "~", text)
    user = Path(home).name
    return re.sub(rf"(?<=[/\\]){re.escape(user)}(?=$|[/\\\s'\":;,)])", "USER", text)
