#!/usr/bin/env bash
# Builds the core with sanitizers, in separate environments, and runs the tests that use it: first AddressSanitizer with
# UndefinedBehaviorSanitizer, then ThreadSanitizer. `tools/sanitize.sh memory` or `threads` runs one of them. Further
# arguments go to pytest. Python itself is not instrumented, so the runtimes are preloaded, and leaks are not checked.
set -euo pipefail
cd "$(dirname "$0")/.."
compiler="${CXX:-g++}"

# build NAME SANITIZERS: an environment build/NAME-venv with a core that has them.
build() {
  local venv="build/$1-venv"
  local settings=("--config-settings=cmake.define.MAXSIEVE_SANITIZE=$2" "--config-settings=build-dir=build/$1"
    --config-settings=install.strip=false)
  [[ -d "$venv" ]] || "${PYTHON:-python3}" -m venv "$venv"
  "$venv/bin/python" tools/requirements.py test >"$venv/requirements.txt"
  "$venv/bin/pip" install --quiet . --requirement "$venv/requirements.txt" "${settings[@]}"
  "$venv/bin/pip" install --quiet --force-reinstall --no-deps . "${settings[@]}"
}

runtime() { "$compiler" -print-file-name="lib$1.so"; }

memory() {
  build sanitize address,undefined
  LD_PRELOAD="$(runtime asan) $(runtime ubsan)" ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 \
    UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 build/sanitize-venv/bin/python -m pytest -q tests/native tests/index "$@"
}

# Addresses are not randomised: the runtime knows only some layouts of memory. Nothing is suppressed.
threads() {
  build tsan thread
  LD_PRELOAD="$(runtime tsan)" TSAN_OPTIONS=halt_on_error=1 \
    setarch "$(uname -m)" -R build/tsan-venv/bin/python -m pytest -q tests/native tests/index "$@"
}

case "${1:-}" in
  memory | threads) "$@" ;;
  *)
    memory "$@" # not `memory && threads`: with that, bash would continue after a failed build
    threads "$@"
    ;;
esac
