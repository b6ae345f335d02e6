/* machine/probe_memory.c - reads, writes and copies with all threads. */
#include "machine/machine_internal.h"

#include "base/variants.h"

#include <string.h>

enum { line_bytes = 64 };

/* The begin of a thread's part: whole cache lines. */
static size_t part_begin(const struct probe_memory *memory, size_t bytes,
                         int part)
{
    size_t lines = bytes / line_bytes, n = (size_t)memory->n_threads;

    return lines * (size_t)part / n * line_bytes;
}

/* The begin of the next step of this many bytes. */
static char *next_step(struct probe_memory *memory, size_t ring, size_t step)
{
    size_t at = memory->at + step <= ring ? memory->at : 0;

    memory->at = at + step;
    return memory->data + at;
}

VARIANTS(uint64_t, probe_memory_read_part, (const uint64_t *data, size_t n),
         (data, n))
{
    uint64_t seen = 0;

    for (size_t i = 0; i < n; i++)
        seen ^= data[i];
    return seen;
}

enum assay_status probe_read(void *context, struct error *err)
{
    struct probe_memory *memory = context;
    const char *step = next_step(memory, memory->bytes, memory->step);
    uint64_t seen = 0;

    (void)err;
#pragma omp parallel for num_threads(memory->n_threads) reduction(^ : seen)    \
    schedule(static, 1)
    for (int i = 0; i < memory->n_threads; i++) {
        size_t begin = part_begin(memory, memory->step, i);
        size_t end = part_begin(memory, memory->step, i + 1);

        for (size_t k = 0; k < memory->repeat; k++) {
            seen ^= probe_memory_read_part(
                (const uint64_t *)(const void *)(step + begin),
                (end - begin) / sizeof(uint64_t));
            /* Or the compiler would read it only once. */
            __asm__ volatile("" ::: "memory");
        }
    }
    memory->seen ^= seen;
    return ASSAY_OK;
}

enum assay_status probe_write(void *context, struct error *err)
{
    struct probe_memory *memory = context;
    char *step = next_step(memory, memory->bytes, memory->step);

    (void)err;
#pragma omp parallel for num_threads(memory->n_threads) schedule(static, 1)
    for (int i = 0; i < memory->n_threads; i++) {
        size_t begin = part_begin(memory, memory->step, i);

        memset(step + begin, 1,
               part_begin(memory, memory->step, i + 1) - begin);
    }
    return ASSAY_OK;
}

enum assay_status probe_copy(void *context, struct error *err)
{
    struct probe_memory *memory = context;
    size_t half = memory->bytes / 2 / line_bytes * line_bytes;
    char *step = next_step(memory, half, memory->step / 2);

    (void)err;
#pragma omp parallel for num_threads(memory->n_threads) schedule(static, 1)
    for (int i = 0; i < memory->n_threads; i++) {
        size_t begin = part_begin(memory, memory->step / 2, i);

        memcpy(step + half + begin, step + begin,
               part_begin(memory, memory->step / 2, i + 1) - begin);
    }
    return ASSAY_OK;
}
