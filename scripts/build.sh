#!/bin/sh
# Configures and builds a folder, and shows progress: on a terminal in one line
# that is overwritten, elsewhere a line every 15 s. If there is nothing to build,
# it prints nothing.
#
#   scripts/build.sh FOLDER [CMake options]
#
# If CI is set, as .ci/run does, warnings are errors.
set -eu
cd "$(dirname "$0")/.."
folder=$1
shift
every=${ASSAY_PROGRESS_SECONDS:-15}

mkdir -p "$folder"
log=$folder/configure.log
if ! cmake -S . -B "$folder" -G Ninja \
    ${CI:+-DASSAY_WERROR=ON} "$@" >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
fi

if [ -t 1 ]; then
    cd "$folder"
    case $(ninja -n) in
    *'no work to do'*) exit 0 ;;
    esac
    NINJA_STATUS="building $folder, %f of %t: " exec ninja
fi

# Filters Ninja's lines: progress at intervals, and all other lines, which are
# about failures.
show() {
    began=$(date +%s)
    shown=$began
    steps=
    while IFS= read -r line; do
        case $line in
        '@'*'@'*)
            steps=${line#@}
            steps=${steps%%@*}
            now=$(date +%s)
            [ $((now - shown)) -ge "$every" ] || continue
            shown=$now
            echo "building $folder: $steps"
            ;;
        'ninja: Entering directory'* | 'ninja: no work to do.') ;;
        *) printf '%s\n' "$line" ;;
        esac
    done
    [ -z "$steps" ] ||
        echo "building $folder: $steps, $(($(date +%s) - began)) s"
}

status=$folder/build.status
{
    code=0
    NINJA_STATUS='@%f of %t@' ninja -C "$folder" 2>&1 || code=$?
    echo "$code" >"$status"
} | show
exit "$(cat "$status")"
