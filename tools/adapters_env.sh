#!/usr/bin/env bash
# An environment in which adapters are tested: the packages of tests/adapters/NAME.txt beside an editable maxsieve.
#
#   tools/adapters_env.sh make NAME FOLDER EXTRAS   makes or renews it
#   tools/adapters_env.sh lock NAME FOLDER          chooses the versions of NAME.txt again, from NAME.in
set -euo pipefail
cd "$(dirname "$0")/.."
what=$1 name=$2 folder=$3 extras=${4:-}
uv() { "$folder/bin/python" -m uv "$@"; }

[[ -x "$folder/bin/pip" ]] || "${PYTHON:-python3}" -m venv "$folder"
"$folder/bin/pip" install --quiet uv==0.13.7

# uv does not read pip's configuration, and a torch for CPUs may be known only there.
links=${PIP_FIND_LINKS:-$("$folder/bin/pip" config get global.find-links 2>/dev/null || true)}
export UV_FIND_LINKS="${UV_FIND_LINKS:-$(xargs <<<"$links" | tr ' ' ,)}"
export UV_LINK_MODE="${UV_LINK_MODE:-copy}" UV_HTTP_TIMEOUT="${UV_HTTP_TIMEOUT:-180}"

overrides=()
if [[ -f "tests/adapters/$name.overrides.txt" ]]; then overrides=(--override "tests/adapters/$name.overrides.txt"); fi

case $what in
  lock)
    uv pip compile --quiet --python-version 3.11 "${overrides[@]}" --custom-compile-command "make lock-adapters" \
      "tests/adapters/$name.in" --output-file "tests/adapters/$name.txt"
    # Which build of torch it is, is for the machine to say.
    sed -i 's/^torch==\([0-9.]*\)+cpu$/torch==\1/' "tests/adapters/$name.txt"
    ;;
  make)
    # uv keeps what it has built, hence the second environment costs no second compile: pyproject.toml says when it does.
    uv pip install --quiet --python "$folder/bin/python" "${overrides[@]}" --requirement "tests/adapters/$name.txt" \
      --editable ".[$extras]" --config-settings=build-dir=build/adapters-{cache_tag}
    ;;
  *)
    echo "make or lock, not $what" >&2
    exit 2
    ;;
esac
