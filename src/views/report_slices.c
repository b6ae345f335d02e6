/* views/report_slices.c - the timeline in the HTML report: the samples that are
 * kept in full, one stretch per iteration. */
#include "views/report_data_internal.h"

#include "base/mem.h"

#include <stdlib.h>

/* The samples of one iteration, or of none. */
struct slice_stretch {
    uint32_t iteration;
    size_t first, n;  /* places in `order` */
    int64_t start_ns; /* of the first sample */
    int64_t at_least; /* shorter samples are left out */
    size_t n_spare;   /* how many of exactly that length stay */
    size_t n_left_out;
};

struct report_slices {
    const struct run *run;
    size_t n;
    size_t *order; /* kept samples by iteration, then by thread and start */
    struct slice_stretch *stretches;
    size_t n_stretches;
};

static int report_slices_sign(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int slices_by_iteration(const void *left, const void *right,
                               void *context)
{
    const size_t *a = left, *b = right;
    const struct run *run = context;
    int order = report_slices_sign(run_kept(run, *a)->iteration,
                                   run_kept(run, *b)->iteration);

    return order ? order : report_slices_sign(*a, *b);
}

static int slices_by_duration_down(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;

    return (*a < *b) - (*a > *b);
}

static const struct sample *slice(const struct report_slices *slices, size_t i)
{
    return run_kept(slices->run, slices->order[i]);
}

static void slices_release(struct report_slices *slices)
{
    mem_free(slices->order);
    mem_free(slices->stretches);
}

static void slices_add_stretches(struct report_slices *slices)
{
    struct slice_stretch *last = NULL;

    for (size_t i = 0; i < slices->n; i++) {
        const struct sample *sample = slice(slices, i);

        if (!last || last->iteration != sample->iteration) {
            last = &slices->stretches[slices->n_stretches++];
            *last = (struct slice_stretch){.iteration = sample->iteration,
                                           .first = i,
                                           .start_ns = sample->start_ns};
        }
        if (sample->start_ns < last->start_ns)
            last->start_ns = sample->start_ns;
        last->n++;
    }
}

/* The recorder's own: of no module, so the page has no name for it. */
static bool report_slices_is_writer(const struct run *run,
                                    const struct sample *sample)
{
    return sample->scope == RUN_ROOT &&
           run_thread(run, sample->thread)->kind == THREAD_HELPER;
}

static enum assay_status slices_build(struct report_slices *slices,
                                      struct error *err)
{
    size_t n = run_kept_count(slices->run);

    slices->order = mem_array(n, sizeof *slices->order);
    slices->stretches = mem_array(n, sizeof *slices->stretches);
    if (!slices->order || !slices->stretches)
        return error_nomem(err, n * sizeof *slices->stretches, "the timeline");
    for (size_t i = 0; i < n; i++) {
        if (!report_slices_is_writer(slices->run, run_kept(slices->run, i)))
            slices->order[slices->n++] = i;
    }
    qsort_r(slices->order, slices->n, sizeof *slices->order,
            slices_by_iteration, (void *)slices->run);
    slices_add_stretches(slices);
    return ASSAY_OK;
}

/* Keeps the longest `most` of a stretch. */
static enum assay_status report_slices_cut(const struct report_slices *slices,
                                           struct slice_stretch *stretch,
                                           size_t most, struct error *err)
{
    int64_t *durations;

    if (stretch->n <= most)
        return ASSAY_OK;
    durations = mem_array(stretch->n, sizeof *durations);
    if (!durations)
        return error_nomem(err, stretch->n * sizeof *durations, "the timeline");
    for (size_t i = 0; i < stretch->n; i++)
        durations[i] = slice(slices, stretch->first + i)->duration_ns;
    qsort(durations, stretch->n, sizeof *durations, slices_by_duration_down);
    stretch->at_least = durations[most - 1];
    for (size_t i = most; i-- > 0 && durations[i] == stretch->at_least;)
        stretch->n_spare++;
    stretch->n_left_out = stretch->n - most;
    mem_free(durations);
    return ASSAY_OK;
}

static int report_slices_by_size(const void *left, const void *right)
{
    const struct slice_stretch *a = left, *b = right;
    int order = report_slices_sign(a->n, b->n);

    return order ? order : report_slices_sign(a->iteration, b->iteration);
}

/* Every stretch gets an equal part of the room; what small ones do not need
 * goes to the larger ones. */
static enum assay_status slices_share_room(struct report_slices *slices,
                                           struct error *err)
{
    size_t room = REPORT_MAX_SLICES, n = slices->n_stretches;
    enum assay_status st = ASSAY_OK;

    qsort(slices->stretches, n, sizeof *slices->stretches,
          report_slices_by_size);
    for (size_t i = 0; !st && i < n; i++) {
        struct slice_stretch *stretch = &slices->stretches[i];
        size_t part = room / (n - i);

        st = report_slices_cut(slices, stretch, part > 0 ? part : 1, err);
        room -= stretch->n < part ? stretch->n : part;
    }
    return st;
}

static bool report_slices_is_shown(struct slice_stretch *stretch,
                                   const struct sample *sample)
{
    if (stretch->n_left_out == 0 || sample->duration_ns > stretch->at_least)
        return true;
    if (sample->duration_ns < stretch->at_least || stretch->n_spare == 0)
        return false;
    stretch->n_spare--;
    return true;
}

/* Four numbers per slice: thread, scope, nanoseconds since the previous slice
 * (since the stretch began for the first), duration in nanoseconds. */
static void slices_write_stretch(struct json_writer *json,
                                 const struct report_slices *slices,
                                 struct slice_stretch *stretch,
                                 const uint32_t *row_of)
{
    int64_t before = stretch->start_ns;

    json_object_begin(json);
    json_key(json, "iteration");
    report_row(json, stretch->iteration);
    json_member_double(json, "start_ms", (double)stretch->start_ns / 1e6);
    json_member_int(json, "left_out", (int64_t)stretch->n_left_out);
    report_column(json, "slices");
    for (size_t i = 0; i < stretch->n; i++) {
        const struct sample *sample = slice(slices, stretch->first + i);

        if (!report_slices_is_shown(stretch, sample))
            continue;
        json_write_uint(json, sample->thread);
        json_write_uint(json, row_of[sample->scope]);
        json_write_int(json, sample->start_ns - before);
        json_write_int(json, sample->duration_ns);
        before = sample->start_ns;
    }
    json_array_end(json);
    json_object_end(json);
}

enum assay_status report_write_slices(struct json_writer *json,
                                      const struct report_rows *rows,
                                      struct error *err)
{
    struct report_slices slices = {.run = rows->run};
    enum assay_status st = slices_build(&slices, err);

    if (!st)
        st = slices_share_room(&slices, err);
    if (!st) {
        report_column(json, "stretches");
        for (size_t i = 0; i < slices.n_stretches; i++)
            slices_write_stretch(json, &slices, &slices.stretches[i],
                                 rows->row_of);
        json_array_end(json);
    }
    slices_release(&slices);
    return st;
}
