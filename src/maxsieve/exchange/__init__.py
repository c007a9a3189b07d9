"""Reads and writes token vectors in other programs' formats, without copying if the format allows.

>>> import tempfile, numpy as np, maxsieve as ms
>>> from maxsieve import exchange
>>> index = ms.Index.build([np.eye(2), np.ones((1, 2))], ids=["eye", "one"])
>>> with tempfile.TemporaryDirectory() as folder:
...     exchange.write(index, f"{folder}/corpus.safetensors")
...     again = exchange.read(f"{folder}/corpus.safetensors").build()
>>> again.ids, again.tokens
(['eye', 'one'], 3)

`read` returns `TokenVectors`: all rows in one array, memory-mapped from the file if possible. `stream` returns
`TokenVectorChunks`, which are read chunk by chunk in bounded memory. Both have ``build``, which makes an index. `write`
accepts either of them, or an index. The suffix decides the format; each format has its own functions, too. `from_arrow`
and `from_qdrant` read vectors from tables, readers and databases instead of files. Of an index, the stored vectors are
written: those that a store has rounded, as ``index.vectors`` has them.
"""

from maxsieve.exchange.arrow import from_arrow, read_arrow, stream_arrow, write_arrow
from maxsieve.exchange.folder import read_folder, stream_folder, write_folder
from maxsieve.exchange.formats import read, stream, write
from maxsieve.exchange.npy import read_npy, write_npy
from maxsieve.exchange.npz import read_npz, write_npz
from maxsieve.exchange.parquet import iter_parquet, read_parquet, stream_parquet, write_parquet
from maxsieve.exchange.pt import read_pt
from maxsieve.exchange.qdrant import from_qdrant
from maxsieve.exchange.safetensors import read_safetensors, write_safetensors
from maxsieve.exchange.vectors import TokenVectorChunks, TokenVectors

__all__ = [
    "TokenVectorChunks",
    "TokenVectors",
    "from_arrow",
    "from_qdrant",
    "iter_parquet",
    "read",
    "read_arrow",
    "read_folder",
    "read_npy",
    "read_npz",
    "read_parquet",
    "read_pt",
    "read_safetensors",
    "stream",
    "stream_arrow",
    "stream_folder",
    "stream_parquet",
    "write",
    "write_arrow",
    "write_folder",
    "write_npy",
    "write_npz",
    "write_parquet",
    "write_safetensors",
]
