"""What a bug report needs: machine, kernels, threads, cache, models, versions. docs/doctor.md shows it.

``maxsieve doctor`` and ``python -m maxsieve.doctor`` print the same; the latter needs nothing but NumPy.
"""

from maxsieve.doctor.examination import examine
from maxsieve.doctor.plain_text import described

__all__ = ["described", "examine"]
