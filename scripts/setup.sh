#!/bin/sh
# Installs what is missing of the package lists named, or says what is missing
# and how to install it.
#
#   scripts/setup.sh build test
#
# Lists: packages/build.txt, packages/test.txt, packages/develop.txt.
set -eu
cd "$(dirname "$0")/.."

# shellcheck disable=SC2046 # one word a package
set -- $(for list in "$@"; do sed 's/#.*//' "packages/$list.txt"; done)
wanted=$*

if ! command -v dpkg-query >/dev/null; then
    cat >&2 <<END
assay: this system does not use Debian packages, so nothing can be installed
or checked for you. Install what corresponds to these with your own package
manager, then run make again with ASSAY_SKIP_SETUP=1:
  $wanted
On Debian the command is
  apt-get install --no-install-recommends $wanted
END
    exit 1
fi

present=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" \
    2>/dev/null | sed -n 's/^installed //p' | tr '\n' ' ')
missing=
for package in "$@"; do
    case " $present " in
    *" $package "*) ;;
    *) missing="$missing $package" ;;
    esac
done
[ -n "$missing" ] || exit 0

distribution=$(sed -n 's/^ID=//p' /etc/os-release)
if [ "$(id -u)" -ne 0 ] || [ "$distribution" != debian ]; then
    echo "assay: these packages are missing:$missing" >&2
    echo "Install them, then run make again:" >&2
    echo "  sudo apt-get install --no-install-recommends$missing" >&2
    exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
    # shellcheck disable=SC2086 # a list of names
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
        --no-install-recommends $missing </dev/null >>"$log" 2>&1
}

echo "installing$missing"
began=$(date +%s)
# The package index of a fresh machine may be empty or old.
if ! install && ! { apt-get update -q >>"$log" 2>&1 && install; }; then
    tail -n 15 "$log" >&2
    echo "assay: installing packages failed; see above, then try yourself:" >&2
    echo "  apt-get update && apt-get install --no-install-recommends$missing" >&2
    exit 1
fi
echo "installed in $(($(date +%s) - began)) s"
