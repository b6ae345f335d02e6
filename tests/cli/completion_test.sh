#!/bin/bash
# What the completions offer when a user presses TAB: bash for sure, zsh and fish
# where they are installed.
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
touch one.assay two.assay.part 'with space.assay' trace.json notes.txt model.onnx

failed=0
# check EXPECTED WORD...: completing the last word offers EXPECTED, sorted.
check() {
    local expected=$1 got
    shift
    COMP_WORDS=(assay "$@")
    COMP_CWORD=$#
    _assay
    got=$(printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd,)
    if [[ $got != "$expected" ]]; then
        echo "assay $*: offers '$got', not '$expected'"
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
check bash,fish,zsh completion ''
check mobilenet_v2,model.onnx run mo
check squeezenet1_0,squeezenet1_1 layers --depth 2 sq
check fetch data f
check 'check,fetch,list,show' weights ''
check import help im
check '' show --depth ''
check '' nonsense ''
# ---- zsh and fish ----------------------------------------------------------

# Every command, option and model that bash knows is in the others too.
for shell in zsh fish; do
    "$program" completion $shell >"$folder/assay.$shell" || exit 1
    while read -r word; do
        if ! grep -qF -- "$word" "$folder/assay.$shell"; then
            echo "completion $shell lacks '$word'"
            failed=1
        fi
    done < <(
        grep -o "^_assay_commands='.*'" "$folder/assay.bash" |
            sed "s/.*='//; s/'$//" | tr ' ' '\n'
        if [[ $shell == zsh ]]; then
            grep -o "'[a-z]* --[a-z-]*'" "$folder/assay.bash"
            grep "_assay_words '--help" "$folder/assay.bash" | grep -o -- '--[a-z-]*'
        else
            grep "_assay_words '--help" "$folder/assay.bash" |
                grep -o -- '--[a-z-]*' | grep -v -- '--help' | sed 's/^--/-l /'
        fi
        echo squeezenet1_1
        echo faster-rcnn)
done

# The functions of zsh's completion system print what they were given.
zsh_check() {
    local expected=$1 got
    shift
    got=$(zsh -f -c '
        compdef() { : }
        compset() { PREFIX=${PREFIX#*=} }
        compadd() { shift; print -l -- ${(M)@:#$PREFIX*} }
        _describe() { print -l -- ${(M)${(@)${(P)@[-1]}%%:*}:#$PREFIX*} }
        _files() { print -- "files $*" }
        source '"$folder"'/assay.zsh
        words=(assay "$@") CURRENT=$#words PREFIX=$words[-1]
        _assay' zsh "$@" | sort | paste -sd,)
    if [[ $got != "$expected" ]]; then
        echo "zsh: assay $*: offers '$got', not '$expected'"
        failed=1
    fi
}

if command -v zsh >/dev/null; then
    zsh_check show sh
    zsh_check compare,completion comp
    zsh_check --depth show --de
    zsh_check plain,rich show --tree=
    zsh_check mean show --sort me
    zsh_check mean show -s me
    zsh_check fetch data f
    zsh_check 'files ' show -o no
    zsh_check 'files -g *(.onnx|.net|.keras|.h5|.hdf5),squeezenet1_0,squeezenet1_1' \
        layers sq
else
    echo "no zsh here: its script was only searched for words"
fi

fish_check() {
    local expected=$1 got
    got=$(fish --no-config -c "source $folder/assay.fish
        complete -C'assay $2'" | cut -f1 | sort | paste -sd,)
    if [[ $got != "$expected" ]]; then
        echo "fish: assay $2: offers '$got', not '$expected'"
        failed=1
    fi
}

if command -v fish >/dev/null; then
    fish_check show 'sh'
    fish_check compare,completion 'comp'
    fish_check --depth 'show --dep'
    fish_check --tree=plain,--tree=rich 'show --tree='
    fish_check mean 'show --sort me'
    fish_check fetch 'data f'
    fish_check notes.txt 'show -o no'
    fish_check mobilenet_v2,model.onnx 'run mo'
    fish_check 'one.assay,sub/,two.assay.part,with space.assay' 'compare '
else
    echo "no fish here: its script was only searched for words"
fi

((failed == 0)) && echo "completion offers what it should"
exit $failed
