#!/usr/bin/env bash
# Runs the lab's experiments on the corpora of MAXSIEVE_CORPORA and writes docs/results.md from them. The same command
# again goes on where it was; slow experiments have fewer queries.
set -euo pipefail
cd "$(dirname "$0")/.."
out=build/lab
slow=(calibration pooling quantisers)
lab() { .venv/bin/maxsieve lab report --out "$out" "$@"; }

lab --corpus scifact "${slow[@]/#/--skip=}" "$@"
lab --corpus scifact "${slow[@]/#/--only=}" --queries 30 "$@"
lab --corpus hotpotqa_1k "${slow[@]/#/--skip=}" --skip encoders --skip retrieval --queries 100 "$@"
lab --corpus hotpotqa_1k --only encoders --only retrieval "$@"
lab --corpus hotpotqa_1k "${slow[@]/#/--only=}" --queries 20 "$@"
lab --corpus cosqa --only retrieval "$@"
lab --corpus arguana --only retrieval --queries 100 "$@"
.venv/bin/python tools/results.py "$out" docs
