#!/usr/bin/env bash
# Runs the lab's experiments on the corpora of MAXSIEVE_CORPORA and writes docs/results.md from them: about an hour. The
# same command again goes on where it was. Slow experiments have fewer queries, and what is timed runs alone.
set -euo pipefail
cd "$(dirname "$0")/.."
out=build/lab
timed=(wallclock k-sensitivity margin block overhead scaling)
slow=(calibration pooling quantisers)
rest=(simulation encoders retrieval)
lab() { .venv/bin/maxsieve lab report --out "$out" "$@"; }

lab --corpus scifact --corpus hotpotqa_1k "${timed[@]/#/--only=}" --queries 20
lab --corpus scifact "${timed[@]/#/--skip=}" "${slow[@]/#/--skip=}" # simulation takes 100 queries by itself
lab --corpus scifact --corpus hotpotqa_1k "${slow[@]/#/--only=}" --queries 15
lab --corpus hotpotqa_1k --only simulation --queries 50
lab --corpus hotpotqa_1k "${timed[@]/#/--skip=}" "${slow[@]/#/--skip=}" "${rest[@]/#/--skip=}" --queries 100
lab --corpus hotpotqa_1k --corpus cosqa --only retrieval
lab --corpus hotpotqa_1k --only encoders --queries 50
.venv/bin/python tools/results.py "$out" docs
