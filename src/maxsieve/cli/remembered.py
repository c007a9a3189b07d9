"""The encoders that this user made collections with, so that ``--encoder`` need not be given again.

A collection may come from a stranger, so it never chooses what is loaded. This file is the user's own, in the cache
folder: it has the name that the user gave when the collection was made in that folder.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from maxsieve.common.cache import cache_folder
from maxsieve.common.files import open_regular, replacing_as
from maxsieve.text.collection.description import read_description
from maxsieve.text.encoders.builtin import BUILT_IN_ENCODERS
from maxsieve.text.encoders.encoder import SENTENCE_TRANSFORMERS

NAME = "encoders"
MOST_BYTES, MOST_ENTRIES = 1 << 20, 1000


def remember(collection: Path, encoder: str) -> None:
    """Remembers the encoder of a collection that the user has just made. A cache that can't be written to is fine."""
    if encoder in BUILT_IN_ENCODERS:
        return
    known = _read()
    known.pop(_key(collection), None)
    known[_key(collection)] = _findable(encoder)
    path = cache_folder() / NAME
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{NAME}.{os.getpid()}.tmp")
        with replacing_as(temporary, path) as file:
            file.write(json.dumps(dict(list(known.items())[-MOST_ENTRIES:])).encode())
    except OSError:
        return


def encoder_for(collection: Path, given: str | None) -> str | None:
    """The encoder to open a collection with: the given one, or the one that its maker gave before."""
    if given is not None or not (collection / "collection.json").exists():
        return given
    return None if read_description(collection).encoder in BUILT_IN_ENCODERS else _read().get(_key(collection))


def _key(collection: Path) -> str:
    return os.path.realpath(collection)


def _findable(encoder: str) -> str:
    """A name that means the same in any current folder."""
    prefix = SENTENCE_TRANSFORMERS if encoder.startswith(SENTENCE_TRANSFORMERS) else ""
    place = Path(encoder.removeprefix(prefix))
    return prefix + str(place.absolute()) if place.exists() else encoder


def _read() -> dict[str, str]:
    """What is remembered. A file that is not the user's own, or damaged, counts as empty."""
    try:
        with open_regular(cache_folder() / NAME) as file:
            if hasattr(os, "geteuid") and os.fstat(file.fileno()).st_uid != os.geteuid():
                return {}
            found = json.loads(file.read(MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found.values()):
        return {}
    return found
