#!/bin/sh
# Runs the tests of a build folder and ends on a line that counts them.
#
#   scripts/run_tests.sh FOLDER [CTest options]
#
# With ASSAY_CPU set, kernels are limited to that, and the results are kept
# beside those of a run without.
set -eu
cd "$(dirname "$0")/.."
folder=$1
shift
run=$folder${ASSAY_CPU:+@$ASSAY_CPU}
results=$folder/tests${ASSAY_CPU:+-$ASSAY_CPU}.xml

# Some kernels hand out more address space than the sanitizers of Debian 12 can
# follow; without randomisation, where that is allowed, they always can.
steady=
if setarch -R true 2>/dev/null; then steady='setarch -R'; fi

# Tests run beside each other: threads that wait are not to spin on processors
# that others could use, which takes most of the time where there are few.
export OMP_WAIT_POLICY=passive

rm -f "$results"
# count_tests.py finds the failures, each by its own name.
# shellcheck disable=SC2086 # words
{ $steady ctest --test-dir "$folder" -j "$(nproc)" --output-on-failure \
    --no-label-summary --output-junit "$PWD/$results" \
    --test-output-size-passed 10000000 "$@" || true; } |
    /usr/bin/python3 scripts/watch_tests.py
/usr/bin/python3 scripts/count_tests.py "$run"
