/* record/span.c - the functions that a measured program calls; see
 * assay/span.h.
 *
 * A call takes the time as close to the caller as it can, and leaves the rest
 * to the drainer. */
#include "record/record_internal.h"

#include <sched.h>
#include <string.h>

int assay_is_recording_;

/* The current iteration; there is at most one. Only its owner may use the other
 * fields. */
static struct {
    /* The thread that marked it, plus CHANGING while it begins or ends; 0:
     * none. */
    atomic_uintptr_t owner;
    uint64_t start;
    int64_t bytes;
    uint32_t n_marked, n_warm_up;
} iteration;

#define CHANGING ((uintptr_t)1)

/* The iteration of a span that ends now. */
static atomic_uint iteration_now = RUN_NONE;

static atomic_llong live_bytes;
static atomic_llong iteration_peak_bytes = RUN_UNKNOWN;

static struct thread_buffer *span_own_buffer(void)
{
    struct thread_buffer *own = threads_own;

    if (__builtin_expect(own && atomic_load_explicit(&own->generation,
                                                     memory_order_relaxed) ==
                                    atomic_load_explicit(&recorder_generation,
                                                         memory_order_relaxed),
                         1))
        return own;
    return threads_join(NULL);
}

struct thread_buffer *spans_buffer(void)
{
    struct thread_buffer *buffer = span_own_buffer();

    if (__builtin_expect(!buffer, 0) && atomic_load(&recorder_generation))
        atomic_fetch_add(&threads_lost, 1);
    return buffer;
}

static unsigned span_n_open(const struct thread_buffer *buffer)
{
    return atomic_load_explicit(&buffer->n_open, memory_order_relaxed);
}

static void span_set_n_open(struct thread_buffer *buffer, unsigned n)
{
    atomic_store_explicit(&buffer->n_open, n, memory_order_relaxed);
}

static int64_t span_bytes(const struct thread_buffer *buffer)
{
    return atomic_load_explicit(&buffer->bytes, memory_order_relaxed);
}

/* Takes the next frame. NULL: there is none left. */
static inline struct open_frame *span_take_frame(struct thread_buffer *buffer)
{
    unsigned n_open = span_n_open(buffer);

    if (n_open == MAX_OPEN_SPANS) {
        buffer->n_ignored++;
        counter_increment(&buffer->n_too_deep);
        return NULL;
    }
    span_set_n_open(buffer, n_open + 1);
    atomic_signal_fence(memory_order_seq_cst); /* the frame is ours now */
    buffer->frames[n_open].outer = thread_buffer_place(buffer);
    return &buffer->frames[n_open];
}

/* The spans of a handler that comes before the new scope is entered are in the
 * old scope, those of a later one in the new scope, whenever the time is
 * taken. */
static inline void span_enter_frame(struct thread_buffer *buffer,
                                    struct open_frame *frame, uint32_t name,
                                    bool is_group)
{
    frame->name = name;
    frame->bytes = span_bytes(buffer);
    atomic_store_explicit(&frame->peak_bytes, RUN_UNKNOWN,
                          memory_order_relaxed);
    frame->is_group = is_group;
    thread_buffer_enter(buffer,
                        place_at(name, place_depth(frame->outer) + !is_group));
    frame->start = ticks_now();
}

void assay_begin_(const char *name, const char *class_name)
{
    struct thread_buffer *buffer = spans_buffer();
    struct open_frame *frame = buffer ? span_take_frame(buffer) : NULL;
    uint32_t number = NAME_NONE;

    if (!frame)
        return;
    if ((uint32_t)frame->outer != NAME_NONE)
        number = thread_buffer_name(buffer, (uint32_t)frame->outer,
                                    name ? name : "", class_name);
    span_enter_frame(buffer, frame, number, false);
}

static inline void span_open(assay_scope_t scope, bool is_group)
{
    struct thread_buffer *buffer = spans_buffer();
    struct open_frame *frame = buffer ? span_take_frame(buffer) : NULL;

    if (frame)
        span_enter_frame(buffer, frame,
                         scope_is_there(scope) ? scope : NAME_NONE, is_group);
}

void assay_begin_scope_(assay_scope_t scope)
{
    span_open(scope, false);
}

bool record_help_begin(const char *name, assay_scope_t scope)
{
    if (!assay_is_recording() || !threads_join_helper(name))
        return false;
    span_open(scope, false);
    return true;
}

void record_group_begin(assay_scope_t group)
{
    if (assay_is_recording())
        span_open(group, true);
}

void record_group_end(void)
{
    assay_end();
}

static int64_t span_larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Wraps around, like the atomic count of live bytes. */
static int64_t span_sum(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t span_difference(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static void span_raise(atomic_llong *peak, int64_t value)
{
    long long seen = atomic_load_explicit(peak, memory_order_relaxed);

    while (value > seen && !atomic_compare_exchange_weak(peak, &seen, value))
        ;
}

/* What was live inside a span was live inside the one around it. */
static void span_pass_peak_on(struct thread_buffer *buffer, unsigned frame)
{
    int64_t peak = atomic_load_explicit(&buffer->frames[frame].peak_bytes,
                                        memory_order_relaxed);

    if (frame && peak != RUN_UNKNOWN)
        span_raise(&buffer->frames[frame - 1].peak_bytes, peak);
}

/* Bytes are known only if some were taken or given back in the span. */
static inline void span_fill_record(struct record *record,
                                    const struct thread_buffer *buffer,
                                    const struct open_frame *frame,
                                    uint64_t now)
{
    int64_t peak =
        atomic_load_explicit(&frame->peak_bytes, memory_order_relaxed);

    record->start = frame->start;
    record->end = now;
    record->bytes = peak != RUN_UNKNOWN
                        ? span_difference(span_bytes(buffer), frame->bytes)
                        : RUN_UNKNOWN;
    record->peak_bytes = peak;
    record->name = record_span(frame->name, place_depth(frame->outer) + 1);
    record->iteration =
        atomic_load_explicit(&iteration_now, memory_order_relaxed);
}

/* Closes a frame without writing a record. */
static void span_leave_frame(struct thread_buffer *buffer, unsigned frame)
{
    thread_buffer_enter(buffer, buffer->frames[frame].outer);
    span_pass_peak_on(buffer, frame);
    atomic_signal_fence(memory_order_seq_cst);
    span_set_n_open(buffer, frame);
}

/* The frame is released last: until then a handler takes the next one. */
static inline void span_end_frame(struct thread_buffer *buffer, unsigned number,
                                  uint64_t now)
{
    const struct open_frame *frame = &buffer->frames[number];
    struct writing writing = thread_buffer_write(buffer, frame->outer);

    if (writing.record)
        span_fill_record(writing.record, buffer, frame, now);
    thread_buffer_write_end(buffer, writing);
    span_pass_peak_on(buffer, number);
    atomic_signal_fence(memory_order_seq_cst);
    span_set_n_open(buffer, number);
}

void assay_end_(void)
{
    uint64_t now = ticks_now();
    struct thread_buffer *buffer = span_own_buffer();
    const struct open_frame *frame;
    unsigned n_open;

    if (!buffer)
        return;
    if (buffer->n_ignored) {
        buffer->n_ignored--;
        return;
    }
    n_open = span_n_open(buffer);
    if (n_open == 0) {
        counter_increment(&buffer->n_unbalanced);
        return;
    }
    frame = &buffer->frames[n_open - 1];
    if (frame->name != NAME_NONE && !frame->is_group) {
        span_end_frame(buffer, n_open - 1, now);
        return;
    }
    if (!frame->is_group)
        counter_increment(&buffer->n_lost);
    span_leave_frame(buffer, n_open - 1);
}

void spans_put(struct thread_buffer *buffer, struct record filled)
{
    struct writing writing =
        thread_buffer_write(buffer, thread_buffer_place(buffer));

    if (writing.record)
        *writing.record = filled;
    thread_buffer_write_end(buffer, writing);
}

static void iteration_begin(struct thread_buffer *buffer)
{
    uint32_t index = iteration.n_marked++;
    uint32_t number = index < iteration.n_warm_up ? ITERATION_WARM_UP
                                                  : index - iteration.n_warm_up;

    spans_put(buffer,
              (struct record){.start = ticks_now(),
                              .bytes = place_depth(thread_buffer_place(buffer)),
                              .name = NAME_MARK,
                              .iteration = number});
    iteration.bytes = atomic_load_explicit(&live_bytes, memory_order_relaxed);
    atomic_store(&iteration_peak_bytes, RUN_UNKNOWN);
    atomic_store(&iteration_now, number);
    iteration.start = ticks_now();
}

static void iteration_end(struct thread_buffer *buffer, uint64_t now)
{
    int64_t peak = atomic_load(&iteration_peak_bytes);
    int64_t gained = span_difference(atomic_load(&live_bytes), iteration.bytes);

    spans_put(buffer, (struct record){
                          .start = iteration.start,
                          .end = now,
                          .bytes = peak == RUN_UNKNOWN ? RUN_UNKNOWN : gained,
                          .peak_bytes = peak,
                          .name = NAME_ROOT,
                          .iteration = atomic_load(&iteration_now)});
    atomic_store(&iteration_now, RUN_NONE);
}

static bool iteration_change_owner(uintptr_t from, uintptr_t to)
{
    return atomic_compare_exchange_strong(&iteration.owner, &from, to);
}

void assay_iteration_(int begins)
{
    uint64_t now = ticks_now();
    struct thread_buffer *buffer = span_own_buffer();
    uintptr_t own = (uintptr_t)buffer;

    if (!buffer)
        return;
    if (!iteration_change_owner(begins ? 0 : own, own | CHANGING)) {
        counter_increment(&buffer->n_unbalanced);
        return;
    }
    /* Another recording may have begun since the buffer was looked up. */
    if (!recorder_has(buffer)) {
        atomic_store(&iteration.owner, 0);
    } else if (begins) {
        iteration_begin(buffer);
        atomic_store(&iteration.owner, own);
    } else {
        iteration_end(buffer, now);
        atomic_store(&iteration.owner, 0);
    }
}

/* Waits until no thread is inside a call that begins or ends an iteration. Such
 * a call ends at once: without a recording, none waits for space. */
static void iteration_take(void)
{
    uintptr_t owner = atomic_load(&iteration.owner);

    while (owner & CHANGING || !iteration_change_owner(owner, CHANGING)) {
        sched_yield();
        owner = atomic_load(&iteration.owner);
    }
}

void spans_reset(unsigned warm_up)
{
    iteration_take();
    iteration.n_marked = 0;
    iteration.n_warm_up = warm_up;
    atomic_store(&iteration_now, RUN_NONE);
    atomic_store(&iteration_peak_bytes, RUN_UNKNOWN);
    atomic_store(&live_bytes, 0);
    atomic_store(&iteration.owner, 0);
}

void spans_forget_others(void)
{
    atomic_store(&iteration.owner, 0);
}

/* Drops an iteration that this thread can no longer end. */
static unsigned iteration_abandon(const struct thread_buffer *buffer)
{
    if (!iteration_change_owner((uintptr_t)buffer,
                                (uintptr_t)buffer | CHANGING))
        return 0;
    atomic_store(&iteration_now, RUN_NONE);
    atomic_store(&iteration.owner, 0);
    return 1;
}

unsigned spans_close(struct thread_buffer *buffer)
{
    unsigned n_open = span_n_open(buffer);

    buffer->n_ignored = 0;
    for (unsigned i = 0; i < n_open; i++)
        assay_end_();
    return n_open + iteration_abandon(buffer);
}

uint32_t spans_iteration(void)
{
    return atomic_load_explicit(&iteration_now, memory_order_relaxed);
}

bool spans_in_iteration(void)
{
    return atomic_load(&iteration_now) != RUN_NONE;
}

void assay_phase_(const char *name)
{
    struct thread_buffer *buffer = name ? spans_buffer() : span_own_buffer();
    struct record record = {.name = NAME_PHASES};

    if (!buffer)
        return;
    if (name)
        record.name = thread_buffer_name(buffer, NAME_PHASES, name, NULL);
    if (record.name == NAME_NONE)
        counter_increment(&buffer->n_lost);
    else
        spans_put(buffer, record);
}

/* A value being written, and whether this call set `stamping`. */
struct stamped {
    struct writing writing;
    bool is_first;
};

/* Announces that a value is about to get its time, until counter_publish(). In
 * a handler the thread may have announced an older one. */
static struct stamped counter_claim(struct thread_buffer *buffer)
{
    struct stamped stamped = {.is_first = atomic_load(&buffer->stamping) ==
                                          NOT_STAMPING};

    if (stamped.is_first)
        atomic_store(&buffer->stamping, ticks_now());
    stamped.writing = thread_buffer_write(buffer, thread_buffer_place(buffer));
    return stamped;
}

/* A late value is not in the ring yet: buffer_move_late() ends its
 * announcement. */
static void counter_publish(struct thread_buffer *buffer,
                            struct stamped stamped)
{
    thread_buffer_write_end(buffer, stamped.writing);
    if (stamped.is_first && !stamped.writing.is_late)
        atomic_store_explicit(&buffer->stamping, NOT_STAMPING,
                              memory_order_release);
}

/* Writes a value with the current time. */
static void span_put_value(struct thread_buffer *buffer, struct record filled)
{
    struct stamped stamped = counter_claim(buffer);

    if (stamped.writing.record) {
        filled.end = ticks_now();
        *stamped.writing.record = filled;
    }
    counter_publish(buffer, stamped);
}

void assay_counter_(const char *name, const char *unit, double value)
{
    struct thread_buffer *buffer = spans_buffer();
    uint32_t number;

    if (!buffer)
        return;
    number = thread_buffer_name(buffer, NAME_COUNTERS, name ? name : "", unit);
    if (number == NAME_NONE)
        counter_increment(&buffer->n_lost);
    else
        span_put_value(buffer, (struct record){.start = record_bits(value),
                                               .name = number});
}

static const char *memory_category_text(enum assay_memory_category category)
{
    static const char *const texts[] = {
#define TEXT(name, text) text,
        ASSAY_MEMORY_LIST(TEXT)
#undef TEXT
    };
    unsigned at = (unsigned)category;

    return texts[at <= ASSAY_MEMORY_OTHER ? at : ASSAY_MEMORY_OTHER];
}

void assay_memory_(const char *space, enum assay_memory_category category,
                   int64_t delta)
{
    struct thread_buffer *buffer = spans_buffer();
    uint32_t number;

    if (!buffer)
        return;
    number = thread_buffer_name(buffer, NAME_SPACES, space ? space : "host",
                                memory_category_text(category));
    if (number == NAME_NONE)
        counter_increment(&buffer->n_lost);
    else
        span_put_value(buffer, (struct record){.bytes = delta, .name = number});
}

/* Changes the live bytes; returns the larger of the counts before and after. */
static int64_t span_change_live(struct thread_buffer *buffer, int64_t delta)
{
    int64_t before = atomic_fetch_add(&live_bytes, delta);
    int64_t most = span_larger(before, span_sum(before, delta));
    unsigned n_open = span_n_open(buffer);

    atomic_fetch_add_explicit(&buffer->bytes, delta, memory_order_relaxed);
    span_raise(&iteration_peak_bytes, most);
    if (n_open)
        span_raise(&buffer->frames[n_open - 1].peak_bytes, most);
    return most;
}

void assay_bytes_(int64_t delta)
{
    struct thread_buffer *buffer = spans_buffer();
    struct stamped stamped;
    int64_t most;

    if (!buffer)
        return;
    most = span_change_live(buffer, delta);
    stamped = counter_claim(buffer);
    if (stamped.writing.record)
        *stamped.writing.record = (struct record){
            .start = record_bits((double)atomic_load(&live_bytes)),
            .end = ticks_now(),
            .bytes = thread_buffer_scope(buffer),
            .peak_bytes = most,
            .name = NAME_MEMORY};
    counter_publish(buffer, stamped);
}

void assay_thread_(const char *name)
{
    struct thread_buffer *own = threads_own;

    if (!name)
        return;
    if (own && recorder_has(own))
        threads_rename(own, name);
    else
        (void)threads_join(name);
}
