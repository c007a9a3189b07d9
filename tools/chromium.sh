#!/usr/bin/env bash
# Prints the path of a Chromium, which the tests of the page and its screenshot need. MAXSIEVE_CHROMIUM names another. Where there
# is none, Debian's package is installed, by root only.
set -euo pipefail

say() { echo "chromium: $*" >&2; }

find_it() { command -v "${MAXSIEVE_CHROMIUM:-chromium}" || command -v chromium-browser || command -v google-chrome; }

if ! find_it >/dev/null; then
  if [[ -n "${MAXSIEVE_CHROMIUM:-}" ]]; then
    say "MAXSIEVE_CHROMIUM is $MAXSIEVE_CHROMIUM, and there is no such program"
    exit 1
  elif ! command -v apt-get >/dev/null; then
    say "this needs a Chromium: name it with MAXSIEVE_CHROMIUM=/path/to/chromium"
    exit 1
  elif [[ $EUID -ne 0 ]]; then
    say "please install first: apt-get install chromium"
    exit 1
  fi
  say "installing the Debian package chromium"
  apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends chromium fonts-dejavu-core >&2
fi
find_it
