/* record/lanes.c - handles for scopes and lanes, and spans reported with their
 * times; see assay/lane.h.
 *
 * A handle is the number of a name, which never changes during the life of the
 * process. */
#include "record/record_internal.h"

#include <string.h>

static uint32_t lanes_number(const struct name *name)
{
    return name ? name->number : NAME_NONE;
}

static bool lanes_is_parent(assay_scope_t scope)
{
    return scope == ASSAY_SCOPE_ROOT || scope_is_there(scope);
}

bool scope_is_there(assay_scope_t scope)
{
    const struct name *name = scope >= NAMES_GIVEN ? names_find(scope) : NULL;

    return name && name->kind == NAME_SCOPE;
}

static bool lane_is_there(assay_lane_t lane)
{
    const struct name *name = lane >= NAMES_GIVEN ? names_find(lane) : NULL;

    return name && name->kind == NAME_LANE;
}

assay_scope_t assay_scope_here(void)
{
    struct thread_buffer *buffer = assay_is_recording() ? spans_buffer() : NULL;

    return buffer ? thread_buffer_scope(buffer) : ASSAY_SCOPE_ROOT;
}

assay_scope_t record_group(assay_scope_t parent, const char *name,
                           const char *class_name)
{
    if (!lanes_is_parent(parent))
        return ASSAY_SCOPE_NONE;
    return lanes_number(names_intern(parent | NAME_GROUP, name, class_name));
}

assay_scope_t assay_scope(assay_scope_t parent, const char *name,
                          const char *class_name)
{
    if (!lanes_is_parent(parent))
        return ASSAY_SCOPE_NONE;
    return lanes_number(names_intern(parent, name ? name : "", class_name));
}

/* Finds or adds a scope. The text, part of a path, has no NUL at its end. */
static assay_scope_t lanes_step_down(assay_scope_t parent, const char *text,
                                     size_t n, const char *class_name)
{
    const struct name *name = names_find_scope(parent, text, n, class_name);
    char part[256];

    if (name)
        return name->number;
    if (n >= sizeof part)
        return ASSAY_SCOPE_NONE;
    memcpy(part, text, n);
    part[n] = '\0';
    return assay_scope(parent, part, class_name);
}

assay_scope_t assay_scope_path(const char *path, const char *class_name)
{
    assay_scope_t scope = ASSAY_SCOPE_ROOT;

    while (path && path[0] && scope != ASSAY_SCOPE_NONE) {
        size_t n = strcspn(path, ".");
        bool is_last = path[n] == '\0';

        scope = lanes_step_down(scope, path, n, is_last ? class_name : NULL);
        path += is_last ? n : n + 1;
    }
    return scope;
}

static atomic_bool has_lanes;

bool lane_exists(void)
{
    return atomic_load(&has_lanes);
}

assay_lane_t assay_lane_open(const char *name, enum assay_lane_kind kind)
{
    enum thread_kind stands_for =
        kind == ASSAY_LANE_DEVICE ? THREAD_DEVICE : THREAD_CPU;

    atomic_store(&has_lanes, true);
    return lanes_number(names_intern(NAME_LANES, name ? name : "",
                                     thread_kind_text(stands_for)));
}

/* ---- spans --------------------------------------------------------------- */

int64_t assay_clock_ns(void)
{
    return clock_monotonic_ns();
}

static bool lanes_span_is_possible(int64_t begin_ns, int64_t end_ns)
{
    return begin_ns >= 0 && end_ns >= begin_ns && end_ns <= RUN_MAX_NS;
}

/* 0 if unknown, or not before the begin of the span. */
static int64_t lanes_launch(const struct assay_span_details *details,
                            int64_t begin_ns)
{
    return details->launched_ns > 0 && details->launched_ns < begin_ns
               ? details->launched_ns
               : 0;
}

/* The name of the phase; NAME_PHASES for none. */
static uint32_t lanes_phase(struct thread_buffer *buffer,
                            const struct assay_span_details *details)
{
    uint32_t phase = NAME_PHASES;

    if (details->phase)
        phase = thread_buffer_name(buffer, NAME_PHASES, details->phase, NULL);
    return phase == NAME_NONE ? NAME_PHASES : phase;
}

void assay_span_at_(assay_lane_t lane, assay_scope_t scope, int64_t begin_ns,
                    int64_t end_ns, const struct assay_span_details *details)
{
    static const struct assay_span_details nothing;
    struct thread_buffer *buffer = spans_buffer();

    if (!buffer)
        return;
    if (!lane_is_there(lane) || !scope_is_there(scope) ||
        !lanes_span_is_possible(begin_ns, end_ns)) {
        counter_increment(&buffer->n_lost);
        return;
    }
    if (!details)
        details = &nothing;
    spans_put(buffer,
              (struct record){.start = (uint64_t)begin_ns,
                              .end = (uint64_t)end_ns,
                              .bytes = lanes_launch(details, begin_ns),
                              .peak_bytes = lanes_phase(buffer, details),
                              .name = lane,
                              .iteration = scope});
}
