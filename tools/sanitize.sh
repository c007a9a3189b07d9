#!/usr/bin/env bash
# Builds the core with AddressSanitizer and UndefinedBehaviorSanitizer beside the normal build and runs the tests that reach it.
# Python itself is not instrumented, so the runtimes are preloaded, and its leaks are not looked at.
set -euo pipefail
cd "$(dirname "$0")/.."
site=build/sanitize-site
rm -rf "$site"
.venv/bin/pip install --quiet --no-deps --target "$site" . \
  --config-settings=cmake.define.MAXSIEVE_SANITIZE=ON --config-settings=build-dir=build/sanitize
compiler="${CXX:-g++}"
LD_PRELOAD="$("$compiler" -print-file-name=libasan.so) $("$compiler" -print-file-name=libubsan.so)" \
  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
  MAXSIEVE_SITE="$PWD/$site" .venv/bin/python -m pytest -q -p no:doctest tests/native tests/index "$@"
