/* record/live.c - the live bytes of the last iteration. */
#include "record/record_internal.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

#include <math.h>
#include <string.h>

enum { most_points = 1 << 16 }; /* of an iteration; keeps the later ones */

void live_release(struct live *live)
{
    mem_free(live->points);
    mem_free(live->held);
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

/* Whether another point of the same row follows before the time. */
static bool live_is_replaced(const struct live *live, size_t i, int64_t time_ns)
{
    for (size_t k = i + 1; k < live->n_held && live->held[k].time_ns <= time_ns;
         k++) {
        if (live->held[k].row == live->held[i].row)
            return true;
    }
    return false;
}

/* Keeps the last point of each row before the time, and all after it. */
static void live_forget_held(struct live *live, int64_t time_ns)
{
    size_t n = 0, i = 0;

    for (; i < live->n_held && live->held[i].time_ns < time_ns; i++) {
        if (!live_is_replaced(live, i, time_ns))
            live->held[n++] = live->held[i];
    }
    if (n < i)
        memmove(live->held + n, live->held + i,
                (live->n_held - i) * sizeof *live->held);
    live->n_held -= i - n;
}

enum assay_status live_add_held(struct live *live, struct held_point point)
{
    if (live->n_held >= most_points)
        live_forget_held(live, live->held[most_points / 2].time_ns);
    if (!vec_grow(&live->held, &live->held_capacity, live->n_held + 1,
                  sizeof *live->held))
        return ASSAY_NOMEM;
    live->held[live->n_held++] = point;
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
    live_forget_held(live, start_ns);
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

/* A counter with room for n points. */
static enum assay_status live_counter(struct counter *counter, const char *name,
                                      size_t n, struct error *err)
{
    *counter = (struct counter){.name = name,
                                .unit = "bytes",
                                .min = INFINITY,
                                .max = -INFINITY,
                                .stride = 1};
    counter->points = mem_array(n, sizeof *counter->points);
    if (!counter->points)
        return error_nomem(err, n * sizeof *counter->points,
                           "the live bytes of an iteration");
    counter->points_capacity = n;
    return ASSAY_OK;
}

static enum assay_status live_keep(struct run *run, struct counter *counter,
                                   struct error *err)
{
    if (counter->n_points)
        return run_counter_restore(run, counter, err);
    mem_free(counter->points);
    return ASSAY_OK;
}

/* The bytes of one row of the run's spaces. */
static enum assay_status live_finish_row(const struct live *live,
                                         struct run *run, uint32_t row,
                                         struct error *err)
{
    const struct space_row *space = run_space(run, row);
    struct counter counter;
    struct str name = {0};
    enum assay_status st;

    if (!*space->category)
        return ASSAY_OK;
    if (str_printf(&name, RUN_LIVE_BYTES ".%s.%s", space->space,
                   space->category))
        st = error_nomem(err, strlen(space->space), "the name of a counter");
    else
        st = live_counter(&counter, name.text, live->n_held, err);
    for (size_t i = 0; !st && i < live->n_held; i++) {
        struct held_point point = live->held[i];

        if (point.row != row || point.time_ns > live->end_ns ||
            (point.time_ns < live->start_ns &&
             live_is_replaced(live, i, live->start_ns)))
            continue;
        if (point.time_ns < live->start_ns)
            point.time_ns = live->start_ns;
        live_count(&counter,
                   (struct counter_point){point.time_ns, point.bytes});
    }
    if (!st)
        st = live_keep(run, &counter, err);
    str_release(&name);
    return st;
}

static enum assay_status live_finish_all(const struct live *live,
                                         struct run *run, struct error *err)
{
    struct counter counter;
    enum assay_status st = live_counter(&counter, RUN_LIVE_BYTES, live->n, err);

    if (st)
        return st;
    for (size_t i = live_first_point(live); i < live->n; i++) {
        struct counter_point point = live->points[i];

        if (point.time_ns > live->end_ns)
            break;
        if (point.time_ns < live->start_ns)
            point.time_ns = live->start_ns;
        live_count(&counter, point);
    }
    return live_keep(run, &counter, err);
}

enum assay_status live_finish(const struct live *live, struct run *run,
                              struct error *err)
{
    enum assay_status st = ASSAY_OK;

    if (!live->has_iteration)
        return ASSAY_OK;
    if (live->n)
        st = live_finish_all(live, run, err);
    for (uint32_t i = 0; !st && live->n_held && i < run_space_count(run); i++)
        st = live_finish_row(live, run, i, err);
    return st;
}
