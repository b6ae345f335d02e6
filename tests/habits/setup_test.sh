#!/bin/sh
# Tests scripts/setup.sh. If it may install, it installs the missing packages; if
# not, it prints them as this system calls them, and the command, and stops.
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

echo 'debian-12' >"$place/packages/names.table"
echo libc6 >"$place/packages/build.txt"
echo '# a comment' >"$place/packages/test.txt"
setup as_nobody || fail "it stopped although nothing is missing:"
[ ! -s "$place/said" ] || fail "it printed something although nothing is missing:"

echo assay-no-such-package >>"$place/packages/test.txt"
if setup as_nobody; then fail "it went on without a package:"; fi
grep -q 'missing: assay-no-such-package$' "$place/said" ||
    fail "it does not name exactly what is missing:"
grep -q '^  sudo apt-get install .* assay-no-such-package$' "$place/said" ||
    fail "it does not give the command:"

# A machine without dpkg: it has only these programs.
mkdir "$place/bin"
for program in awk cat dirname sed sh tr; do
    ln -s "$(command -v "$program")" "$place/bin/$program"
done
if setup as_nobody env PATH="$place/bin"; then
    fail "it went on without knowing what is installed:"
fi
grep -q '^  libc6 assay-no-such-package$' "$place/said" ||
    fail "it does not name what is needed:"
grep -q 'ASSAY_SKIP_SETUP=1' "$place/said" || fail "it does not say how to go on:"

# Stand-ins for the programs that setup.sh asks about the system: nothing is
# installed, and apt-get writes its arguments to a file.
other=$place/other
mkdir "$other"
cat >"$other/id" <<END
#!/bin/sh
cat "$place/uid"
END
printf '#!/bin/sh\nexit 1\n' >"$other/dpkg-query"
cat >"$other/apt-get" <<END
#!/bin/sh
echo "\$*" >>"$place/asked"
END
chmod +x "$other"/*

# there UID ID VERSION_ID: runs setup.sh as that user of that system.
there() {
    echo "$1" >"$place/uid"
    printf 'NAME="Some System"\nID=%s\nVERSION_ID="%s"\n' "$2" "$3" \
        >"$place/os-release"
    : >"$place/asked"
    setup env PATH="$other:$PATH" ASSAY_OS_RELEASE="$place/os-release"
}
# installs NAMES: checks that apt-get was asked for exactly these.
installs() {
    grep -q -- "--no-install-recommends $1\$" "$place/asked" ||
        fail "it did not install exactly $1: $(cat "$place/asked")"
}

cat >"$place/packages/names.table" <<END
# A comment.
debian-12  debian-13  ubuntu-22.04  ubuntu-24.04
browser    =          -             -
jpeg       =          turbo         turbo
sanitizer  =          compiler      =
END
printf 'compiler # a comment\njpeg\n' >"$place/packages/build.txt"
printf 'browser\nsanitizer\n' >"$place/packages/test.txt"

there 0 debian 12 || fail "it failed on Debian 12:"
installs 'compiler jpeg browser sanitizer'
there 0 debian 13 || fail "it failed on Debian 13:"
installs 'compiler jpeg browser sanitizer'
there 0 debian '' || fail "it failed on a Debian without a version:"
installs 'compiler jpeg browser sanitizer'
there 0 ubuntu 22.04 || fail "it failed on Ubuntu 22.04:"
installs 'compiler turbo'
grep -q 'ubuntu 22.04 has no packages for: browser$' "$place/said" ||
    fail "it does not name what Ubuntu does not have:"
there 0 ubuntu 26.04 || fail "it failed on a later Ubuntu:"
installs 'compiler turbo sanitizer'

if there 1000 ubuntu 24.04; then fail "it went on as another user:"; fi
grep -q 'missing: compiler turbo sanitizer$' "$place/said" ||
    fail "it does not name packages as Ubuntu does:"
if there 0 other 1; then fail "it went on where it may not install:"; fi
grep -q 'missing: compiler jpeg browser sanitizer$' "$place/said" ||
    fail "it does not name packages as Debian 12 does:"
[ ! -s "$place/asked" ] || fail "it asked apt-get where it may not install:"
