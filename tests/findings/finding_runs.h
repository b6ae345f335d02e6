/* tests/findings/finding_runs.h - made-up runs in which there is one thing to
 * find, or nothing.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_FINDINGS_FINDING_RUNS_H
#define TESTS_FINDINGS_FINDING_RUNS_H

#include "findings/findings.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static struct error err;

#define OK(call) CHECK_STATUS(call, ASSAY_OK, &err)

enum { N = 30 };

/* ---- a run in which there is nothing to find ---------------------------- */

/* Nearly identical iterations of `ms` on one thread. */
static inline struct run *quiet_run(double ms)
{
    struct run *run;
    uint32_t thread;

    err = (struct error){0};
    OK(run_new(&run, &err));
    OK(run_thread_add(run, "main", THREAD_CPU, &thread, &err));
    for (uint32_t i = 0; i < N; i++) {
        struct sample sample = {.iteration = i,
                                .start_ns = (int64_t)i * 1000000000,
                                .duration_ns =
                                    (int64_t)(ms * 1e6) + (i * 7) % 5,
                                .bytes = RUN_UNKNOWN,
                                .peak_bytes = RUN_UNKNOWN};

        OK(run_count(run, &sample, &err));
    }
    return run;
}

/* A scope that takes `ms` of every iteration, itself `self_ms` of it. */
static inline uint32_t add_scope(struct run *run, uint32_t parent,
                                 const char *name, const char *class_name,
                                 double ms, double self_ms)
{
    uint32_t id;

    OK(run_scope_add(run, parent, name, class_name, &id, &err));
    for (uint32_t i = 0; i < N; i++) {
        struct sample sample = {.scope = id,
                                .iteration = i,
                                .start_ns = (int64_t)i * 1000000000,
                                .duration_ns = (int64_t)(ms * 1e6),
                                .self_ns = (int64_t)(self_ms * 1e6),
                                .bytes = RUN_UNKNOWN,
                                .peak_bytes = RUN_UNKNOWN};

        OK(run_count(run, &sample, &err));
    }
    return id;
}

static inline void add_series(struct run *run, const char *name, double value)
{
    uint32_t id;

    OK(run_series_add(run, name, "", &id, &err));
    for (uint32_t i = 0; i < N; i++)
        OK(run_series_put(run, id, i, value, &err));
}

static inline void set(struct run *run, const char *key, const char *value)
{
    OK(run_fact_set(run, key, value, &err));
}

static inline struct finding_list find(struct run *run)
{
    struct finding_list list;

    OK(run_seal(run, &err));
    OK(findings_find(run, &list, &err));
    run_free(run);
    return list;
}

/* The only finding is of this rule, with this text and this saving. */
static inline void check_found(struct run *run, const char *rule,
                               double saved_ms, const char *text,
                               const char *help)
{
    struct finding_list list = find(run);

    CHECK_INT(list.n, 1);
    CHECK_STR(list.items[0].rule, rule);
    CHECK_HAS(list.items[0].text, text);
    CHECK_HAS(list.items[0].help, help);
    CHECK(list.items[0].saved_ns > saved_ms * 0.99e6);
    CHECK(list.items[0].saved_ns < saved_ms * 1.01e6);
}

static inline void check_silent(struct run *run)
{
    struct finding_list list = find(run);

    if (list.n)
        fail_msg("%s: %s", list.items[0].rule, list.items[0].text);
}

static inline struct run *threaded_run(const char *threads, const char *cores)
{
    struct run *run = quiet_run(100);

    set(run, "settings.threads", threads);
    set(run, "machine.cores", cores);
    return run;
}

/* Time taken by other programs is not the layer's fault. */
static inline void check_only_load(struct run *run)
{
    struct finding_list list;

    add_series(run, "steady.wait", 20);
    list = find(run);
    CHECK_INT(list.n, 1);
    CHECK_STR(list.items[0].rule, "load");
}

#endif
