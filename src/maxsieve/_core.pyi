from typing import Any

import numpy as np
from numpy.typing import NDArray

class Segment:
    def __init__(
        self,
        rows: NDArray[np.float32] | NDArray[np.uint16],
        offsets: NDArray[np.int64],
        codes: NDArray[np.int8] = ...,
        scale: NDArray[np.float32] = ...,
        rho: NDArray[np.float32] = ...,
        nu: NDArray[np.float32] = ...,
    ) -> None: ...

class Corpus:
    def __init__(self, dim: int, segments: tuple[Segment, ...]) -> None: ...

def search(
    corpus: Corpus,
    queries: list[NDArray[np.float32]],
    candidates: list[NDArray[np.int64]],
    k: int,
    policy: str,
    alpha: float,
    delta: float,
    margin: int,
    block: int,
    seed: int,
    radius: str,
    threads: int,
    trace: bool,
) -> list[tuple[list[int], NDArray[np.float32], tuple[Any, ...], NDArray[np.int32] | None]]: ...
def bounds(
    corpus: Corpus, query: NDArray[np.float32], threads: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def score(corpus: Corpus, queries: list[NDArray[np.float32]], threads: int) -> NDArray[np.float32]: ...
def cells(corpus: Corpus, query: NDArray[np.float32], threads: int) -> NDArray[np.float32]: ...
def explain(
    corpus: Corpus, query: NDArray[np.float32], position: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]: ...
def ingest(
    arrays: list[NDArray[Any]],
    offsets: NDArray[np.int64],
    rows: NDArray[np.float32] | NDArray[np.uint16],
    codes: NDArray[np.int8],
    scale: NDArray[np.float32],
    rho: NDArray[np.float32],
    nu: NDArray[np.float32],
    cosine: bool,
    threads: int,
) -> int: ...
def first_invalid_row(rows: NDArray[np.float32]) -> int: ...
def normalise(rows: NDArray[np.float32]) -> None: ...
def code_stride(dim: int) -> int: ...
def isa() -> str: ...
def isas() -> list[str]: ...
def use_isa(name: str) -> None: ...
