#!/bin/sh
# Tries the README's commands on a bare Debian: in a chroot that has only git and
# make, on a clone of what is committed. Run it by hand, as root.
#
#   scripts/try_debian.sh RELEASE [TARGET...]
#
#   scripts/try_debian.sh trixie                      make demo, make test
#   scripts/try_debian.sh bookworm demo test asan tsan
#   scripts/try_debian.sh bookworm container
#
# "container" is no target: it does what Dockerfile says, step by step, and then
# runs its command in an empty folder with settings that need no dataset.
#
# It needs about 8 GB under /var/tmp (TMPDIR), removed at the end unless KEEP=1,
# and takes packages from the archive that apt uses on this machine (MIRROR=URL
# chooses another). Test data is mounted next to the clone as it is next to this
# folder, read-only. Mounts are made in a namespace of their own, so none is left
# however this ends.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)

fail() {
    echo "try_debian: $1" >&2
    exit 1
}

# ---- inside the namespace ---------------------------------------------------

mount_all() {
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --rbind /dev "$root/dev"
    if [ -d "$here/../shared" ]; then
        mkdir -p "$root/work/shared"
        mount --bind "$here/../shared" "$root/work/shared"
        mount -o remount,bind,ro "$root/work/shared"
    fi
}

in_chroot() {
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        HOME=/root LANG=C.UTF-8 chroot "$root" "$@" </dev/null
}

# The words of the lines of Dockerfile that begin with an instruction.
words_of() {
    sed -n "s/^$1 //p" "$root/src/Dockerfile"
}

# As an engine would: the files, the steps, the settings, the command.
container() {
    mkdir "$root/src"
    git -C "$root/work/assay" archive HEAD | tar -x -C "$root/src"
    copied=$(words_of COPY)
    run=$(words_of RUN)
    folder=$(words_of WORKDIR)
    environment=$(words_of ENV)
    command=$(echo "$(words_of ENTRYPOINT) $(words_of CMD)" | tr -d '[]",')
    [ "$copied" = '. /src' ] || return 1
    echo "== RUN $run"
    in_chroot sh -ec "$run" || return 1
    mkdir -p "$root$folder"
    mount -t tmpfs -o size=1g container "$root$folder"
    mkdir "$root$folder/.config"
    cp "$here/tests/habits/container.toml" "$root$folder/.config/config.toml"
    echo "== $command"
    # shellcheck disable=SC2086 # the words of the file
    in_chroot env $environment sh -ec "cd $folder && $command" || return 1
    [ -s "$root$folder/train/run.assay" ] &&
        [ -s "$root$folder/train/run.safetensors" ]
}

# step TARGET: runs it in the chroot and adds the result to $said.
step() {
    begin=$(date +%s)
    ended=passed
    if [ "$1" = container ]; then
        container || ended=FAILED
    else
        echo "== make $1"
        in_chroot make --no-print-directory -C /work/assay "$1" || ended=FAILED
    fi
    said="$said, $1 $ended in $(($(date +%s) - begin)) s"
    [ "$ended" = passed ] || result=1
}

if [ "${1-}" = --inside ]; then
    root=$2
    shift 2
    result=0
    said=
    trap 'exit 1' HUP INT TERM
    mount_all
    for target in "$@"; do step "$target"; done
    echo "$said" >"$root/said"
    exit $result
fi

# ---- outside ----------------------------------------------------------------

[ $# -ge 1 ] || fail "missing RELEASE, such as trixie or bookworm"
release=$1
shift
[ $# -gt 0 ] || set -- demo test
[ "$(id -u)" -eq 0 ] || fail "needs root: it makes a chroot and mounts in it"
command -v debootstrap >/dev/null ||
    fail "debootstrap is missing; \`scripts/setup.sh develop\` installs it"
if [ -n "$(git -C "$here" status --porcelain)" ]; then
    echo "try_debian: uncommitted changes are not tried" >&2
fi

# shellcheck disable=SC2016 # apt's own words
mirror=${MIRROR:-$(apt-get indextargets --format \
    '$(ORIGIN) $(LABEL) $(REPO_URI)' 'Created-By: Packages' |
    awk '$1 == "Debian" && $2 == "Debian" { print $3; exit }')}
[ -n "$mirror" ] ||
    fail "apt has no Debian archive here; run apt-get update, or set MIRROR"

root=$(mktemp -d "${TMPDIR:-/var/tmp}/assay-$release-XXXXXX")
trap '[ "${KEEP:-0}" = 1 ] || rm -rf --one-file-system "$root"' EXIT
trap 'exit 1' HUP INT TERM
# The tests also run programs as other users.
chmod 755 "$root"

echo "== debootstrap $release"
debootstrap --variant=minbase --include=git,make "$release" "$root" "$mirror" \
    >"$root.log" 2>&1 || {
    tail -n 5 "$root.log" >&2
    fail "debootstrap failed; its output is in $root.log"
}
rm -f "$root.log"
# The chroot reaches the archive the way this machine does.
apt-config dump | grep -E '^Acquire::(https?|Check-Valid-Until)\b' \
    >"$root/etc/apt/apt.conf.d/90host" || true
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
mkdir "$root/work"
git clone -q --no-hardlinks "$here" "$root/work/assay"

result=0
unshare --mount --propagation private --pid --fork --kill-child \
    "$0" --inside "$root" "$@" || result=1
system=$(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' "$root/etc/os-release")
counts=
if [ -f "$root/work/assay/build/tests.xml" ]; then
    counts=$(cd "$root/work/assay" && scripts/count_tests.py build | tail -n 1)
fi
[ "${KEEP:-0}" = 0 ] || echo "kept in $root"
said=$(cat "$root/said" 2>/dev/null) || said=', ended early'
echo "$system$said${counts:+; tests: $counts}"
exit $result
