/* run/content.c - see content.h. */
#include "run/content.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *many, *one;
} term_texts[] = {
#define TEXTS(name, many, one) {many, one},
    RUN_CONTENT_TERMS(TEXTS)
#undef TEXTS
};

const char *content_term_text(enum content_term term)
{
    return term_texts[term].many;
}

const char *content_term_one(enum content_term term)
{
    return term_texts[term].one;
}

void content_release(struct content *content)
{
    mem_free(content->photos);
    *content = (struct content){0};
}

const char *content_name(const struct run *run,
                         const struct content_photo *photo)
{
    return run_series_find(run, "input.photo")->labels[photo->label];
}

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static enum assay_status spread_of(const struct run *run, const char *name,
                                   struct content_spread *out,
                                   struct error *err)
{
    const struct series *series = run_series_find(run, name);
    size_t n = series ? series->n_points : 0;
    double *values;

    if (n == 0)
        return ASSAY_OK;
    values = mem_array(n, sizeof *values);
    if (!values)
        return error_nomem(err, n * sizeof *values, "the values of a series");
    for (size_t i = 0; i < n; i++) {
        values[i] = series->points[i].value;
        out->mean += values[i];
    }
    out->mean /= (double)n;
    qsort(values, n, sizeof *values, compare_doubles);
    out->n = n;
    out->least = values[0];
    out->most = values[n - 1];
    out->p5 = stats_quantile(values, n, 0.05);
    mem_free(values);
    return ASSAY_OK;
}

/* ---- iterations, photograph by photograph ------------------------------ */

/* An iteration that is remembered with its photograph. */
struct shot {
    uint32_t label;
    double ns;
    double terms[N_CONTENT_TERMS];
};

struct shots {
    struct shot *items;
    size_t n;
};

static double value_of(const struct run *run, const char *name,
                       uint32_t iteration)
{
    const struct series *series = run_series_find(run, name);
    double value;

    return series && series_value(series, iteration, &value) ? value : NAN;
}

static int by_label_and_time(const void *left, const void *right)
{
    const struct shot *a = left, *b = right;

    if (a->label != b->label)
        return a->label < b->label ? -1 : 1;
    return (a->ns > b->ns) - (a->ns < b->ns);
}

static enum assay_status gather(const struct run *run, struct shots *shots,
                                struct error *err)
{
    const struct series *photo = run_series_find(run, "input.photo");
    size_t n = run_iterations_kept(run);

    shots->items = mem_array(n, sizeof *shots->items);
    if (!shots->items)
        return error_nomem(err, n * sizeof *shots->items,
                           "the iterations of photographs");
    for (size_t i = 0; i < n; i++) {
        const struct iteration *iteration = run_iteration(run, i);
        uint32_t at = iteration->index;
        double label;

        if (!series_value(photo, at, &label))
            continue;
        shots->items[shots->n++] = (struct shot){
            .label = (uint32_t)label,
            .ns = (double)iteration->duration_ns,
            .terms = {
                [CONTENT_PROPOSALS] = value_of(run, "content.proposals", at),
                [CONTENT_DETECTIONS] = value_of(run, "content.detections", at),
                [CONTENT_PIXELS] = value_of(run, "content.width", at) *
                                   value_of(run, "content.height", at) / 1e6,
            }};
    }
    if (shots->n)
        qsort(shots->items, shots->n, sizeof *shots->items, by_label_and_time);
    return ASSAY_OK;
}

/* The photograph of n iterations, which are in order of time. */
static struct content_photo to_photo(const struct shot *shots, size_t n)
{
    struct content_photo photo = {
        .label = shots[0].label,
        .runs = n,
        .median_ns = (shots[(n - 1) / 2].ns + shots[n / 2].ns) / 2,
        .min_ns = shots[0].ns};

    for (size_t i = 0; i < n; i++) {
        for (int term = 0; term < N_CONTENT_TERMS; term++)
            photo.terms[term] += shots[i].terms[term] / (double)n;
    }
    return photo;
}

static enum assay_status group(struct content *out, const struct shots *shots,
                               struct error *err)
{
    out->photos = mem_array(shots->n, sizeof *out->photos);
    if (!out->photos)
        return error_nomem(err, shots->n * sizeof *out->photos,
                           "the photographs of a run");
    for (size_t i = 0, n; i < shots->n; i += n) {
        n = 1;
        while (i + n < shots->n &&
               shots->items[i + n].label == shots->items[i].label)
            n++;
        out->photos[out->n_photos++] = to_photo(&shots->items[i], n);
    }
    return ASSAY_OK;
}

/* ---- what follows from them --------------------------------------------- */

/* Every photograph is as likely as any other, and no less steady than the rest:
 * medians times what iterations were relative to the median of their own. */
static enum assay_status
project_p99(struct content *out, const struct shots *shots, struct error *err)
{
    enum { at_most = 256, too_few = 10 };
    size_t step = (shots->n + at_most - 1) / at_most, n = 0, photo = 0;
    double *medians, *times;

    out->p99_ns = NAN;
    if (shots->n < too_few)
        return ASSAY_OK;
    medians = mem_array(shots->n, sizeof *medians);
    times = mem_array(at_most * (size_t)at_most, sizeof *times);
    for (size_t i = 0; medians && i < shots->n; i++) {
        while (out->photos[photo].label != shots->items[i].label)
            photo++;
        medians[i] = out->photos[photo].median_ns;
    }
    for (size_t i = 0; medians && times && i < shots->n; i += step) {
        for (size_t k = 0; k < shots->n; k += step)
            times[n++] = medians[k] > 0
                             ? medians[i] / medians[k] * shots->items[k].ns
                             : 0;
    }
    if (n) {
        qsort(times, n, sizeof *times, compare_doubles);
        out->p99_ns = stats_quantile(times, n, 0.99);
    }
    mem_free(medians);
    mem_free(times);
    return n ? ASSAY_OK
             : error_nomem(err, shots->n * sizeof *medians, "a projection");
}

/* The term that takes the slowest photograph farthest above the mean; nothing
 * where the terms together do not explain half of its distance. */
static void explain_slowest(struct content *out)
{
    const struct content_photo *photo = &out->photos[out->slowest];
    double mean[N_CONTENT_TERMS] = {0}, mean_ns = 0, explained = 0, most = 0;
    int found = -1;

    for (size_t i = 0; i < out->n_photos; i++) {
        mean_ns += out->photos[i].median_ns / (double)out->n_photos;
        for (int term = 0; term < N_CONTENT_TERMS; term++)
            mean[term] += out->photos[i].terms[term] / (double)out->n_photos;
    }
    for (int term = 0; term < N_CONTENT_TERMS; term++) {
        double share =
            out->fit.terms_ns[term] * (photo->terms[term] - mean[term]);

        if (out->fit.n == 0 || isnan(share))
            continue;
        explained += share;
        if (share > most) {
            most = share;
            found = term;
        }
    }
    if (found < 0 || explained < 0.5 * (photo->median_ns - mean_ns))
        return;
    snprintf(out->reason, sizeof out->reason, "%.3g %s, where the mean is %.3g",
             photo->terms[found], content_term_text((enum content_term)found),
             mean[found]);
}

static void find_slowest(struct content *out)
{
    for (size_t i = 0; i < out->n_photos; i++) {
        if (out->photos[i].median_ns > out->photos[out->slowest].median_ns)
            out->slowest = i;
    }
    if (out->n_photos > 1)
        explain_slowest(out);
}

/* ---- parts of the model -------------------------------------------------- */

static uint32_t child_of(const struct run *run, uint32_t parent,
                         const char *name)
{
    uint32_t id = run_scope(run, parent)->first_child;

    while (id != RUN_NONE && strcmp(run_scope(run, id)->name, name) != 0)
        id = run_scope(run, id)->next_sibling;
    return id;
}

static enum assay_status add_part(const struct run *run, uint32_t scope,
                                  struct content *out, struct error *err)
{
    struct scope_stats stats;
    enum assay_status st;

    if (scope == RUN_NONE || out->n_parts == CONTENT_MAX_PARTS)
        return ASSAY_OK;
    st = run_scope_stats(run, scope, RUN_ANY, &stats, err);
    if (!st && stats.n > 0)
        out->parts[out->n_parts++] =
            (struct content_part){.scope = scope,
                                  .median_ns = stats.median_ns,
                                  .min_ns = stats.min_ns,
                                  .max_ns = stats.max_ns};
    return st;
}

/* As torchvision calls them. */
static enum assay_status find_parts(const struct run *run, struct content *out,
                                    struct error *err)
{
    static const char *const paths[][2] = {
        {"rpn", "filter_proposals"},   {"roi_heads", NULL},
        {"roi_heads", "box_roi_pool"}, {"roi_heads", "mask_roi_pool"},
        {"roi_heads", "mask_head"},    {"roi_heads", "mask_predictor"}};
    uint32_t model = run_model_scope(run);
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < sizeof paths / sizeof paths[0]; i++) {
        uint32_t scope =
            model == RUN_NONE ? RUN_NONE : child_of(run, model, paths[i][0]);

        if (scope != RUN_NONE && paths[i][1])
            scope = child_of(run, scope, paths[i][1]);
        st = add_part(run, scope, out, err);
    }
    return st;
}

enum assay_status run_content(const struct run *run, struct content *out,
                              struct error *err)
{
    const struct series *photo = run_series_find(run, "input.photo");
    struct shots shots = {0};
    enum assay_status st;

    *out = (struct content){.p99_ns = NAN};
    st = spread_of(run, "content.proposals", &out->proposals, err);
    if (!st)
        st = spread_of(run, "content.detections", &out->detections, err);
    if (st || !photo || !photo->n_labels)
        return st;
    st = gather(run, &shots, err);
    if (!st && shots.n)
        st = group(out, &shots, err);
    if (!st && shots.n) {
        out->fit = content_fit(out->photos, out->n_photos);
        find_slowest(out);
        st = project_p99(out, &shots, err);
    }
    if (!st)
        st = find_parts(run, out, err);
    mem_free(shots.items);
    return st;
}
