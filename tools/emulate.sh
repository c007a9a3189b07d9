#!/usr/bin/env bash
# Runs native tests with the AVX-512 and AMX kernels emulated (tools/emulation), in a separate environment. It needs an
# x86 machine with AVX2, and Debian's SIMDe. By default: a tenth of the cases, without tests that do not depend on the
# ISA (lack of memory, Ctrl-C, leaks). With MAXSIEVE_TESTS=full: all native tests, under AddressSanitizer and
# UndefinedBehaviorSanitizer. On 2 cores this takes more than an hour. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/debian.sh
[[ -f /usr/include/simde/simde-common.h ]] || require_debian_or_skip test-emulated libsimde-dev
if [[ "${MAXSIEVE_TESTS:-short}" == short ]]; then
  form=short sanitize=OFF tests=(tests/native --ignore-glob=*/test_{failures,interrupt,leaks,memory}.py)
else
  form="$MAXSIEVE_TESTS" sanitize=address,undefined tests=(tests/native tests/index/test_concurrency.py)
fi
venv="build/emulate-$form-venv"
[[ -d "$venv" ]] || "${PYTHON:-python3}" -m venv "$venv"
settings=(--config-settings=cmake.define.MAXSIEVE_EMULATE=ON --config-settings=cmake.define.MAXSIEVE_SANITIZE="$sanitize"
  --config-settings=build-dir="build/emulate-$form")
if [[ -x "$venv/bin/pytest" ]]; then
  "$venv/bin/pip" install --quiet --force-reinstall --no-deps . "${settings[@]}"
else
  "$venv/bin/python" tools/requirements.py core-test >"$venv/requirements.txt"
  "$venv/bin/pip" install --quiet '.[pool]' --requirement "$venv/requirements.txt" "${settings[@]}"
fi
if [[ "$sanitize" != OFF ]]; then
  compiler="${CXX:-g++}"
  export LD_PRELOAD="$("$compiler" -print-file-name=libasan.so) $("$compiler" -print-file-name=libubsan.so)"
  export ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
fi
"$venv/bin/python" -c 'import maxsieve; assert maxsieve.isas()[:2] == ["amx", "avx512vnni"], maxsieve.isas()'
MAXSIEVE_TESTS="$form" "$venv/bin/python" -m pytest -q -n 2 --dist worksteal "${tests[@]}" "$@"
