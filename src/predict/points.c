/* predict/points.c - see points.h. */
#include "predict/points.h"

#include "base/mem.h"
#include "base/vec.h"

#include <math.h>
#include <string.h>

void points_release(struct data_points *points)
{
    mem_free(points->items);
    points->items = NULL;
    points->n = points->capacity = 0;
}

struct data_points points_like(const struct data_points *points)
{
    return (struct data_points){.stage = points->stage,
                                .target = points->target,
                                .lane = points->lane,
                                .multiprocessors = points->multiprocessors,
                                .is_fused = points->is_fused};
}

enum assay_status points_add(struct data_points *points,
                             const struct data_point *point, struct error *err)
{
    struct data_point *moved = vec_reserve(points->items, &points->capacity,
                                           points->n + 1, sizeof *moved);

    if (!moved)
        return error_nomem(err, sizeof *moved, "a row");
    points->items = moved;
    moved[points->n++] = *point;
    if (point->network >= points->n_networks)
        points->n_networks = point->network + 1;
    return ASSAY_OK;
}

/* The number of a network, or a new one. Searches backwards, because the rows
 * of a network are mostly adjacent. */
static size_t points_number_of(const struct data_points *points,
                               const char *network)
{
    for (size_t i = points->n; i-- > 0;) {
        const struct data_point *point = &points->items[i];

        if (strcmp(point->description->network, network) == 0)
            return point->network;
    }
    return points->n_networks;
}

/* Whatever disturbs a test adds time, to small batches on a GPU often a half:
 * the host, which launches them, is disturbed more than the GPU. A larger batch
 * of the same network that took less time shows it. */
static void points_settle(struct data_points *points)
{
    for (size_t i = 0; i < points->n; i++) {
        struct data_point *point = &points->items[i];

        for (size_t k = 0; k < points->n; k++) {
            const struct data_point *other = &points->items[k];

            if (other->description == point->description && !other->is_bound &&
                other->batch >= point->batch)
                point->value = fmin(point->value, other->measured);
        }
    }
}

enum assay_status points_take(struct data_points *points,
                              const struct data_set *set,
                              bool (*takes)(const struct measurement *row,
                                            const struct description *network,
                                            const void *context),
                              const void *context, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < set->n_rows; i++) {
        const struct measurement *row = &set->rows[i];
        const struct description *description =
            &set->descriptions[row->description];
        double value = row->value[points->target];
        bool is_bound = row->is_failed && points->target == TARGET_MEMORY;
        struct data_point point = {.description = description,
                                   .batch = row->batch,
                                   .value = value,
                                   .measured = value,
                                   .is_bound = is_bound};

        if (row->stage != points->stage || (isnan(value) && !is_bound) ||
            (takes && !takes(row, description, context)))
            continue;
        point.network = points_number_of(points, description->network);
        st = points_add(points, &point, err);
    }
    if (!st && points->target == TARGET_LATENCY && points->multiprocessors > 0)
        points_settle(points);
    return st;
}

size_t points_n_values(const struct data_points *points)
{
    size_t n = 0;

    for (size_t i = 0; i < points->n; i++)
        n += !points->items[i].is_bound;
    return n;
}

double points_least(const struct data_points *points)
{
    double least = NAN;

    for (size_t i = 0; i < points->n; i++) {
        if (!points->items[i].is_bound)
            least = fmin(least, points->items[i].value);
    }
    return least;
}

double points_most(const struct data_points *points)
{
    double most = NAN;

    for (size_t i = 0; i < points->n; i++) {
        if (!points->items[i].is_bound)
            most = fmax(most, points->items[i].value);
    }
    return most;
}

bool points_have_bounds(const struct data_points *points)
{
    return points_n_values(points) < points->n;
}
