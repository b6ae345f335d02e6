/* store/import_pairs.c - matches begins and ends to spans.
 *
 * On a thread an end belongs to the innermost open begin, whatever its name:
 * the format requires no more. Asynchronous ends name their begin. */
#include "store/import_internal.h"

#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

struct open_begin {
    int64_t start_ns;
    int64_t children_ns;
    uint64_t sequence;
    uint32_t label;
    uint32_t scope; /* if it is asynchronous */
};

struct matcher {
    struct import *import;
    struct open_begin *open; /* RUN_MAX_DEPTH of them */
    size_t n_open;
    uint64_t group;
    uint32_t lane;
    int64_t last_ns; /* of the group */
};

static const char *pairs_label_name(const struct matcher *matcher,
                                    uint32_t label)
{
    return matcher->import->tables.labels[label].name;
}

static bool pairs_is_async(const struct matcher *matcher)
{
    return matcher->import->tables.lanes[matcher->lane].kind == THREAD_ASYNC;
}

/* An asynchronous span is already nested, by its id; it only needs counting, in
 * order of its end. */
static enum assay_status pairs_add_async(struct matcher *matcher,
                                         const struct open_begin *begin,
                                         int64_t end_ns, struct error *err)
{
    struct import *import = matcher->import;
    int64_t duration_ns = end_ns - begin->start_ns;
    struct event event = {.group = matcher->lane,
                          .time_ns = end_ns,
                          .duration_ns = duration_ns,
                          .sequence = begin->sequence,
                          .kind = EVENT_ASYNC,
                          .self_ns = duration_ns - begin->children_ns,
                          .lane = (uint16_t)matcher->lane,
                          .label = begin->scope};

    import->n_spans++;
    import->tables.lanes[matcher->lane].n_spans++;
    import_see(import, begin->start_ns, end_ns);
    import_see_start(import, begin->start_ns);
    return event_sort_add(import->spans, &event, err);
}

/* Removes an open begin and adds its span. */
static enum assay_status pairs_close(struct matcher *matcher, size_t at,
                                     int64_t end_ns, struct error *err)
{
    struct open_begin begin = matcher->open[at];

    memmove(matcher->open + at, matcher->open + at + 1,
            (matcher->n_open - at - 1) * sizeof begin);
    matcher->n_open--;
    if (!pairs_is_async(matcher)) {
        struct event event = {.time_ns = begin.start_ns,
                              .duration_ns = end_ns - begin.start_ns,
                              .sequence = begin.sequence,
                              .kind = EVENT_SPAN,
                              .lane = (uint16_t)matcher->lane,
                              .label = begin.label};

        return import_add_span(matcher->import, &event, err);
    }
    if (at > 0)
        matcher->open[at - 1].children_ns += end_ns - begin.start_ns;
    return pairs_add_async(matcher, &begin, end_ns, err);
}

/* Closes begins that were never ended, down to this many. */
static enum assay_status pairs_close_forgotten(struct matcher *matcher,
                                               size_t n_open, int64_t end_ns,
                                               struct error *err)
{
    enum assay_status st = ASSAY_OK;

    while (!st && matcher->n_open > n_open) {
        run_health(matcher->import->run)->open_at_end++;
        st = pairs_close(matcher, matcher->n_open - 1, end_ns, err);
    }
    return st;
}

static enum assay_status pairs_take_begin(struct matcher *matcher,
                                          const struct event *event,
                                          struct error *err)
{
    struct open_begin *begin = &matcher->open[matcher->n_open];
    uint32_t parent = RUN_ROOT;

    if (matcher->n_open == RUN_MAX_DEPTH)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "'%s' is nested inside %d others at %" PRId64
                         " us, the limit of a run",
                         pairs_label_name(matcher, event->label), RUN_MAX_DEPTH,
                         event->time_ns / 1000);
    *begin = (struct open_begin){.start_ns = event->time_ns,
                                 .sequence = event->sequence,
                                 .label = event->label};
    if (matcher->n_open > 0)
        parent = begin[-1].scope;
    matcher->n_open++;
    if (!pairs_is_async(matcher))
        return ASSAY_OK;
    return import_scope(matcher->import, parent, event->label, &begin->scope,
                        err);
}

/* The begin that an end closes. If the next span's begin was written before
 * this end, at the same instant, the name tells them apart. */
static size_t pairs_partner(const struct matcher *matcher,
                            const struct event *event)
{
    const char *name = pairs_label_name(matcher, event->label);

    for (size_t at = matcher->n_open; at-- > 0;) {
        const struct open_begin *begin = &matcher->open[at];

        if (strcmp(pairs_label_name(matcher, begin->label), name) == 0)
            return at;
        if (begin->start_ns < event->time_ns)
            break;
    }
    return matcher->n_open - 1;
}

static enum assay_status pairs_take_async_end(struct matcher *matcher,
                                              const struct event *event,
                                              struct error *err)
{
    const char *name = pairs_label_name(matcher, event->label);
    enum assay_status st;

    for (size_t at = matcher->n_open; at-- > 0;) {
        if (strcmp(pairs_label_name(matcher, matcher->open[at].label), name) !=
            0)
            continue;
        st = pairs_close_forgotten(matcher, at + 1, event->time_ns, err);
        return st ? st : pairs_close(matcher, at, event->time_ns, err);
    }
    run_health(matcher->import->run)->unbalanced_ends++;
    return ASSAY_OK;
}

static enum assay_status pairs_take_end(struct matcher *matcher,
                                        const struct event *event,
                                        struct error *err)
{
    if (pairs_is_async(matcher))
        return pairs_take_async_end(matcher, event, err);
    if (matcher->n_open == 0) {
        run_health(matcher->import->run)->unbalanced_ends++;
        return ASSAY_OK;
    }
    return pairs_close(matcher, pairs_partner(matcher, event), event->time_ns,
                       err);
}

static enum assay_status pairs_end_group(struct matcher *matcher,
                                         struct error *err)
{
    int64_t end_ns = matcher->last_ns;

    if (matcher->n_open == 0)
        return ASSAY_OK;
    if (!pairs_is_async(matcher))
        end_ns = matcher->import->tables.lanes[matcher->lane].last_ns;
    return pairs_close_forgotten(matcher, 0, end_ns, err);
}

static enum assay_status pairs_take_event(struct matcher *matcher,
                                          const struct event *event,
                                          struct error *err)
{
    enum assay_status st;

    if (event->group != matcher->group) {
        st = pairs_end_group(matcher, err);
        if (st)
            return st;
    }
    matcher->group = event->group;
    matcher->lane = event->lane;
    matcher->last_ns = event->time_ns;
    return event->kind == EVENT_BEGIN ? pairs_take_begin(matcher, event, err)
                                      : pairs_take_end(matcher, event, err);
}

enum assay_status import_match_pairs(struct import *import, struct error *err)
{
    struct matcher matcher = {.import = import};
    const struct event *event;
    enum assay_status st;

    matcher.open = mem_array(RUN_MAX_DEPTH, sizeof *matcher.open);
    if (!matcher.open)
        return error_nomem(err, RUN_MAX_DEPTH * sizeof *matcher.open,
                           "matching begins and ends");
    st = event_sort_finish(import->pairs, err);
    while (!st) {
        st = event_sort_next(import->pairs, &event, err);
        if (st || !event)
            break;
        st = pairs_take_event(&matcher, event, err);
    }
    if (!st)
        st = pairs_end_group(&matcher, err);
    mem_free(matcher.open);
    return st;
}
