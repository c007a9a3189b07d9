"""Tests of the executable specification, one file per file of `maxsieve.spec`."""
