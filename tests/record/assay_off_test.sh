#!/bin/sh
# With -DASSAY_OFF a program that uses the whole interface does not need the library.
#
#   assay_off_test.sh COMPILER SOURCE_DIR
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat >"$folder/uses_all.c" <<'END'
#include <assay.h>

int main(void)
{
    struct assay_error error = {0};
    ASSAY_SPAN("scoped");

    assay_start("run.assay", 0, &error);
    assay_begin("span");
    assay_begin_class("span", "class");
    assay_end();
    assay_iteration_begin();
    assay_iteration_end();
    assay_phase_begin("phase");
    assay_phase_end();
    assay_counter("counter", 0, 1);
    assay_bytes(1);
    assay_memory("host", ASSAY_MEMORY_WEIGHTS, 1);
    assay_thread("thread");
    assay_fact("key", "value");
    assay_begin_scope(assay_scope(assay_scope_path("path", 0), "name", 0));
    assay_span_at(assay_lane_open("lane", ASSAY_LANE_DEVICE), ASSAY_SCOPE_ROOT,
                  assay_clock_ns(), assay_clock_ns(), 0);
    assay_work(&(struct assay_work){.macs = 1});
    assay_scope_work(ASSAY_SCOPE_ROOT, &(struct assay_work){.macs = 1});
    assay_end();
    return assay_is_recording() + (int)assay_stop(&error);
}
END

compile() {
    # shellcheck disable=SC2086 # options
    "$1" -std=c17 -Wall -Wextra -Werror $3 -I"$2/include" \
        -c "$folder/uses_all.c" -o "$folder/uses_all.o"
    nm "$folder/uses_all.o" | grep -c ' U assay_' || true
}

on=$(compile "$1" "$2" -O0)
off=$(compile "$1" "$2" "-O0 -DASSAY_OFF")
if [ "$on" -eq 0 ] || [ "$off" -ne 0 ]; then
    echo "undefined assay_ symbols: $on without, $off with ASSAY_OFF"
    exit 1
fi
