/* record/given.c - spans reported with their times; see record_internal.h. */
#include "record/record_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

/* Instead of an iteration: the span must wait; it comes too late. */
#define GIVEN_WAITS (UINT32_MAX - 2)
#define GIVEN_LATE  (UINT32_MAX - 3)

/* Clocks of one machine agree only to some hundred nanoseconds: a moment this
 * close to an iteration belongs to it. */
static const int64_t clock_slack_ns = 1000;

void given_release(struct given *given)
{
    mem_free(given->waiting);
    mem_free(given->windows);
    *given = (struct given){0};
}

/* ---- incoming spans --------------------------------------------------- */

static int64_t given_since_start(const struct recording *recording,
                                 int64_t clock_ns)
{
    return clock_ns - recording->clock.first.ns;
}

/* False if the record makes no sense in this run; it is then lost. */
static bool given_read(struct recording *recording, const struct record *record,
                       uint32_t lane, struct given_span *out)
{
    int64_t begin_ns = given_since_start(recording, (int64_t)record->start);
    int64_t end_ns = given_since_start(recording, (int64_t)record->end);
    int64_t launched_ns = given_since_start(recording, record->bytes);
    uint32_t phase = (uint32_t)record->peak_bytes, phase_id = 0;
    uint32_t scope = recording_id(recording, names_at(record->iteration));
    bool is_launched = record->bytes > 0;

    if (phase != NAME_PHASES)
        phase_id = recording_id(recording, names_at(phase));
    if (scope == RUN_NONE || phase_id == RUN_NONE || end_ns < 0)
        return false;
    *out = (struct given_span){
        .sample = {.scope = scope,
                   .phase = phase_id,
                   .thread = lane,
                   .duration_ns = end_ns - begin_ns,
                   .bytes = RUN_UNKNOWN,
                   .peak_bytes = RUN_UNKNOWN,
                   .queued_ns = is_launched ? begin_ns - launched_ns : 0},
        .begin_ns = begin_ns,
        .end_ns = end_ns,
        .anchor_ns = is_launched ? launched_ns : begin_ns,
        .scope = record->iteration};
    return true;
}

void given_add(struct recording *recording, const struct record *record,
               uint32_t lane)
{
    struct given *given = &recording->given;

    if (!vec_grow(&given->waiting, &given->capacity, given->n + 1,
                  sizeof *given->waiting) ||
        !given_read(recording, record, lane, &given->waiting[given->n])) {
        recording->ended.lost_spans++;
        return;
    }
    if (++given->n >= GIVEN_MAX_WAITING)
        given_settle(recording, INT64_MAX);
}

void given_mark(struct recording *recording, const struct record *record)
{
    recording->given.has_open = true;
    recording->given.open = (struct given_window){
        .start_ns = ticks_map_ns(&recording->clock, record->start),
        .end_ns = INT64_MAX,
        .iteration = record->iteration};
}

void given_iteration(struct recording *recording, int64_t start_ns,
                     int64_t end_ns, uint32_t iteration)
{
    struct given *given = &recording->given;

    given->has_open = false;
    if (!given->windows && lane_exists())
        given->windows = mem_array(GIVEN_WINDOWS, sizeof *given->windows);
    if (given->windows)
        given->windows[given->n_windows++ % GIVEN_WINDOWS] =
            (struct given_window){start_ns, end_ns, iteration};
    given->is_partial |= !given->windows || given->n_windows > GIVEN_WINDOWS;
}

/* ---- times ------------------------------------------------------------ */

void given_synchronise(struct recording *recording, struct ticks_pair now)
{
    struct given *given = &recording->given;

    if (lane_exists())
        given->moments[given->n_moments++ % GIVEN_MOMENTS] =
            (struct given_moment){given_since_start(recording, now.ns),
                                  ticks_map_ns(&recording->clock, now.ticks)};
}

static struct given_moment given_moment_at(const struct given *given, size_t i)
{
    return given->moments[i % GIVEN_MOMENTS];
}

/* Between two known moments both clocks run at a constant rate; before the
 * first and after the last they keep the difference of that moment. */
static int64_t given_run_time(const struct given *given, int64_t clock_ns)
{
    size_t n = given->n_moments, i = n;
    size_t oldest = n > GIVEN_MOMENTS ? n - GIVEN_MOMENTS : 0;
    struct given_moment from, to;
    double share;

    if (n == 0)
        return clock_ns;
    while (i > oldest && given_moment_at(given, i - 1).clock_ns > clock_ns)
        i--;
    from = given_moment_at(given, i > oldest ? i - 1 : i);
    if (i == n || i == oldest)
        return clock_ns + from.run_ns - from.clock_ns;
    to = given_moment_at(given, i);
    share = (double)(clock_ns - from.clock_ns) /
            (double)(to.clock_ns - from.clock_ns);
    return from.run_ns +
           (int64_t)(share * (double)(to.run_ns - from.run_ns) + 0.5);
}

/* ---- iterations ------------------------------------------------------- */

static const struct given_window *given_window_at(const struct given *given,
                                                  size_t i)
{
    return &given->windows[i % GIVEN_WINDOWS];
}

/* The last window that began before the moment; NULL: none is known. */
static const struct given_window *given_window_before(const struct given *given,
                                                      int64_t anchor_ns)
{
    size_t high = given->n_windows;
    size_t low = high > GIVEN_WINDOWS ? high - GIVEN_WINDOWS : 0;
    size_t first = low;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (given_window_at(given, middle)->start_ns <= anchor_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low > first ? given_window_at(given, low - 1) : NULL;
}

/* The iteration within `slack_ns` of the moment, possibly the open one; NULL:
 * none. */
static const struct given_window *given_window_around(const struct given *given,
                                                      int64_t anchor_ns,
                                                      int64_t slack_ns)
{
    const struct given_window *before =
        given_window_before(given, anchor_ns + slack_ns);

    if (given->has_open && anchor_ns + slack_ns >= given->open.start_ns)
        return &given->open;
    return before && anchor_ns - slack_ns <= before->end_ns ? before : NULL;
}

static uint32_t given_iteration_of(const struct given *given, int64_t anchor_ns,
                                   int64_t passed_ns)
{
    const struct given_window *window =
        given_window_around(given, anchor_ns, 0);

    if (!window)
        window = given_window_around(given, anchor_ns, clock_slack_ns);
    if (window == &given->open)
        return passed_ns == INT64_MAX ? window->iteration : GIVEN_WAITS;
    if (window)
        return window->iteration;
    if (given->is_partial && !given_window_before(given, anchor_ns))
        return GIVEN_LATE;
    return anchor_ns < passed_ns ? RUN_NONE : GIVEN_WAITS;
}

/* ---- nesting ---------------------------------------------------------- */

static int given_sign(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static uint32_t given_depth(const struct given_span *span)
{
    return names_at(span->scope)->depth;
}

/* By lane and iteration, then by start, outer spans before inner ones. */
static int given_compare(const void *left, const void *right)
{
    const struct given_span *a = left, *b = right;
    int order = given_sign(a->sample.thread, b->sample.thread);

    if (!order)
        order = given_sign(a->sample.iteration, b->sample.iteration);
    if (!order)
        order = given_sign(a->begin_ns, b->begin_ns);
    if (!order)
        order = given_sign(b->end_ns, a->end_ns);
    return order ? order : given_sign(given_depth(a), given_depth(b));
}

/* Usually true: the spans of a queue come in order. */
static bool given_are_sorted(const struct given_span *spans, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (given_compare(&spans[i - 1], &spans[i]) > 0)
            return false;
    }
    return true;
}

static bool given_is_inside(const struct given_span *inner,
                            const struct given_span *outer)
{
    uint32_t scope = inner->scope;

    if (inner->end_ns > outer->end_ns)
        return false;
    while (scope != NAME_ROOT && scope != outer->scope)
        scope = name_parent(names_at(scope));
    return scope == outer->scope && inner->scope != outer->scope;
}

/* Computes the self times of the spans of one lane in one iteration. */
static void given_find_selfs(struct given_span *spans, size_t n)
{
    struct given_span *open[NAME_MAX_DEPTH];
    size_t n_open = 0;

    for (size_t i = 0; i < n; i++) {
        struct given_span *span = &spans[i];
        size_t at;

        while (n_open && open[n_open - 1]->end_ns <= span->begin_ns)
            n_open--;
        for (at = n_open; at && !given_is_inside(span, open[at - 1]);)
            at--;
        if (at)
            open[at - 1]->sample.self_ns -= span->sample.duration_ns;
        span->sample.self_ns = span->sample.duration_ns;
        if (n_open < NAME_MAX_DEPTH)
            open[n_open++] = span;
    }
}

static bool given_is_same_group(const struct given_span *a,
                                const struct given_span *b)
{
    return a->sample.thread == b->sample.thread &&
           a->sample.iteration == b->sample.iteration;
}

/* Overlapping children can take more than the whole. */
static void given_count_one(struct recording *recording, struct sample *sample)
{
    if (sample->iteration == ITERATION_WARM_UP)
        return;
    if (sample->iteration == GIVEN_LATE) {
        recording->ended.lost_spans++;
        return;
    }
    if (sample->self_ns < 0)
        sample->self_ns = 0;
    recording_take_given(recording, sample);
}

static void given_count(struct recording *recording, struct given_span *spans,
                        size_t n)
{
    size_t i = 0;

    if (!given_are_sorted(spans, n))
        qsort(spans, n, sizeof *spans, given_compare);
    while (i < n) {
        size_t end = i + 1;

        while (end < n && given_is_same_group(&spans[i], &spans[end]))
            end++;
        given_find_selfs(spans + i, end - i);
        for (; i < end; i++)
            given_count_one(recording, &spans[i].sample);
    }
}

/* Moves spans that are ready to the front and sets their iterations. */
static size_t given_part_ready(struct given *given, size_t n_looked_at,
                               int64_t passed_ns)
{
    struct given_span *waiting = given->waiting;
    size_t n_ready = 0;

    for (size_t i = 0; i < n_looked_at; i++) {
        struct given_span span = waiting[i];
        uint32_t iteration = given_iteration_of(
            given, given_run_time(given, span.anchor_ns), passed_ns);

        if (iteration == GIVEN_WAITS)
            continue;
        span.sample.iteration = iteration;
        span.sample.start_ns = given_run_time(given, span.begin_ns);
        waiting[i] = waiting[n_ready];
        waiting[n_ready++] = span;
    }
    return n_ready;
}

void given_settle(struct recording *recording, int64_t now_ns)
{
    struct given *given = &recording->given;
    bool is_last = now_ns == INT64_MAX;
    size_t n_ready =
        given_part_ready(given, is_last ? given->n : given->n_before,
                         is_last ? INT64_MAX : given->passed_ns);

    given_count(recording, given->waiting, n_ready);
    given->n -= n_ready;
    if (n_ready && given->n)
        memmove(given->waiting, given->waiting + n_ready,
                given->n * sizeof *given->waiting);
    given->n_before = given->n;
    if (!is_last)
        given->passed_ns = now_ns;
}
