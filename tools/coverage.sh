#!/usr/bin/env bash
# Measures which lines and branches the tests run: of Python by coverage.py, with children and forks, of C++ by gcov.
# `build` makes build/coverage-venv, with a core that counts. `run` runs the tests there: those of `make test`, or those
# that MAXSIEVE_TESTS selects. It fails below the limits. Further arguments go to pytest; then there are no limits.
set -euo pipefail
cd "$(dirname "$0")/.."
lines=97 branches=90 # floors of C++, percent; that of Python is in pyproject.toml
venv=build/coverage-venv

# It has the packages of .venv, but another maxsieve. A folder that a .pth file names is searched, but its .pth files
# are not read: so the line of coverage.py's own .pth file, which measures children, is repeated here. Without
# isolation, because gcov needs the headers later.
build() {
  .venv/bin/python -m venv --clear --without-pip "$venv"
  .venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))
print("import coverage; coverage.process_startup()")' \
    >"$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/packages.pth"
  .venv/bin/pip --python "$venv/bin/python" install --quiet --no-deps --no-build-isolation --editable . \
    --config-settings=build-dir=build/coverage --config-settings=cmake.define.MAXSIEVE_COVERAGE=ON \
    --config-settings=cmake.define.CMAKE_UNITY_BUILD=OFF # gcov counts file by file
}

run() {
  local passed=0 skipped=() floors=(--fail-under-line "$lines" --fail-under-branch "$branches") least=()
  [[ $# -gt 0 ]] && floors=() least=(--fail-under=0)
  find build/coverage -name '*.gcda' -delete
  rm -f build/.coverage*
  "$venv/bin/python" -m coverage run -m pytest -n 2 --dist worksteal "$@" || passed=$?
  "$venv/bin/python" -m coverage combine --quiet
  # Kernels that this machine can't run don't count: `make test-emulated` and `make test-arm` run them.
  for kernel in $("$venv/bin/python" -c 'import maxsieve; print(*{"amx", "avx512vnni"} - set(maxsieve.isas()), "avxvnni")'); do
    skipped+=(--exclude "native/kernels/$kernel\\.cpp" --exclude "native/kernels/x86/${kernel%vnni}[_.].*")
    find build/coverage -name "$kernel.cpp.gc*" -delete # its copies of the headers that it shares with other kernels
  done
  echo "== Python"
  "$venv/bin/python" -m coverage report "${least[@]}" || passed=1
  echo "== C++"
  "$venv/bin/python" -m gcovr --root . --filter native/ "${skipped[@]}" --exclude-throw-branches \
    --exclude-unreachable-branches --gcov-suspicious-hits-threshold 0 --print-summary "${floors[@]}" build/coverage || passed=1
  return "$passed"
}

"$@"
