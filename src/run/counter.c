/* run/counter.c - values over time: memory, queue lengths. */
#include "run/run_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <string.h>

enum { max_counter_points = 4096 };

static enum assay_status counter_append(struct run *run, const char *name,
                                        const char *unit, uint32_t *id,
                                        struct error *err)
{
    const char *kept_name = arena_strdup(&run->text, name);
    const char *kept_unit = arena_strdup(&run->text, unit);

    if (!kept_name || !kept_unit ||
        !vec_grow(&run->counters, &run->counters_capacity, run->n_counters + 1,
                  sizeof *run->counters))
        return error_nomem(err, strlen(name), "the name of a counter");
    *id = (uint32_t)run->n_counters;
    run->counters[run->n_counters++] =
        (struct counter){.name = kept_name, .unit = kept_unit, .stride = 1};
    return ASSAY_OK;
}

enum assay_status run_counter_add(struct run *run, const char *name,
                                  const char *unit, uint32_t *id,
                                  struct error *err)
{
    for (size_t i = 0; i < run->n_counters; i++) {
        if (strcmp(run->counters[i].name, name) == 0) {
            *id = (uint32_t)i;
            return ASSAY_OK;
        }
    }
    return counter_append(run, name, unit ? unit : "", id, err);
}

static void counter_halve(struct counter *counter)
{
    size_t kept = 0;

    for (size_t i = 0; i < counter->n_points; i += 2)
        counter->points[kept++] = counter->points[i];
    counter->n_points = kept;
    counter->stride *= 2;
}

enum assay_status run_counter_count(struct run *run, uint32_t id,
                                    int64_t time_ns, double value,
                                    struct error *err)
{
    struct counter *counter = &run->counters[id];

    if (counter->n % counter->stride == 0) {
        if (counter->n_points == max_counter_points)
            counter_halve(counter);
        if (!vec_grow(&counter->points, &counter->points_capacity,
                      counter->n_points + 1, sizeof *counter->points))
            return error_nomem(err, sizeof *counter->points,
                               "the points of a counter");
        if (counter->n % counter->stride == 0)
            counter->points[counter->n_points++] =
                (struct counter_point){.time_ns = time_ns, .value = value};
    }
    if (counter->n == 0 || value < counter->min)
        counter->min = value;
    if (counter->n == 0 || value > counter->max)
        counter->max = value;
    counter->n++;
    counter->mean += (value - counter->mean) / (double)counter->n;
    counter->last = value;
    return ASSAY_OK;
}

enum assay_status run_counter_restore(struct run *run, struct counter *counter,
                                      struct error *err)
{
    enum assay_status st;
    uint32_t id = 0;

    st = counter_append(run, counter->name, counter->unit, &id, err);
    if (st) {
        mem_free(counter->points);
        return st;
    }
    counter->name = run->counters[id].name;
    counter->unit = run->counters[id].unit;
    if (counter->stride == 0)
        counter->stride = 1;
    run->counters[id] = *counter;
    return ASSAY_OK;
}

static enum assay_status counter_merge(struct run *into,
                                       const struct counter *from,
                                       int64_t shift_ns, struct error *err)
{
    enum assay_status st;
    uint32_t id;

    st = run_counter_add(into, from->name, from->unit, &id, err);
    for (size_t i = 0; !st && i < from->n_points; i++)
        st = run_counter_count(into, id, from->points[i].time_ns + shift_ns,
                               from->points[i].value, err);
    return st;
}

static void counter_empty(struct run *run, const char *name)
{
    for (size_t i = 0; i < run->n_counters; i++) {
        struct counter *counter = &run->counters[i];

        if (strcmp(counter->name, name) == 0)
            *counter =
                (struct counter){.name = counter->name,
                                 .unit = counter->unit,
                                 .points = counter->points,
                                 .points_capacity = counter->points_capacity,
                                 .stride = 1};
    }
}

bool run_is_live_bytes(const char *counter)
{
    size_t n = strlen(RUN_LIVE_BYTES);

    return strncmp(counter, RUN_LIVE_BYTES, n) == 0 &&
           (counter[n] == '\0' || counter[n] == '.');
}

/* Appends points to the existing ones; but live bytes are those of a single
 * iteration, the one with the higher peak. */
enum assay_status counters_merge(struct run *into, const struct run *from,
                                 int64_t shift_ns, struct error *err)
{
    bool is_higher = from->memory.peak_bytes > into->memory.peak_bytes;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; is_higher && i < into->n_counters; i++) {
        if (run_is_live_bytes(into->counters[i].name))
            counter_empty(into, into->counters[i].name);
    }
    for (size_t i = 0; !st && i < from->n_counters; i++) {
        if (is_higher || !run_is_live_bytes(from->counters[i].name))
            st = counter_merge(into, &from->counters[i], shift_ns, err);
    }
    return st;
}

size_t run_counters(const struct run *run)
{
    return run->n_counters;
}

const struct counter *run_counter(const struct run *run, uint32_t id)
{
    return &run->counters[id];
}
