#!/bin/bash
# The bash completion does what a user expects who presses TAB.
#
#   tests/cli/completion_test.sh build/assay
program=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$program" completion bash >"$folder/assay.bash" || exit 1
bash -n "$folder/assay.bash" || exit 1
# shellcheck source=/dev/null
. "$folder/assay.bash"
mkdir "$folder/files" "$folder/files/sub"
cd "$folder/files" || exit 1
touch one.assay two.assay.part 'with space.assay' trace.json notes.txt

failed=0
# check WANTED WORD...: completing the last word offers WANTED, sorted.
check() {
    local wanted=$1 got
    shift
    COMP_WORDS=(assay "$@")
    COMP_CWORD=$#
    _assay
    got=$(printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd,)
    if [[ $got != "$wanted" ]]; then
        echo "assay $*: offers '$got', not '$wanted'"
        failed=1
    fi
}

check show sh
check compare,completion comp
check --version --v
check --depth show --de
check plain show --tree = pl
check plain,rich show --tree =
check mean show --sort me
check mean show --sort = me
check mean show -s me
check 'one.assay,sub,two.assay.part,with space.assay' show ''
check one.assay show o
check sub show --tree s
check sub,trace.json import ''
check notes.txt show -o no
check one.assay compare --a o
check bash completion ''
check import help im
check '' show --depth ''
check '' nonsense ''
((failed == 0)) && echo "completion offers what it should"
exit $failed
