#!/bin/sh
# Runs each benchmark of a build folder; fails if one misses its limit.
#
#   scripts/run_bench.sh FOLDER
set -eu
cd "$(dirname "$0")/.."

missed=
for program in "$1"/bench/*; do
    if [ -f "$program" ] && [ -x "$program" ]; then
        "$program" || missed="$missed $(basename "$program")"
    fi
done
if [ -n "$missed" ]; then
    echo "assay: these benchmarks missed a limit:$missed" >&2
    exit 1
fi
