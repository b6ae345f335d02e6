#!/bin/sh
# Runs the tests of a build folder and ends with a line that counts them.
#
#   scripts/run_tests.sh FOLDER [CTest options]
#
# If ASSAY_CPU is set, kernels are limited to that level, and the results go to a
# file of their own.
set -eu
cd "$(dirname "$0")/.."
folder=$1
shift
run=$folder${ASSAY_CPU:+@$ASSAY_CPU}
results=$folder/tests${ASSAY_CPU:+-$ASSAY_CPU}.xml

# Some Linux kernels randomise addresses over more bits than the sanitizers of
# Debian 12 support; without randomisation, if we may turn it off, they work.
steady=
if setarch -R true 2>/dev/null; then steady='setarch -R'; fi

# Tests run in parallel: waiting threads must not spin on processors that other
# tests could use. On a machine with few, that would take most of the time.
export OMP_WAIT_POLICY=passive

rm -f "$results"
# count_tests.py finds the failures and names each.
# shellcheck disable=SC2086 # words
{ $steady ctest --test-dir "$folder" -j "$(nproc)" --output-on-failure \
    --no-label-summary --output-junit "$PWD/$results" \
    --test-output-size-passed 10000000 "$@" || true; } |
    /usr/bin/python3 scripts/watch_tests.py
/usr/bin/python3 scripts/count_tests.py "$run"
