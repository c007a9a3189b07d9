"""Tells the thread pools of other libraries to use one thread.

Import it before NumPy and the libraries themselves: a pool reads its variable when it starts.
"""

from __future__ import annotations

import os

POOLS = "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "RAYON_NUM_THREADS"
POOLS += ("LANCE_CPU_THREADS",)

os.environ.update(dict.fromkeys(POOLS, "1"))
