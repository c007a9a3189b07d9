#!/usr/bin/env bash
# Cross-compiles the core for AArch64 and runs the native tests, with golden bits, with an arm64 Python under qemu-user:
# on a CPU with dot products (`max`) and on one without (`cortex-a53`), because each has its own kernel. Debian's arm64
# packages and Python wheels are unpacked under build/arm. The system itself needs only an emulator and a cross
# compiler. By default: the frozen bits of every kernel. With MAXSIEVE_TESTS=full: all native tests. Arguments go to
# pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/debian.sh
arm="$PWD/build/arm" root="$PWD/build/arm/root" python="$PWD/build/arm/root/usr/bin/python-under-qemu"
mkdir -p "$arm"

say() { echo "test-arm: $*" >&2; }

emulator() { command -v qemu-aarch64 || command -v qemu-aarch64-static; }

require_packages() {
  local missing=()
  emulator >/dev/null || missing+=(qemu-user)
  command -v aarch64-linux-gnu-g++ >/dev/null || missing+=(g++-aarch64-linux-gnu)
  [[ ${#missing[@]} -eq 0 ]] || require_debian_or_skip test-arm "${missing[@]}"
}

# Python, its headers and all dependencies, from the system's package sources for arm64. apt resolves them with a
# separate state, in which nothing is installed yet.
unpack_root() {
  [[ -d "$root" ]] && return
  say "unpacking an arm64 Python under build/arm/root"
  local apt="$arm/apt" unpacked="$arm/root.partial"
  rm -rf "$apt" "$unpacked"
  mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" "$unpacked"
  : >"$apt/status"
  cat >"$apt/apt.conf" <<EOF
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Dir::State "$apt/state";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
EOF
  APT_CONFIG="$apt/apt.conf" apt-get update -qq
  APT_CONFIG="$apt/apt.conf" apt-get install -qq --yes --download-only python3 libpython3-dev libstdc++6 >/dev/null
  local package
  for package in "$apt"/cache/archives/*.deb; do dpkg-deb -x "$package" "$unpacked"; done
  # It is where Python looks for its library, and becomes sys.executable, so that tests can start children.
  cat >"$unpacked/usr/bin/python-under-qemu" <<EOF
#!/bin/sh
exec "$(emulator)" -L "$root" -0 "\$0" "$root/usr/bin/python3" "\$@"
EOF
  chmod +x "$unpacked/usr/bin/python-under-qemu"
  mv "$unpacked" "$root"
  rm -rf "$apt"
}

install_wheels() {
  [[ -d "$arm/venv" ]] || "${PYTHON:-python3}" -m venv "$arm/venv"
  "$arm/venv/bin/pip" install --quiet cmake ninja nanobind
  local wanted=(numpy 'pytest>=8' 'pytest-xdist>=3.6' 'hypothesis>=6.100' 'ml_dtypes>=0.4')
  [[ "$(cat "$arm/wheels/wanted" 2>/dev/null)" == "${wanted[*]}" ]] && return
  say "unpacking arm64 wheels of what the tests import"
  rm -rf "$arm/wheels" "$arm/wheels.partial"
  "$arm/venv/bin/pip" install --quiet --target "$arm/wheels.partial" --python-version "$version" --only-binary=:all: \
    --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux2014_aarch64 \
    "${wanted[@]}"
  echo "${wanted[*]}" >"$arm/wheels.partial/wanted"
  mv "$arm/wheels.partial" "$arm/wheels"
}

# The cross compiler has its own C library. The root's headers come after it, only for Python's pyconfig.h.
build_core() {
  say "cross-compiling the core"
  "$arm/venv/bin/cmake" -S . -B "$arm/core" -G Ninja -DCMAKE_MAKE_PROGRAM="$arm/venv/bin/ninja" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ \
    -DCMAKE_CXX_FLAGS="-idirafter $root/usr/include" -DMAXSIEVE_WERROR=ON \
    -DPython_EXECUTABLE="$python" -DPython_INCLUDE_DIR="$root/usr/include/python$version" \
    -Dnanobind_DIR="$("$arm/venv/bin/python" -m nanobind --cmake_dir)" --log-level=WARNING
  "$arm/venv/bin/cmake" --build "$arm/core" -- --quiet
  rm -rf "$arm/package"
  mkdir "$arm/package"
  cp -r src/maxsieve "$arm/package/"
  rm -f "$arm"/package/maxsieve/_core*.so
  "$arm/venv/bin/cmake" --install "$arm/core" --prefix "$arm/package" >/dev/null
}

if [[ "$(uname -m)" == aarch64 ]]; then
  say "this machine is one: no emulator"
  exec make --no-print-directory test ARGS="tests/native $*"
fi
require_packages
unpack_root
version="$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
install_wheels
build_core
export PYTHONPATH="$arm/package:$arm/wheels" PYTHONDONTWRITEBYTECODE=1 MAXSIEVE_TESTS="${MAXSIEVE_TESTS:-short}"
tests=(tests/native)
[[ "$MAXSIEVE_TESTS" == short ]] && tests=(tests/native/test_golden_bits.py)
# Ctrl-C, leaks and memory are left out: they do not depend on the ISA, the memory would be that of the emulator, and
# each of their child processes is a Python that starts slowly.
for cpu in max cortex-a53; do
  say "the native tests on QEMU's $cpu"
  QEMU_CPU=$cpu "$python" -m pytest -q -n 2 --dist worksteal -p no:cacheprovider "${tests[@]}" \
    --ignore=tests/native/test_interrupt.py --ignore=tests/native/test_leaks.py --ignore=tests/native/test_memory.py "$@"
done
