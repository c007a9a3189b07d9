"""The parts of `benchmarks.bench`: maxsieve and other libraries, which take turns on the same vectors."""
