#!/bin/sh
# Configures and builds a folder, in silence unless something fails.
#
#   scripts/build.sh FOLDER [CMake options]
set -eu
cd "$(dirname "$0")/.."
folder=$1
shift

mkdir -p "$folder"
log=$folder/configure.log
if ! cmake -S . -B "$folder" -G Ninja "$@" >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
fi
ninja -C "$folder" --quiet
