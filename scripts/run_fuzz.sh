#!/bin/sh
# Runs each fuzz target of a build folder for a while; stops at the first failure.
#
#   scripts/run_fuzz.sh FOLDER SECONDS
#
# A target starts from tests/fuzz/seeds/TARGET and keeps the inputs it finds in
# FOLDER/corpus/TARGET for next time.
set -eu
cd "$(dirname "$0")/.."
folder=$1
seconds=$2

ran=0
for program in "$folder"/fuzz/*; do
    [ -x "$program" ] || continue
    target=$(basename "$program")
    corpus=$folder/corpus/$target
    seeds=tests/fuzz/seeds/$target
    mkdir -p "$corpus" "$folder/findings"
    [ -d "$seeds" ] || seeds=
    # shellcheck disable=SC2086 # no argument if there are no seeds
    if ! "$program" -max_total_time="$seconds" -timeout=20 \
        -rss_limit_mb=2048 -artifact_prefix="$folder/findings/$target-" \
        "$corpus" $seeds >"$folder/$target.log" 2>&1; then
        tail -n 60 "$folder/$target.log"
        echo "assay: $target failed. Run it again with"
        echo "  $program $folder/findings/$target-..."
        echo "and make a test of it."
        exit 1
    fi
    echo "$target: $seconds s without a failure," \
        "$(sed -n 's/^Done \([0-9]*\) runs.*/\1 inputs/p' "$folder/$target.log")"
    ran=$((ran + 1))
done
if [ "$ran" -eq 0 ]; then
    echo "assay: no fuzz target in $folder/fuzz" >&2
    exit 1
fi
