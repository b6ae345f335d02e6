/* record/span.c - what a measured program calls; see assay/span.h.
 *
 * A call stamps the time as near to the caller as it can, and leaves the rest
 * to whoever drains the buffer. */
#include "record/record_internal.h"

#include <string.h>

int assay_is_recording_;

/* The one iteration that may be under way. */
static struct {
    pthread_mutex_t mutex;
    const struct thread_buffer *owner; /* the thread that marked it; or NULL */
    uint64_t start;
    int64_t bytes;
    uint32_t n_marked, n_warm_up;
} iteration = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* What a span that ends now belongs to. */
static atomic_uint iteration_now = RUN_NONE;

static atomic_llong live_bytes;
static atomic_llong iteration_peak_bytes = RUN_UNKNOWN;

static struct thread_buffer *own_buffer(void)
{
    struct thread_buffer *own = threads_own;

    if (__builtin_expect(own && own->generation ==
                                    atomic_load_explicit(&recorder_generation,
                                                         memory_order_relaxed),
                         1))
        return own;
    return threads_join(NULL);
}

static unsigned open_spans(const struct thread_buffer *buffer)
{
    return atomic_load_explicit(&buffer->n_open, memory_order_relaxed);
}

static void set_open_spans(struct thread_buffer *buffer, unsigned n)
{
    atomic_store_explicit(&buffer->n_open, n, memory_order_relaxed);
}

static uint32_t open_name(const struct thread_buffer *buffer)
{
    unsigned n_open = open_spans(buffer);

    return n_open ? buffer->frames[n_open - 1].name : NAME_ROOT;
}

/* Opens a span, or with NAME_GROUP as its kind a group. */
static inline void open_frame(const char *name, const char *class_name,
                              uint32_t kind)
{
    struct thread_buffer *buffer = own_buffer();
    uint32_t parent;
    struct frame *frame;
    unsigned n_open;

    if (!buffer)
        return;
    n_open = open_spans(buffer);
    if (n_open == MAX_OPEN_SPANS) {
        buffer->n_ignored++;
        counter_increment(&buffer->n_too_deep);
        return;
    }
    parent = open_name(buffer);
    frame = &buffer->frames[n_open];
    frame->name = NAME_NONE;
    if (parent != NAME_NONE)
        frame->name = thread_buffer_name(buffer, parent | kind,
                                         name ? name : "", class_name);
    frame->bytes = buffer->bytes;
    frame->peak_bytes = RUN_UNKNOWN;
    frame->is_group = kind == NAME_GROUP;
    set_open_spans(buffer, n_open + 1);
    frame->start = ticks_now();
}

void assay_begin_(const char *name, const char *class_name)
{
    open_frame(name, class_name, 0);
}

void record_group_begin(const char *name, const char *class_name)
{
    if (assay_is_recording())
        open_frame(name, class_name, NAME_GROUP);
}

void record_group_end(void)
{
    assay_end();
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Wraps around, as the atomic count of live bytes does. */
static int64_t sum(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t difference(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* Bytes are known of a span in which some were taken or given back. */
static void end_frame(struct thread_buffer *buffer, const struct frame *frame,
                      uint64_t now)
{
    struct record *record = thread_buffer_claim(buffer);
    bool has_bytes = frame->peak_bytes != RUN_UNKNOWN;

    if (!record)
        return;
    record->start = frame->start;
    record->end = now;
    record->bytes =
        has_bytes ? difference(buffer->bytes, frame->bytes) : RUN_UNKNOWN;
    record->peak_bytes = frame->peak_bytes;
    record->name = frame->name;
    record->iteration =
        atomic_load_explicit(&iteration_now, memory_order_relaxed);
    thread_buffer_publish(buffer);
}

void assay_end_(void)
{
    uint64_t now = ticks_now();
    struct thread_buffer *buffer = own_buffer();
    struct frame *frame;
    unsigned n_open;

    if (!buffer)
        return;
    if (buffer->n_ignored) {
        buffer->n_ignored--;
        return;
    }
    n_open = open_spans(buffer);
    if (n_open == 0) {
        counter_increment(&buffer->n_unbalanced);
        return;
    }
    frame = &buffer->frames[--n_open];
    set_open_spans(buffer, n_open);
    if (n_open)
        frame[-1].peak_bytes = larger(frame[-1].peak_bytes, frame->peak_bytes);
    if (frame->is_group)
        return;
    if (frame->name == NAME_NONE)
        counter_increment(&buffer->n_lost);
    else
        end_frame(buffer, frame, now);
}

static void put(struct thread_buffer *buffer, struct record filled)
{
    struct record *record = thread_buffer_claim(buffer);

    if (!record)
        return;
    *record = filled;
    thread_buffer_publish(buffer);
}

/* Open ones that are measured: the depth of what opens next, less one. */
static unsigned measured_spans(const struct thread_buffer *buffer)
{
    unsigned n = 0;

    for (unsigned i = 0; i < open_spans(buffer); i++)
        n += !buffer->frames[i].is_group;
    return n;
}

static void iteration_begin(struct thread_buffer *buffer)
{
    uint32_t index = iteration.n_marked++;

    put(buffer,
        (struct record){.name = NAME_MARK, .bytes = measured_spans(buffer)});
    iteration.owner = buffer;
    iteration.bytes = atomic_load_explicit(&live_bytes, memory_order_relaxed);
    atomic_store(&iteration_peak_bytes, RUN_UNKNOWN);
    atomic_store(&iteration_now, index < iteration.n_warm_up
                                     ? ITERATION_WARM_UP
                                     : index - iteration.n_warm_up);
    iteration.start = ticks_now();
}

static void iteration_end(struct thread_buffer *buffer, uint64_t now)
{
    int64_t peak = atomic_load(&iteration_peak_bytes);
    int64_t gained = difference(atomic_load(&live_bytes), iteration.bytes);

    put(buffer,
        (struct record){.start = iteration.start,
                        .end = now,
                        .bytes = peak == RUN_UNKNOWN ? RUN_UNKNOWN : gained,
                        .peak_bytes = peak,
                        .name = NAME_ROOT,
                        .iteration = atomic_load(&iteration_now)});
    iteration.owner = NULL;
    atomic_store(&iteration_now, RUN_NONE);
}

void assay_iteration_(int begins)
{
    uint64_t now = ticks_now();
    struct thread_buffer *buffer = own_buffer();

    if (!buffer)
        return;
    pthread_mutex_lock(&iteration.mutex);
    if (begins && !iteration.owner)
        iteration_begin(buffer);
    else if (!begins && iteration.owner == buffer)
        iteration_end(buffer, now);
    else
        counter_increment(&buffer->n_unbalanced);
    pthread_mutex_unlock(&iteration.mutex);
}

void spans_reset(unsigned warm_up)
{
    pthread_mutex_lock(&iteration.mutex);
    iteration.owner = NULL;
    iteration.n_marked = 0;
    iteration.n_warm_up = warm_up;
    pthread_mutex_unlock(&iteration.mutex);
    atomic_store(&iteration_now, RUN_NONE);
    atomic_store(&iteration_peak_bytes, RUN_UNKNOWN);
    atomic_store(&live_bytes, 0);
}

/* An iteration that this thread cannot end any more never was one. */
static unsigned abandon_iteration(const struct thread_buffer *buffer)
{
    bool is_own;

    pthread_mutex_lock(&iteration.mutex);
    is_own = iteration.owner == buffer;
    if (is_own) {
        iteration.owner = NULL;
        atomic_store(&iteration_now, RUN_NONE);
    }
    pthread_mutex_unlock(&iteration.mutex);
    return is_own;
}

unsigned spans_close(struct thread_buffer *buffer)
{
    unsigned n_open = open_spans(buffer);

    buffer->n_ignored = 0;
    for (unsigned i = 0; i < n_open; i++)
        assay_end_();
    return n_open + abandon_iteration(buffer);
}

bool spans_in_iteration(void)
{
    return atomic_load(&iteration_now) != RUN_NONE;
}

void assay_phase_(const char *name)
{
    struct thread_buffer *buffer = own_buffer();
    struct record record = {.name = NAME_PHASES};

    if (!buffer)
        return;
    if (name)
        record.name = thread_buffer_name(buffer, NAME_PHASES, name, NULL);
    if (record.name == NAME_NONE)
        counter_increment(&buffer->n_lost);
    else
        put(buffer, record);
}

static uint64_t double_bits(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Says that a value is about to get its time, until counter_publish(). */
static struct record *counter_claim(struct thread_buffer *buffer)
{
    atomic_store(&buffer->stamping, ticks_now());
    return thread_buffer_claim(buffer);
}

static void counter_publish(struct thread_buffer *buffer)
{
    thread_buffer_publish(buffer);
    atomic_store_explicit(&buffer->stamping, NOT_STAMPING,
                          memory_order_release);
}

void assay_counter_(const char *name, const char *unit, double value)
{
    struct thread_buffer *buffer = own_buffer();
    struct record *record;
    uint32_t number;

    if (!buffer)
        return;
    number = thread_buffer_name(buffer, NAME_COUNTERS, name ? name : "", unit);
    if (number == NAME_NONE) {
        counter_increment(&buffer->n_lost);
        return;
    }
    record = counter_claim(buffer);
    if (!record)
        return;
    *record = (struct record){
        .start = double_bits(value), .end = ticks_now(), .name = number};
    counter_publish(buffer);
}

static void raise_to(atomic_llong *peak, int64_t value)
{
    long long seen = atomic_load_explicit(peak, memory_order_relaxed);

    while (value > seen && !atomic_compare_exchange_weak(peak, &seen, value))
        ;
}

/* The most that was live around a change of the count by this thread. */
static int64_t change_live(struct thread_buffer *buffer, int64_t delta)
{
    int64_t before = atomic_fetch_add(&live_bytes, delta);
    int64_t most = larger(before, sum(before, delta));
    unsigned n_open = open_spans(buffer);

    buffer->bytes = sum(buffer->bytes, delta);
    raise_to(&iteration_peak_bytes, most);
    if (n_open) {
        struct frame *frame = &buffer->frames[n_open - 1];

        frame->peak_bytes = larger(frame->peak_bytes, most);
    }
    return most;
}

void assay_bytes_(int64_t delta)
{
    struct thread_buffer *buffer = own_buffer();
    struct record *record;
    int64_t most;

    if (!buffer)
        return;
    most = change_live(buffer, delta);
    record = counter_claim(buffer);
    if (!record)
        return;
    *record =
        (struct record){.start = double_bits((double)atomic_load(&live_bytes)),
                        .end = ticks_now(),
                        .bytes = open_name(buffer),
                        .peak_bytes = most,
                        .name = NAME_MEMORY};
    counter_publish(buffer);
}

void assay_thread_(const char *name)
{
    struct thread_buffer *own = threads_own;

    if (!name)
        return;
    if (own && own->generation == atomic_load(&recorder_generation))
        threads_rename(own, name);
    else
        (void)threads_join(name);
}
