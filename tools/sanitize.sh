#!/usr/bin/env bash
# Builds the core with AddressSanitizer and UndefinedBehaviorSanitizer in an environment of its own and runs the tests that reach
# it. Python itself is not instrumented, so the runtimes are preloaded, and its leaks are not looked at.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=build/sanitize-venv
[[ -d "$venv" ]] || "${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/pip" install --quiet '.[test]' --config-settings=cmake.define.MAXSIEVE_SANITIZE=address,undefined \
  --config-settings=build-dir=build/sanitize
"$venv/bin/pip" install --quiet --force-reinstall --no-deps . --config-settings=cmake.define.MAXSIEVE_SANITIZE=address,undefined \
  --config-settings=build-dir=build/sanitize
compiler="${CXX:-g++}"
LD_PRELOAD="$("$compiler" -print-file-name=libasan.so) $("$compiler" -print-file-name=libubsan.so)" \
  ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
  "$venv/bin/python" -m pytest -q tests/native tests/index "$@"
