#!/usr/bin/env bash
# assay run under memory limits: exit 4, one sentence that says how much was needed
# for what, and an older run file left as it was.
#
#   tests/cli/memory_limit_test.sh build/assay
set -eu
program=$(realpath "$1")
photo=$(realpath "$(dirname "$0")/../../assets/coffee.jpg")
scratch=$(mktemp -d "${TMPDIR:-/tmp}/assay-memory-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
XDG_CACHE_HOME=$scratch/cache
export XDG_CACHE_HOME

# What the program needs to be loaded with its libraries, which differs between
# systems: the smallest limit, in kB, under which it prints its version.
least=1000
enough=200000
while [ $((enough - least)) -gt 200 ]; do
    middle=$(((least + enough) / 2))
    if (ulimit -v "$middle" && exec "$program" --version) >out 2>&1; then
        enough=$middle
    else
        least=$middle
    fi
done 2>/dev/null

# refuse KILOBYTES PATTERN OPTION...: runs with so much address space beyond that.
refuse() {
    limit=$((enough + $1))
    pattern=$2
    shift 2
    echo old >run.assay
    code=0
    (ulimit -v "$limit" && exec "$program" run faster-rcnn "$photo" \
        --iters 1 --warmup 0 --tune 0.01 "$@") >out 2>err || code=$?
    if [ "$code" -ne 4 ] || ! grep -Eq "^assay: .*$pattern" err ||
        [ "$(wc -l <err)" -ne 1 ] || [ -s out ]; then
        echo "with $limit kB, $*: exit $code"
        cat out err
        exit 1
    fi
    if [ "$(cat run.assay)" != old ] || ls run.assay.* 2>/dev/null; then
        echo "with $limit kB, $*: the older run file was not left alone"
        exit 1
    fi
}

wanted='out of memory: [0-9.]+ [KM]iB needed for '
refuse 1200 'no memory for the recorder|'"$wanted"
refuse 91000 "$wanted" --min-size 64 --threads 2
refuse 241000 "no memory for 2 threads|$wanted" --min-size 64 --threads 2
# While the code of kernels is generated, where the library does not survive a lack
# of memory.
for more in 271000 275000 279000 281000 283000 287000; do
    refuse "$more" "no memory for 2 threads|$wanted" --min-size 64 --threads 2
done
refuse 391000 "$wanted" --threads 2
refuse 541000 'no memory for 300 threads, [0-9]+ can be started' --threads 300
echo "every limit was reported"
