#!/bin/sh
# Checks the steps of the Dockerfile without a Docker engine, which does not run
# here. The files, scripts and targets that it names exist, and the program that
# `make install` installs trains in an empty folder with its settings at .config,
# by the command that the image ends with.
#
#   container_test.sh ROOT BUILD
set -eu
root=$1
build=$2
file=$root/Dockerfile

fail() {
    echo "Dockerfile: $1"
    exit 1
}
# The words of all lines that begin with an instruction.
words_of() {
    sed -n "s/^$1 //p" "$file"
}

[ "$(words_of FROM)" = debian:12 ] || fail "it does not start from debian:12"
[ "$(words_of COPY)" = '. /src' ] || fail "it copies something else"

# The steps after RUN, one per line.
words_of RUN | sed 's/ && /\n/g' | while read -r step; do
    case $step in
    'cd /src' | 'rm -rf '*) ;;
    scripts/*)
        [ -x "$root/${step%% *}" ] || fail "there is no ${step%% *}"
        for list in ${step#* }; do
            [ -f "$root/packages/$list.txt" ] ||
                fail "there is no list of packages $list"
        done
        ;;
    'make '*)
        for target in ${step#make }; do
            grep -q "^$target:" "$root/Makefile" ||
                fail "the Makefile has no target $target"
        done
        ;;
    *) fail "this test does not know the step '$step'" ;;
    esac
done

# Build folders of this machine must not get into the image.
for name in .git build 'build-*'; do
    grep -qxF "$name" "$root/.dockerignore" ||
        fail ".dockerignore does not exclude $name"
done

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
DESTDIR=$place/image cmake --install "$build" >"$place/install.log"
program=$(find "$place/image" -path '*/bin/assay')
[ "$(words_of ENTRYPOINT)" = '["assay"]' ] || fail "it does not run assay"
[ "$(words_of CMD)" = '["train"]' ] || fail "it does not train"

mkdir -p "$place/work/.config"
cat >"$place/work/.config/config.toml" <<END
[training]
steps = 2
num_workers = 1
[model]
name = "squeezenet1_1"
weights = "random"
[dataset]
kind = "synthetic"
image_size = 64
[profile]
warmup_steps = 0
END
(cd "$place/work" && XDG_CACHE_HOME=$place/cache "$program" train) \
    >"$place/screen" 2>&1 || {
    cat "$place/screen"
    fail "the installed program does not train"
}
for result in run.assay run.safetensors; do
    [ -s "$place/work/train/$result" ] || fail "it leaves no $result"
done
