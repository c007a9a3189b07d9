#!/usr/bin/env bash
# Prints the path of a Chromium, which the tests of the page and its screenshot need. MAXSIEVE_CHROMIUM names another.
# If there is none, root installs Debian's package.
set -euo pipefail
source "$(dirname "$0")/debian.sh"

find_it() { command -v "${MAXSIEVE_CHROMIUM:-chromium}" || command -v chromium-browser || command -v google-chrome; }

if ! find_it >/dev/null; then
  if [[ -n "${MAXSIEVE_CHROMIUM:-}" ]]; then
    echo "chromium: MAXSIEVE_CHROMIUM is $MAXSIEVE_CHROMIUM, and there is no such program" >&2
    exit 1
  fi
  require_debian "chromium (or name one with MAXSIEVE_CHROMIUM=/path/to/chromium)" chromium fonts-dejavu-core
fi
find_it
