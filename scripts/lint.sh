#!/bin/sh
# Runs every linter over the tracked files; any finding is a failure.
#
#   scripts/lint.sh FOLDER      (the build folder)
set -eu
cd "$(dirname "$0")/.."

echo "clang-format"
git ls-files '*.c' '*.h' '*.cpp' '*.js' | xargs clang-format --dry-run -Werror
echo "shellcheck"
{ git ls-files '*.sh'; echo .ci/run; } | xargs shellcheck
echo "clang-tidy"
# Not the tests: the analyser does not know that CHECK ends one that fails.
git ls-files 'src/*.c' 'examples/*.c' |
    xargs -P "$(nproc)" -n 4 clang-tidy --quiet -p "$1" 2>"$1/lint.log" || {
    cat "$1/lint.log" >&2
    exit 1
}
