#!/bin/sh
# Runs the command lines in golden/*.cmd and compares what they print and how
# they exit with the .stdout, .stderr and .exit beside them; a file that is
# missing stands for nothing printed, or exit 0.
#
#   tests/cli/run_golden.sh build/assay [--refresh] [--models|--others] [NAME...]
#
# Each case is a shell script. It runs in an empty folder of its own, with
# `assay` in its path and $inputs naming tests/cli/inputs; what is remembered of
# the machine and its kernels they share. --refresh writes what came out as the
# new expectation: read the diff before committing it. --models: only the cases
# that begin with "# Runs a model."; --others: all but these, for without oneDNN,
# or under a sanitizer, each would take minutes.
set -u

program=$(realpath "$1")
shift
refresh=
which=all
while :; do
    case ${1:-} in
    --refresh) refresh=yes ;;
    --models) which=models ;;
    --others) which=others ;;
    *) break ;;
    esac
    shift
done
here=$(realpath "$(dirname "$0")")
inputs=$here/inputs
scratch=$(mktemp -d "${TMPDIR:-/tmp}/assay-golden-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin"
ln -s "$program" "$scratch/bin/assay"

export inputs PATH="$scratch/bin:$PATH" LC_ALL=C.UTF-8 COLUMNS=80 NO_COLOR=1
export XDG_CACHE_HOME="$scratch/cache"
unset TMPDIR

# For a build with sanitizers: see tests/test.c.
echo leak:libfontconfig >"$scratch/leaks"
export LSAN_OPTIONS="suppressions=$scratch/leaks:print_suppressions=0"

# expect KIND FILE: compares one outcome of $name, or keeps it.
expect() {
    wanted=$here/golden/$name.$1
    if [ -n "$refresh" ]; then
        if [ -s "$2" ]; then cp "$2" "$wanted"; else rm -f "$wanted"; fi
        return 0
    fi
    [ -e "$wanted" ] || wanted=/dev/null
    diff -u --label "wanted $name.$1" --label "got $name.$1" "$wanted" "$2"
}

passed=0
failed=0
left_out=0
run_case() {
    mkdir "$scratch/case"
    (cd "$scratch/case" && exec sh "$here/golden/$name.cmd") \
        >"$scratch/stdout" 2>"$scratch/stderr" </dev/null
    code=$?
    : >"$scratch/exit"
    [ "$code" -eq 0 ] || echo "$code" >"$scratch/exit"
    rm -rf "$scratch/case"
    is_good=yes
    for kind in stdout stderr exit; do
        expect "$kind" "$scratch/$kind" || is_good=no
    done
    if [ "$is_good" = yes ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED $name"
    fi
}

if [ $# -eq 0 ]; then
    for file in "$here"/golden/*.cmd; do
        name=$(basename "$file" .cmd)
        kind=others
        if grep -q '^# Runs a model' "$file"; then kind=models; fi
        case $which in
        all | "$kind") run_case ;;
        *) left_out=$((left_out + 1)) ;;
        esac
    done
else
    for name; do run_case; done
fi
echo "$passed cases passed, $failed failed, $left_out left out"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
