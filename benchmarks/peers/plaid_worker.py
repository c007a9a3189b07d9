"""fast-plaid in an environment of its own: indexes the vectors in a folder, then answers queries.

`peers.fast_plaid` starts it and talks to it by lines of JSON on standard input and output: the first says that the
index is made, each further one answers a query.
"""

from __future__ import annotations

import base64
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import torch
from fast_plaid import search


def main(folder: Path) -> None:
    """All options but the device are left at their documented defaults; a progress bar would only cost time."""
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    rows, lengths = np.load(folder / "rows.npy"), np.load(folder / "lengths.npy")
    with redirect_stdout(sys.stderr):  # it prints what it does
        index = search.FastPlaid(str(folder / "index"), device="cpu")
        index.create(list(torch.from_numpy(rows).split(lengths.tolist())))
    say({"bytes": sum(path.stat().st_size for path in (folder / "index").rglob("*") if path.is_file())})
    for line in sys.stdin:
        asked = json.loads(line)
        query = np.frombuffer(base64.b64decode(asked["query"]), np.float32).reshape(1, -1, rows.shape[1])
        with redirect_stdout(sys.stderr):
            found = index.search(torch.tensor(query), top_k=asked["k"], show_progress=False)[0]
        say({"positions": [position for position, _ in found], "scores": [score for _, score in found]})


def say(what: dict[str, Any]) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
