/* assay/lane.h - work that runs elsewhere: scope handles, lanes, and spans
 * reported after they ended.
 *
 * assay/span.h measures what the calling thread does between two calls. Two
 * cases do not fit that: a device queue, which runs its kernels later and
 * knows their times only when they are done; and a module whose parts run on
 * different threads, such as an autograd engine that runs the backward pass.
 *
 *     assay_lane_t queue = assay_lane_open("cuda:0 stream 7",
 *                                          ASSAY_LANE_DEVICE);
 *     assay_scope_t conv1 = assay_scope_path("backbone.conv1", "Conv2d");
 *     int64_t launched_ns, begin_ns, end_ns;
 *
 *     assay_begin_scope(conv1);          // on the thread that launches
 *     launched_ns = assay_clock_ns();
 *     launch(kernel);
 *     assay_end();
 *     ...                                // the kernel is done; its times are
 *     ...                                // converted to assay_clock_ns()
 *     assay_span_at(queue, conv1, begin_ns, end_ns,
 *                   &(struct assay_span_details){.launched_ns = launched_ns});
 *
 * The module then has two figures: how long the host was busy launching it and
 * how long the device ran it. They are never added together.
 *
 * Every function may be called from any thread at any time, and in a signal
 * handler, under the conditions of assay/span.h. A handle is valid for the
 * whole life of the process, across all recordings, and may be made before the
 * first one. Reporting a span costs about as much as storing a record: well
 * below 200 ns.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ASSAY_LANE_H
#define ASSAY_LANE_H

#include <assay/span.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A place in the tree of scopes. */
typedef uint32_t assay_scope_t;
/* Where spans run: a host thread, or a device queue or stream. */
typedef uint32_t assay_lane_t;

#define ASSAY_SCOPE_ROOT ((assay_scope_t)0)
#define ASSAY_SCOPE_NONE UINT32_MAX /* could not be made */
#define ASSAY_LANE_NONE  UINT32_MAX

enum assay_lane_kind {
    ASSAY_LANE_THREAD, /* host time */
    ASSAY_LANE_DEVICE  /* device time */
};

/* What else is known about a reported span; {0}: nothing. */
struct assay_span_details {
    int64_t launched_ns; /* when the host launched it, on assay_clock_ns();
                            0: unknown. Traces draw an arrow from there. */
    const char *phase;   /* "forward", "backward"; NULL: none */
};

#ifndef ASSAY_OFF

/* The clock for all times below: CLOCK_MONOTONIC, in nanoseconds. */
ASSAY_API int64_t assay_clock_ns(void);

/* The scope with this name and class directly below `parent`: the one that
 * assay_begin_class() opens there. class_name may be NULL. Returns
 * ASSAY_SCOPE_NONE if memory runs out, the parent is ASSAY_SCOPE_NONE, or the
 * tree would be more than 256 levels deep. */
ASSAY_API assay_scope_t assay_scope(assay_scope_t parent, const char *name,
                                    const char *class_name);

/* The scope that screens show as "backbone.body.conv1". Scopes along the path
 * that already exist are used whatever their class; missing ones are made
 * without a class. The last one gets class_name; NULL matches any class. "" is
 * the root. The time this takes grows with the number of scopes: look a scope
 * up once and keep the handle. */
ASSAY_API assay_scope_t assay_scope_path(const char *path,
                                         const char *class_name);

/* The scope of the innermost open span of the calling thread; ASSAY_SCOPE_ROOT
 * if none is open or nothing is recorded. What is launched now and runs
 * elsewhere belongs to it. */
ASSAY_API assay_scope_t assay_scope_here(void);

/* The lane with this name and kind. It appears in a run once a span has been
 * reported on it. */
ASSAY_API assay_lane_t assay_lane_open(const char *name,
                                       enum assay_lane_kind kind);

/* Private: called by the inline functions below. */
ASSAY_API void assay_begin_scope_(assay_scope_t scope);
ASSAY_API void assay_span_at_(assay_lane_t lane, assay_scope_t scope,
                              int64_t begin_ns, int64_t end_ns,
                              const struct assay_span_details *details);

/* Opens a span of that scope on the calling thread, whatever is open there;
 * assay_end() closes it. Spans that assay_begin() opens inside it lie below
 * the scope. The enclosing span counts the time as a child's. With
 * ASSAY_SCOPE_NONE the span is counted as lost. */
static inline void assay_begin_scope(assay_scope_t scope)
{
    if (assay_is_recording())
        assay_begin_scope_(scope);
}

/* Reports a span that has ended, from begin_ns to end_ns on assay_clock_ns().
 * details may be NULL.
 *
 * It belongs to the iteration that was under way when it was launched, or, if
 * that is unknown, when it began, to within a microsecond. Within an iteration
 * the spans of a lane may come in any order, and may come after the iteration
 * ended. But once spans of a later iteration have been taken in, which happens
 * about ten times per second, spans of an earlier one are too late and are
 * counted as lost. So are spans with an ASSAY_..._NONE handle, and those that
 * end before they begin. Report the spans of an iteration at its end, or soon
 * after: timelines of single iterations have only those that came within a
 * tenth of a second.
 *
 * If one span of a lane lies inside another, by its times and by its scope, it
 * is its child: the outer one's self time excludes it. */
static inline void assay_span_at(assay_lane_t lane, assay_scope_t scope,
                                 int64_t begin_ns, int64_t end_ns,
                                 const struct assay_span_details *details)
{
    if (assay_is_recording())
        assay_span_at_(lane, scope, begin_ns, end_ns, details);
}

#else

static inline int64_t assay_clock_ns(void)
{
    return 0;
}

static inline assay_scope_t assay_scope(assay_scope_t parent, const char *name,
                                        const char *class_name)
{
    (void)parent, (void)name, (void)class_name;
    return ASSAY_SCOPE_ROOT;
}

static inline assay_scope_t assay_scope_path(const char *path,
                                             const char *class_name)
{
    (void)path, (void)class_name;
    return ASSAY_SCOPE_ROOT;
}

static inline assay_scope_t assay_scope_here(void)
{
    return ASSAY_SCOPE_ROOT;
}

static inline assay_lane_t assay_lane_open(const char *name,
                                           enum assay_lane_kind kind)
{
    (void)name, (void)kind;
    return 0;
}

static inline void assay_begin_scope(assay_scope_t scope)
{
    (void)scope;
}

static inline void assay_span_at(assay_lane_t lane, assay_scope_t scope,
                                 int64_t begin_ns, int64_t end_ns,
                                 const struct assay_span_details *details)
{
    (void)lane, (void)scope, (void)begin_ns, (void)end_ns, (void)details;
}

#endif /* ASSAY_OFF */

#ifdef __cplusplus
}
#endif
#endif
