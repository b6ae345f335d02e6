/* record/thread_buffer.c - see thread_buffer_internal.h. */
#include "record/thread_buffer_internal.h"

#include "base/mem.h"
#include "record/record_internal.h"

#include <errno.h>
#include <string.h>

/* Records between two checks of how full the ring is. */
enum { turn_records = RING_RECORDS / 4 };

enum { max_probes = 8 };

/* From the system, because a handler may be the first to need one; pages of the
 * ring that nobody writes to cost nothing. */
struct thread_buffer *thread_buffer_new(void)
{
    struct thread_buffer *buffer = mem_map(sizeof *buffer);

    if (buffer)
        atomic_init(&buffer->is_owned, true);
    return buffer;
}

void thread_buffer_reset(struct thread_buffer *buffer)
{
    atomic_store_explicit(&buffer->n_open, 0, memory_order_relaxed);
    atomic_store_explicit(&buffer->state, NAME_ROOT, memory_order_relaxed);
    buffer->n_ignored = 0;
    buffer->next = 0;
    buffer->turn = turn_records;
    buffer->given_up = UINT64_MAX;
    atomic_store_explicit(&buffer->bytes, 0, memory_order_relaxed);
    atomic_store_explicit(&buffer->n_unbalanced, 0, memory_order_relaxed);
    atomic_store_explicit(&buffer->n_too_deep, 0, memory_order_relaxed);
    atomic_store_explicit(&buffer->n_lost, 0, memory_order_relaxed);
    atomic_store_explicit(&buffer->n_late, 0, memory_order_relaxed);
    atomic_store_explicit(&buffer->stamping, NOT_STAMPING,
                          memory_order_relaxed);
    atomic_store_explicit(&buffer->head, 0, memory_order_relaxed);
    atomic_store_explicit(&buffer->tail, 0, memory_order_relaxed);
    buffer->lane = LANE_NONE;
    memset(&buffer->drain, 0, sizeof buffer->drain);
}

static uint32_t buffer_intern(_Atomic(const struct name *) *cached,
                              uint32_t below, const char *text,
                              const char *detail)
{
    const struct name *name = names_intern(below, text, detail);

    if (!name)
        return NAME_NONE;
    atomic_store_explicit(cached, name, memory_order_relaxed);
    return name->number;
}

uint32_t thread_buffer_find_name(struct thread_buffer *buffer, uint32_t below,
                                 const char *text, const char *detail)
{
    size_t first = cached_name_place(below, text);

    for (size_t i = 0; i < max_probes; i++) {
        _Atomic(const struct name *) *place =
            &buffer->cache[(first + i) % CACHED_NAMES];
        const struct name *cached =
            atomic_load_explicit(place, memory_order_relaxed);

        if (!cached)
            return buffer_intern(place, below, text, detail);
        if (name_is(cached, below, text, detail))
            return cached->number;
    }
    return buffer_intern(&buffer->cache[first], below, text, detail);
}

struct record *thread_buffer_claim_late(struct thread_buffer *buffer)
{
    unsigned at = atomic_fetch_add(&buffer->n_late, 1);

    if (at < LATE_RECORDS)
        return &buffer->late[at];
    counter_increment(&buffer->n_lost);
    return NULL;
}

static void buffer_move_record(struct thread_buffer *buffer,
                               const struct record *record)
{
    uint64_t tail = atomic_load_explicit(&buffer->tail, memory_order_acquire);

    if (buffer->next - tail >= RING_RECORDS) {
        counter_increment(&buffer->n_lost);
        return;
    }
    buffer->ring[buffer->next % RING_RECORDS] = *record;
    thread_buffer_publish(buffer);
}

/* Another handler may add more until there are none. */
static void buffer_move_late(struct thread_buffer *buffer)
{
    unsigned n = atomic_load(&buffer->n_late), done = 0;

    do {
        for (; done < n && done < LATE_RECORDS; done++)
            buffer_move_record(buffer, &buffer->late[done]);
        done = n;
    } while (!atomic_compare_exchange_strong(&buffer->n_late, &n, 0));
    /* They may include values of counters: see counter_claim(). */
    atomic_store_explicit(&buffer->stamping, NOT_STAMPING,
                          memory_order_release);
}

void thread_buffer_take_late(struct thread_buffer *buffer)
{
    while (atomic_load(&buffer->n_late)) {
        uint64_t place = thread_buffer_place(buffer);

        atomic_store(&buffer->state, STATE_WRITING | place);
        buffer_move_late(buffer);
        atomic_store(&buffer->state, place);
    }
}

/* Waits for the writer, but not forever: a handler may have interrupted code
 * that the writer itself waits for. After waiting in vain it does not wait
 * again for the same space. */
static bool buffer_wait_for_space(struct thread_buffer *buffer, uint64_t *tail)
{
    if (*tail == buffer->given_up || recorder_is_inside())
        return false;
    if (!writer_wait_for_space(buffer))
        buffer->given_up = *tail;
    *tail = atomic_load_explicit(&buffer->tail, memory_order_acquire);
    return buffer->next - *tail < RING_SPACE;
}

static bool buffer_turn(struct thread_buffer *buffer)
{
    uint64_t tail = atomic_load_explicit(&buffer->tail, memory_order_acquire);
    uint64_t limit;

    if (buffer->next - tail >= RING_RECORDS / 2)
        writer_wake();
    if (buffer->next - tail >= RING_SPACE &&
        !buffer_wait_for_space(buffer, &tail))
        return false;
    limit = tail + RING_SPACE;
    buffer->turn = buffer->next + turn_records;
    if (buffer->turn > limit)
        buffer->turn = limit;
    return true;
}

bool thread_buffer_turn(struct thread_buffer *buffer)
{
    int before = errno; /* of the code that a signal interrupted */
    bool has_space = buffer_turn(buffer);

    if (!has_space && recorder_has(buffer))
        counter_increment(&buffer->n_lost);
    errno = before;
    return has_space;
}
