/* views/report_slices.c - the timeline in the HTML report: the samples that are
 * kept in full, one stretch per iteration. */
#include "views/report_data_internal.h"

#include "base/mem.h"
#include "base/str.h"

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

/* ---- as bytes ---------------------------------------------------------- */

/* A stretch being written. Times are counted in units from its start, so that
 * rounding keeps slices inside the ones around them. */
struct slice_bytes {
    int64_t unit_ns;
    struct str slices;
    struct str launches;
    bool is_full; /* no memory */
};

/* Seven bits per byte, the lowest first; the last byte is below 128. */
static void slice_bytes_put(struct slice_bytes *to, struct str *bytes,
                            uint64_t value)
{
    do {
        uint64_t rest = value >> 7;

        to->is_full |=
            str_append_char(bytes, (char)(unsigned char)((value & 127) |
                                                         (rest ? 128 : 0))) !=
            ASSAY_OK;
        value = rest;
    } while (value);
}

/* Small whichever sign it has. */
static uint64_t slice_bytes_fold(int64_t value)
{
    uint64_t twice = (uint64_t)value << 1;

    return value < 0 ? ~twice : twice;
}

/* A page of many slices rounds their times to a four-millionth of the stretch:
 * far below a pixel, and they take half the room. */
static int64_t slice_stretch_unit(const struct report_slices *slices,
                                  const struct slice_stretch *stretch)
{
    int64_t end = stretch->start_ns;

    if (slices->n <= REPORT_EXACT_SLICES)
        return 1;
    for (size_t i = 0; i < stretch->n; i++) {
        const struct sample *sample = slice(slices, stretch->first + i);

        if (sample->start_ns + sample->duration_ns > end)
            end = sample->start_ns + sample->duration_ns;
    }
    return (end - stretch->start_ns) / (1 << 22) + 1;
}

/* Writes "threads": thread and number of slices, in turn; and fills *to. */
static void slices_write_threads(struct json_writer *json,
                                 const struct report_slices *slices,
                                 struct slice_stretch *stretch,
                                 const uint32_t *row_of, struct slice_bytes *to)
{
    int64_t before = 0, scope = 0;
    uint32_t thread = RUN_NONE;
    size_t n = 0, index = 0, launched = 0;

    report_column(json, "threads");
    for (size_t i = 0; i < stretch->n; i++) {
        const struct sample *sample = slice(slices, stretch->first + i);
        int64_t from = sample->start_ns - stretch->start_ns;
        int64_t start = from / to->unit_ns;
        int64_t end = (from + sample->duration_ns) / to->unit_ns;

        if (!report_slices_is_shown(stretch, sample))
            continue;
        if (sample->thread != thread) {
            if (n)
                json_write_uint(json, n);
            json_write_uint(json, sample->thread);
            thread = sample->thread;
            n = 0;
            before = 0;
        }
        slice_bytes_put(to, &to->slices,
                        slice_bytes_fold(row_of[sample->scope] - scope));
        slice_bytes_put(to, &to->slices, slice_bytes_fold(start - before));
        slice_bytes_put(to, &to->slices, (uint64_t)(end - start));
        if (sample->queued_ns > 0) {
            slice_bytes_put(to, &to->launches, index - launched);
            slice_bytes_put(to, &to->launches,
                            (uint64_t)(sample->queued_ns / to->unit_ns));
            launched = index;
        }
        scope = row_of[sample->scope];
        before = start;
        index++;
        n++;
    }
    if (n)
        json_write_uint(json, n);
    json_array_end(json);
}

/* Three numbers per slice: the scope and the start, each as the difference from
 * the slice before on the same thread, and the duration. Two numbers per
 * launch: how many slices it is after the previous one, and how long before its
 * start it was launched. */
static enum assay_status slices_write_stretch(
    struct json_writer *json, const struct report_slices *slices,
    struct slice_stretch *stretch, const uint32_t *row_of, struct error *err)
{
    struct slice_bytes bytes = {.unit_ns = slice_stretch_unit(slices, stretch)};
    enum assay_status st = ASSAY_OK;

    json_object_begin(json);
    json_key(json, "iteration");
    report_row(json, stretch->iteration);
    json_member_double(json, "start_ms", (double)stretch->start_ns / 1e6);
    json_member_int(json, "left_out", (int64_t)stretch->n_left_out);
    json_member_int(json, "unit_ns", bytes.unit_ns);
    slices_write_threads(json, slices, stretch, row_of, &bytes);
    json_key(json, "slices");
    json_write_base64(json, str_text(&bytes.slices), bytes.slices.n);
    json_key(json, "launches");
    json_write_base64(json, str_text(&bytes.launches), bytes.launches.n);
    json_object_end(json);
    if (bytes.is_full)
        st = error_nomem(err, bytes.slices.n, "the timeline");
    str_release(&bytes.launches);
    str_release(&bytes.slices);
    return st;
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
        for (size_t i = 0; !st && i < slices.n_stretches; i++)
            st = slices_write_stretch(json, &slices, &slices.stretches[i],
                                      rows->row_of, err);
        json_array_end(json);
    }
    slices_release(&slices);
    return st;
}
