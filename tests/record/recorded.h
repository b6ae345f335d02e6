/* tests/record/recorded.h - record something, then look at the run file.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_RECORD_RECORDED_H
#define TESTS_RECORD_RECORDED_H

#include "test.h"

#include "base/clock.h"
#include "record/record.h"
#include "run/run.h"
#include "store/store.h"

#include <assay.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static inline void recorded_start(const struct assay_options *options)
{
    struct error err = {0};

    CHECK_STATUS(record_start(test_path("run.assay"), options, &err), ASSAY_OK,
                 &err);
}

/* The run that recorded_start() began; the caller frees it. */
static inline struct run *recorded_stop(void)
{
    struct error err = {0};
    struct run *run;

    CHECK_STATUS(record_stop(&err), ASSAY_OK, &err);
    CHECK_STATUS(store_load(test_path("run.assay"), &run, &err), ASSAY_OK,
                 &err);
    return run;
}

/* Opens a group below what is open here. */
static inline void group_begin(const char *name, const char *class_name)
{
    record_group_begin(record_group(assay_scope_here(), name, class_name));
}

/* The scope with a path such as "outer.inner"; RUN_NONE if there is none. */
static inline uint32_t scope_at(const struct run *run, const char *path)
{
    for (uint32_t i = 1; i < run_scope_count(run); i++) {
        struct str text = {0};
        bool is_it;

        CHECK_INT(run_scope_path(run, i, &text), ASSAY_OK);
        is_it = strcmp(str_text(&text), path) == 0;
        str_release(&text);
        if (is_it)
            return i;
    }
    return RUN_NONE;
}

static inline struct scope_stats
stats_in_phase(const struct run *run, const char *path, uint32_t phase)
{
    struct scope_stats stats = {0};
    struct error err = {0};
    uint32_t scope = scope_at(run, path);

    if (scope == RUN_NONE)
        fail_msg("no scope '%s'", path);
    CHECK_STATUS(run_scope_stats(run, scope, phase, &stats, &err), ASSAY_OK,
                 &err);
    return stats;
}

static inline struct scope_stats stats_of(const struct run *run,
                                          const char *path)
{
    return stats_in_phase(run, path, RUN_ANY);
}

/* Calls of a scope, inside and outside the iterations. */
static inline uint64_t calls_of(const struct run *run, const char *path,
                                bool is_outside)
{
    uint32_t scope = scope_at(run, path);
    uint64_t n = 0;

    for (size_t i = 0; i < run_cell_count(run); i++) {
        const struct cell *cell = run_cell(run, i);

        if (cell->scope == scope && cell->is_outside == is_outside)
            n += cell->calls.n;
    }
    return n;
}

static inline void spin_us(int64_t us)
{
    int64_t until = clock_monotonic_ns() + us * 1000;

    while (clock_monotonic_ns() < until)
        ;
}

#endif
