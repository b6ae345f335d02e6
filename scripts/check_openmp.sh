#!/bin/sh
# Checks that every OpenMP call of a program and of the libraries it loads goes
# to the program's own functions (src/team/gomp.c): libgomp does not know our
# threads.
#
#   scripts/check_openmp.sh PROGRAM
set -eu
program=$1

answered=$(nm -D --defined-only --format=posix "$program" | cut -d' ' -f1 |
    grep -E '^(GOMP|omp)_' || true)
if [ -z "$answered" ]; then
    echo "skipped: $program leaves OpenMP to a library"
    exit 77
fi

libraries=$(ldd "$program" | sed -n 's/.*=> \([^ ]*\) .*/\1/p' |
    grep -v libgomp)
missed=
for file in "$program" $libraries; do
    for name in $(nm -D --undefined-only --format=posix "$file" |
        sed 's/[@ ].*//' | grep -E '^(GOMP|omp)_' || true); do
        if ! echo "$answered" | grep -qx "$name"; then
            missed="$missed
$file calls $name"
        fi
    done
done
if [ -n "$missed" ]; then
    echo "src/team/gomp.c lacks functions:$missed"
    exit 1
fi
echo "$answered" | wc -l | sed 's/$/ functions, which are all that are called/'
