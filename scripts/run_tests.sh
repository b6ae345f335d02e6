#!/bin/sh
# Runs the tests of a build folder and ends on a line that counts them.
#
#   scripts/run_tests.sh FOLDER [CTest options]
set -eu
cd "$(dirname "$0")/.."
folder=$1
shift

# Some kernels hand out more address space than the sanitizers of Debian 12 can
# follow; without randomisation, where that is allowed, they always can.
steady=
if setarch -R true 2>/dev/null; then steady='setarch -R'; fi

rm -f "$folder/tests.xml"
# count_tests.py finds the failures, each by its own name.
# shellcheck disable=SC2086 # words
$steady ctest --test-dir "$folder" -j "$(nproc)" --output-on-failure \
    --no-label-summary --output-junit "$PWD/$folder/tests.xml" \
    --test-output-size-passed 10000000 "$@" || true
/usr/bin/python3 scripts/count_tests.py "$folder"
