"""A JSON file of a model's folder: each fact is checked, and an error names the file and the field."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

_MOST = 1 << 20  # tokens, or numbers of a row: no model has more


class Stated:
    """What one file states. A fact that it does not state, or states wrongly, is a `ValueError`."""

    def __init__(self, path: Path, content: dict[str, Any]) -> None:
        self.path, self.content = path, content

    @classmethod
    def read(cls, path: Path) -> Stated:
        """The JSON object in a file; an empty one if there is no such file."""
        if not path.is_file():
            return cls(path, {})
        try:
            content = json.loads(path.read_bytes())
        except (ValueError, RecursionError) as problem:
            raise ValueError(f"{path} is not valid JSON: {problem}") from None
        if not isinstance(content, dict):
            raise ValueError(f"{path} must contain a JSON object")
        return cls(path, content)

    def text(self, field: str) -> str:
        """A string, which may be empty."""
        return str(self._checked(field, "a string", lambda value: isinstance(value, str)))

    def flag(self, field: str, default: bool | None = None) -> bool:
        """True or false."""
        if default is not None and self.content.get(field) is None:
            return default
        return bool(self._checked(field, "true or false", lambda value: isinstance(value, bool)))

    def count(self, field: str) -> int:
        """A positive integer."""
        what = f"an integer from 1 to {_MOST}"
        return int(self._checked(field, what, lambda value: type(value) is int and 1 <= value <= _MOST))

    def token(self, field: str) -> int:
        """The number of a token."""
        return int(
            self._checked(field, "the number of a token", lambda value: type(value) is int and 0 <= value < 1 << 31)
        )

    def texts(self, field: str) -> list[str]:
        """A list of strings."""

        def fits(value: Any) -> bool:
            return isinstance(value, list) and all(isinstance(one, str) for one in value)

        return list(self._checked(field, "a list of strings", fits))

    def inner(self, field: str) -> Stated:
        """An object inside; an empty one if it is null or not stated."""
        value = self.content.get(field)
        if value is not None and not isinstance(value, dict):
            raise ValueError(f"{self.path}: {field} must be a JSON object, not {value!r:.60}")
        return Stated(self.path, value or {})

    def _checked(self, field: str, what: str, fits: Callable[[Any], bool]) -> Any:
        if self.content.get(field) is None:
            raise ValueError(f"{self.path} does not state {field}, which the model's vectors depend on")
        if not fits(value := self.content[field]):
            raise ValueError(f"{self.path}: {field} must be {what}, not {value!r:.60}")
        return value
