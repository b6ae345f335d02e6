#!/bin/sh
# Runs the linters over the tracked files; any complaint is a failure.
#
#   scripts/lint.sh FOLDER            all of them (FOLDER: the build folder)
#   scripts/lint.sh FOLDER changed    clang's analyzer only on changed files, for
#                                     at most ASSAY_LINT_SECONDS (80), because it
#                                     takes a quarter of an hour for everything;
#                                     all other checks on everything
#
# Changed files are those that differ from the last commit that passed:
# ASSAY_LINT_BASE, or the commit that .ci/run noted in FOLDER/lint.passed, or the
# first parent of HEAD, which was the head before a branch was merged. A clone
# without history has none of these: nothing is analyzed there.
set -eu
cd "$(dirname "$0")/.."
folder=$1
which=${2:-all}

# Also works as root in the clone of another user.
git() { command git -c safe.directory="$PWD" "$@"; }

# Not the tests: the analyzer does not know that a failing CHECK ends the test.
sources() { git ls-files 'src/*.c' 'examples/*.c' 'python/*.c'; }

# Keeps the files that this folder builds: the others are for another version of
# a library.
built() {
    awk -v root="$PWD/" '
        FILENAME != "-" { if ($1 == "\"file\":") known[$2]; next }
        ("\"" root $0 "\",") in known || ("\"" root $0 "\"") in known
    ' "$folder/compile_commands.json" -
}

find_base() {
    for base in "${ASSAY_LINT_BASE:-}" \
        "$(cat "$folder/lint.passed" 2>/dev/null || true)" 'HEAD^1'; do
        [ -n "$base" ] || continue
        git rev-parse -q --verify "$base^{commit}" 2>/dev/null || continue
        return
    done
}

# Changed sources, then those that include a changed header.
changed() {
    base=$(find_base)
    if [ -z "$base" ]; then
        echo "no commit to compare with: nothing is analyzed" >&2
        return
    fi
    {
        git diff --name-only --diff-filter=d "$base" -- 'src/*.c' 'examples/*.c' \
            'python/*.c'
        git diff --name-only --diff-filter=d "$base" -- 'src/*.h' |
            while read -r header; do
                git grep -lF "#include \"${header#src/}\"" -- 'src/*.c' || true
            done
    } | awk '!seen[$0]++'
}

echo "clang-format"
git ls-files '*.c' '*.h' '*.cpp' '*.js' | xargs -r clang-format --dry-run -Werror
echo "shellcheck"
{ git ls-files '*.sh'; echo .ci/run; } | xargs -r shellcheck
echo "clang-tidy"
end=0 # no limit
if [ "$which" = changed ]; then
    sources | built | xargs -r -P "$(nproc)" -n 8 clang-tidy --quiet -p "$folder" \
        --checks='-clang-analyzer-*' 2>"$folder/lint.log" || {
        cat "$folder/lint.log" >&2
        exit 1
    }
    end=$(($(date +%s) + ${ASSAY_LINT_SECONDS:-80}))
    changed | built >"$folder/lint.files"
else
    sources | built >"$folder/lint.files"
fi
: >"$folder/lint.left"
# shellcheck disable=SC2016 # for the inner shell
xargs -r -P "$(nproc)" -n 1 sh -c '
    [ "$1" = 0 ] || [ "$(date +%s)" -lt "$1" ] || {
        echo "$3" >>"$2/lint.left"
        exit 0
    }
    exec clang-tidy --quiet -p "$2" "$3"
' sh "$end" "$folder" <"$folder/lint.files" 2>"$folder/lint.log" || {
    cat "$folder/lint.log" >&2
    exit 1
}
n=$(wc -l <"$folder/lint.files")
left=$(wc -l <"$folder/lint.left")
[ "$which" = all ] ||
    echo "analyzed $((n - left)) of $n changed files; no time for $left"
