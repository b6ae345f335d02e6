/* tensor/pool.c - see pool.h.
 *
 * Free buffers wait in lists by size class, eight classes an octave, so that a
 * buffer is at most an eighth larger than what was asked for. */
#include "tensor/pool.h"

#include "base/mem.h"
#include "base/vec.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { min_bytes = 512, parts = 8, n_classes = 64 * parts };

/* Smaller buffers are not worth giving back before a large one is taken. */
static const size_t worthwhile_bytes = 1 << 18;

struct buffer {
    atomic_int references;
    size_t bytes;    /* asked for */
    size_t capacity; /* of its class */
    void *data;
    struct space *space;
    struct pool *pool; /* NULL: wrapped memory of others */
    bool is_file;      /* wrapped, and mapped from one */
    uint32_t owner;
    struct buffer *next_free;
    uint64_t waits_since; /* counted in buffers that were given back */
    void (*release)(void *context);
    void *context;
};

struct pool {
    pthread_mutex_t lock;
    struct space *space;
    struct buffer *free_lists[n_classes];
    struct pool_usage usage;
    struct pool_observer observer;
    struct pool_share *shares; /* one an owner */
    size_t n_owners, shares_capacity;
    uint32_t owner;
    uint64_t n_given_back;
    size_t limit_bytes; /* of what is held; 0: none */
    size_t most_bytes;  /* live at any time, whatever the peak is reset to */
    bool is_thrifty;
    bool holds_nothing; /* and sizes are what was asked for */
    bool is_at_peak;    /* the shares of the peak are those of now */
};

struct pool_share {
    size_t bytes, peak_bytes; /* asked for: now, and at the peak */
};

/* The class of a size, and the size of that class. */
static unsigned size_class(size_t bytes, size_t *capacity)
{
    unsigned octave, part;
    size_t step;

    if (bytes < min_bytes)
        bytes = min_bytes;
    octave = 63 - (unsigned)__builtin_clzll(bytes);
    step = (size_t)1 << (octave - 3);
    part = (unsigned)((bytes - ((size_t)1 << octave) + step - 1) / step);
    *capacity = ((size_t)1 << octave) + part * step;
    if (part == parts) {
        part = 0;
        octave++;
    }
    return octave * parts + part;
}

/* ---- owners ------------------------------------------------------------ */

static bool grow_shares(struct pool *pool, uint32_t owner)
{
    struct pool_share *moved;

    if (owner < pool->n_owners)
        return true;
    moved = vec_reserve(pool->shares, &pool->shares_capacity, (size_t)owner + 1,
                        sizeof *moved);
    if (!moved)
        return false;
    memset(moved + pool->n_owners, 0,
           (owner + 1 - pool->n_owners) * sizeof *moved);
    pool->shares = moved;
    pool->n_owners = (size_t)owner + 1;
    return true;
}

/* Shares change after this: those of the peak are put down first. */
static void leave_peak(struct pool *pool)
{
    if (!pool->is_at_peak)
        return;
    for (size_t i = 0; i < pool->n_owners; i++)
        pool->shares[i].peak_bytes = pool->shares[i].bytes;
    pool->is_at_peak = false;
}

uint32_t pool_set_owner(struct pool *pool, uint32_t owner)
{
    uint32_t before;

    pthread_mutex_lock(&pool->lock);
    before = pool->owner;
    pool->owner = grow_shares(pool, owner) ? owner : OWNER_OTHER;
    pthread_mutex_unlock(&pool->lock);
    return before;
}

static void pool_tell(const struct buffer *buffer,
                      const struct pool_change *change)
{
    const struct pool_observer *observer = &buffer->pool->observer;

    if (observer->changed)
        observer->changed(observer->context, change);
}

/* Who made a value is known only after the kernel ran: what is told at the
 * peak still counts for it. */
void buffer_set_owner(struct buffer *buffer, uint32_t owner)
{
    struct pool *pool = buffer->pool;
    struct pool_change change = {.bytes = (int64_t)buffer->capacity,
                                 .asked_bytes = (int64_t)buffer->bytes,
                                 .owner = owner,
                                 .owner_before = buffer->owner,
                                 .is_handed_over = true};

    if (!pool || buffer->owner == owner)
        return;
    pthread_mutex_lock(&pool->lock);
    if (grow_shares(pool, owner)) {
        pool->shares[buffer->owner].bytes -= buffer->bytes;
        pool->shares[owner].bytes += buffer->bytes;
        buffer->owner = owner;
    }
    pthread_mutex_unlock(&pool->lock);
    if (buffer->owner == owner)
        pool_tell(buffer, &change);
}

uint32_t buffer_owner(const struct buffer *buffer)
{
    return buffer->owner;
}

size_t pool_peak_of(struct pool *pool, uint32_t owner)
{
    size_t bytes;

    pthread_mutex_lock(&pool->lock);
    leave_peak(pool);
    bytes = owner < pool->n_owners ? pool->shares[owner].peak_bytes : 0;
    pthread_mutex_unlock(&pool->lock);
    return bytes;
}

size_t pool_live_of(struct pool *pool, uint32_t owner)
{
    size_t bytes;

    pthread_mutex_lock(&pool->lock);
    bytes = owner < pool->n_owners ? pool->shares[owner].bytes : 0;
    pthread_mutex_unlock(&pool->lock);
    return bytes;
}

size_t pool_owner_count(const struct pool *pool)
{
    struct pool *unlocked = (struct pool *)pool;
    size_t n;

    pthread_mutex_lock(&unlocked->lock);
    n = pool->n_owners;
    pthread_mutex_unlock(&unlocked->lock);
    return n;
}

/* ---- buffers ----------------------------------------------------------- */

static bool pool_is_lasting(const struct pool *pool, uint32_t owner)
{
    return pool->space->take_lasting &&
           (owner == OWNER_WEIGHTS || owner == OWNER_PACKED);
}

/* Memory that does not wait here. What lasts is not put into what passes left:
 * memory around it could not go back. */
static bool pool_passes_on(const struct pool *pool, uint32_t owner)
{
    return pool->holds_nothing || pool_is_lasting(pool, owner);
}

enum assay_status pool_new(struct pool **out, struct error *err)
{
    return pool_new_in(&space_host, out, err);
}

enum assay_status pool_new_in(struct space *space, struct pool **out,
                              struct error *err)
{
    struct pool *pool = mem_zalloc(sizeof *pool);

    *out = pool;
    if (!pool)
        return error_nomem(err, sizeof *pool, "a pool of buffers");
    pool->space = space;
    pthread_mutex_init(&pool->lock, NULL);
    if (grow_shares(pool, OWNER_MODULE))
        return ASSAY_OK;
    pool_free(pool);
    *out = NULL;
    return error_nomem(err, sizeof *pool->shares, "a pool of buffers");
}

struct space *pool_space(const struct pool *pool)
{
    return pool->space;
}

void pool_observe(struct pool *pool, struct pool_observer observer)
{
    pool->observer = observer;
}

static void pool_destroy(struct buffer *buffer)
{
    buffer->space->give(buffer->space, buffer->data, buffer->capacity);
    mem_free(buffer);
}

/* Gives the buffer that hangs there back to the system. */
static void pool_drop(struct pool *pool, struct buffer **at)
{
    struct buffer *buffer = *at;

    *at = buffer->next_free;
    pool->usage.cached_bytes -= buffer->capacity;
    pool->usage.held_bytes -= buffer->capacity;
    pool_destroy(buffer);
}

static void trim_locked(struct pool *pool)
{
    for (unsigned i = 0; i < n_classes; i++) {
        while (pool->free_lists[i])
            pool_drop(pool, &pool->free_lists[i]);
    }
}

/* Where the worthwhile buffer hangs that has waited longest; NULL: none
 * waits. */
static struct buffer **find_oldest(struct pool *pool)
{
    struct buffer **found = NULL;

    for (unsigned i = 0; i < n_classes; i++) {
        for (struct buffer **at = &pool->free_lists[i];
             *at && (*at)->capacity >= worthwhile_bytes;
             at = &(*at)->next_free) {
            if (!found || (*at)->waits_since < (*found)->waits_since)
                found = at;
        }
    }
    return found;
}

/* Before so many bytes are taken that are new. What is given back now and
 * wanted again in the next pass costs a fault a page: a pool that holds a tenth
 * more than the most that was live gives back a quarter as much in a training
 * step of a detector. */
static void make_room(struct pool *pool, size_t capacity)
{
    size_t live = pool->usage.live_bytes + capacity;
    size_t most = live > pool->most_bytes ? live : pool->most_bytes;
    struct buffer **at;

    most += most / 10;
    while (pool->usage.held_bytes + capacity > most) {
        at = find_oldest(pool);
        if (!at)
            return;
        pool_drop(pool, at);
    }
}

void pool_set_limit(struct pool *pool, size_t bytes)
{
    pthread_mutex_lock(&pool->lock);
    pool->limit_bytes = bytes;
    pthread_mutex_unlock(&pool->lock);
}

void pool_trim(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    trim_locked(pool);
    pthread_mutex_unlock(&pool->lock);
}

bool pool_set_thrifty(struct pool *pool, bool is_thrifty)
{
    bool before;

    pthread_mutex_lock(&pool->lock);
    before = pool->is_thrifty;
    pool->is_thrifty = is_thrifty;
    pthread_mutex_unlock(&pool->lock);
    return before;
}

void pool_hold_nothing(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->holds_nothing = pool->space->keeps;
    pthread_mutex_unlock(&pool->lock);
}

void pool_free(struct pool *pool)
{
    if (!pool)
        return;
    trim_locked(pool);
    pthread_mutex_destroy(&pool->lock);
    mem_free(pool->shares);
    mem_free(pool);
}

/* A buffer that waits in the class, or in one of the next few. */
static struct buffer *pool_reuse(struct pool *pool, unsigned wanted)
{
    enum { how_much_larger = 3 }; /* classes: up to 3/8 */

    for (unsigned i = wanted; i <= wanted + how_much_larger; i++) {
        struct buffer *buffer = i < n_classes ? pool->free_lists[i] : NULL;

        if (buffer) {
            pool->free_lists[i] = buffer->next_free;
            pool->usage.cached_bytes -= buffer->capacity;
            return buffer;
        }
    }
    return NULL;
}

static bool is_within_limit(const struct pool *pool, size_t bytes)
{
    return !pool->limit_bytes ||
           pool->usage.held_bytes + bytes <= pool->limit_bytes;
}

static struct buffer *pool_make(struct pool *pool, uint32_t owner,
                                size_t capacity)
{
    struct space *space = pool->space;
    struct buffer *buffer = mem_zalloc(sizeof *buffer);

    if (!buffer)
        return NULL;
    buffer->space = space;
    if (is_within_limit(pool, capacity))
        buffer->data = pool_is_lasting(pool, owner)
                           ? space->take_lasting(space, capacity)
                           : space->take(space, capacity);
    buffer->capacity = capacity;
    if (!buffer->data) {
        mem_free(buffer);
        return NULL;
    }
    return buffer;
}

/* New memory, where needed after giving back all that waits. */
static struct buffer *pool_obtain(struct pool *pool, uint32_t owner,
                                  size_t capacity)
{
    static const size_t large_bytes = 40 << 20;
    struct buffer *buffer;

    if (pool->is_thrifty && capacity >= large_bytes &&
        pool->usage.cached_bytes > capacity)
        make_room(pool, capacity);
    buffer = pool_make(pool, owner, capacity);
    if (!buffer && pool->usage.cached_bytes) {
        trim_locked(pool);
        buffer = pool_make(pool, owner, capacity);
    }
    if (buffer)
        pool->usage.held_bytes += buffer->capacity;
    if (pool->usage.held_bytes > pool->usage.held_peak_bytes)
        pool->usage.held_peak_bytes = pool->usage.held_bytes;
    return buffer;
}

static void count_taken(struct pool *pool, struct buffer *buffer)
{
    struct pool_usage *usage = &pool->usage;

    usage->live_bytes += buffer->capacity;
    if (usage->live_bytes > usage->peak_bytes) {
        usage->peak_bytes = usage->live_bytes;
        pool->is_at_peak = true;
    }
    if (usage->live_bytes > pool->most_bytes)
        pool->most_bytes = usage->live_bytes;
    pool->shares[buffer->owner].bytes += buffer->bytes;
}

/* Of a device, with what is left there and what may help. */
static enum assay_status pool_nomem(const struct pool *pool, size_t bytes,
                                    size_t live_bytes, const char *what,
                                    struct error *err)
{
    static const double mib = 0x1p20;
    struct space *space = pool->space;
    size_t free_bytes = 0, total_bytes = 0;
    size_t spare_bytes = space->spare ? space->spare(space) : 0;
    enum assay_status st = error_nomem(err, bytes, what);
    char hint[200], spare[64] = "";

    if (!space->room || !space->room(space, &free_bytes, &total_bytes))
        return st;
    if (spare_bytes >= bytes)
        snprintf(spare, sizeof spare, " and %.0f MiB kept for reuse",
                 (double)spare_bytes / mib);
    snprintf(hint, sizeof hint,
             "%s has %.0f of %.0f MiB left; here %.0f MiB are in use%s; a "
             "smaller batch needs less",
             space->name, (double)free_bytes / mib, (double)total_bytes / mib,
             (double)live_bytes / mib, spare);
    error_hint(err, hint);
    return st;
}

/* owner NULL: the pool's. */
static enum assay_status pool_take_for(struct pool *pool, const uint32_t *owner,
                                       size_t bytes, const char *what,
                                       struct buffer **out, struct error *err)
{
    struct buffer *buffer;
    size_t capacity, live_bytes;
    unsigned class;
    uint32_t whose;

    *out = NULL;
    if (bytes > SIZE_MAX / 4)
        return error_nomem(err, bytes, what);
    class = size_class(bytes, &capacity);
    pthread_mutex_lock(&pool->lock);
    whose = owner ? *owner : pool->owner;
    if (pool_passes_on(pool, whose))
        capacity = (bytes + !bytes + min_bytes - 1) / min_bytes * min_bytes;
    buffer = pool_passes_on(pool, whose) ? NULL : pool_reuse(pool, class);
    if (!buffer)
        buffer = pool_obtain(pool, whose, capacity);
    if (buffer) {
        buffer->bytes = bytes;
        buffer->owner = whose;
        count_taken(pool, buffer);
    } else {
        pool->usage.refused_bytes = pool->usage.live_bytes + capacity;
    }
    live_bytes = pool->usage.live_bytes;
    pthread_mutex_unlock(&pool->lock);
    if (!buffer)
        return pool_nomem(pool, bytes, live_bytes, what, err);
    buffer->pool = pool;
    atomic_store(&buffer->references, 1);
    pool_tell(buffer, &(struct pool_change){.bytes = (int64_t)buffer->capacity,
                                            .asked_bytes = (int64_t)bytes,
                                            .owner = buffer->owner});
    *out = buffer;
    return ASSAY_OK;
}

enum assay_status pool_take(struct pool *pool, size_t bytes, const char *what,
                            struct buffer **out, struct error *err)
{
    return pool_take_for(pool, NULL, bytes, what, out, err);
}

enum assay_status pool_take_scratch(struct pool *pool, size_t bytes,
                                    const char *what, struct buffer **out,
                                    struct error *err)
{
    static const uint32_t owner = OWNER_SCRATCH;

    return pool_take_for(pool, &owner, bytes, what, out, err);
}

void buffer_share(struct buffer *buffer)
{
    atomic_fetch_add_explicit(&buffer->references, 1, memory_order_relaxed);
}

static void pool_take_back(struct buffer *buffer)
{
    struct pool *pool = buffer->pool;
    size_t capacity;
    unsigned class = size_class(buffer->capacity, &capacity);

    pool_tell(buffer,
              &(struct pool_change){.bytes = -(int64_t)buffer->capacity,
                                    .asked_bytes = -(int64_t)buffer->bytes,
                                    .owner = buffer->owner});
    pthread_mutex_lock(&pool->lock);
    buffer->waits_since = pool->n_given_back++;
    buffer->next_free = pool->free_lists[class];
    pool->free_lists[class] = buffer;
    leave_peak(pool);
    pool->shares[buffer->owner].bytes -= buffer->bytes;
    pool->usage.live_bytes -= buffer->capacity;
    pool->usage.cached_bytes += buffer->capacity;
    if (pool_passes_on(pool, buffer->owner))
        pool_drop(pool, &pool->free_lists[class]);
    pthread_mutex_unlock(&pool->lock);
}

void buffer_release(struct buffer *buffer)
{
    if (!buffer || atomic_fetch_sub_explicit(&buffer->references, 1,
                                             memory_order_acq_rel) > 1)
        return;
    if (buffer->pool) {
        pool_take_back(buffer);
        return;
    }
    atomic_fetch_sub(&buffer->space->wrapped_bytes, buffer->bytes);
    if (buffer->release)
        buffer->release(buffer->context);
    mem_free(buffer);
}

void *buffer_data(const struct buffer *buffer)
{
    return buffer->data;
}

struct space *buffer_space(const struct buffer *buffer)
{
    return buffer->space;
}

size_t buffer_bytes(const struct buffer *buffer)
{
    return buffer->bytes;
}

size_t buffer_pool_bytes(const struct buffer *buffer)
{
    return buffer->pool ? buffer->capacity : 0;
}

int buffer_references(const struct buffer *buffer)
{
    return atomic_load(&buffer->references);
}

enum assay_status buffer_wrap(void *data, size_t bytes,
                              void (*release)(void *context), void *context,
                              struct buffer **out, struct error *err)
{
    struct buffer *buffer = mem_zalloc(sizeof *buffer);

    *out = buffer;
    if (!buffer)
        return error_nomem(err, sizeof *buffer, "a buffer");
    buffer->data = data;
    buffer->space = &space_host;
    buffer->bytes = buffer->capacity = bytes;
    atomic_fetch_add(&space_host.wrapped_bytes, bytes);
    buffer->release = release;
    buffer->context = context;
    atomic_store(&buffer->references, 1);
    return ASSAY_OK;
}

enum assay_status buffer_wrap_file(void *data, size_t bytes,
                                   void (*release)(void *context),
                                   void *context, struct buffer **out,
                                   struct error *err)
{
    enum assay_status st = buffer_wrap(data, bytes, release, context, out, err);

    if (!st)
        (*out)->is_file = true;
    return st;
}

/* Pages that are shared with a neighbour stay. */
void buffer_unload(const struct buffer *buffer, size_t offset, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = (uintptr_t)buffer->data + offset, end = begin + bytes;

    begin = (begin + page - 1) / page * page;
    end = end / page * page;
    if (buffer->is_file && begin < end)
        madvise((void *)begin, end - begin, MADV_DONTNEED);
}

struct pool_usage pool_usage(const struct pool *pool)
{
    struct pool *unlocked = (struct pool *)pool;
    struct pool_usage usage;

    pthread_mutex_lock(&unlocked->lock);
    usage = pool->usage;
    pthread_mutex_unlock(&unlocked->lock);
    usage.wrapped_bytes = atomic_load(&pool->space->wrapped_bytes);
    return usage;
}

void pool_reset_peak(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->usage.peak_bytes = pool->usage.live_bytes;
    pool->is_at_peak = true;
    pthread_mutex_unlock(&pool->lock);
}
