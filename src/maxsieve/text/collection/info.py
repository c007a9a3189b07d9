"""Facts about a collection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from maxsieve.index import Index
from maxsieve.text.collection.description import Description
from maxsieve.text.collection.disk_usage import disk_usage
from maxsieve.text.passages import Keys


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
        "pool": made.pool,
        "encoder": {"name": made.encoder, "dim": made.encoder_dim, "fingerprint": made.fingerprint},
        "projection": "to be fitted" if made.pending else made.projection,
        "codebook": None if book is None else {"centroids": book.centroids, "bytes": book.nbytes},
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
