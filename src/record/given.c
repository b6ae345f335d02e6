/* record/given.c - see given.h. */
#include "record/given.h"

#include "base/mem.h"
#include "base/vec.h"
#include "record/record_internal.h"

#include <stdlib.h>
#include <string.h>

/* No iterations: the span has to wait; it comes too late. */
#define GIVEN_WAITS (UINT32_MAX - 2)
#define GIVEN_LATE  (UINT32_MAX - 3)

/* No two clocks of a machine agree better than to some hundred nanoseconds: so
 * near to an iteration is in it. */
static const int64_t clock_slack_ns = 1000;

void given_release(struct given *given)
{
    mem_free(given->waiting);
    mem_free(given->windows);
    *given = (struct given){0};
}

/* ---- what comes ----------------------------------------------------------
 */

static int64_t since_start(const struct recording *recording, int64_t clock_ns)
{
    return clock_ns - recording->clock.first.ns;
}

/* False where the record makes no sense in this run: it is lost. */
static bool read_span(struct recording *recording, const struct record *record,
                      uint32_t lane, struct given_span *out)
{
    int64_t begin_ns = since_start(recording, (int64_t)record->start);
    int64_t end_ns = since_start(recording, (int64_t)record->end);
    int64_t launched_ns = since_start(recording, record->bytes);
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
    struct given_span *moved = vec_reserve(
        given->waiting, &given->capacity, given->n + 1, sizeof *given->waiting);

    if (moved)
        given->waiting = moved;
    if (!moved || !read_span(recording, record, lane, &moved[given->n])) {
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

/* ---- what time it was ----------------------------------------------------
 */

void given_synchronise(struct recording *recording, struct ticks_pair now)
{
    struct given *given = &recording->given;

    if (lane_exists())
        given->moments[given->n_moments++ % GIVEN_MOMENTS] =
            (struct given_moment){since_start(recording, now.ns),
                                  ticks_map_ns(&recording->clock, now.ticks)};
}

static struct given_moment moment_at(const struct given *given, size_t i)
{
    return given->moments[i % GIVEN_MOMENTS];
}

/* Between two moments both clocks run at a constant rate; before the first and
 * after the last that is known they differ as they did then. */
static int64_t run_time(const struct given *given, int64_t clock_ns)
{
    size_t n = given->n_moments, i = n;
    size_t oldest = n > GIVEN_MOMENTS ? n - GIVEN_MOMENTS : 0;
    struct given_moment from, to;
    double share;

    if (n == 0)
        return clock_ns;
    while (i > oldest && moment_at(given, i - 1).clock_ns > clock_ns)
        i--;
    from = moment_at(given, i > oldest ? i - 1 : i);
    if (i == n || i == oldest)
        return clock_ns + from.run_ns - from.clock_ns;
    to = moment_at(given, i);
    share = (double)(clock_ns - from.clock_ns) /
            (double)(to.clock_ns - from.clock_ns);
    return from.run_ns +
           (int64_t)(share * (double)(to.run_ns - from.run_ns) + 0.5);
}

/* ---- which iteration -----------------------------------------------------
 */

static const struct given_window *window_at(const struct given *given, size_t i)
{
    return &given->windows[i % GIVEN_WINDOWS];
}

/* The last window that began before the span's moment; NULL: none is
 * remembered. */
static const struct given_window *window_before(const struct given *given,
                                                int64_t anchor_ns)
{
    size_t high = given->n_windows;
    size_t low = high > GIVEN_WINDOWS ? high - GIVEN_WINDOWS : 0;
    size_t first = low;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (window_at(given, middle)->start_ns <= anchor_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low > first ? window_at(given, low - 1) : NULL;
}

/* The iteration that lasted within `slack_ns` of the moment; NULL: none. One
 * that has not ended is among them. */
static const struct given_window *
window_around(const struct given *given, int64_t anchor_ns, int64_t slack_ns)
{
    const struct given_window *before =
        window_before(given, anchor_ns + slack_ns);

    if (given->has_open && anchor_ns + slack_ns >= given->open.start_ns)
        return &given->open;
    return before && anchor_ns - slack_ns <= before->end_ns ? before : NULL;
}

static uint32_t iteration_of(const struct given *given, int64_t anchor_ns,
                             int64_t passed_ns)
{
    const struct given_window *window = window_around(given, anchor_ns, 0);

    if (!window)
        window = window_around(given, anchor_ns, clock_slack_ns);
    if (window == &given->open)
        return passed_ns == INT64_MAX ? window->iteration : GIVEN_WAITS;
    if (window)
        return window->iteration;
    if (given->is_partial && !window_before(given, anchor_ns))
        return GIVEN_LATE;
    return anchor_ns < passed_ns ? RUN_NONE : GIVEN_WAITS;
}

/* ---- what lies inside what -----------------------------------------------
 */

static int sign(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static uint32_t depth_of(const struct given_span *span)
{
    return names_at(span->scope)->depth;
}

/* By lane and iteration, then by start with what is around before what is
 * inside. */
static int compare_spans(const void *left, const void *right)
{
    const struct given_span *a = left, *b = right;
    int order = sign(a->sample.thread, b->sample.thread);

    if (!order)
        order = sign(a->sample.iteration, b->sample.iteration);
    if (!order)
        order = sign(a->begin_ns, b->begin_ns);
    if (!order)
        order = sign(b->end_ns, a->end_ns);
    return order ? order : sign(depth_of(a), depth_of(b));
}

/* As a queue's spans are that come in order, which is the usual case. */
static bool are_sorted(const struct given_span *spans, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (compare_spans(&spans[i - 1], &spans[i]) > 0)
            return false;
    }
    return true;
}

static bool is_inside(const struct given_span *inner,
                      const struct given_span *outer)
{
    uint32_t scope = inner->scope;

    if (inner->end_ns > outer->end_ns)
        return false;
    while (scope != NAME_ROOT && scope != outer->scope)
        scope = name_parent(names_at(scope));
    return scope == outer->scope && inner->scope != outer->scope;
}

/* The spans of a lane in an iteration, each less what lies right inside it. */
static void find_selfs(struct given_span *spans, size_t n)
{
    struct given_span *open[NAME_MAX_DEPTH];
    size_t n_open = 0;

    for (size_t i = 0; i < n; i++) {
        struct given_span *span = &spans[i];
        size_t at;

        while (n_open && open[n_open - 1]->end_ns <= span->begin_ns)
            n_open--;
        for (at = n_open; at && !is_inside(span, open[at - 1]);)
            at--;
        if (at)
            open[at - 1]->sample.self_ns -= span->sample.duration_ns;
        span->sample.self_ns = span->sample.duration_ns;
        if (n_open < NAME_MAX_DEPTH)
            open[n_open++] = span;
    }
}

static bool is_same_group(const struct given_span *a,
                          const struct given_span *b)
{
    return a->sample.thread == b->sample.thread &&
           a->sample.iteration == b->sample.iteration;
}

/* Children that overlap can take more than there is. */
static void count_span(struct recording *recording, struct sample *sample)
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

static void count_spans(struct recording *recording, struct given_span *spans,
                        size_t n)
{
    size_t i = 0;

    if (!are_sorted(spans, n))
        qsort(spans, n, sizeof *spans, compare_spans);
    while (i < n) {
        size_t end = i + 1;

        while (end < n && is_same_group(&spans[i], &spans[end]))
            end++;
        find_selfs(spans + i, end - i);
        for (; i < end; i++)
            count_span(recording, &spans[i].sample);
    }
}

/* Those that are ready come first, each with its iteration. */
static size_t part_ready(struct given *given, size_t n_looked_at,
                         int64_t passed_ns)
{
    struct given_span *waiting = given->waiting;
    size_t n_ready = 0;

    for (size_t i = 0; i < n_looked_at; i++) {
        struct given_span span = waiting[i];
        uint32_t iteration =
            iteration_of(given, run_time(given, span.anchor_ns), passed_ns);

        if (iteration == GIVEN_WAITS)
            continue;
        span.sample.iteration = iteration;
        span.sample.start_ns = run_time(given, span.begin_ns);
        waiting[i] = waiting[n_ready];
        waiting[n_ready++] = span;
    }
    return n_ready;
}

void given_settle(struct recording *recording, int64_t now_ns)
{
    struct given *given = &recording->given;
    bool is_last = now_ns == INT64_MAX;
    size_t n_ready = part_ready(given, is_last ? given->n : given->n_before,
                                is_last ? INT64_MAX : given->passed_ns);

    count_spans(recording, given->waiting, n_ready);
    given->n -= n_ready;
    if (n_ready && given->n)
        memmove(given->waiting, given->waiting + n_ready,
                given->n * sizeof *given->waiting);
    given->n_before = given->n;
    if (!is_last)
        given->passed_ns = now_ns;
}
