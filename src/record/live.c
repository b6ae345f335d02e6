/* record/live.c - the live bytes of the last iteration. */
#include "record/record_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <math.h>
#include <string.h>

enum { most_points = 1 << 16 }; /* of an iteration; keeps the later ones */

void live_release(struct live *live)
{
    mem_free(live->points);
    *live = (struct live){0};
}

static void live_forget_first(struct live *live, size_t n)
{
    if (n == 0)
        return;
    live->n -= n;
    memmove(live->points, live->points + n, live->n * sizeof *live->points);
}

enum assay_status live_add(struct live *live, int64_t time_ns, double bytes)
{
    if (live->n == most_points)
        live_forget_first(live, most_points / 2);
    if (!vec_grow(&live->points, &live->capacity, live->n + 1,
                  sizeof *live->points))
        return ASSAY_NOMEM;
    live->points[live->n++] =
        (struct counter_point){.time_ns = time_ns, .value = bytes};
    return ASSAY_OK;
}

/* The last change before the iteration: what was live when it began. */
static size_t live_first_point(const struct live *live)
{
    size_t i = 0;

    while (i + 1 < live->n && live->points[i + 1].time_ns < live->start_ns)
        i++;
    return i;
}

void live_iteration(struct live *live, int64_t start_ns, int64_t end_ns)
{
    live->has_iteration = true;
    live->start_ns = start_ns;
    live->end_ns = end_ns;
    live_forget_first(live, live_first_point(live));
}

static void live_count(struct counter *counter, struct counter_point point)
{
    counter->points[counter->n_points++] = point;
    counter->n++;
    counter->min = fmin(counter->min, point.value);
    counter->max = fmax(counter->max, point.value);
    counter->mean += (point.value - counter->mean) / (double)counter->n;
    counter->last = point.value;
}

enum assay_status live_finish(const struct live *live, struct run *run,
                              struct error *err)
{
    struct counter counter = {.name = RUN_LIVE_BYTES,
                              .unit = "bytes",
                              .min = INFINITY,
                              .max = -INFINITY,
                              .stride = 1};

    if (!live->has_iteration || live->n == 0)
        return ASSAY_OK;
    counter.points = mem_array(live->n, sizeof *counter.points);
    if (!counter.points)
        return error_nomem(err, live->n * sizeof *counter.points,
                           "the live bytes of an iteration");
    counter.points_capacity = live->n;
    for (size_t i = live_first_point(live); i < live->n; i++) {
        struct counter_point point = live->points[i];

        if (point.time_ns > live->end_ns)
            break;
        if (point.time_ns < live->start_ns)
            point.time_ns = live->start_ns;
        live_count(&counter, point);
    }
    if (counter.n_points)
        return run_counter_restore(run, &counter, err);
    mem_free(counter.points);
    return ASSAY_OK;
}
