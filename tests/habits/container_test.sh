#!/bin/sh
# Checks the steps of Dockerfile and Dockerfile.cuda without a Docker engine,
# which does not run here. The files, scripts, lists of packages and targets that
# they name exist, the packages too; and the program that `make install` installs
# trains in an otherwise empty folder with its settings at .config, by the command
# that the images end with.
#
#   container_test.sh ROOT BUILD
set -eu
root=$1
build=$2

fail() {
    echo "$file: $1"
    exit 1
}
# The words of all lines of $file that begin with an instruction.
words_of() {
    sed -n "s/^$1 //p" "$root/$file"
}
# '["train", "--fetch"]' as words
plain() {
    echo "$1" | tr -d '[]",'
}

# The names of packages are known for the system of the base image, which has the
# tools that this project needs (CMake 3.25).
check_base() {
    case $1 in
    debian:12) system=debian-12 ;;
    nvidia/cuda:*-cudnn-runtime-ubuntu24.04) system=ubuntu-24.04 ;;
    *) fail "its base is $1" ;;
    esac
    grep -v '^#' "$root/packages/names.table" | head -n 1 |
        tr -s ' ' '\n' | grep -qx "$system" ||
        fail "packages/names.table has no column $system"
}

# On the system that the list is for, each package is installed or known.
check_packages() {
    [ "$(sed -n 's/^ID=//p' /etc/os-release)" = debian ] || return 0
    grep -q '^VERSION_ID="12"' /etc/os-release || return 0
    sed 's/#.*//' "$root/packages/$1.txt" | while read -r name; do
        [ -z "$name" ] || dpkg-query -W "$name" >/dev/null 2>&1 ||
            apt-cache show "$name" >/dev/null 2>&1 ||
            fail "there is no package $name"
    done
}

check_step() {
    case $1 in
    'cd /src' | 'rm -rf '*) ;;
    scripts/*)
        [ -x "$root/${1%% *}" ] || fail "there is no ${1%% *}"
        for list in ${1#* }; do
            [ -f "$root/packages/$list.txt" ] ||
                fail "there is no list of packages $list"
            check_packages "$list"
        done
        ;;
    'make '*)
        for target in ${1#make }; do
            grep -q "^$target:" "$root/Makefile" ||
                fail "the Makefile has no target $target"
        done
        ;;
    *) fail "this test does not know the step '$1'" ;;
    esac
}

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
for file in Dockerfile Dockerfile.cuda; do
    check_base "$(words_of FROM)"
    [ "$(words_of COPY)" = '. /src' ] || fail "it copies something else"
    words_of RUN | sed 's/ && /\n/g' >"$place/steps"
    while read -r step; do check_step "$step"; done <"$place/steps"
    [ "$(plain "$(words_of ENTRYPOINT)")" = assay ] || fail "it does not run assay"
    [ "$(plain "$(words_of CMD)")" = 'train --fetch' ] ||
        fail "it does not train with what it fetches"
    words_of ENV | grep -qx 'XDG_CACHE_HOME=/work/.cache' ||
        fail "weights would not stay in the volume"
    grep -q "docker build.*$file\|docker build -t assay \." \
        "$root/docs/container.md" || fail "docs/container.md does not build it"
done

# Build folders of this machine must not get into the images.
file=.dockerignore
for name in .git build 'build-*'; do
    grep -qxF "$name" "$root/.dockerignore" || fail "it does not exclude $name"
done

file=Dockerfile
DESTDIR=$place/image cmake --install "$build" >"$place/install.log"
program=$(find "$place/image" -path '*/bin/assay')
mkdir -p "$place/work/.config"
cp "$root/tests/habits/container.toml" "$place/work/.config/config.toml"
# shellcheck disable=SC2046 # the words of the command
(cd "$place/work" && XDG_CACHE_HOME=$place/work/.cache \
    "$program" $(plain "$(words_of CMD)")) >"$place/screen" 2>&1 || {
    cat "$place/screen"
    fail "the installed program does not train"
}
for result in run.assay run.safetensors; do
    [ -s "$place/work/train/$result" ] || fail "it leaves no $result"
done

# From nothing, with nothing to be reached: it says what it could not fetch, and
# leaves nothing that looks like data.
mkdir "$place/empty"
# shellcheck disable=SC2046
if (cd "$place/empty" && no_proxy=127.0.0.1 XDG_CACHE_HOME=$place/empty/.cache \
    "$program" $(plain "$(words_of CMD)") --url http://127.0.0.1:1) \
    >"$place/screen" 2>&1; then
    fail "it trained without data"
fi
grep -q 127.0.0.1 "$place/screen" || {
    cat "$place/screen"
    fail "it does not say what it could not fetch"
}
[ -z "$(find "$place/empty" -name '*.pth' -o -name '*.jpg')" ] ||
    fail "something was left behind"
