#!/usr/bin/env bash
# Runs the native tests with the AVX-512 and AMX kernels emulated (tools/emulation), under AddressSanitizer and
# UndefinedBehaviorSanitizer, in an environment of its own. It needs an x86 machine with AVX2, and SIMDe (libsimde-dev).
set -euo pipefail
cd "$(dirname "$0")/.."
venv=build/emulate-venv
[[ -d "$venv" ]] || "${PYTHON:-python3}" -m venv "$venv"
settings=(--config-settings=cmake.define.MAXSIEVE_EMULATE=ON --config-settings=cmake.define.MAXSIEVE_SANITIZE=address,undefined
  --config-settings=build-dir=build/emulate)
if [[ -x "$venv/bin/pytest" ]]; then
  "$venv/bin/pip" install --quiet --force-reinstall --no-deps . "${settings[@]}"
else
  "$venv/bin/pip" install --quiet '.[test]' "${settings[@]}"
fi
compiler="${CXX:-g++}"
export LD_PRELOAD="$("$compiler" -print-file-name=libasan.so) $("$compiler" -print-file-name=libubsan.so)"
export ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
"$venv/bin/python" -c 'import maxsieve; assert maxsieve.isas()[:2] == ["amx", "avx512vnni"], maxsieve.isas()'
"$venv/bin/python" -m pytest -q tests/native tests/index/test_concurrency.py "$@"
