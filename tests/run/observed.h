/* tests/run/observed.h - runs of photographs, one per iteration.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_RUN_OBSERVED_H
#define TESTS_RUN_OBSERVED_H

#include "run/run.h"
#include "test.h"

#include <math.h>
#include <stdio.h>

#define OK(call) CHECK_STATUS(call, ASSAY_OK, &err)

/* An empty run with one thread. */
static inline struct run *observed_run(void)
{
    struct error err = {0};
    struct run *run;
    uint32_t id;

    OK(run_new(&run, &err));
    OK(run_thread_add(run, "main", THREAD_CPU, &id, &err));
    return run;
}

static inline void observe_ms(struct run *run, uint32_t iteration, double ms)
{
    struct error err = {0};
    struct sample sample = {.scope = RUN_ROOT,
                            .iteration = iteration,
                            .start_ns = (int64_t)iteration * 1000000000,
                            .duration_ns = (int64_t)(ms * 1e6),
                            .self_ns = (int64_t)(ms * 1e6),
                            .bytes = RUN_UNKNOWN,
                            .peak_bytes = RUN_UNKNOWN};

    OK(run_count(run, &sample, &err));
}

static inline void observe(struct run *run, const char *name,
                           uint32_t iteration, double value)
{
    struct error err = {0};
    uint32_t id;

    OK(run_series_add(run, name, "", &id, &err));
    OK(run_series_put(run, id, iteration, value, &err));
}

/* Photographs "0.jpg", "1.jpg", ... */
static inline void name_photos(struct run *run, unsigned n)
{
    struct error err = {0};
    char name[32];
    uint32_t id;

    OK(run_series_add(run, "input.photo", "", &id, &err));
    for (unsigned i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%u.jpg", i);
        OK(run_series_label(run, id, name, &err));
    }
}

static inline void seal(struct run *run)
{
    struct error err = {0};

    OK(run_seal(run, &err));
}

#endif
