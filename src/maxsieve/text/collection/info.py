"""Facts about a collection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from maxsieve.index import Index
from maxsieve.storage.codebook import Codebook
from maxsieve.storage.snapshot import Snapshot
from maxsieve.storage.storage import awaits_codebook
from maxsieve.text.collection.description import Description
from maxsieve.text.collection.disk_usage import disk_usage
from maxsieve.text.passages import Keys

ENOUGH_TOKENS = 1 << 17
"""With fewer tokens, `Collection.encode_store` leaves byte codes: what a codebook learned from few suits no others."""


def info_of(path: Path, index: Index, made: Description, keys: Keys) -> dict[str, Any]:
    """All facts, as JSON-compatible data."""
    snapshot = index.storage.snapshot
    here, book, calibration = snapshot.here, snapshot.codebook, snapshot.calibration
    return {
        "path": str(path),
        "documents": keys.count(snapshot),
        "passages": snapshot.n_documents if keys.passages else None,
        "deleted": len(here.alive) - len(here.live),
        "tokens": snapshot.n_tokens,
        "bytes": here.nbytes,
        "room": disk_usage(path, here, keys),
        "segments": len(here.segments),
        "dim": made.dim,
        "store": snapshot.layout.store,
        "byte_codes_until": ENOUGH_TOKENS if awaits_codebook(snapshot) else None,
        "pool": made.pool,
        "encoder": {"name": made.encoder, "dim": made.encoder_dim, "fingerprint": made.fingerprint},
        "projection": "to be fitted" if made.pending else made.projection,
        "codebook": None if book is None else _facts_of(book, here),
        "calibration": None
        if calibration is None
        else {
            "calibrated_on": calibration.origin,
            "queries": calibration.n_queries,
            "k": calibration.k,
            "documents": calibration.documents,
            "made": calibration.made,
            **snapshot.changes._asdict(),
            "holds": calibration.hits_are_known or not snapshot.changes.deleted,
        },
        "calibrated_filters": [
            {
                "where": one.where.given,
                "calibrated_on": one.origin,
                "queries": one.n_queries,
                "k": one.k,
                "documents": one.documents,
            }
            for one in snapshot.calibrations
            if one.where is not None
        ],
    }


def _facts_of(book: Codebook, snapshot: Snapshot) -> dict[str, Any]:
    """The facts of a codebook; that of a store of residuals has a name, and documents drift away from it."""
    facts: dict[str, Any] = {"centroids": book.centroids, "bytes": book.nbytes}
    if book.bits:
        snapshot.check()
        facts |= {"digest": book.digest, "tokens": book.tokens, "drift": round(book.drift(snapshot.segments), 3)}
    return facts
