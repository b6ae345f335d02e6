/* run/series.c - what was observed of each iteration besides its duration. */
#include "run/run_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <math.h>
#include <string.h>

const struct series *run_series_find(const struct run *run, const char *name)
{
    for (size_t i = 0; i < run->n_series; i++) {
        if (strcmp(run->series[i].name, name) == 0)
            return &run->series[i];
    }
    return NULL;
}

enum assay_status run_series_add(struct run *run, const char *name,
                                 const char *unit, uint32_t *id,
                                 struct error *err)
{
    const struct series *known = run_series_find(run, name);
    const char *kept_name, *kept_unit;

    if (known) {
        *id = (uint32_t)(known - run->series);
        return ASSAY_OK;
    }
    kept_name = arena_strdup(&run->text, name);
    kept_unit = arena_strdup(&run->text, unit ? unit : "");
    if (!kept_name || !kept_unit ||
        !vec_grow(&run->series, &run->series_capacity, run->n_series + 1,
                  sizeof *run->series))
        return error_nomem(err, strlen(name), "the name of a series");
    *id = (uint32_t)run->n_series;
    run->series[run->n_series++] =
        (struct series){.name = kept_name, .unit = kept_unit, .stride = 1};
    return ASSAY_OK;
}

enum assay_status run_series_label(struct run *run, uint32_t id,
                                   const char *label, struct error *err)
{
    struct series *series = &run->series[id];
    const char *kept;

    if (series->n_points && !series->n_labels)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s already has values without labels", series->name);
    kept = arena_strdup(&run->text, label);
    if (!kept || !vec_grow(&series->labels, &series->labels_capacity,
                           series->n_labels + 1, sizeof *series->labels))
        return error_nomem(err, strlen(label), "a label of a series");
    series->labels[series->n_labels++] = kept;
    return ASSAY_OK;
}

static enum assay_status series_check_point(const struct series *series,
                                            uint32_t iteration, double value,
                                            struct error *err)
{
    size_t n = series->n_points;

    if (iteration == RUN_NONE)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s has a value outside all iterations", series->name);
    if (n && series->points[n - 1].iteration >= iteration)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s goes back from iteration %u to %u", series->name,
                         series->points[n - 1].iteration, iteration);
    if (!isfinite(value))
        return error_set(err, ASSAY_BAD_INPUT, "%s cannot be %g", series->name,
                         value);
    if (series->n_labels && (value < 0 || value >= (double)series->n_labels ||
                             value != floor(value)))
        return error_set(err, ASSAY_BAD_INPUT, "%s has no label %g",
                         series->name, value);
    return ASSAY_OK;
}

/* Keeps the same iterations as every other list of them. */
static void series_thin(struct series *series)
{
    size_t kept = 0;

    series->stride *= 2;
    for (size_t i = 0; i < series->n_points; i++) {
        if (run_is_kept(series->points[i].iteration, series->stride))
            series->points[kept++] = series->points[i];
    }
    series->n_points = kept;
}

enum assay_status run_series_put(struct run *run, uint32_t id,
                                 uint32_t iteration, double value,
                                 struct error *err)
{
    struct series *series = &run->series[id];
    enum assay_status st = series_check_point(series, iteration, value, err);

    if (st)
        return st;
    while (series->n_points >= RUN_MAX_POINTS)
        series_thin(series);
    if (!run_is_kept(iteration, series->stride))
        return ASSAY_OK;
    if (!vec_grow(&series->points, &series->points_capacity,
                  series->n_points + 1, sizeof *series->points))
        return error_nomem(err, sizeof *series->points,
                           "the points of a series");
    series->points[series->n_points++] =
        (struct series_point){.iteration = iteration, .value = value};
    return ASSAY_OK;
}

enum assay_status run_series_restore(struct run *run, uint32_t id,
                                     uint32_t stride, struct error *err)
{
    struct series *series = &run->series[id];

    if (stride == 0 || (stride & (stride - 1)) || series->n_points)
        return error_set(err, ASSAY_BAD_INPUT, "%s cannot have a stride of %u",
                         series->name, stride);
    series->stride = stride;
    return ASSAY_OK;
}

size_t run_series_count(const struct run *run)
{
    return run->n_series;
}

const struct series *run_series(const struct run *run, uint32_t id)
{
    return &run->series[id];
}

bool series_value(const struct series *series, uint32_t iteration,
                  double *value)
{
    size_t low = 0, high = series->n_points;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (series->points[middle].iteration < iteration)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == series->n_points || series->points[low].iteration != iteration)
        return false;
    *value = series->points[low].value;
    return true;
}

const char *series_label(const struct series *series,
                         const struct series_point *point)
{
    return series->n_labels ? series->labels[(size_t)point->value] : NULL;
}

/* ---- the steps of a training -------------------------------------------- */

bool series_is_by_step(const struct series *series)
{
    static const char group[] = "train.";

    return strncmp(series->name, group, sizeof group - 1) == 0;
}

uint64_t run_step_of(const struct run *run, uint32_t iteration)
{
    double first = run_fact_number(run, "training.first_step");

    /* Larger numbers are not exact in a double. */
    if (!(first >= 1 && first < 0x1p53))
        return 0;
    return (uint64_t)first + run_health_of(run)->warm_up + iteration;
}

static void series_number_steps(struct series *series,
                                const struct series *steps)
{
    size_t kept = 0;

    for (size_t i = 0; i < series->n_points; i++) {
        struct series_point point = series->points[i];
        double step;

        if (!series_value(steps, point.iteration, &step) || !(step >= 1) ||
            !(step - 1 < RUN_NONE))
            continue;
        point.iteration = (uint32_t)(step - 1);
        if (!kept || series->points[kept - 1].iteration < point.iteration)
            series->points[kept++] = point;
    }
    series->n_points = kept;
    series->stride = 1;
}

void run_series_number_steps(struct run *run)
{
    const struct series *steps = run_series_find(run, "train.step");
    size_t at = steps ? (size_t)(steps - run->series) : run->n_series;

    if (!steps)
        return;
    for (size_t i = 0; i < run->n_series; i++) {
        if (i != at && series_is_by_step(&run->series[i]))
            series_number_steps(&run->series[i], steps);
    }
    series_release(&run->series[at]);
    memmove(&run->series[at], &run->series[at + 1],
            (run->n_series - at - 1) * sizeof *run->series);
    run->n_series--;
}

/* ---- parts of runs, and merged runs ------------------------------------- */

enum assay_status run_series_copy(struct run *to, const struct series *from,
                                  uint64_t first, uint64_t last,
                                  struct error *err)
{
    enum assay_status st;
    uint32_t id;

    st = run_series_add(to, from->name, from->unit, &id, err);
    if (!st)
        st = run_series_restore(to, id, from->stride, err);
    for (size_t i = 0; !st && i < from->n_labels; i++)
        st = run_series_label(to, id, from->labels[i], err);
    for (size_t i = 0; !st && i < from->n_points; i++) {
        const struct series_point *point = &from->points[i];

        if (point->iteration >= first && point->iteration <= last)
            st = run_series_put(to, id, point->iteration, point->value, err);
    }
    return st;
}

void series_close_gaps(struct run *run, const struct numbering *numbering)
{
    for (size_t i = 0; i < run->n_series; i++) {
        struct series *series = &run->series[i];
        size_t kept = 0;

        if (series_is_by_step(series))
            continue;
        for (size_t k = 0; k < series->n_points; k++) {
            struct series_point point = series->points[k];

            point.iteration = numbering_find(numbering, 0, point.iteration);
            if (point.iteration != RUN_NONE)
                series->points[kept++] = point;
        }
        series->n_points = kept;
        series->stride = 1;
    }
}

/* The number of a label, which is added if it is new. */
static enum assay_status series_find_label(struct run *run, uint32_t id,
                                           const char *label, double *found,
                                           struct error *err)
{
    const struct series *series = &run->series[id];
    size_t i = 0;

    while (i < series->n_labels && strcmp(series->labels[i], label) != 0)
        i++;
    *found = (double)i;
    return i < series->n_labels ? ASSAY_OK
                                : run_series_label(run, id, label, err);
}

/* Steps that already exist stay as they are. */
static enum assay_status series_merge_steps(struct run *into, uint32_t id,
                                            const struct series *from,
                                            struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < from->n_points; i++) {
        const struct series_point *point = &from->points[i];
        const struct series *known = &into->series[id];

        if (!known->n_points ||
            known->points[known->n_points - 1].iteration < point->iteration)
            st = run_series_put(into, id, point->iteration, point->value, err);
    }
    return st;
}

static enum assay_status series_merge_one(struct run *into,
                                          const struct series *from,
                                          const struct translation *translation,
                                          struct error *err)
{
    enum assay_status st;
    uint32_t id;

    st = run_series_add(into, from->name, from->unit, &id, err);
    if (!st && series_is_by_step(from))
        return series_merge_steps(into, id, from, err);
    for (size_t i = 0; !st && i < from->n_points; i++) {
        const struct series_point *point = &from->points[i];
        const char *label = series_label(from, point);
        double value = point->value;
        uint32_t iteration = numbering_find(
            &translation->numbering, translation->first, point->iteration);

        if (iteration == RUN_NONE)
            continue;
        if (label)
            st = series_find_label(into, id, label, &value, err);
        if (!st)
            st = run_series_put(into, id, iteration, value, err);
    }
    return st;
}

enum assay_status series_merge(struct run *into, const struct run *from,
                               const struct translation *translation,
                               struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < from->n_series; i++)
        st = series_merge_one(into, &from->series[i], translation, err);
    return st;
}

void series_release(struct series *series)
{
    mem_free(series->labels);
    mem_free(series->points);
}
