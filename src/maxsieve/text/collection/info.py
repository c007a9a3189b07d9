"""Facts about a collection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from maxsieve.storage.segments import Store
from maxsieve.storage.snapshot import Snapshot
from maxsieve.text.collection.description import Description
from maxsieve.text.collection.disk_usage import disk_usage


def info_of(
    path: Path, state: Snapshot, made: Description, store: Store, documents: int, passages: int | None
) -> dict[str, Any]:
    """All facts, as JSON-compatible data."""
    book, calibration = state.codebook, state.calibration
    return {
        "path": str(path),
        "documents": documents,
        "passages": passages,
        "deleted": len(state.alive) - len(state.live),
        "tokens": int(state.lengths[state.alive].sum()),
        "bytes": sum(segment.nbytes for segment in state.segments),
        "room": disk_usage(path, state),
        "segments": len(state.segments),
        "dim": made.dim,
        "store": store,
        "pool": made.pool,
        "encoder": {"name": made.encoder, "dim": made.encoder_dim, "fingerprint": made.fingerprint},
        "projection": "to be fitted" if made.pending else made.projection,
        "codebook": None if book is None else {"centroids": book.centroids, "bytes": book.nbytes},
        "calibration": None
        if calibration is None
        else {
            "calibrated_on": calibration.origin,
            "queries": len(calibration.ranks),
            "k": calibration.k,
            "documents": calibration.documents,
            "made": calibration.made,
            **state.changes._asdict(),
            "holds": calibration.holds_after(state.changes),
        },
    }
