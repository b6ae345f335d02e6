/* tests/store/runs.h - runs to store, and whether two are the same.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_STORE_RUNS_H
#define TESTS_STORE_RUNS_H

#include "run/run.h"
#include "test.h"

#include <math.h>
#include <string.h>

#define OK(call) CHECK_STATUS(call, ASSAY_OK, &err)

/* The names that the samples below refer to: three scopes under the root, two
 * phases, three threads. */
static inline struct run *named_run(void)
{
    struct error err = {0};
    struct run *run;
    uint32_t id, phase;

    OK(run_new(&run, &err));
    OK(run_name_root(run, "pipeline", "Pipeline", &err));
    OK(run_scope_add(run, RUN_ROOT, "backbone", "ResNet", &id, &err));
    OK(run_scope_add(run, id, "conv1", "Conv2d", &id, &err));
    OK(run_scope_add(run, RUN_ROOT, "t\303\252te \"x\"", NULL, &id, &err));
    OK(run_phase_add(run, "forward", &phase, &err));
    OK(run_phase_add(run, "backward", &phase, &err));
    OK(run_thread_add(run, "main", THREAD_CPU, &id, &err));
    OK(run_thread_add(run, "stream 7", THREAD_DEVICE, &id, &err));
    OK(run_thread_add(run, "main", THREAD_ASYNC, &id, &err));
    return run;
}

static inline struct sample sample_at(uint32_t scope, uint32_t iteration,
                                      int64_t duration_ns)
{
    return (struct sample){
        .scope = scope,
        .phase = scope == RUN_ROOT ? 0 : 1 + iteration % 2,
        .thread = scope == 3 ? 1 : 0,
        .iteration = iteration,
        .start_ns = (int64_t)iteration * 1000000,
        .duration_ns = duration_ns,
        .self_ns = duration_ns / 2,
        .bytes = scope == 2 ? (int64_t)duration_ns - 5000 : RUN_UNKNOWN,
        .peak_bytes = scope == 2 ? 4096 * (int64_t)iteration : RUN_UNKNOWN,
    };
}

/* Counts iterations first .. first + n - 1 of every scope. */
static inline void count_iterations(struct run *run, uint32_t first, uint32_t n)
{
    struct error err = {0};

    for (uint32_t i = first; i < first + n; i++) {
        for (uint32_t scope = 3; scope != RUN_NONE; scope--) {
            struct sample s =
                sample_at(scope, i, 1000 * (4 - (int64_t)scope) + i % 97);

            OK(run_count(run, &s, &err));
            if (i < 2)
                OK(run_keep(run, &s, &err));
        }
        OK(run_counter_count(run, 0, (int64_t)i * 1000000, 0.1 * i, &err));
        OK(run_series_put(run, 0, i, i % 2, &err));
        OK(run_series_put(run, 1, i, 0.1 * i, &err));
    }
}

/* Everything is known about scope 1, something about 2, which 3 was fused
 * into. */
static inline void set_work(struct run *run)
{
    struct scope_work whole = {.macs = 1.5e9,
                               .flops = 0,
                               .read_bytes = 1e6,
                               .write_bytes = 2e6,
                               .parameters = 25557032,
                               .done_flops = 1.3e9,
                               .done_bytes = 0.7e6,
                               .done_by = RUN_NONE};
    struct scope_work part = scope_work_unknown(), fused = part;
    struct error err = {0};

    part.macs = 0.1;
    fused.done_by = 2;
    OK(run_work_set(run, 3, &fused, &err));
    OK(run_work_set(run, 2, &part, &err));
    OK(run_work_set(run, 1, &whole, &err));
}

/* Two series, one of them of names, and an owner of each kind of memory. */
static inline void add_observed(struct run *run)
{
    struct error err = {0};
    uint32_t id;

    OK(run_series_add(run, "input.photo", NULL, &id, &err));
    OK(run_series_label(run, id, "street \"7\".jpg", &err));
    OK(run_series_label(run, id, "", &err));
    OK(run_series_add(run, "steady.frequency", "MHz", &id, &err));
    OK(run_series_add(run, "steady.silent", NULL, &id, &err));
    for (int kind = LEDGER_WEIGHTS; kind <= LEDGER_OUTSIDE; kind++) {
        struct ledger_row row = {.kind = (enum ledger_kind)kind,
                                 .scope = kind % 2 ? 2 : RUN_NONE,
                                 .bytes = INT64_C(1) << (5 * kind),
                                 .what = kind % 3 ? "" : "mapped weights"};

        OK(run_ledger_add(run, &row, &err));
    }
}

/* Some of everything that a run can have; not sealed. */
static inline struct run *rich_run(uint32_t n_iterations)
{
    struct sample outside = sample_at(1, RUN_NONE, 123456789);
    struct run *run = named_run();
    struct error err = {0};
    uint32_t id;

    OK(run_counter_add(run, "queue", "items", &id, &err));
    OK(run_counter_add(run, "silent", NULL, &id, &err));
    outside.start_ns = -17;
    OK(run_count(run, &outside, &err));
    OK(run_keep(run, &outside, &err));
    add_observed(run);
    count_iterations(run, 0, n_iterations);
    set_work(run);
    OK(run_fact_set(run, "machine.cpu", "A CPU 'with' quotes", &err));
    OK(run_fact_set(run, "settings.empty", "", &err));
    *run_health(run) = (struct run_health){.lost_spans = 1,
                                           .unbalanced_ends = 2,
                                           .open_at_end = 3,
                                           .too_deep = 4,
                                           .warm_up = 5};
    *run_memory(run) = (struct run_memory){
        .peak_bytes = INT64_C(1) << 40, .peak_scope = 2, .peak_ns = 42};
    return run;
}

static inline void check_same_sketch(const struct sketch *a,
                                     const struct sketch *b)
{
    CHECK_INT(a->n, b->n);
    for (uint32_t i = 0; i < SKETCH_MAX_BUCKETS; i++) {
        uint64_t in_a =
            i - a->first < a->n_buckets ? a->counts[i - a->first] : 0;
        uint64_t in_b =
            i - b->first < b->n_buckets ? b->counts[i - b->first] : 0;

        CHECK_INT(in_a, in_b);
    }
}

static inline void check_same_dist(const struct dist *a, const struct dist *b)
{
    CHECK_INT(a->n, b->n);
    CHECK(a->mean == b->mean && a->m2 == b->m2);
    CHECK_INT(a->min, b->min);
    CHECK_INT(a->max, b->max);
    check_same_sketch(&a->sketch, &b->sketch);
}

static inline void check_same_cell(const struct cell *a, const struct cell *b)
{
    CHECK_INT(a->scope, b->scope);
    CHECK_INT(a->phase, b->phase);
    CHECK_INT(a->thread, b->thread);
    CHECK_INT(a->is_outside, b->is_outside);
    CHECK_INT(a->total_ns, b->total_ns);
    CHECK_INT(a->self_ns, b->self_ns);
    CHECK_INT(a->bytes, b->bytes);
    CHECK_INT(a->peak_bytes, b->peak_bytes);
    CHECK_INT(a->stride, b->stride);
    check_same_dist(&a->calls, &b->calls);
    check_same_dist(&a->iterations, &b->iterations);
    CHECK_INT(a->n_points, b->n_points);
    for (size_t i = 0; i < a->n_points; i++) {
        CHECK_INT(a->points[i].iteration, b->points[i].iteration);
        CHECK_INT(a->points[i].calls, b->points[i].calls);
        CHECK_INT(a->points[i].total_ns, b->points[i].total_ns);
        CHECK_INT(a->points[i].self_ns, b->points[i].self_ns);
    }
}

static inline void check_same_sample(const struct sample *a,
                                     const struct sample *b)
{
    CHECK_INT(a->scope, b->scope);
    CHECK_INT(a->phase, b->phase);
    CHECK_INT(a->thread, b->thread);
    CHECK_INT(a->iteration, b->iteration);
    CHECK_INT(a->start_ns, b->start_ns);
    CHECK_INT(a->duration_ns, b->duration_ns);
    CHECK_INT(a->self_ns, b->self_ns);
    CHECK_INT(a->bytes, b->bytes);
    CHECK_INT(a->peak_bytes, b->peak_bytes);
    CHECK_INT(a->queued_ns, b->queued_ns);
}

static inline void check_same_counter(const struct counter *a,
                                      const struct counter *b)
{
    CHECK_STR(a->name, b->name);
    CHECK_STR(a->unit, b->unit);
    CHECK_INT(a->n, b->n);
    CHECK(a->mean == b->mean && a->min == b->min);
    CHECK(a->max == b->max && a->last == b->last);
    CHECK_INT(a->stride, b->stride);
    CHECK_INT(a->n_points, b->n_points);
    for (size_t i = 0; i < a->n_points; i++) {
        CHECK_INT(a->points[i].time_ns, b->points[i].time_ns);
        CHECK(a->points[i].value == b->points[i].value);
    }
}

static inline bool is_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static inline void check_same_text(const struct scope_text *a,
                                   const struct scope_text *b)
{
    CHECK_INT(a != NULL, b != NULL);
    if (!a)
        return;
    CHECK_STR(a->shapes, b->shapes);
    CHECK_STR(a->kernel, b->kernel);
}

static inline void check_same_work(const struct run *a, const struct run *b)
{
    for (uint32_t i = 0; i < run_scope_count(a); i++) {
        const struct scope_work *one = run_work(a, i), *other = run_work(b, i);

        check_same_text(run_text(a, i), run_text(b, i));
        CHECK_INT(one != NULL, other != NULL);
        if (!one)
            continue;
        CHECK(is_same(one->macs, other->macs));
        CHECK(is_same(one->flops, other->flops));
        CHECK(is_same(one->read_bytes, other->read_bytes));
        CHECK(is_same(one->write_bytes, other->write_bytes));
        CHECK(is_same(one->parameters, other->parameters));
        CHECK(is_same(one->done_flops, other->done_flops));
        CHECK(is_same(one->done_bytes, other->done_bytes));
        CHECK_INT(one->done_by, other->done_by);
    }
}

static inline void check_same_series(const struct series *a,
                                     const struct series *b)
{
    CHECK_STR(a->name, b->name);
    CHECK_STR(a->unit, b->unit);
    CHECK_INT(a->stride, b->stride);
    CHECK_INT(a->n_labels, b->n_labels);
    for (size_t i = 0; i < a->n_labels; i++)
        CHECK_STR(a->labels[i], b->labels[i]);
    CHECK_INT(a->n_points, b->n_points);
    for (size_t i = 0; i < a->n_points; i++) {
        CHECK_INT(a->points[i].iteration, b->points[i].iteration);
        CHECK(a->points[i].value == b->points[i].value);
    }
}

static inline void check_same_ledger(const struct run *a, const struct run *b)
{
    CHECK_INT(run_ledger_count(a), run_ledger_count(b));
    for (size_t i = 0; i < run_ledger_count(a); i++) {
        const struct ledger_row *one = run_ledger(a, i);
        const struct ledger_row *other = run_ledger(b, i);

        CHECK_INT(one->kind, other->kind);
        CHECK_INT(one->scope, other->scope);
        CHECK_INT(one->bytes, other->bytes);
        CHECK_STR(one->what, other->what);
    }
}

static inline void check_same_names(const struct run *a, const struct run *b)
{
    CHECK_INT(run_scope_count(a), run_scope_count(b));
    for (uint32_t i = 0; i < run_scope_count(a); i++) {
        CHECK_INT(run_scope(a, i)->parent, run_scope(b, i)->parent);
        CHECK_INT(run_scope(a, i)->depth, run_scope(b, i)->depth);
        CHECK_STR(run_scope(a, i)->name, run_scope(b, i)->name);
        CHECK_STR(run_scope(a, i)->class_name, run_scope(b, i)->class_name);
    }
    CHECK_INT(run_phase_count(a), run_phase_count(b));
    for (uint32_t i = 0; i < run_phase_count(a); i++)
        CHECK_STR(run_phase_name(a, i), run_phase_name(b, i));
    CHECK_INT(run_thread_count(a), run_thread_count(b));
    for (uint32_t i = 0; i < run_thread_count(a); i++) {
        CHECK_STR(run_thread(a, i)->name, run_thread(b, i)->name);
        CHECK_INT(run_thread(a, i)->kind, run_thread(b, i)->kind);
    }
    CHECK_INT(run_fact_count(a), run_fact_count(b));
    for (size_t i = 0; i < run_fact_count(a); i++) {
        const char *key[2], *value[2];

        run_fact_at(a, i, &key[0], &value[0]);
        run_fact_at(b, i, &key[1], &value[1]);
        CHECK_STR(key[0], key[1]);
        CHECK_STR(value[0], value[1]);
    }
}

static inline void check_same_space(const struct space_row *a,
                                    const struct space_row *b)
{
    CHECK_STR(a->space, b->space);
    CHECK_STR(a->category, b->category);
    CHECK_INT(a->live_bytes, b->live_bytes);
    CHECK_INT(a->peak_bytes, b->peak_bytes);
    CHECK_INT(a->at_peak_bytes, b->at_peak_bytes);
}

static inline void check_same_totals(const struct run *a, const struct run *b)
{
    const struct run_health *left = run_health_of(a), *right = run_health_of(b);
    const struct run_memory *memory = run_memory_of(a);

    CHECK_INT(left->lost_spans, right->lost_spans);
    CHECK_INT(left->unbalanced_ends, right->unbalanced_ends);
    CHECK_INT(left->open_at_end, right->open_at_end);
    CHECK_INT(left->too_deep, right->too_deep);
    CHECK_INT(left->warm_up, right->warm_up);
    CHECK_INT(left->is_incomplete, right->is_incomplete);
    CHECK_INT(memory->peak_bytes, run_memory_of(b)->peak_bytes);
    CHECK_INT(memory->peak_scope, run_memory_of(b)->peak_scope);
    CHECK_INT(memory->peak_ns, run_memory_of(b)->peak_ns);
    CHECK_INT(run_duration_ns(a), run_duration_ns(b));
    CHECK_INT(run_iteration_count(a), run_iteration_count(b));
    CHECK_INT(run_iterations_kept(a), run_iterations_kept(b));
    for (size_t i = 0; i < run_iterations_kept(a); i++) {
        const struct iteration *one = run_iteration(a, i);
        const struct iteration *other = run_iteration(b, i);

        CHECK_INT(one->index, other->index);
        CHECK_INT(one->thread, other->thread);
        CHECK_INT(one->start_ns, other->start_ns);
        CHECK_INT(one->duration_ns, other->duration_ns);
    }
}

/* Field by field; both sealed. */
static inline void check_same_run(const struct run *a, const struct run *b)
{
    check_same_names(a, b);
    check_same_work(a, b);
    check_same_totals(a, b);
    CHECK_INT(run_cell_count(a), run_cell_count(b));
    for (size_t i = 0; i < run_cell_count(a); i++)
        check_same_cell(run_cell(a, i), run_cell(b, i));
    CHECK_INT(run_kept_count(a), run_kept_count(b));
    for (size_t i = 0; i < run_kept_count(a); i++)
        check_same_sample(run_kept(a, i), run_kept(b, i));
    CHECK_INT(run_counters(a), run_counters(b));
    for (uint32_t i = 0; i < run_counters(a); i++)
        check_same_counter(run_counter(a, i), run_counter(b, i));
    CHECK_INT(run_series_count(a), run_series_count(b));
    for (uint32_t i = 0; i < run_series_count(a); i++)
        check_same_series(run_series(a, i), run_series(b, i));
    check_same_ledger(a, b);
    CHECK_INT(run_space_count(a), run_space_count(b));
    for (size_t i = 0; i < run_space_count(a); i++)
        check_same_space(run_space(a, i), run_space(b, i));
}

#endif
