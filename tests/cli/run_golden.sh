#!/bin/sh
# Runs the command lines in golden/*.cmd and compares their output and exit code
# with the .stdout, .stderr and .exit files next to them; a missing file means no
# output, or exit code 0.
#
#   tests/cli/run_golden.sh build/assay [--refresh] [--models|--others] [NAME...]
#
# Each case is a shell script that runs in an empty folder, with `assay` in its
# path and $inputs naming tests/cli/inputs; the cases share the cache with the
# machine's peaks and kernel choices. --refresh writes the output as the new
# expectation: read the diff before committing it. --models runs only the cases
# that begin with "# Runs a model."; --others runs all but these, which take minutes
# each without oneDNN or under a sanitizer.
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

# expect KIND FILE: compares one output of $name, or stores it.
expect() {
    expected=$here/golden/$name.$1
    if [ -n "$refresh" ]; then
        if [ -s "$2" ]; then cp "$2" "$expected"; else rm -f "$expected"; fi
        return 0
    fi
    [ -e "$expected" ] || expected=/dev/null
    diff -u --label "expected $name.$1" --label "got $name.$1" "$expected" "$2"
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
