#!/bin/sh
# Checks that `make install` installs all that a user's own program needs: the
# programs in the README and in docs/c-api.md and one in C++ compile against it,
# run, and write runs that the installed assay shows. So do a program that
# profiles models, and a plug-in with a metric.
#
#   install_test.sh ROOT BUILD CC
set -eu
root=$1
build=$2
cc=$3

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
DESTDIR=$place cmake --install "$build" >"$place/install.log"

# A prefix may be chosen at installation, long after configuration.
cmake --install "$build" --prefix "$place/elsewhere" >"$place/install.log"
own=$(dirname "$(find "$place/elsewhere" -name assay.pc)")
for name in assay assay-models; do
    prefix=$(PKG_CONFIG_LIBDIR=$own pkg-config --variable=prefix "$name")
    if [ "$(realpath "$prefix")" != "$(realpath "$place/elsewhere")" ]; then
        echo "$name.pc says that it is in $prefix, not in $place/elsewhere"
        exit 1
    fi
done
rm -r "$place/elsewhere"

# pkg-config as a packager uses it, for a tree that is not yet in its final place.
export PKG_CONFIG_SYSROOT_DIR="$place"
export PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
PKG_CONFIG_LIBDIR=$(dirname "$(find "$place" -name assay.pc)")
LD_LIBRARY_PATH=$(dirname "$(find "$place" -name libassay.so)")
export PKG_CONFIG_LIBDIR LD_LIBRARY_PATH
flags=$(pkg-config --cflags --libs assay)
assay=$(find "$place" -path '*/bin/assay')

# Prints the first C program of a page.
# shellcheck disable=SC2016 # these are the fences of a page
program_of() {
    sed -n '/^```c$/,/^```$/p' "$root/$1" | sed '1d; /^```$/,$d'
}
# Runs a program in the folder and shows the run file it writes.
shows() {
    (cd "$place" && "./$1" && "$assay" show "$2" >"$1.screen")
    if ! grep -q "$3" "$place/$1.screen"; then
        echo "$1: no $3 on the screen:"
        cat "$place/$1.screen"
        exit 1
    fi
}
warnings='-Wall -Wextra -Wpedantic -Werror'

program_of README.md >"$place/readme.c"
program_of docs/c-api.md >"$place/smoother.c"
cp "$root/tests/habits/program.cpp" "$place"
cd "$place"
# shellcheck disable=SC2086 # lists of options
{
    "$cc" -std=c17 $warnings readme.c $flags -o readme
    "$cc" -std=c17 $warnings smoother.c $flags -o smoother
    g++ -std=c++11 $warnings program.cpp $flags -o program
}
shows readme run.assay decode
shows smoother smoother.assay smooth
shows program program.assay thrower

# Compiled with ASSAY_OFF, a program needs no library and calls nothing in it.
include=$(pkg-config --cflags assay)
# shellcheck disable=SC2086 # lists of options
"$cc" -std=c17 $warnings -DASSAY_OFF smoother.c $include -o off
rm smoother.assay
./off
if [ -e smoother.assay ]; then
    echo "a program compiled with ASSAY_OFF recorded a run"
    exit 1
fi

# The Python package, if it was built.
package=$(find "$place" -path '*-packages/assay/__init__.py')
if [ -n "$package" ]; then
    PYTHONPATH=$(dirname "$(dirname "$package")") /usr/bin/python3 -c '
import assay._native
assert assay._native.read("run.assay")["scopes"][0]["name"]'
fi

# The library of models, and a plug-in that the installed program loads.
flags=$(pkg-config --cflags --libs assay-models)
# shellcheck disable=SC2086 # lists of options
{
    "$cc" -std=c17 $warnings "$root/examples/profile_model.c" $flags -lm \
        -o profile_model
    "$cc" -std=c17 $warnings -shared -fPIC "$root/examples/metric_sparsity.c" \
        $include -o libsparsity.so
}
expect() {
    if ! grep -q "$2" "$1"; then
        echo "$1: no '$2' in it:"
        cat "$1"
        exit 1
    fi
}
./profile_model squeezenet1_1 squeezenet1_1 >profile.screen
expect profile.screen '^  Trainable Parameters  *1.2355 Millions'
expect profile.screen '^  Reuse  *1.00x'
"$assay" metrics squeezenet1_1 --only sparsity --metric ./libsparsity.so \
    >metrics.screen
expect metrics.screen '| *Sparsity (%) | *[0-9]'
