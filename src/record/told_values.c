/* record/told_values.c - values of counters and changes of memory, which
 * threads tell by themselves and a run counts in the order of their times. */
#include "base/vec.h"
#include "record/record_internal.h"

#include <stdlib.h>
#include <string.h>

static void take_peak(struct recording *recording, const struct record *record)
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

/* It waits for those of other threads that are older. */
static void add_value(struct recording *recording, struct value sample)
{
    struct value *moved =
        vec_reserve(recording->values.items, &recording->values.capacity,
                    recording->values.n + 1, sizeof *moved);

    if (!moved) {
        recording->ended.lost_spans++;
        return;
    }
    recording->values.items = moved;
    recording->values.items[recording->values.n++] = sample;
}

void values_add_counter(struct recording *recording,
                        const struct record *record, uint32_t counter)
{
    struct value sample = {.ticks = record->end, .counter = counter};

    memcpy(&sample.value, &record->start, sizeof sample.value);
    if (record->name == NAME_MEMORY)
        take_peak(recording, record);
    add_value(recording, sample);
}

void values_add_change(struct recording *recording, const struct record *record)
{
    add_value(recording, (struct value){.ticks = record->end,
                                        .delta = record->bytes,
                                        .counter = record->name,
                                        .is_change = true});
}

static int compare_times(const void *left, const void *right)
{
    const struct value *a = left, *b = right;

    return (a->ticks > b->ticks) - (a->ticks < b->ticks);
}

/* What makes no sense, a sum beyond 64 bits, is lost and no failure. */
static enum assay_status count_change(struct recording *recording,
                                      const struct value *sample,
                                      struct error *err)
{
    const struct name *name = names_at(sample->counter);
    struct error odd = {0};
    enum assay_status st = run_space_change(recording->run, name->text,
                                            name->detail, sample->delta, &odd);

    if (st == ASSAY_BAD_INPUT) {
        recording->ended.lost_spans++;
        return ASSAY_OK;
    }
    return st ? error_set(err, st, "%s", odd.text) : ASSAY_OK;
}

static enum assay_status count_value(struct recording *recording,
                                     const struct value *sample,
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
        qsort(values->items, values->n, sizeof *values->items, compare_times);
    while (n < values->n && values->items[n].ticks < horizon_ticks && !st) {
        const struct value *value = &values->items[n++];

        st = value->is_change ? count_change(recording, value, err)
                              : count_value(recording, value, err);
    }
    values->n -= n;
    if (n)
        memmove(values->items, values->items + n,
                values->n * sizeof *values->items);
    return st;
}
