#!/usr/bin/env bash
# Runs the lab's experiments on the corpora of MAXSIEVE_CORPORA and writes docs/results.md from them: more than an hour.
# After an interruption, the same command continues. Slow experiments have fewer queries, and timed ones run alone.
# `tools/results.sh calibrated` runs only those about Calibrated and stores, `tools/results.sh tiers guarantee` only
# these two.
set -euo pipefail
cd "$(dirname "$0")/.."
out=build/lab
calibrated=(tiers guarantee stand-ins ageing stores)
timed=(wallclock k-sensitivity margin block overhead scaling)
slow=(calibration pooling quantisers)
rest=(simulation encoders retrieval)
lab() { .venv/bin/maxsieve lab report --out "$out" "$@"; }

wanted=("${calibrated[@]}")
if (($#)) && [[ $1 != calibrated ]]; then wanted=("$@"); fi
for name in "${wanted[@]}"; do
    few=()
    if [[ $name == ageing ]]; then few=(--queries 300); fi
    lab --corpus scifact --corpus hotpotqa_1k --corpus cosqa --only "$name" "${few[@]}"
done
if (($# == 0)); then
    lab --corpus scifact --corpus hotpotqa_1k "${timed[@]/#/--only=}" --queries 20
    lab --corpus scifact "${timed[@]/#/--skip=}" "${slow[@]/#/--skip=}" "${calibrated[@]/#/--skip=}" # simulation takes 100 queries by itself
    lab --corpus scifact --corpus hotpotqa_1k "${slow[@]/#/--only=}" --queries 15
    lab --corpus hotpotqa_1k --only simulation --queries 50
    lab --corpus hotpotqa_1k "${timed[@]/#/--skip=}" "${slow[@]/#/--skip=}" "${rest[@]/#/--skip=}" "${calibrated[@]/#/--skip=}" --queries 100
    lab --corpus hotpotqa_1k --corpus cosqa --only retrieval
    lab --corpus arguana --only retrieval --queries 300 # as in `make retrieval`
    lab --corpus hotpotqa_1k --only encoders --queries 50
fi
.venv/bin/python tools/results.py "$out" docs
