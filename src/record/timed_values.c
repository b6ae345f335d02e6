/* record/timed_values.c - values of counters and changes of memory, which
 * threads report independently and a run counts in order of time. */
#include "base/vec.h"
#include "record/record_internal.h"

#include <stdlib.h>
#include <string.h>

static void values_take_peak(struct recording *recording,
                             const struct record *record)
{
    struct run_memory *memory = run_memory(recording->run);
    uint32_t scope = RUN_NONE;

    if (record->peak_bytes <= memory->peak_bytes) /* unknown is least */
        return;
    if (record->bytes != NAME_NONE)
        scope = recording_id(recording, names_at((uint32_t)record->bytes));
    memory->peak_bytes = record->peak_bytes;
    memory->peak_scope = scope == RUN_NONE ? RUN_ROOT : scope;
    memory->peak_ns = ticks_map_ns(&recording->clock, record->end);
}

/* It waits for older ones of other threads. */
static void values_add(struct recording *recording, struct timed_value sample)
{
    struct values *values = &recording->values;

    if (vec_grow(&values->items, &values->capacity, values->n + 1,
                 sizeof *values->items))
        values->items[values->n++] = sample;
    else
        recording->ended.lost_spans++;
}

void values_add_counter(struct recording *recording,
                        const struct record *record, uint32_t counter)
{
    if (record->name == NAME_MEMORY)
        values_take_peak(recording, record);
    values_add(recording,
               (struct timed_value){.ticks = record->end,
                                    .value = record_double(record->start),
                                    .counter = counter});
}

void values_add_change(struct recording *recording, const struct record *record)
{
    values_add(recording, (struct timed_value){.ticks = record->end,
                                               .delta = record->bytes,
                                               .counter = record->name,
                                               .is_change = true});
}

static int values_compare(const void *left, const void *right)
{
    const struct timed_value *a = left, *b = right;

    return (a->ticks > b->ticks) - (a->ticks < b->ticks);
}

/* A sum beyond 64 bits is lost rather than a failure. */
static enum assay_status values_count_change(struct recording *recording,
                                             const struct timed_value *sample,
                                             struct error *err)
{
    const struct name *name = names_at(sample->counter);
    const struct space_row *row;
    struct error odd = {0};
    enum assay_status st = run_space_change(recording->run, name->text,
                                            name->detail, sample->delta, &odd);

    if (st == ASSAY_BAD_INPUT) {
        recording->ended.lost_spans++;
        return ASSAY_OK;
    }
    if (st)
        return error_set(err, st, "%s", odd.text);
    row = run_space_find(recording->run, name->text, name->detail);
    if (row)
        st = live_add_held(
            &recording->live,
            (struct held_point){
                .time_ns = ticks_map_ns(&recording->clock, sample->ticks),
                .row = (uint32_t)(row - run_space(recording->run, 0)),
                .bytes = (double)row->live_bytes});
    return st ? error_nomem(err, sizeof(struct held_point),
                            "the live bytes of an iteration")
              : ASSAY_OK;
}

static enum assay_status values_count(struct recording *recording,
                                      const struct timed_value *sample,
                                      struct error *err)
{
    int64_t time_ns = ticks_map_ns(&recording->clock, sample->ticks);
    enum assay_status st = run_counter_count(recording->run, sample->counter,
                                             time_ns, sample->value, err);

    if (!st && sample->counter == recording->ids[NAME_MEMORY] &&
        live_add(&recording->live, time_ns, sample->value))
        st = error_nomem(err, sizeof(struct counter_point),
                         "the live bytes of an iteration");
    return st;
}

enum assay_status values_settle(struct recording *recording,
                                uint64_t horizon_ticks, struct error *err)
{
    struct values *values = &recording->values;
    enum assay_status st = ASSAY_OK;
    size_t n = 0;

    if (values->n)
        qsort(values->items, values->n, sizeof *values->items, values_compare);
    while (n < values->n && values->items[n].ticks < horizon_ticks && !st) {
        const struct timed_value *value = &values->items[n++];

        st = value->is_change ? values_count_change(recording, value, err)
                              : values_count(recording, value, err);
    }
    values->n -= n;
    if (n)
        memmove(values->items, values->items + n,
                values->n * sizeof *values->items);
    return st;
}
