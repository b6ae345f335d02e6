#!/bin/sh
# What scripts/setup.sh does where it may not install: it names the packages
# that are missing and the command, and stops.
#
#   setup_test.sh ROOT
set -eu

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/scripts" "$place/packages"
cp "$1/scripts/setup.sh" "$place/scripts"
chmod -R a+rX "$place"

fail() {
    echo "$1"
    cat "$place/said"
    exit 1
}
as_nobody() {
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
    else
        "$@"
    fi
}
setup() {
    "$@" "$place/scripts/setup.sh" build test >"$place/said" 2>&1
}

if ! command -v dpkg-query >/dev/null; then
    echo "skipped: not a Debian system"
    exit 77
fi

echo libc6 >"$place/packages/build.txt"
echo '# a comment' >"$place/packages/test.txt"
setup as_nobody || fail "it stopped although nothing is missing:"
[ ! -s "$place/said" ] || fail "it spoke although nothing is missing:"

echo assay-no-such-package >>"$place/packages/test.txt"
if setup as_nobody; then fail "it went on without a package:"; fi
grep -q 'missing: assay-no-such-package$' "$place/said" ||
    fail "it does not name what is missing, and that alone:"
grep -q '^  sudo apt-get install .* assay-no-such-package$' "$place/said" ||
    fail "it does not give the command:"

# A machine without dpkg: only these programs are there.
mkdir "$place/bin"
for program in cat dirname sed sh; do
    ln -s "$(command -v "$program")" "$place/bin/$program"
done
if setup as_nobody env PATH="$place/bin"; then
    fail "it went on without knowing what is there:"
fi
grep -q '^  libc6 assay-no-such-package$' "$place/said" ||
    fail "it does not name what is needed:"
grep -q 'ASSAY_SKIP_SETUP=1' "$place/said" || fail "it gives no way on:"
