"""Imported by every Python that finds this folder on its path: see platforms/like_windows.py."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

if "MAXSIEVE_LIKE_WINDOWS" in os.environ:
    from platforms.like_windows import install

    install()
