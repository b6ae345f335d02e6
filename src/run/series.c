/* run/series.c - what was observed of each iteration beside its duration. */
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
    struct series *moved;

    if (known) {
        *id = (uint32_t)(known - run->series);
        return ASSAY_OK;
    }
    kept_name = arena_strdup(&run->text, name);
    kept_unit = arena_strdup(&run->text, unit ? unit : "");
    moved = vec_reserve(run->series, &run->series_capacity, run->n_series + 1,
                        sizeof *run->series);
    if (moved)
        run->series = moved;
    if (!kept_name || !kept_unit || !moved)
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
    const char *kept = arena_strdup(&run->text, label);
    const char **moved =
        vec_reserve(series->labels, &series->labels_capacity,
                    series->n_labels + 1, sizeof *series->labels);

    if (moved)
        series->labels = moved;
    if (!kept || !moved)
        return error_nomem(err, strlen(label), "a label of a series");
    series->labels[series->n_labels++] = kept;
    return ASSAY_OK;
}

static enum assay_status check_point(const struct series *series,
                                     uint32_t iteration, double value,
                                     struct error *err)
{
    size_t n = series->n_points;

    if (iteration == RUN_NONE)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s has a value outside of all iterations",
                         series->name);
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

/* The same iterations stay as in every other list of them. */
static void thin(struct series *series)
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
    enum assay_status st = check_point(series, iteration, value, err);
    struct series_point *moved;

    if (st)
        return st;
    while (series->n_points >= RUN_MAX_POINTS)
        thin(series);
    if (!run_is_kept(iteration, series->stride))
        return ASSAY_OK;
    moved = vec_reserve(series->points, &series->points_capacity,
                        series->n_points + 1, sizeof *series->points);
    if (!moved)
        return error_nomem(err, sizeof *moved, "the points of a series");
    series->points = moved;
    series->points[series->n_points++] =
        (struct series_point){.iteration = iteration, .value = value};
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

const char *series_label(const struct series *series,
                         const struct series_point *point)
{
    return series->n_labels ? series->labels[(size_t)point->value] : NULL;
}

void series_release(struct series *series)
{
    mem_free(series->labels);
    mem_free(series->points);
}
