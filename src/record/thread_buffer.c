/* record/thread_buffer.c - see thread_buffer.h. */
#include "record/thread_buffer.h"

#include "base/mem.h"
#include "record/record_internal.h"

#include <string.h>

/* Records between two looks at how full the ring is. */
enum { turn_records = RING_RECORDS / 4 };

enum { max_probes = 8 };

struct thread_buffer *thread_buffer_new(void)
{
    struct thread_buffer *buffer =
        mem_alloc_aligned(alignof(struct thread_buffer), sizeof *buffer);

    /* The ring is left as it is: pages nobody writes to cost nothing. */
    if (buffer)
        memset(buffer, 0, offsetof(struct thread_buffer, ring));
    return buffer;
}

void thread_buffer_reset(struct thread_buffer *buffer)
{
    atomic_store_explicit(&buffer->n_open, 0, memory_order_relaxed);
    buffer->n_ignored = 0;
    buffer->next = 0;
    buffer->turn = turn_records;
    buffer->bytes = 0;
    atomic_store_explicit(&buffer->n_unbalanced, 0, memory_order_relaxed);
    atomic_store_explicit(&buffer->n_too_deep, 0, memory_order_relaxed);
    atomic_store_explicit(&buffer->n_lost, 0, memory_order_relaxed);
    atomic_store_explicit(&buffer->stamping, NOT_STAMPING,
                          memory_order_relaxed);
    atomic_store_explicit(&buffer->head, 0, memory_order_relaxed);
    atomic_store_explicit(&buffer->tail, 0, memory_order_relaxed);
    memset(&buffer->drain, 0, sizeof buffer->drain);
}

static uint32_t intern(struct cached_name *cached, uint32_t parent,
                       const char *text, const char *detail)
{
    struct name name;
    uint32_t number = names_intern(parent, text, detail, &name);

    if (number != NAME_NONE)
        *cached = (struct cached_name){.text = text,
                                       .detail = detail,
                                       .known_text = name.text,
                                       .known_detail = name.detail,
                                       .parent = parent,
                                       .number = number};
    return number;
}

uint32_t thread_buffer_find_name(struct thread_buffer *buffer, uint32_t parent,
                                 const char *text, const char *detail)
{
    size_t first = cached_name_place(parent, text);

    for (size_t i = 0; i < max_probes; i++) {
        struct cached_name *cached = &buffer->cache[(first + i) % CACHED_NAMES];

        if (!cached->text)
            return intern(cached, parent, text, detail);
        if (cached_name_is(cached, parent, text, detail))
            return cached->number;
    }
    return intern(&buffer->cache[first], parent, text, detail);
}

bool thread_buffer_turn(struct thread_buffer *buffer)
{
    uint64_t tail = atomic_load_explicit(&buffer->tail, memory_order_acquire);
    uint64_t limit;

    if (buffer->next - tail >= RING_RECORDS / 2)
        writer_wake();
    if (buffer->next - tail >= RING_RECORDS) {
        if (!writer_wait_for_space(buffer))
            return false;
        tail = atomic_load_explicit(&buffer->tail, memory_order_acquire);
    }
    limit = tail + RING_RECORDS;
    buffer->turn = buffer->next + turn_records;
    if (buffer->turn > limit)
        buffer->turn = limit;
    return true;
}
