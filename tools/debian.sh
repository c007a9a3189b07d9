# Sourced: Debian packages that a tool needs. Only root may install them; others get the command to type. If
# MAXSIEVE_SKIPPED names a file (.ci/run sets it), a check whose packages are not available writes the reason there, and
# succeeds.

# require_debian WHAT PACKAGE...: installs the packages. WHAT is the tool that needs them, for messages.
require_debian() {
  local what="$1"
  shift
  if ! command -v apt-get >/dev/null; then
    echo "$what: this needs a Debian system with the packages $*" >&2
    exit 1
  elif [[ $EUID -ne 0 ]]; then
    echo "$what: please install first: apt-get install $*" >&2
    exit 1
  fi
  echo "$what: installing the Debian packages $*" >&2
  apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -qq --yes --no-install-recommends "$@" >/dev/null
}

# require_debian_or_skip CHECK PACKAGE...: the same for a whole check, which .ci/run may skip.
require_debian_or_skip() {
  local what="$1"
  shift
  if [[ -n "${MAXSIEVE_SKIPPED:-}" ]] && ! can_install "$@"; then
    echo "$what: SKIPPED, for these Debian packages can't be installed here: $*" | tee -a "$MAXSIEVE_SKIPPED" >&2
    exit 0
  fi
  require_debian "$what" "$@"
}

# can_install PACKAGE...: whether apt-get knows all of them, and may install them.
can_install() {
  command -v apt-get >/dev/null && [[ $EUID -eq 0 ]] || return
  apt-get update -qq >&2 || true # the old lists may be enough
  local package
  for package; do # one by one: with several, it succeeds if it knows one of them
    apt-cache show "$package" >/dev/null 2>&1 || return
  done
}
