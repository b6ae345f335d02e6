/* record/drain.c - turns records into a run.
 *
 * The records of a thread come in order of their end: children before their
 * parent. So a span's self time is its duration minus what has ended one level
 * below it since the last span of its own level. Groups are not a level: what
 * is inside one counts for the span around it. */
#include "record/record_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

enum {
    batch_samples = 4096,  /* appended to the file at once */
    release_records = 1024 /* returned to the thread at once */
};

enum assay_status recording_init(struct recording *recording, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    if (!recording->keep_all)
        st = detail_new(&recording->detail, err);
    if (st || (!recording->keep_all && !recording->keep_first))
        return st;
    recording->batch = mem_array(batch_samples, sizeof *recording->batch);
    return recording->batch
               ? ASSAY_OK
               : error_nomem(err, batch_samples * sizeof *recording->batch,
                             "samples for the file");
}

void recording_release(struct recording *recording)
{
    run_free(recording->run);
    store_abandon(recording->store);
    ticks_map_release(&recording->clock);
    detail_free(recording->detail);
    mem_free(recording->ids);
    mem_free(recording->values.items);
    live_release(&recording->live);
    given_release(&recording->given);
    works_release(&recording->works);
    mem_free(recording->batch);
    *recording = (struct recording){0};
}

void recording_fail(struct recording *recording, enum assay_status status,
                    const struct error *err)
{
    if (recording->status || !status)
        return;
    recording->status = status;
    recording->error = *err;
}

/* Makes room for the id of a name. */
static bool recording_reserve_id(struct recording *recording, uint32_t number)
{
    if (number < recording->n_ids)
        return true;
    if (!vec_grow(&recording->ids, &recording->ids_capacity, (size_t)number + 1,
                  sizeof *recording->ids))
        return false;
    while (recording->n_ids <= number)
        recording->ids[recording->n_ids++] = RUN_NONE;
    return true;
}

static enum thread_kind drain_lane_kind(const struct name *lane)
{
    return strcmp(lane->detail, thread_kind_text(THREAD_DEVICE)) == 0
               ? THREAD_DEVICE
               : THREAD_CPU;
}

static enum assay_status recording_add_name(struct recording *recording,
                                            const struct name *name,
                                            struct error *err)
{
    uint32_t *id = &recording->ids[name->number];

    switch (name->kind) {
    case NAME_SCOPE:
        return run_scope_add(recording->run, recording->ids[name_parent(name)],
                             name->text, name->detail, id, err);
    case NAME_PHASE:
        return run_phase_add(recording->run, name->text, id, err);
    case NAME_COUNTER:
        return run_counter_add(recording->run, name->text,
                               name->detail ? name->detail : "", id, err);
    case NAME_LANE:
        return run_thread_add(recording->run, name->text, drain_lane_kind(name),
                              id, err);
    case NAME_THREAD: /* has no records */
    case NAME_TEXT:   /* has no id */
    case NAME_SPACE:  /* the run has its texts */
        break;
    }
    return ASSAY_OK;
}

/* Adds a name to the run, after its parents. False on failure. */
static bool recording_know(struct recording *recording, const struct name *name)
{
    const struct name *missing[MAX_OPEN_SPANS + 1];
    struct error err = {0};
    size_t n = 0;

    if (!recording_reserve_id(recording, name->number) ||
        !recording_reserve_id(recording, NAMES_GIVEN))
        return false;
    recording->ids[NAME_ROOT] = RUN_ROOT;
    while (recording->ids[name->number] == RUN_NONE) {
        if (n > MAX_OPEN_SPANS)
            return false;
        missing[n++] = name;
        if (name->kind != NAME_SCOPE)
            break;
        name = names_at(name_parent(name));
        if (!recording_reserve_id(recording, name->number))
            return false;
    }
    while (n--) {
        enum assay_status st = recording_add_name(recording, missing[n], &err);

        if (st) {
            recording_fail(recording, st, &err);
            return false;
        }
    }
    return true;
}

uint32_t recording_id(struct recording *recording, const struct name *name)
{
    if (name->number < recording->n_ids &&
        recording->ids[name->number] != RUN_NONE)
        return recording->ids[name->number];
    return recording_know(recording, name) ? recording->ids[name->number]
                                           : RUN_NONE;
}

static void recording_flush(struct recording *recording)
{
    struct error err = {0};
    enum assay_status st;

    if (recording->n_batch == 0)
        return;
    st = store_append(recording->store, recording->batch, recording->n_batch,
                      &err);
    recording_fail(recording, st, &err);
    recording->n_batch = 0;
}

/* Whether it goes to the file unconditionally. */
static bool recording_keeps(const struct recording *recording,
                            const struct sample *sample)
{
    return recording->keep_all || sample->iteration < recording->keep_first;
}

/* Whether it is kept if it turns out to be of interest. */
static bool recording_may_keep(const struct recording *recording,
                               const struct sample *sample)
{
    return !recording->keep_first || sample->iteration == RUN_NONE;
}

static void recording_keep(struct recording *recording,
                           const struct sample *sample)
{
    recording->batch[recording->n_batch++] = *sample;
    if (recording->n_batch == batch_samples)
        recording_flush(recording);
}

/* err is {0}; clearing it twice per sample would cost too much. */
static inline void recording_show(struct recording *recording,
                                  const struct sample *sample,
                                  struct error *err)
{
    if (recording_keeps(recording, sample))
        recording_keep(recording, sample);
    else if (recording_may_keep(recording, sample))
        recording_fail(recording, detail_add(recording->detail, sample, err),
                       err);
}

void recording_show_helper(struct recording *recording,
                           const struct sample *sample)
{
    struct error err = {0};

    recording_show(recording, sample, &err);
}

static void recording_count(struct recording *recording,
                            const struct sample *sample)
{
    struct error err = {0};
    enum assay_status st = run_count(recording->run, sample, &err);

    if (st) {
        recording->ended.lost_spans++;
        recording_fail(recording, st, &err);
        return;
    }
    recording_show(recording, sample, &err);
}

/* Its times come from the caller: if they make no sense, the recording has not
 * failed. */
void recording_take_given(struct recording *recording,
                          const struct sample *sample)
{
    struct error err = {0};
    enum assay_status st = run_count(recording->run, sample, &err);

    if (!st) {
        recording_show(recording, sample, &err);
        return;
    }
    recording->ended.lost_spans++;
    if (st != ASSAY_BAD_INPUT)
        recording_fail(recording, st, &err);
}

static uint32_t drain_phase(const struct drain_state *state)
{
    return state->n_phases ? state->phases[state->n_phases - 1] : 0;
}

/* A sample from a record, without self time. */
static struct sample drain_sample(struct recording *recording,
                                  const struct thread_buffer *buffer,
                                  const struct record *record, uint32_t scope)
{
    int64_t start_ns = ticks_map_ns(&recording->clock, record->start);
    int64_t end_ns = ticks_map_ns(&recording->clock, record->end);

    return (struct sample){.scope = scope,
                           .phase = drain_phase(&buffer->drain),
                           .thread = buffer->thread,
                           .iteration = record->iteration,
                           .start_ns = start_ns,
                           .duration_ns =
                               end_ns > start_ns ? end_ns - start_ns : 0,
                           .bytes = record->bytes,
                           .peak_bytes = record->peak_bytes};
}

static int64_t drain_without(int64_t duration_ns, int64_t child_ns)
{
    return duration_ns > child_ns ? duration_ns - child_ns : 0;
}

static void drain_span(struct recording *recording,
                       struct thread_buffer *buffer,
                       const struct record *record, uint32_t id)
{
    struct drain_state *state = &buffer->drain;
    uint32_t depth = record_depth(record);
    struct sample sample = drain_sample(recording, buffer, record, id);

    sample.self_ns =
        drain_without(sample.duration_ns, state->child_ns[depth + 1]);
    state->child_ns[depth + 1] = 0;
    state->child_ns[depth] += sample.duration_ns;
    if (state->in_iteration && depth == state->iteration_open + 1)
        state->iteration_child_ns += sample.duration_ns;
    if (record->iteration == ITERATION_WARM_UP)
        return;
    /* Outside iterations nobody asks who helped, and there is little room. */
    if (buffer->is_helper && sample.iteration != RUN_NONE)
        recording_show_helper(recording, &sample);
    if (!buffer->is_helper)
        recording_count(recording, &sample);
}

static void drain_iteration(struct recording *recording,
                            struct thread_buffer *buffer,
                            const struct record *record)
{
    struct drain_state *state = &buffer->drain;
    struct sample sample = drain_sample(recording, buffer, record, RUN_ROOT);

    sample.self_ns =
        drain_without(sample.duration_ns, state->iteration_child_ns);
    state->in_iteration = false;
    given_iteration(recording, sample.start_ns,
                    sample.start_ns + sample.duration_ns, record->iteration);
    if (record->iteration == ITERATION_WARM_UP)
        recording->ended.warm_up++;
    else {
        recording_count(recording, &sample);
        live_iteration(&recording->live, sample.start_ns,
                       sample.start_ns + sample.duration_ns);
    }
}

static void drain_mark(struct drain_state *state, const struct record *record)
{
    state->in_iteration = true;
    state->iteration_open = (uint32_t)record->bytes;
    state->iteration_child_ns = 0;
}

static void drain_phase_end(struct recording *recording,
                            struct drain_state *state)
{
    if (state->n_phases_ignored)
        state->n_phases_ignored--;
    else if (state->n_phases)
        state->n_phases--;
    else
        recording->ended.unbalanced_ends++;
}

static void drain_phase_begin(struct recording *recording,
                              struct drain_state *state, uint32_t phase)
{
    if (state->n_phases < MAX_OPEN_PHASES) {
        state->phases[state->n_phases++] = phase;
    } else {
        state->n_phases_ignored++;
        recording->ended.too_deep++;
    }
}

static void drain_record(struct recording *recording,
                         struct thread_buffer *buffer,
                         const struct record *record)
{
    const struct name *name;
    uint32_t id;

    if (record->name == NAME_ROOT) {
        drain_iteration(recording, buffer, record);
        return;
    }
    if (record->name == NAME_MARK) {
        drain_mark(&buffer->drain, record);
        given_mark(recording, record);
        return;
    }
    if (record->name == NAME_PHASES) {
        drain_phase_end(recording, &buffer->drain);
        return;
    }
    name = names_at(record_name(record));
    if (name->kind == NAME_TEXT) {
        works_add(recording, record, name);
        return;
    }
    if (name->kind == NAME_SPACE) {
        values_add_change(recording, record);
        return;
    }
    id = recording_id(recording, name);
    if (id == RUN_NONE) {
        recording->ended.lost_spans++;
        return;
    }
    switch (name->kind) {
    case NAME_SCOPE:
        drain_span(recording, buffer, record, id);
        return;
    case NAME_PHASE:
        drain_phase_begin(recording, &buffer->drain, id);
        return;
    case NAME_COUNTER:
        values_add_counter(recording, record, id);
        return;
    case NAME_LANE:
        given_add(recording, record, id);
        return;
    case NAME_THREAD:
    case NAME_TEXT:
    case NAME_SPACE:
        return;
    }
}

void recording_drain(struct recording *recording, struct thread_buffer *buffer)
{
    uint64_t head = atomic_load_explicit(&buffer->head, memory_order_acquire);
    uint64_t tail = atomic_load_explicit(&buffer->tail, memory_order_relaxed);
    struct error err = {0};

    recording_fail(recording, threads_seat(recording->run, buffer, &err), &err);
    while (tail < head) {
        drain_record(recording, buffer, &buffer->ring[tail % RING_RECORDS]);
        if (++tail % release_records == 0)
            atomic_store_explicit(&buffer->tail, tail, memory_order_release);
    }
    atomic_store_explicit(&buffer->tail, tail, memory_order_release);
    recording_flush(recording);
}

static void recording_settle_given(struct recording *recording,
                                   uint64_t horizon_ticks)
{
    if (recording->given.n == 0)
        return;
    given_settle(recording,
                 horizon_ticks == UINT64_MAX
                     ? INT64_MAX
                     : ticks_map_ns(&recording->clock, horizon_ticks));
    recording_flush(recording);
}

void recording_settle(struct recording *recording, uint64_t horizon_ticks)
{
    struct error err = {0};
    enum assay_status st = values_settle(recording, horizon_ticks, &err);

    recording_settle_given(recording, horizon_ticks);
    if (!st && recording->detail)
        st = detail_settle(recording->detail, &err);
    recording_fail(recording, st, &err);
}

void health_add(struct run_health *health, const struct thread_buffer *buffer)
{
    health->lost_spans += atomic_load(&buffer->n_lost);
    health->unbalanced_ends += atomic_load(&buffer->n_unbalanced);
    health->too_deep += atomic_load(&buffer->n_too_deep);
    health->open_at_end += atomic_load(&buffer->n_open);
}
