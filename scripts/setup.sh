#!/bin/sh
# Installs the missing packages of the given lists, or prints them and how to
# install them.
#
#   scripts/setup.sh build test
#
# The lists are packages/build.txt, packages/test.txt and packages/develop.txt,
# with the names of Debian 12; packages/names.table has the names that differ on
# other systems. ASSAY_OS_RELEASE replaces /etc/os-release.
set -eu
cd "$(dirname "$0")/.."

os_release() {
    sed -n "s/^$1=//p" "${ASSAY_OS_RELEASE:-/etc/os-release}" 2>/dev/null |
        tr -d '"'
}
distribution=$(os_release ID)
version=$(os_release VERSION_ID)

# The names in the lists as this system calls them, one per line; "-NAME" for a
# package that it does not have.
names_here() {
    for list in "$@"; do sed 's/#.*//' "packages/$list.txt"; done |
        awk -v id="$distribution" -v version="$version" '
            FILENAME != "-" && (/^#/ || !NF) { next }
            FILENAME != "-" && !column {
                column = 1
                for (i = 1; i <= NF; i++)
                    if (index($i, id "-") == 1 && !is_exact) {
                        column = i
                        is_exact = $i == id "-" version
                    }
                next
            }
            FILENAME != "-" {
                if ($column == "-") here[$1] = "-" $1
                else if ($column != "=") here[$1] = $column
                next
            }
            NF {
                name = $1 in here ? here[$1] : $1
                if (!is_named[name]++) print name
            }
        ' packages/names.table -
}

wanted=
nowhere=
for package in $(names_here "$@"); do
    case $package in
    -*) nowhere="$nowhere ${package#-}" ;;
    *) wanted="$wanted $package" ;;
    esac
done

if ! command -v dpkg-query >/dev/null; then
    cat >&2 <<END
assay: this system does not use Debian packages, so this script cannot check or
install them. Install the equivalent of these with your own package manager,
then run make again with ASSAY_SKIP_SETUP=1:
 $wanted
On Debian the command is
  apt-get install --no-install-recommends$wanted
END
    exit 1
fi

# shellcheck disable=SC2086 # a list of names
present=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $wanted \
    2>/dev/null | sed -n 's/^installed //p' | tr '\n' ' ')
missing=
for package in $wanted; do
    case " $present " in
    *" $package "*) ;;
    *) missing="$missing $package" ;;
    esac
done
[ -n "$missing" ] || exit 0

if [ -n "$nowhere" ]; then
    echo "assay: $distribution $version has no packages for:$nowhere" >&2
    echo "The tests that need them are skipped." >&2
fi
may_install() {
    [ "$(id -u)" -eq 0 ] || return 1
    [ "$distribution" = debian ] || [ "$distribution" = ubuntu ]
}
if ! may_install; then
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
    echo "assay: installing packages failed; see above, then try it yourself:" >&2
    echo "  apt-get update && apt-get install --no-install-recommends$missing" >&2
    exit 1
fi
echo "installed in $(($(date +%s) - began)) s"
