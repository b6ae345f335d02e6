/* store/import_spans.c - spans in order of time are nested and counted. */
#include "store/import_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <inttypes.h>

/* A child that outlasts its parent by no more than this does so because times
 * were cut to whole microseconds. */
enum { rounding_ns = 1000 };

enum { SCOPE_CACHE_BITS = 14 };

struct open_span {
    int64_t start_ns;
    int64_t end_ns;      /* inside of the parent */
    int64_t duration_ns; /* as the trace has it: a rounding longer, maybe */
    int64_t children_ns;
    int64_t covered_ns; /* the time up to which children account for it */
    uint32_t scope;
    uint32_t step; /* which iteration it is; RUN_NONE: none */
};

struct scope_entry {
    uint32_t parent, label, scope;
};

struct nester {
    struct import *import;
    struct keeper keeper;
    struct open_span *open; /* RUN_MAX_DEPTH of them */
    size_t n_open;
    const struct lane *lane;
    uint32_t last_iteration;   /* of the lane */
    struct scope_entry *cache; /* of scopes lately found */
};

/* ---- sorting spans in ------------------------------------------------- */

void import_see(struct import *import, int64_t start_ns, int64_t end_ns)
{
    if (start_ns < import->first_ns)
        import->first_ns = start_ns;
    if (end_ns > import->last_ns)
        import->last_ns = end_ns;
}

static enum assay_status add_step(struct import *import, struct step step,
                                  struct error *err)
{
    struct step *moved;

    if (import->n_steps == IMPORT_MAX_STEPS)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "more than %d iterations (ProfilerStep)",
                         IMPORT_MAX_STEPS);
    moved = vec_reserve(import->steps, &import->steps_capacity,
                        import->n_steps + 1, sizeof *import->steps);
    if (!moved)
        return error_nomem(err, sizeof *moved, "the iterations of a trace");
    import->steps = moved;
    import->steps[import->n_steps++] = step;
    return ASSAY_OK;
}

enum assay_status import_add_span(struct import *import, uint32_t lane,
                                  uint32_t label, int64_t start_ns,
                                  int64_t duration_ns, uint64_t sequence,
                                  struct error *err)
{
    struct event event = {.group = lane,
                          .time_ns = start_ns,
                          .duration_ns = duration_ns,
                          .sequence = sequence,
                          .kind = EVENT_SPAN,
                          .lane = (uint16_t)lane,
                          .label = label};
    enum assay_status st = ASSAY_OK;

    import->n_spans++;
    import->tables.lanes[lane].n_spans++;
    import_see(import, start_ns, start_ns + duration_ns);
    import_see_start(import, start_ns);
    if (import->tables.labels[label].traits & LABEL_STEP) {
        struct step step = {.start_ns = start_ns,
                            .end_ns = start_ns + duration_ns,
                            .lane = lane};

        st = add_step(import, step, err);
    }
    return st ? st : event_sort_add(import->spans, &event, err);
}

/* ---- scopes ----------------------------------------------------------- */

enum assay_status import_scope(struct import *import, uint32_t parent,
                               uint32_t label, uint32_t *scope,
                               struct error *err)
{
    const struct label *found = &import->tables.labels[label];
    enum assay_status st = run_scope_add(import->run, parent, found->name,
                                         found->category, scope, err);

    if (!st && run_scope_count(import->run) > IMPORT_MAX_LABELS)
        st = error_set(err, ASSAY_UNSUPPORTED,
                       "more than %d different places in the call tree: a run "
                       "does not hold so many",
                       IMPORT_MAX_LABELS);
    return st;
}

static enum assay_status nester_scope(struct nester *nester, uint32_t parent,
                                      uint32_t label, uint32_t *scope,
                                      struct error *err)
{
    uint32_t mixed =
        (parent * UINT32_C(2654435761)) ^ (label * UINT32_C(2246822519));
    struct scope_entry *entry =
        &nester->cache[mixed >> (32 - SCOPE_CACHE_BITS)];
    enum assay_status st;

    if (entry->scope && entry->parent == parent && entry->label == label) {
        *scope = entry->scope;
        return ASSAY_OK;
    }
    st = import_scope(nester->import, parent, label, scope, err);
    if (!st)
        *entry = (struct scope_entry){parent, label, *scope};
    return st;
}

/* ---- counting --------------------------------------------------------- */

/* Spans that overlap may close a little out of order; their iterations must
 * not go back. */
static uint32_t nester_iteration(struct nester *nester, int64_t start_ns,
                                 int64_t end_ns)
{
    uint32_t found = import_iteration(nester->import, start_ns, end_ns);

    if (found == RUN_NONE)
        return RUN_NONE;
    if (nester->last_iteration == RUN_NONE || found > nester->last_iteration)
        nester->last_iteration = found;
    return nester->last_iteration;
}

/* Counts the sample as it is; where it is kept, it ends with its parent. */
static enum assay_status count_sample(struct nester *nester,
                                      struct sample *sample, int64_t end_ns,
                                      struct error *err)
{
    struct import *import = nester->import;
    enum assay_status st = run_count(import->run, sample, err);

    if (!st && run_cell_count(import->run) > IMPORT_MAX_CELLS)
        st = error_set(err, ASSAY_UNSUPPORTED,
                       "more than %d pairs of a thread and a place in the call "
                       "tree: a run does not hold so many",
                       IMPORT_MAX_CELLS);
    if (st || !keeper_wants(&nester->keeper, sample))
        return st;
    sample->duration_ns = end_ns - import->first_ns - sample->start_ns;
    return run_keep(import->run, sample, err);
}

static struct sample nester_sample(const struct nester *nester, uint32_t scope,
                                   int64_t start_ns, int64_t duration_ns,
                                   int64_t self_ns)
{
    return (struct sample){.scope = scope,
                           .thread = nester->lane->thread,
                           .start_ns = start_ns - nester->import->first_ns,
                           .duration_ns = duration_ns,
                           .self_ns = self_ns,
                           .bytes = RUN_UNKNOWN,
                           .peak_bytes = RUN_UNKNOWN};
}

/* Closes the innermost span. */
static enum assay_status nester_pop(struct nester *nester, struct error *err)
{
    const struct open_span *span = &nester->open[--nester->n_open];
    struct sample sample =
        nester_sample(nester, span->scope, span->start_ns, span->duration_ns,
                      span->duration_ns - span->children_ns);

    sample.iteration =
        span->step != RUN_NONE
            ? span->step
            : nester_iteration(nester, span->start_ns, span->end_ns);
    return count_sample(nester, &sample, span->end_ns, err);
}

static enum assay_status nester_pop_all(struct nester *nester,
                                        struct error *err)
{
    enum assay_status st = ASSAY_OK;

    while (!st && nester->n_open > 0)
        st = nester_pop(nester, err);
    return st;
}

/* Closes what cannot hold the new span; one that outlasts its parent by
 * rounding only ends with it. */
static enum assay_status nester_make_room(struct nester *nester,
                                          int64_t start_ns, int64_t *end_ns,
                                          struct error *err)
{
    enum assay_status st;

    while (nester->n_open > 0) {
        const struct open_span *parent = &nester->open[nester->n_open - 1];

        if (parent->end_ns > start_ns) {
            if (*end_ns <= parent->end_ns)
                break;
            if (*end_ns - parent->end_ns <= rounding_ns) {
                *end_ns = parent->end_ns;
                break;
            }
            nester->import->n_overlaps++;
        }
        st = nester_pop(nester, err);
        if (st)
            return st;
    }
    return ASSAY_OK;
}

static enum assay_status refuse_depth(const struct nester *nester,
                                      const struct event *event,
                                      struct error *err)
{
    struct str name = {0};
    enum assay_status st =
        import_lane_name(nester->import, nester->lane, &name);

    if (!st)
        st = error_set(err, ASSAY_UNSUPPORTED,
                       "spans nest deeper than %d levels at %" PRId64
                       " us on '%s', in '%.60s'",
                       RUN_MAX_DEPTH, event->time_ns / 1000, str_text(&name),
                       nester->import->tables.labels[event->label].name);
    str_release(&name);
    return st;
}

/* Children that overlap each other do not count twice against the parent. */
static void span_cover(struct open_span *parent, const struct open_span *child)
{
    int64_t from_ns = child->start_ns > parent->covered_ns ? child->start_ns
                                                           : parent->covered_ns;

    if (child->end_ns <= from_ns)
        return;
    parent->children_ns += child->end_ns - from_ns;
    parent->covered_ns = child->end_ns;
}

static enum assay_status take_span(struct nester *nester,
                                   const struct event *event, struct error *err)
{
    struct import *import = nester->import;
    struct open_span span = {.start_ns = event->time_ns,
                             .end_ns = event->time_ns + event->duration_ns,
                             .duration_ns = event->duration_ns,
                             .covered_ns = event->time_ns,
                             .scope = RUN_ROOT,
                             .step = RUN_NONE};
    uint32_t parent = nester->lane->scope;
    enum assay_status st =
        nester_make_room(nester, span.start_ns, &span.end_ns, err);

    if (st)
        return st;
    if (nester->n_open == RUN_MAX_DEPTH - 1)
        return refuse_depth(nester, event, err);
    if (nester->n_open > 0) {
        parent = nester->open[nester->n_open - 1].scope;
        span_cover(&nester->open[nester->n_open - 1], &span);
    }
    if (import->tables.labels[event->label].traits & LABEL_STEP)
        span.step = import_step_index(import, event->lane, event->time_ns,
                                      event->duration_ns);
    if (span.step == RUN_NONE)
        st = nester_scope(nester, parent, event->label, &span.scope, err);
    if (!st)
        nester->open[nester->n_open++] = span;
    return st;
}

static enum assay_status
take_async(struct nester *nester, const struct event *event, struct error *err)
{
    int64_t start_ns = event->time_ns - event->duration_ns;
    struct sample sample = nester_sample(nester, event->label, start_ns,
                                         event->duration_ns, event->self_ns);

    sample.iteration = nester_iteration(nester, start_ns, event->time_ns);
    return count_sample(nester, &sample, event->time_ns, err);
}

static enum assay_status
take_event(struct nester *nester, const struct event *event, struct error *err)
{
    struct import *import = nester->import;
    const struct lane *lane = &import->tables.lanes[event->lane];
    enum assay_status st;

    if (event->kind == EVENT_COUNTER)
        return run_counter_count(import->run, event->label,
                                 event->time_ns - import->first_ns,
                                 event->value, err);
    if (lane != nester->lane) {
        st = nester_pop_all(nester, err);
        if (st)
            return st;
        nester->lane = lane;
        nester->last_iteration = RUN_NONE;
    }
    return event->kind == EVENT_ASYNC ? take_async(nester, event, err)
                                      : take_span(nester, event, err);
}

static enum assay_status nest_all(struct nester *nester, struct error *err)
{
    struct event_sort *spans = nester->import->spans;
    const struct event *event;
    enum assay_status st;

    for (;;) {
        st = event_sort_next(spans, &event, err);
        if (st)
            return st;
        if (!event)
            return nester_pop_all(nester, err);
        st = take_event(nester, event, err);
        if (st)
            return st;
    }
}

enum assay_status import_count_spans(struct import *import, struct error *err)
{
    struct nester nester = {.import = import};
    enum assay_status st = keeper_init(&nester.keeper, import, err);

    if (st)
        return st;
    nester.open = mem_array(RUN_MAX_DEPTH, sizeof *nester.open);
    nester.cache = mem_array(1 << SCOPE_CACHE_BITS, sizeof *nester.cache);
    if (!nester.open || !nester.cache)
        st = error_nomem(err, RUN_MAX_DEPTH * sizeof *nester.open,
                         "nesting spans");
    if (!st)
        st = event_sort_finish(import->spans, err);
    if (!st)
        st = nest_all(&nester, err);
    mem_free(nester.open);
    mem_free(nester.cache);
    return st;
}
