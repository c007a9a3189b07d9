#!/usr/bin/env bash
# The environments in which adapters are tested: packages of tests/adapters/NAME.txt beside an editable maxsieve.
#
#   tools/adapters_env.sh wheel FOLDER                compiles maxsieve for all of them: build/editable/*.whl
#   tools/adapters_env.sh make FOLDER NAME EXTRAS     makes or renews an environment
#   tools/adapters_env.sh lock FOLDER NAME            chooses the versions of NAME.txt again, from NAME.in
set -euo pipefail
cd "$(dirname "$0")/.."
what=$1 folder=$2 name=${3:-} extras=${4:-}
uv() { "$folder/bin/python" -m uv "$@"; }

[[ -x "$folder/bin/pip" ]] || "${PYTHON:-python3}" -m venv "$folder"
"$folder/bin/pip" install --quiet uv==0.13.7

# uv does not read pip's configuration, and a torch for CPUs may be configured only there.
links=${PIP_FIND_LINKS:-$("$folder/bin/pip" config get global.find-links 2>/dev/null || true)}
export UV_FIND_LINKS="${UV_FIND_LINKS:-$(xargs <<<"$links" | tr ' ' ,)}" UV_HTTP_TIMEOUT="${UV_HTTP_TIMEOUT:-180}"

overrides=()
if [[ -f "tests/adapters/$name.overrides.txt" ]]; then overrides=(--override "tests/adapters/$name.overrides.txt"); fi

case $what in
  wheel)
    # One compile for all: pip and uv would compile an editable package for each environment.
    uv pip install --quiet --python "$folder/bin/python" cmake ninja nanobind scikit-build-core
    rm -rf build/editable && mkdir -p build/editable
    PATH="$PWD/$folder/bin:$PATH" "$folder/bin/python" - <<'PYTHON'
from scikit_build_core.build import build_editable

build_editable("build/editable", {"build-dir": "build/adapters-{cache_tag}"})
PYTHON
    ;;
  make)
    wheel=$(echo "$PWD"/build/editable/maxsieve-*.whl)
    uv pip install --quiet --python "$folder/bin/python" --reinstall-package maxsieve "${overrides[@]}" \
      --requirement "tests/adapters/$name.txt" "maxsieve[$extras] @ file://$wheel"
    ;;
  lock)
    uv pip compile --quiet --python-version 3.11 "${overrides[@]}" --custom-compile-command "make lock-adapters" \
      "tests/adapters/$name.in" --output-file "tests/adapters/$name.txt"
    # The configuration of the machine decides which build of torch it is.
    sed -i 's/^torch==\([0-9.]*\)+cpu$/torch==\1/' "tests/adapters/$name.txt"
    ;;
  *)
    echo "wheel, make or lock, not $what" >&2
    exit 2
    ;;
esac
