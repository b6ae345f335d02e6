/* run/content.c - see content.h. */
#include "run/content.h"

#include "base/doubles.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *many, *one;
} content_term_texts[] = {
#define TEXTS(name, many, one) {many, one},
    RUN_CONTENT_TERMS(TEXTS)
#undef TEXTS
};

const char *content_term_text(enum content_term term)
{
    return content_term_texts[term].many;
}

const char *content_term_one(enum content_term term)
{
    return content_term_texts[term].one;
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

static enum assay_status content_spread_of(const struct run *run,
                                           const char *name,
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
    doubles_sort(values, n);
    out->n = n;
    out->least = values[0];
    out->most = values[n - 1];
    out->p5 = stats_quantile(values, n, 0.05);
    mem_free(values);
    return ASSAY_OK;
}

/* ---- iterations, photograph by photograph ------------------------------ */

/* A kept iteration with its photograph. */
struct shot {
    uint32_t label;
    double ns;
    double terms[N_CONTENT_TERMS];
};

struct shots {
    struct shot *items;
    size_t n;
};

static double content_value_of(const struct run *run, const char *name,
                               uint32_t iteration)
{
    const struct series *series = run_series_find(run, name);
    double value;

    return series && series_value(series, iteration, &value) ? value : NAN;
}

static int shots_compare(const void *left, const void *right)
{
    const struct shot *a = left, *b = right;

    if (a->label != b->label)
        return a->label < b->label ? -1 : 1;
    return (a->ns > b->ns) - (a->ns < b->ns);
}

static enum assay_status shots_gather(const struct run *run,
                                      struct shots *shots, struct error *err)
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
                [CONTENT_PROPOSALS] =
                    content_value_of(run, "content.proposals", at),
                [CONTENT_DETECTIONS] =
                    content_value_of(run, "content.detections", at),
                [CONTENT_PIXELS] = content_value_of(run, "content.width", at) *
                                   content_value_of(run, "content.height", at) /
                                   1e6,
            }};
    }
    if (shots->n)
        qsort(shots->items, shots->n, sizeof *shots->items, shots_compare);
    return ASSAY_OK;
}

/* A photograph from its n iterations, fastest first. */
static struct content_photo shots_to_photo(const struct shot *shots, size_t n)
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

static enum assay_status
content_group(struct content *out, const struct shots *shots, struct error *err)
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
        out->photos[out->n_photos++] = shots_to_photo(&shots->items[i], n);
    }
    return ASSAY_OK;
}

/* ---- the fit --------------------------------------------------------------
 *
 * Gram-Schmidt: the mean and the terms before it are taken out of each term, so
 * that a term which adds nothing has no remainder. */

enum { photos_each = 3 }; /* per number to find */

/* A remainder this small, relative to the term, is only rounding. */
static const double nothing_left = 1e-6;

/* The terms as combinations of those before: x[i] = q[i] + sum r[i][k] q[k]. */
struct content_basis {
    const struct content_photo *photos;
    size_t n;
    bool is_used[N_CONTENT_TERMS];
    double mean[N_CONTENT_TERMS];
    double r[N_CONTENT_TERMS][N_CONTENT_TERMS];
    double norm[N_CONTENT_TERMS]; /* squared, of the remainders */
};

static double basis_mean(const struct content_photo *photos, size_t n, int term)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += term < 0 ? photos[i].median_ns : photos[i].terms[term];
    return sum / (double)n;
}

/* The remainder of a term for one photograph. */
static double basis_left(const struct content_basis *basis, size_t photo,
                         int term)
{
    double left = basis->photos[photo].terms[term] - basis->mean[term];

    for (int k = 0; k < term; k++) {
        if (basis->is_used[k])
            left -= basis->r[term][k] * basis_left(basis, photo, k);
    }
    return left;
}

static void basis_add_term(struct content_basis *basis, int term)
{
    double size = 0, left = 0;

    basis->mean[term] = basis_mean(basis->photos, basis->n, term);
    if (isnan(basis->mean[term]))
        return;
    for (int k = 0; k < term; k++) {
        double product = 0;

        for (size_t i = 0; basis->is_used[k] && i < basis->n; i++)
            product += basis->photos[i].terms[term] * basis_left(basis, i, k);
        basis->r[term][k] = basis->is_used[k] ? product / basis->norm[k] : 0;
    }
    for (size_t i = 0; i < basis->n; i++) {
        double value = basis_left(basis, i, term);

        size += basis->photos[i].terms[term] * basis->photos[i].terms[term];
        left += value * value;
    }
    basis->norm[term] = left;
    basis->is_used[term] = left > nothing_left * nothing_left * size;
}

static size_t basis_count_used(const struct content_basis *basis)
{
    size_t n = 0;

    for (int term = 0; term < N_CONTENT_TERMS; term++)
        n += basis->is_used[term];
    return n;
}

/* From coefficients of the remainders to those of the terms: the last is its
 * own, and each takes away its part of the ones before. */
static void basis_solve(const struct content_basis *basis, const double *along,
                        struct content_fit *fit)
{
    for (int term = N_CONTENT_TERMS - 1; term >= 0; term--) {
        double value = along[term];

        fit->terms_ns[term] = NAN;
        if (!basis->is_used[term])
            continue;
        for (int k = term + 1; k < N_CONTENT_TERMS; k++) {
            if (basis->is_used[k])
                value -= basis->r[k][term] * fit->terms_ns[k];
        }
        fit->terms_ns[term] = value;
        fit->base_ns -= value * basis->mean[term];
    }
}

struct content_fit content_fit(const struct content_photo *photos, size_t n)
{
    struct content_fit fit = {.n = n, .r2 = NAN};
    struct content_basis basis = {.photos = photos, .n = n};
    double along[N_CONTENT_TERMS] = {0}, mean, spread = 0, explained = 0;

    if (n == 0)
        return (struct content_fit){0};
    for (int term = 0; term < N_CONTENT_TERMS; term++)
        basis_add_term(&basis, term);
    if (basis_count_used(&basis) == 0 ||
        n < photos_each * (1 + basis_count_used(&basis)))
        return (struct content_fit){0};
    mean = basis_mean(photos, n, -1);
    for (size_t i = 0; i < n; i++) {
        double time = photos[i].median_ns - mean;

        spread += time * time;
        for (int term = 0; term < N_CONTENT_TERMS; term++) {
            if (basis.is_used[term])
                along[term] += time * basis_left(&basis, i, term);
        }
    }
    for (int term = 0; term < N_CONTENT_TERMS; term++) {
        if (basis.is_used[term]) {
            explained += along[term] * along[term] / basis.norm[term];
            along[term] /= basis.norm[term];
        }
    }
    fit.base_ns = mean;
    basis_solve(&basis, along, &fit);
    fit.r2 = spread > 0 ? explained / spread : NAN;
    return fit;
}

/* ---- conclusions --------------------------------------------------------- */

/* Assumes that all photographs are equally likely and equally steady: each
 * photograph's median times every iteration's ratio to the median of its own
 * photograph. */
static enum assay_status content_project_p99(struct content *out,
                                             const struct shots *shots,
                                             struct error *err)
{
    enum { at_most = 256 };
    size_t step = (shots->n + at_most - 1) / at_most, n = 0, photo = 0;
    double *medians, *times;

    out->p99_ns = NAN;
    if (!stats_carries(shots->n, 0.99))
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
        doubles_sort(times, n);
        out->p99_ns = stats_quantile(times, n, 0.99);
    }
    mem_free(medians);
    mem_free(times);
    return n ? ASSAY_OK
             : error_nomem(err, shots->n * sizeof *medians, "a projection");
}

/* Names the term that takes the slowest photograph farthest above the mean, if
 * the terms together explain half of its distance. */
static void content_explain_slowest(struct content *out)
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

static void content_find_slowest(struct content *out)
{
    for (size_t i = 0; i < out->n_photos; i++) {
        if (out->photos[i].median_ns > out->photos[out->slowest].median_ns)
            out->slowest = i;
    }
    if (out->n_photos > 1)
        content_explain_slowest(out);
}

/* ---- parts of the model -------------------------------------------------- */

static uint32_t content_child_of(const struct run *run, uint32_t parent,
                                 const char *name)
{
    uint32_t id = run_scope(run, parent)->first_child;

    while (id != RUN_NONE && strcmp(run_scope(run, id)->name, name) != 0)
        id = run_scope(run, id)->next_sibling;
    return id;
}

static enum assay_status content_add_part(const struct run *run, uint32_t scope,
                                          struct content *out,
                                          struct error *err)
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

/* By torchvision's names. */
static enum assay_status content_find_parts(const struct run *run,
                                            struct content *out,
                                            struct error *err)
{
    static const char *const paths[][2] = {
        {"rpn", "filter_proposals"},   {"roi_heads", NULL},
        {"roi_heads", "box_roi_pool"}, {"roi_heads", "mask_roi_pool"},
        {"roi_heads", "mask_head"},    {"roi_heads", "mask_predictor"}};
    uint32_t model = run_model_scope(run);
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < sizeof paths / sizeof paths[0]; i++) {
        uint32_t scope = model == RUN_NONE
                             ? RUN_NONE
                             : content_child_of(run, model, paths[i][0]);

        if (scope != RUN_NONE && paths[i][1])
            scope = content_child_of(run, scope, paths[i][1]);
        st = content_add_part(run, scope, out, err);
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
    st = content_spread_of(run, "content.proposals", &out->proposals, err);
    if (!st)
        st =
            content_spread_of(run, "content.detections", &out->detections, err);
    if (st || !photo || !photo->n_labels)
        return st;
    st = shots_gather(run, &shots, err);
    if (!st && shots.n)
        st = content_group(out, &shots, err);
    if (!st && shots.n) {
        out->fit = content_fit(out->photos, out->n_photos);
        content_find_slowest(out);
        st = content_project_p99(out, &shots, err);
    }
    if (!st)
        st = content_find_parts(run, out, err);
    mem_free(shots.items);
    return st;
}
