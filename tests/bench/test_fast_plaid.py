"""fast-plaid runs in another environment: the messages to and from its process, tested with a fake."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maxsieve import spec

STAND_IN = """
import base64, json, pathlib, sys
import numpy as np
folder = pathlib.Path(sys.argv[1])
rows, lengths = np.load(folder / "rows.npy"), np.load(folder / "lengths.npy")
starts = np.cumsum(lengths) - lengths
print(json.dumps({"bytes": 77}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    query = np.frombuffer(base64.b64decode(asked["query"]), np.float32).reshape(-1, rows.shape[1])
    if len(query) == 1:
        sys.exit("one token is too few")
    scores = np.maximum.reduceat(rows @ query.T, starts).sum(axis=1)
    best = np.argsort(-scores)[: asked["k"]]
    print(json.dumps({"positions": best.tolist(), "scores": scores[best].tolist()}), flush=True)
"""


@pytest.fixture
def shape() -> Any:
    from benchmarks.vectors.shapes import Shape

    rng = np.random.default_rng(5)
    lengths = rng.integers(1, 9, 40)
    rows = rng.standard_normal((lengths.sum(), 16)).astype(np.float32)
    return Shape("few", rows, lengths, [rng.standard_normal((3, 16)).astype(np.float32)])


@pytest.fixture
def peer(shape: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    from benchmarks.peers import fast_plaid

    (tmp_path / "plaid_stand_in.py").write_text(STAND_IN)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(fast_plaid, "PYTHON", Path(sys.executable))
    monkeypatch.setattr(fast_plaid, "WORKER", "plaid_stand_in")
    made = fast_plaid.Peer()
    made.prepare(shape)
    return made


def test_a_process_answers_queries(shape: Any, peer: Any) -> None:
    assert peer.nbytes == 77
    (method,) = peer.methods
    assert (method.name, method.selects) == ("fast-plaid", True)
    positions, scores = method.search(shape.queries[0], 5)
    true = spec.scores(shape.queries[0], shape.documents)
    assert positions.tolist() == np.argsort(-true)[:5].tolist()
    np.testing.assert_allclose(scores, true[positions], rtol=1e-5)


def test_the_end_of_a_processs_output_is_in_the_error(shape: Any, peer: Any) -> None:
    with pytest.raises(ChildProcessError, match="one token is too few"):
        peer.methods[0].search(shape.queries[0][:1], 5)


def test_a_peer_that_is_closed_ends_its_process(shape: Any, peer: Any) -> None:
    peer.methods[0].search(shape.queries[0], 5)
    folder, process = Path(peer._folder.name), peer._process
    assert process.poll() is None
    peer.close()
    assert process.poll() is not None
    assert not folder.exists()


def test_without_its_environment_it_says_how_to_make_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from benchmarks.peers import fast_plaid

    monkeypatch.setattr(fast_plaid, "PYTHON", tmp_path / "python")
    with pytest.raises(FileNotFoundError, match="make bench-plaid"):
        fast_plaid.Peer()
