/* assay/lane.h - what runs elsewhere: scopes by handle, lanes, and spans that
 * are given afterwards.
 *
 * assay/span.h measures what the calling thread does between two calls. Two
 * things do not fit that: a queue of a device, which runs its kernels later and
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
 * how long the device ran it. They are never added up.
 *
 * Every function may be called from any thread at any time, and in a signal
 * handler, under the conditions of assay/span.h. A handle is good for the whole
 * life of the process, over all its recordings, and may be made before the
 * first one. A span that is given costs about as much as a store of a record:
 * well below 200 ns.
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
/* Where spans run: a host thread, or a queue or stream of a device. */
typedef uint32_t assay_lane_t;

#define ASSAY_SCOPE_ROOT ((assay_scope_t)0)
#define ASSAY_SCOPE_NONE UINT32_MAX /* could not be made */
#define ASSAY_LANE_NONE  UINT32_MAX

enum assay_lane_kind {
    ASSAY_LANE_THREAD, /* host time */
    ASSAY_LANE_DEVICE  /* device time */
};

/* What else is known of a span that is given; {0}: nothing. */
struct assay_span_details {
    int64_t launched_ns; /* when the host asked for it, on assay_clock_ns();
                            0: not known. Traces draw an arrow from there. */
    const char *phase;   /* "forward", "backward"; NULL: none */
};

#ifndef ASSAY_OFF

/* The clock of all times below: nanoseconds of CLOCK_MONOTONIC. */
ASSAY_API int64_t assay_clock_ns(void);

/* The scope of that name and class right below `parent`: the one that
 * assay_begin_class() opens there. class_name may be NULL. ASSAY_SCOPE_NONE
 * where there is no memory, the parent is none, or the tree would be more than
 * 256 levels deep. */
ASSAY_API assay_scope_t assay_scope(assay_scope_t parent, const char *name,
                                    const char *class_name);

/* The scope that screens show as "backbone.body.conv1". A scope on the way that
 * is known already is taken whatever its class is; one that is not is made
 * without a class. The last one has class_name, or with NULL any class. "" is
 * the root. Takes time that grows with the number of scopes: look a scope up
 * once and keep the handle. */
ASSAY_API assay_scope_t assay_scope_path(const char *path,
                                         const char *class_name);

/* The lane of that name and kind. It appears in a run when the first span is
 * given to it. */
ASSAY_API assay_lane_t assay_lane_open(const char *name,
                                       enum assay_lane_kind kind);

/* Not for use: what the inline functions below stand on. */
ASSAY_API void assay_begin_scope_(assay_scope_t scope);
ASSAY_API void assay_span_at_(assay_lane_t lane, assay_scope_t scope,
                              int64_t begin_ns, int64_t end_ns,
                              const struct assay_span_details *details);

/* Opens a span of that scope on the calling thread, whatever is open there;
 * assay_end() closes it. Spans that assay_begin() opens inside lie below the
 * scope. The time counts as a child's for the span around it. A handle that is
 * none opens a span that is counted as lost. */
static inline void assay_begin_scope(assay_scope_t scope)
{
    if (assay_is_recording())
        assay_begin_scope_(scope);
}

/* Gives a span that has ended, from begin_ns to end_ns on assay_clock_ns().
 * details may be NULL.
 *
 * It belongs to the iteration that lasted when it was launched, or where that
 * is not known when it began, to within a microsecond. Within an iteration the
 * spans of a lane may come in any order, and an iteration may be over when they
 * come; but once spans of a later iteration have been taken in, which happens
 * about ten times a second, an earlier one's are too late and are counted as
 * lost. So are spans of a handle that is none, and those that end before they
 * begin. Give the spans of an iteration at its end, or soon after: the
 * timelines of single iterations have those that came within a tenth of a
 * second.
 *
 * On one lane a span inside another, by its times and by its scope, is its
 * child: the outer one's self time is without it. */
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
