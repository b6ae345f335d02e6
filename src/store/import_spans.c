/* store/import_spans.c - nests and counts spans in order of time. */
#include "store/import_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <inttypes.h>

/* A child that outlasts its parent by at most this does so because times were
 * cut to whole microseconds. */
enum { rounding_ns = 1000 };

enum { SCOPE_CACHE_BITS = 14 };

struct open_span {
    int64_t start_ns;
    int64_t end_ns;      /* cut to the parent's */
    int64_t duration_ns; /* in the trace; may be longer by rounding */
    int64_t children_ns;
    int64_t covered_ns; /* children are counted up to here */
    uint32_t scope;
    uint32_t step;     /* the iteration that it is; RUN_NONE: none */
    int64_t launch_ns; /* when the host launched it; NOT_LAUNCHED: unknown */
    bool is_call;      /* of a device's library */
};

#define NOT_LAUNCHED INT64_MIN

struct scope_entry {
    uint32_t parent, label, scope;
};

struct nester {
    struct import *import;
    struct keeper keeper;
    struct open_span *open; /* RUN_MAX_DEPTH of them */
    size_t n_open;
    struct lane *lane;
    struct scope_entry *cache; /* of recently used scopes */
    struct event arrow; /* the last EVENT_FLOW_END of the lane; kind 0: none */
    struct busy busy;
};

/* ---- adding spans to the sort ------------------------------------------ */

void import_see(struct import *import, int64_t start_ns, int64_t end_ns)
{
    if (start_ns < import->first_ns)
        import->first_ns = start_ns;
    if (end_ns > import->last_ns)
        import->last_ns = end_ns;
}

static enum assay_status spans_add_step(struct import *import, struct step step,
                                        struct error *err)
{
    if (import->n_steps == IMPORT_MAX_STEPS)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "more than %d iterations (ProfilerStep)",
                         IMPORT_MAX_STEPS);
    if (!vec_grow(&import->steps, &import->steps_capacity, import->n_steps + 1,
                  sizeof *import->steps))
        return error_nomem(err, sizeof step, "the iterations of a trace");
    import->steps[import->n_steps++] = step;
    return ASSAY_OK;
}

void import_note_span(struct import *import, const struct event *event)
{
    import->n_spans++;
    import->tables.lanes[event->lane].n_spans++;
    import_see(import, event->time_ns, event->time_ns + event->duration_ns);
    import_see_start(import, event->time_ns);
}

enum assay_status import_add_span(struct import *import, struct event *event,
                                  struct error *err)
{
    enum assay_status st = ASSAY_OK;

    event->group = event->lane;
    import_note_span(import, event);
    if (import->tables.labels[event->label].traits & LABEL_STEP) {
        struct step step = {.start_ns = event->time_ns,
                            .end_ns = event->time_ns + event->duration_ns,
                            .lane = event->lane};

        st = spans_add_step(import, step, err);
    }
    return st ? st : event_sort_add(import->spans, event, err);
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
                       "more than %d different places in the call tree, the "
                       "limit of a run",
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

/* Overlapping spans may close a little out of order, but their iterations must
 * not go back. */
static uint32_t nester_iteration(struct nester *nester, int64_t start_ns,
                                 int64_t end_ns)
{
    uint32_t found = import_iteration(nester->import, start_ns, end_ns);

    if (found == RUN_NONE)
        return RUN_NONE;
    if (nester->lane->last_iteration == RUN_NONE ||
        found > nester->lane->last_iteration)
        nester->lane->last_iteration = found;
    return nester->lane->last_iteration;
}

/* Counts the sample as it is; a kept one ends with its parent. */
static enum assay_status nester_count(struct nester *nester,
                                      struct sample *sample, int64_t end_ns,
                                      struct error *err)
{
    struct import *import = nester->import;
    enum assay_status st = run_count(import->run, sample, err);

    if (!st && run_cell_count(import->run) > IMPORT_MAX_CELLS)
        st = error_set(err, ASSAY_UNSUPPORTED,
                       "more than %d pairs of a thread and a place in the call "
                       "tree, the limit of a run",
                       IMPORT_MAX_CELLS);
    if (st || !keeper_takes(&nester->keeper, sample))
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

    if (span->step != RUN_NONE)
        sample.iteration = span->step;
    else if (span->launch_ns != NOT_LAUNCHED)
        sample.iteration =
            nester_iteration(nester, span->launch_ns, span->launch_ns);
    else
        sample.iteration =
            nester_iteration(nester, span->start_ns, span->end_ns);
    if (span->launch_ns != NOT_LAUNCHED && span->launch_ns < span->start_ns)
        sample.queued_ns = span->start_ns - span->launch_ns;
    return nester_count(nester, &sample, span->end_ns, err);
}

static enum assay_status nester_pop_all(struct nester *nester,
                                        struct error *err)
{
    enum assay_status st = ASSAY_OK;

    while (!st && nester->n_open > 0)
        st = nester_pop(nester, err);
    return st;
}

/* Closes spans that cannot contain the new one. If it outlasts its parent only
 * because of rounding, it ends with it. */
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

static enum assay_status nester_refuse_depth(const struct nester *nester,
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

/* The overlap of two children counts only once in the parent. */
static void span_cover(struct open_span *parent, const struct open_span *child)
{
    int64_t from_ns = child->start_ns > parent->covered_ns ? child->start_ns
                                                           : parent->covered_ns;

    if (child->end_ns <= from_ns)
        return;
    parent->children_ns += child->end_ns - from_ns;
    parent->covered_ns = child->end_ns;
}

/* The innermost operator, annotation or function: calls of a device's library
 * are not where work belongs. RUN_ROOT: none. */
static uint32_t nester_operator(const struct nester *nester)
{
    for (size_t i = nester->n_open; i-- > 0;) {
        if (!nester->open[i].is_call)
            return nester->open[i].scope;
    }
    return RUN_ROOT;
}

/* Where a span of a device belongs: what the host launched it in, or else what
 * an arrow says that leads to it. */
static void nester_find_launch(const struct nester *nester,
                               const struct event *event,
                               struct open_span *span)
{
    const struct event *arrow = &nester->arrow;

    if (event->kind == EVENT_LAUNCHED) {
        span->scope = event->label;
        span->launch_ns = event->launch_ns;
    } else if (arrow->kind == EVENT_FLOW_END &&
               arrow->time_ns == event->time_ns &&
               nester->lane->kind == THREAD_DEVICE) {
        span->launch_ns = arrow->launch_ns;
    }
}

/* The scope of a span that is neither an iteration nor known already. */
static enum assay_status
nester_name_span(struct nester *nester, const struct event *event,
                 uint32_t parent, struct open_span *span, struct error *err)
{
    struct import *import = nester->import;

    if (span->launch_ns != NOT_LAUNCHED && nester->arrow.label != RUN_ROOT) {
        parent = nester->arrow.label;
        import->n_linked +=
            (import->tables.labels[event->label].traits & LABEL_KERNEL) != 0;
    }
    return nester_scope(nester, parent, event->label, &span->scope, err);
}

static enum assay_status nester_take_span(struct nester *nester,
                                          const struct event *event,
                                          struct error *err)
{
    struct import *import = nester->import;
    struct open_span span = {.start_ns = event->time_ns,
                             .end_ns = event->time_ns + event->duration_ns,
                             .duration_ns = event->duration_ns,
                             .covered_ns = event->time_ns,
                             .scope = RUN_ROOT,
                             .step = RUN_NONE,
                             .launch_ns = NOT_LAUNCHED};
    uint32_t parent = nester->lane->scope;
    enum assay_status st =
        nester_make_room(nester, span.start_ns, &span.end_ns, err);

    if (st)
        return st;
    if (nester->n_open == RUN_MAX_DEPTH - 1)
        return nester_refuse_depth(nester, event, err);
    if (nester->n_open > 0) {
        parent = nester->open[nester->n_open - 1].scope;
        span_cover(&nester->open[nester->n_open - 1], &span);
    }
    nester_find_launch(nester, event, &span);
    if (event->kind != EVENT_LAUNCHED) {
        unsigned traits = import->tables.labels[event->label].traits;

        span.is_call = traits & LABEL_CALL;
        if (traits & LABEL_STEP)
            span.step = import_step_index(import, event->lane, event->time_ns,
                                          event->duration_ns);
        if (span.step == RUN_NONE)
            st = nester_name_span(nester, event, parent, &span, err);
    }
    if (!st && event->kind == EVENT_LAUNCH)
        st = import_add_launch(import, event->link, nester_operator(nester),
                               event->time_ns, err);
    if (!st)
        nester->open[nester->n_open++] = span;
    return st;
}

/* An arrow begins where the host is at this time. */
static enum assay_status nester_take_flow(struct nester *nester,
                                          const struct event *event,
                                          struct error *err)
{
    enum assay_status st = ASSAY_OK;

    while (!st && nester->n_open > 0 &&
           nester->open[nester->n_open - 1].end_ns < event->time_ns)
        st = nester_pop(nester, err);
    return st ? st
              : import_add_launch(nester->import, event->link,
                                  nester_operator(nester), event->time_ns, err);
}

static enum assay_status nester_take_async(struct nester *nester,
                                           const struct event *event,
                                           struct error *err)
{
    int64_t start_ns = event->time_ns - event->duration_ns;
    struct sample sample = nester_sample(nester, event->label, start_ns,
                                         event->duration_ns, event->self_ns);

    sample.iteration = nester_iteration(nester, start_ns, event->time_ns);
    return nester_count(nester, &sample, event->time_ns, err);
}

static enum assay_status nester_take_event(struct nester *nester,
                                           const struct event *event,
                                           struct error *err)
{
    struct import *import = nester->import;
    struct lane *lane = &import->tables.lanes[event->lane];
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
        nester->arrow = (struct event){0};
    }
    switch (event->kind) {
    case EVENT_ASYNC:
        return nester_take_async(nester, event, err);
    case EVENT_FLOW:
        return nester_take_flow(nester, event, err);
    case EVENT_FLOW_END:
        nester->arrow = *event;
        return ASSAY_OK;
    case EVENT_BUSY:
        return import_take_busy(import, &nester->busy, event, err);
    default:
        return nester_take_span(nester, event, err);
    }
}

/* Takes all events of a sort. */
static enum assay_status nester_run(struct nester *nester,
                                    struct event_sort *sort, struct error *err)
{
    const struct event *event;
    enum assay_status st;

    for (;;) {
        st = event_sort_next(sort, &event, err);
        if (st)
            return st;
        if (!event)
            return nester_pop_all(nester, err);
        st = nester_take_event(nester, event, err);
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
        st = nester_run(&nester, import->spans, err);
    if (!st)
        st = import_join_links(import, err);
    nester.lane = NULL;
    if (!st)
        st = nester_run(&nester, import->device, err);
    if (!st)
        st = import_end_busy(import, &nester.busy, err);
    mem_free(nester.open);
    mem_free(nester.cache);
    return st;
}
