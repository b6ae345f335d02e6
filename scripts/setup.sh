#!/bin/sh
# Installs the Debian packages of the lists named (build, test, develop), or
# says which are missing and how to install them.
#
#   scripts/setup.sh build test
set -eu
cd "$(dirname "$0")/.."

packages=$(for list in "$@"; do sed 's/#.*//' "packages/$list.txt"; done)

if ! command -v dpkg-query >/dev/null 2>&1; then
    # Another distribution: the build itself says what it misses.
    if [ -n "${ASSAY_SKIP_SETUP:-}" ]; then exit 0; fi
    echo "assay: this is not a Debian system, so packages cannot be checked." >&2
    echo "Install the equivalents of these yourself:" >&2
    echo "  "$packages >&2
    echo "then run make again with ASSAY_SKIP_SETUP=1" >&2
    exit 1
fi

missing=
for package in $packages; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

# shellcheck disable=SC1091 # every Debian has it
release=$(. /etc/os-release && echo "$ID")
if [ "$(id -u)" -ne 0 ] || [ "$release" != debian ]; then
    echo "assay: these packages are missing:$missing" >&2
    echo "Install them, then run make again:" >&2
    echo "  sudo apt-get install --no-install-recommends$missing" >&2
    exit 1
fi

echo "installing:$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
    # shellcheck disable=SC2086 # a list of names
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
        --no-install-recommends $missing >"$log" 2>&1
}
# The package lists of a fresh machine may be empty or old.
if ! install; then
    if ! { apt-get update -q && install; } >>"$log" 2>&1; then
        tail -n 15 "$log" >&2
        echo "assay: installing failed; see above" >&2
        exit 1
    fi
fi
