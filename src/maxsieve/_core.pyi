from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

class Segment:
    def __init__(
        self,
        dim: int,
        offsets: NDArray[np.int64],
        rows: NDArray[np.float32] | NDArray[np.uint16] | None = ...,
        codes: NDArray[np.int8] | None = ...,
        scale: NDArray[np.float32] | None = ...,
        rho: NDArray[np.float32] | None = ...,
        nu: NDArray[np.float32] | None = ...,
        centroids: NDArray[np.uint16] | None = ...,
    ) -> None: ...

class Codebook:
    def __init__(
        self,
        dim: int,
        heads: NDArray[np.int8],
        starts: NDArray[np.int64],
        codes: NDArray[np.int8],
        scale: float,
        length: NDArray[np.float32],
    ) -> None: ...

class Corpus:
    def __init__(self, dim: int, segments: tuple[Segment, ...], codebook: Codebook | None = ...) -> None: ...

class Policy: ...

class Certified(Policy):
    def __init__(self) -> None: ...

class Exhaustive(Policy):
    def __init__(self) -> None: ...

class Calibrated(Policy):
    def __init__(self, depth: int) -> None: ...

class Bandit(Policy):
    def __init__(self, alpha: float, delta: float, margin: int, block: int, seed: int, radius: str) -> None: ...

class Answer:
    @property
    def positions(self) -> list[int]: ...
    @property
    def scores(self) -> NDArray[np.float32]: ...
    @property
    def guarantee(self) -> Literal["exact", "pac", "none"]: ...
    @property
    def coverage(self) -> float: ...
    @property
    def survivors(self) -> int: ...
    @property
    def rescored(self) -> int: ...
    @property
    def rounds(self) -> list[tuple[int, int, float]]: ...
    @property
    def isa(self) -> str: ...
    @property
    def seconds(self) -> float: ...
    @property
    def stages(self) -> dict[str, float]: ...
    @property
    def dropped(self) -> NDArray[np.int32]: ...

class DefaultFloatingPoint:
    def __init__(self) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *problem: object) -> None: ...

def search(
    corpus: Corpus,
    queries: list[NDArray[np.float32]],
    candidates: list[NDArray[np.int64]],
    k: int,
    policy: Policy,
    threads: int,
    trace: bool,
) -> list[Answer]: ...
def bounds(
    corpus: Corpus, query: NDArray[np.float32], threads: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def score(corpus: Corpus, queries: list[NDArray[np.float32]], threads: int) -> NDArray[np.float32]: ...
def score_arrays(
    arrays: list[NDArray[Any]],
    dim: int,
    offsets: NDArray[np.int64],
    queries: list[NDArray[np.float32]],
    threads: int,
) -> tuple[NDArray[np.float32], int]: ...
def cells(corpus: Corpus, query: NDArray[np.float32], threads: int) -> NDArray[np.float32]: ...
def tier0(
    corpus: Corpus, query: NDArray[np.float32], candidates: NDArray[np.int64], threads: int
) -> NDArray[np.int32]: ...
def ranks(
    corpus: Corpus,
    query: NDArray[np.float32],
    candidates: NDArray[np.int64],
    wanted: NDArray[np.int64],
    threads: int,
) -> NDArray[np.int64]: ...
def assign(codebook: Codebook, codes: NDArray[np.int8], threads: int) -> NDArray[np.uint16]: ...
def train(
    dim: int, codes: NDArray[np.int8], scale: NDArray[np.float32], centroids: int, seed: int, threads: int
) -> tuple[NDArray[np.int8], NDArray[np.int64], NDArray[np.int8], float, NDArray[np.float32]]: ...
def explain(
    corpus: Corpus, query: NDArray[np.float32], position: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]: ...
def ingest(
    arrays: list[NDArray[Any]],
    dim: int,
    offsets: NDArray[np.int64],
    rows: NDArray[np.float32] | NDArray[np.uint16] | None,
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
