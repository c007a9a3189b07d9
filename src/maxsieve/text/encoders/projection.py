"""Fewer dimensions: projection of token vectors to their principal axes, and an encoder that applies it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxsieve.arrays import is_array, to_numpy
from maxsieve.common.checks import as_count
from maxsieve.text.encoders.encoder import F32, Encoder, WrappedEncoder, unit_rows

_CHUNK = 1 << 16  # rows at a time in float64


def fit_projection(vectors: Iterable[Any], dim: int) -> F32:
    """The `dim` leading eigenvectors of the second-moment matrix of the rows, as columns [D, dim], largest first.

    This is PCA without centring: of all projections to `dim` dimensions, it preserves inner products best. `vectors` is
    one array [rows, D] or several. The sign of an eigenvector is chosen so that its largest entry is positive.

    >>> fit_projection(np.array([[0.0, 3, 0], [1, 0, 0], [0, -3, 0]]), 2).T.tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """
    moment: NDArray[np.float64] | None = None
    for i, some in enumerate([vectors] if is_array(vectors) else vectors):
        rows = to_numpy(some, f"vectors[{i}]")
        if rows.ndim != 2 or (moment is not None and rows.shape[1] != len(moment)):
            expected = "[rows, D]" if moment is None else f"[rows, {len(moment)}] like those before"
            raise ValueError(f"vectors[{i}] has shape {rows.shape}; {expected} is expected")
        if moment is None:
            moment = np.zeros((rows.shape[1], rows.shape[1]))
        for start in range(0, len(rows), _CHUNK):
            chunk = rows[start : start + _CHUNK].astype(np.float64)
            moment += chunk.T @ chunk
    if moment is None or not moment.any():
        raise ValueError("a projection can't be fitted: there are no vectors, or all are zero")
    if not np.isfinite(moment).all():
        raise ValueError("vectors hold NaN or infinity, or overflow when squared")
    count = as_count(dim, "dim", at_least=1, at_most=len(moment))
    axes = np.ascontiguousarray(np.linalg.eigh(moment)[1][:, ::-1][:, :count], np.float32)
    return axes * np.sign(np.take_along_axis(axes, np.abs(axes).argmax(axis=0)[None], axis=0))


class ProjectedEncoder(WrappedEncoder):
    """An encoder whose rows are those of another times a matrix [D, dim], at unit length again.

    The name is that of the inner encoder, which can be loaded by it; the fingerprint includes the matrix. If the inner
    encoder is `Traceable` or `Visual`, so is this one.
    """

    def __init__(self, encoder: Encoder, matrix: Any) -> None:
        array = to_numpy(matrix, "matrix")
        if array.ndim != 2 or len(array) != encoder.dim or not 1 <= array.shape[1] <= encoder.dim:
            raise ValueError(
                f"matrix has shape {array.shape}; [{encoder.dim}, dim] with dim at most {encoder.dim} is expected"
            )
        if not np.isfinite(array).all():
            raise ValueError("matrix holds NaN or infinity")
        super().__init__(encoder)
        self.matrix: F32 = np.array(array, np.float32, order="C")
        self.matrix.flags.writeable = False
        self.dim = self.matrix.shape[1]

    def __reduce__(self) -> tuple[Any, ...]:
        return ProjectedEncoder, (self.encoder, self.matrix)

    @property
    def fingerprint(self) -> dict[str, str]:
        """The fingerprint of the inner encoder, and the digest of the matrix."""
        shape = f"{self.matrix.shape[0]}x{self.matrix.shape[1]}"
        digest = hashlib.sha256(self.matrix.astype("<f4").tobytes()).hexdigest()
        return {**self.encoder.fingerprint, "projection": f"{shape} {digest}"}

    def encode_documents(self, texts: Sequence[str], *, progress: bool = False) -> list[F32]:
        """The projected rows of each text, as a document is encoded."""
        return [self._project(rows) for rows in self.encoder.encode_documents(texts, progress=progress)]

    def encode_queries(self, texts: Sequence[str]) -> list[F32]:
        """The projected rows of each text, as a query is encoded."""
        return [self._project(rows) for rows in self.encoder.encode_queries(texts)]

    def _project(self, rows: F32) -> F32:
        return unit_rows(rows @ self.matrix)
