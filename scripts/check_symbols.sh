#!/bin/sh
# Checks that a shared library exports only the names of the public interface.
#
#   scripts/check_symbols.sh LIBRARY
set -eu

names=$(nm -D --defined-only --format=posix "$1" | cut -d' ' -f1)
if ! echo "$names" | grep -q '^assay_'; then
    echo "$1: exports no assay_ name at all"
    exit 1
fi
if echo "$names" | grep -v '^assay_'; then
    echo "$1: exports the names above, which do not begin with assay_"
    exit 1
fi
echo "$names" | wc -l | sed 's/$/ names, all of them assay_/'
