"""Measurements of maxsieve and of other libraries. Commands run in the folder above: `python -m benchmarks.bench`."""
