"""Fuzzes the loader: ``python fuzz_open.py seconds`` reads changed files until the time is over or an error is found.

If atheris (libFuzzer) is installed, coverage guides it. Otherwise it makes random changes from a fixed seed. The
checksums of a changed file stay as they were or, more often, are corrected, so that the change passes them.
"""

from __future__ import annotations

import json
import random
import struct
import sys
import tempfile
import time
import zlib
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

try:
    import atheris
except ImportError:
    atheris = None

if atheris is not None and __name__ == "__main__":
    with atheris.instrument_imports(include=["maxsieve.storage", "maxsieve.index", "maxsieve.storage.snapshot"]):
        import maxsieve  # noqa: F401

from maxsieve.errors import MaxsieveError
from maxsieve.storage.blocks import ENTRY, FIXED, HEADER_BYTES
from storage import damage

ODD = [0, 1, 2, 7, 8, 63, 64, 127, 128, 255, 2048, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64 - 64]


class Target:
    """Copies of two small indexes, one with str and one with int ids. One file is different each time."""

    def __init__(self, work: Path) -> None:
        self._files: list[tuple[Path, str, bytes]] = []
        for id_type in ("str", "int"):
            original = work / id_type
            damage.build(original, id_type)
            for name in sorted(path.name for path in original.iterdir() if path.name != "lock"):
                folder = work / f"{id_type} {name}"
                damage.copy(original, folder, name, lambda _: None)
                self._files.append((folder, name, (original / name).read_bytes()))

    def __call__(self, data: bytes) -> None:
        """Changes a file according to the data, and reads the index. It lets all errors through except ours."""
        if len(data) < 4:
            return
        folder, name, content = self._files[data[0] % len(self._files)]
        changed = bytearray(content)
        _change(changed, data[2:])
        if data[1] % 4:
            _seal(changed, name)
        (folder / name).unlink()  # never changed in place: it may be mapped
        (folder / name).write_bytes(changed)
        with suppress(MaxsieveError, OSError, KeyError):  # KeyError: an id that is not found where it should be
            damage.answer(folder)


def _change(content: bytearray, data: bytes) -> None:
    """Six bytes for each change: where (16 bits, in the first 4 KiB mostly), how, and a value."""
    for start in range(0, len(data) - 5, 6):
        place, kind, which, value = struct.unpack_from("<HBBH", data, start)
        place = place % 4096 if kind & 1 else place * 7
        if not content:
            return
        place %= len(content)
        kind = kind >> 1
        if kind % 8 == 0:
            content[place] ^= 1 << which % 8
        elif kind % 8 == 1:
            content[place] = value % 256
        elif kind % 8 == 2:
            _put(content, place, struct.pack("<Q", ODD[which % len(ODD)]))
        elif kind % 8 == 3:
            _put(content, place - place % 8, struct.pack("<Q", ODD[which % len(ODD)]))
        elif kind % 8 == 4:
            _put(content, place - place % 8, struct.pack("<q", value - 2**15))
        elif kind % 8 == 5:
            del content[place : place + value]
        elif kind % 8 == 6:
            content[place:place] = bytes([which]) * (value % 300)
        else:  # a field of a block's entry
            _put(content, FIXED.size + ENTRY.size * (which % 11) + 8 * (value % 8), struct.pack("<Q", ODD[value % 17]))


def _put(content: bytearray, place: int, value: bytes) -> None:
    value = value[: max(0, len(content) - place)]
    content[place : place + len(value)] = value


def _seal(content: bytearray, name: str) -> None:
    """Corrects the checksums, as far as the file can still be parsed."""
    if name == "manifest.json":
        with suppress(ValueError, RecursionError):
            fields = json.loads(content)
            if isinstance(fields, dict):
                fields.pop("checksum", None)
                text = json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()
                content[:] = json.dumps({**fields, "checksum": zlib.crc32(text)}).encode()
    elif not name.endswith(".records") and len(content) >= HEADER_BYTES:
        struct.pack_into("<Q", content, 16, len(content))
        for i in range(min(FIXED.unpack_from(content)[4], 30)):
            entry = list(ENTRY.unpack_from(content, place := FIXED.size + i * ENTRY.size))
            entry[5] = zlib.crc32(content[entry[2] : entry[2] + entry[3]])
            ENTRY.pack_into(content, place, *entry)
        struct.pack_into("<I", content, HEADER_BYTES - 4, zlib.crc32(content[: HEADER_BYTES - 4]))


def unguided(target: Target, count: int, seed: int = 0) -> None:
    """Makes so many random changes."""
    rng = random.Random(seed)
    for _ in range(count):
        target(rng.randbytes(2 + 6 * rng.randint(1, 5)))


def main(seconds: int) -> None:
    with tempfile.TemporaryDirectory() as work:
        target = Target(Path(work))
        if atheris is None:
            end, rounds = time.monotonic() + seconds, 0
            while time.monotonic() < end:
                unguided(target, 100, seed=rounds)
                rounds += 1
            print(f"{100 * rounds} runs, unguided")
            return
        limits = [
            "-max_len=62",
            "-len_control=0",
            "-timeout=30",
            "-rss_limit_mb=4096",
            "-seed=1",
            "-print_final_stats=1",
        ]
        atheris.Setup([sys.argv[0], f"-max_total_time={seconds}", f"-artifact_prefix={work}/", *limits], target)
        atheris.Fuzz()


if __name__ == "__main__":
    main(int(sys.argv[1]))
