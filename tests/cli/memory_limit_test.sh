#!/usr/bin/env bash
# assay run under limits of memory: exit 4, one sentence that says what was
# wanted for what, and an older run file left as it was.
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

# refuse KILOBYTES PATTERN OPTION...: what comes of so much address space.
refuse() {
    limit=$1
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

wanted='out of memory: [0-9.]+ [KM]iB wanted for '
refuse 60000 'no memory for the recorder|'"$wanted"
refuse 150000 "$wanted" --min-size 64 --threads 2
refuse 300000 "no memory for 2 threads|$wanted" --min-size 64 --threads 2
# Where the code of kernels is generated, which the library does not survive
# without memory.
for limit in 330000 334000 338000 340000 342000 346000; do
    refuse "$limit" "no memory for 2 threads|$wanted" --min-size 64 --threads 2
done
refuse 450000 "$wanted" --threads 2
refuse 600000 'no memory for 300 threads, [0-9]+ can be started' --threads 300
echo "every limit was told"
