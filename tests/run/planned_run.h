/* tests/run/planned_run.h - small runs whose numbers are known, for the tests
 * of comparisons.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_RUN_PLANNED_RUN_H
#define TESTS_RUN_PLANNED_RUN_H

#include "base/random.h"
#include "run/compare.h"
#include "test.h"

#include <math.h>

enum { root, net, conv, pool, n_scopes };

/* net holds conv and pool; each takes its time, give or take the noise. */
struct plan {
    uint32_t n_iterations;
    double conv_ns, pool_ns, self_ns; /* self of net */
    double noise;                     /* 0.02 is 2 % */
    uint64_t seed;
};

static inline void plan_count(struct run *run, uint32_t scope,
                              uint32_t iteration, int64_t ns)
{
    struct sample sample = {.scope = scope,
                            .iteration = iteration,
                            .duration_ns = ns,
                            .self_ns = ns,
                            .bytes = RUN_UNKNOWN,
                            .peak_bytes = RUN_UNKNOWN};

    CHECK_INT(run_count(run, &sample, NULL), ASSAY_OK);
}

/* Not sealed. */
static inline struct run *plan_begin(const struct plan *plan)
{
    struct random random = random_seed(plan->seed);
    uint32_t thread, id;
    struct run *run;

    CHECK_INT(run_new(&run, NULL), ASSAY_OK);
    CHECK_INT(run_thread_add(run, "main", THREAD_CPU, &thread, NULL), ASSAY_OK);
    CHECK_INT(run_scope_add(run, RUN_ROOT, "net", NULL, &id, NULL), ASSAY_OK);
    CHECK_INT(run_scope_add(run, id, "conv", NULL, &id, NULL), ASSAY_OK);
    CHECK_INT(run_scope_add(run, net, "pool", NULL, &id, NULL), ASSAY_OK);
    for (uint32_t i = 0; i < plan->n_iterations; i++) {
        int64_t ns[3], sum = 0;
        const double wanted[] = {plan->conv_ns, plan->pool_ns, plan->self_ns};

        for (int k = 0; k < 3; k++) {
            ns[k] =
                llround(wanted[k] * exp(plan->noise * random_normal(&random)));
            sum += ns[k];
        }
        plan_count(run, conv, i, ns[0]);
        plan_count(run, pool, i, ns[1]);
        plan_count(run, net, i, sum);
        plan_count(run, RUN_ROOT, i, sum + 1000);
    }
    return run;
}

static inline struct run *plan_run(const struct plan *plan)
{
    struct run *run = plan_begin(plan);

    CHECK_INT(run_seal(run, NULL), ASSAY_OK);
    return run;
}

/* Compares n_a runs with n_b; they are left in runs[]. */
static inline struct comparison *plan_compare(const struct plan *a, size_t n_a,
                                              const struct plan *b, size_t n_b,
                                              const struct run **runs)
{
    struct comparison *comparison;

    for (size_t i = 0; i < n_a + n_b; i++)
        runs[i] = plan_run(i < n_a ? &a[i] : &b[i - n_a]);
    CHECK_INT(compare_new(&(struct compare_side){runs, n_a},
                          &(struct compare_side){runs + n_a, n_b}, NULL,
                          &comparison, NULL),
              ASSAY_OK);
    CHECK_INT(compare_row_count(comparison), n_scopes);
    return comparison;
}

static inline void plan_end(struct comparison *comparison,
                            const struct run **runs, size_t n)
{
    compare_free(comparison);
    for (size_t i = 0; i < n; i++)
        run_free((struct run *)runs[i]);
}

#endif
