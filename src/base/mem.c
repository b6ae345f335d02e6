/* base/mem.c - see mem.h. Uses malloc(3), and malloc_usable_size(3) for the
 * sizes, so that blocks need no header; mmap(2) for memory that must go back to
 * the system. */
#include "base/mem.h"

#include "base/sysfs.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static atomic_long live_blocks;
static atomic_size_t live_bytes;
static atomic_size_t peak_bytes;

static atomic_long fail_countdown = -1; /* requests left before it fails */
static atomic_bool fail_only_once;

/* Each request counts once, on whatever thread, and none undoes a mem_fail_at()
 * that comes meanwhile. */
static bool is_told_to_fail(void)
{
    long left = atomic_load_explicit(&fail_countdown, memory_order_relaxed);
    long next;

    do {
        if (left < 0)
            return false;
        next = left > 0 ? left - 1 : atomic_load(&fail_only_once) ? -1 : 0;
    } while (!atomic_compare_exchange_weak(&fail_countdown, &left, next));
    return left == 0;
}

static void count_bytes_in(size_t bytes)
{
    size_t peak;

    atomic_fetch_add_explicit(&live_blocks, 1, memory_order_relaxed);
    bytes +=
        atomic_fetch_add_explicit(&live_bytes, bytes, memory_order_relaxed);
    peak = atomic_load_explicit(&peak_bytes, memory_order_relaxed);
    while (bytes > peak &&
           !atomic_compare_exchange_weak(&peak_bytes, &peak, bytes))
        ;
}

static void count_bytes_out(size_t bytes)
{
    atomic_fetch_sub_explicit(&live_blocks, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&live_bytes, bytes, memory_order_relaxed);
}

static void count_in(void *block)
{
    if (block)
        count_bytes_in(malloc_usable_size(block));
}

static void count_out(void *block)
{
    if (block)
        count_bytes_out(malloc_usable_size(block));
}

void *mem_alloc(size_t bytes)
{
    void *block;

    if (is_told_to_fail())
        return NULL;
    block = malloc(bytes ? bytes : 1);
    count_in(block);
    return block;
}

void *mem_zalloc(size_t bytes)
{
    return mem_array(1, bytes);
}

void *mem_array(size_t n, size_t item_size)
{
    void *block;
    size_t bytes;

    if (is_told_to_fail() || !mem_mul(n, item_size, &bytes))
        return NULL;
    block = calloc(1, bytes ? bytes : 1);
    count_in(block);
    return block;
}

void *mem_realloc(void *block, size_t bytes)
{
    size_t before = block ? malloc_usable_size(block) : 0;
    void *moved;

    if (is_told_to_fail())
        return NULL;
    moved = realloc(block, bytes ? bytes : 1);
    if (!moved)
        return NULL;
    if (block)
        count_bytes_out(before);
    count_in(moved);
    return moved;
}

char *mem_strdup(const char *text)
{
    return mem_strndup(text, strlen(text));
}

char *mem_strndup(const char *text, size_t n)
{
    size_t length = strnlen(text, n);
    char *copy = mem_alloc(length + 1);

    if (copy) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

void *mem_alloc_aligned(size_t alignment, size_t bytes)
{
    void *block = NULL;

    if (is_told_to_fail())
        return NULL;
    if (posix_memalign(&block, alignment, bytes ? bytes : 1))
        return NULL;
    count_in(block);
    return block;
}

void mem_free(void *block)
{
    count_out(block);
    free(block);
}

/* Large pages must lie on their own boundary: if the mapping does not, what
 * hangs over at either end is unmapped. 0: any page will do. */
static void *map_on_boundary(size_t bytes, size_t boundary)
{
    char *mapped, *block;
    size_t before;

    mapped = mmap(NULL, bytes + boundary, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        return NULL;
    if (!boundary)
        return mapped;
    before = (boundary - (uintptr_t)mapped % boundary) % boundary;
    block = mapped + before;
    if (before)
        munmap(mapped, before);
    munmap(block + bytes, boundary - before);
    return block;
}

static size_t whole_pages(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (bytes / page + (bytes % page || !bytes)) * page;
}

/* ---- how much is left ------------------------------------------------- */

/* The number after a key at the start of a line; 0 if there is none. */
static uint64_t mem_find_number(const char *text, const char *key)
{
    const char *found = sysfs_field(text, key);

    return found ? strtoull(found, NULL, 10) : 0;
}

static size_t mem_clamp(uint64_t bytes)
{
    return bytes < SIZE_MAX ? (size_t)bytes : SIZE_MAX;
}

static size_t machine_room(const char *root)
{
    char text[4096];
    uint64_t kib;

    if (!sysfs_read(text, sizeof text, root, "proc/meminfo"))
        return SIZE_MAX;
    kib = mem_find_number(text, "MemAvailable:");
    if (!kib) /* Linux before 3.14 */
        return SIZE_MAX;
    return mem_clamp((kib + mem_find_number(text, "SwapFree:")) * 1024);
}

/* Memory that only caches files can be reclaimed, so it counts as free. */
static size_t container_room(const char *root)
{
    static const char folder[] = "sys/fs/cgroup";
    char most[64], used[64], parts[4096];
    uint64_t limit, taken;

    if (!sysfs_read(most, sizeof most, root, "%s/memory.max", folder) ||
        !sysfs_read(used, sizeof used, root, "%s/memory.current", folder) ||
        !sysfs_read(parts, sizeof parts, root, "%s/memory.stat", folder))
        return SIZE_MAX;
    limit = strtoull(most, NULL, 10); /* 0: "max" */
    taken = strtoull(used, NULL, 10);
    if (!limit)
        return SIZE_MAX;
    limit += mem_find_number(parts, "file ");
    return limit > taken ? mem_clamp(limit - taken) : 0;
}

size_t mem_room(const char *root)
{
    size_t machine = machine_room(root), container = container_room(root);

    return machine < container ? machine : container;
}

/* Whether the system would grant this but could not back it. Looking takes
 * 30 us, too much for smaller blocks. */
static bool is_beyond_reach(size_t bytes)
{
    static const size_t large_bytes = (size_t)64 << 20;

    return bytes >= large_bytes && bytes > mem_room("");
}

void *mem_map(size_t bytes)
{
    static const size_t large_page = (size_t)2 << 20;
    void *block;

    if (is_told_to_fail() || bytes > SIZE_MAX / 2 || is_beyond_reach(bytes))
        return NULL;
    bytes = whole_pages(bytes);
    block = map_on_boundary(bytes, bytes < large_page ? 0 : large_page);
    if (!block)
        return NULL;
    /* Large pages are left to the system: asking for them makes a first touch
     * wait for memory to be compacted, which cost a short run 0.5 s. */
    count_bytes_in(bytes);
    return block;
}

void mem_unmap(void *block, size_t bytes)
{
    if (!block)
        return;
    bytes = whole_pages(bytes);
    munmap(block, bytes);
    count_bytes_out(bytes);
}

bool mem_mul(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

bool mem_add(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

long mem_live(void)
{
    return atomic_load(&live_blocks);
}

size_t mem_live_bytes(void)
{
    return atomic_load(&live_bytes);
}

size_t mem_peak_bytes(void)
{
    return atomic_load(&peak_bytes);
}

void mem_reset_peak(void)
{
    atomic_store(&peak_bytes, atomic_load(&live_bytes));
}

void mem_fail_at(long nth)
{
    atomic_store(&fail_only_once, false);
    atomic_store(&fail_countdown, nth);
}

void mem_fail_once_at(long nth)
{
    atomic_store(&fail_only_once, true);
    atomic_store(&fail_countdown, nth);
}
