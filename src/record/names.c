/* record/names.c - see names_internal.h.
 *
 * A table of lists that only grow, at their heads, by compare-and-swap. Lists
 * are read without a lock, because their contents never change. If two threads
 * make the same name at once, one finds the other's; its own stays unused, with
 * a number that no record has. */
#include "record/names_internal.h"

#include "base/mem.h"

#include <errno.h>
#include <stdalign.h>
#include <stdatomic.h>

enum {
    n_lists = 1 << 14,
    part_names = 512,    /* a page of pointers */
    max_parts = 1 << 15, /* enough names for any program */
    chunk_bytes = 1 << 14
};

_Static_assert((uint64_t)part_names *max_parts <= UINT64_C(1) << NAME_BITS,
               "a number fits in NAME_BITS");

static const struct name given[NAMES_GIVEN] = {
    [NAME_ROOT] = {.number = NAME_ROOT, .kind = NAME_SCOPE, .text = ""},
    [NAME_MARK] = {.number = NAME_MARK, .kind = NAME_SCOPE, .text = ""},
    [NAME_PHASES] = {.number = NAME_PHASES, .kind = NAME_PHASE, .text = ""},
    [NAME_COUNTERS] = {.number = NAME_COUNTERS,
                       .kind = NAME_COUNTER,
                       .text = ""},
    [NAME_MEMORY] = {.below = NAME_COUNTERS,
                     .number = NAME_MEMORY,
                     .kind = NAME_COUNTER,
                     .text = "memory",
                     .detail = "bytes"},
    [NAME_THREADS] = {.number = NAME_THREADS, .kind = NAME_THREAD, .text = ""},
    [NAME_LANES] = {.number = NAME_LANES, .kind = NAME_LANE, .text = ""},
    [NAME_SPACES] = {.number = NAME_SPACES, .kind = NAME_SPACE, .text = ""},
    [NAME_WORK] = {.number = NAME_WORK, .kind = NAME_TEXT, .text = ""},
    [NAME_PARAMETERS] = {.number = NAME_PARAMETERS,
                         .kind = NAME_TEXT,
                         .text = ""},
    [NAME_DONE] = {.number = NAME_DONE, .kind = NAME_TEXT, .text = ""},
    [NAME_FUSED] = {.number = NAME_FUSED, .kind = NAME_TEXT, .text = ""},
};

/* Names by number, in parts that are made when needed. */
struct names_part {
    _Atomic(const struct name *) names[part_names];
};

/* Memory for names. */
struct names_chunk {
    atomic_size_t used; /* of chunk_bytes, including this; more: full */
};

static _Atomic(const struct name *) lists[n_lists];
static _Atomic(struct names_part *) parts[max_parts];
static _Atomic(struct names_chunk *) newest_chunk;
static atomic_uint n_numbers = NAMES_GIVEN;

/* ---- memory -------------------------------------------------------------- */

static struct names_chunk *names_add_chunk(struct names_chunk *newest)
{
    struct names_chunk *chunk = mem_map(chunk_bytes);

    if (!chunk)
        return NULL;
    atomic_init(&chunk->used, sizeof *chunk);
    if (atomic_compare_exchange_strong(&newest_chunk, &newest, chunk))
        return chunk;
    mem_unmap(chunk, chunk_bytes); /* another thread was faster */
    return newest;
}

static void *names_take_bytes(size_t bytes)
{
    struct names_chunk *chunk = atomic_load(&newest_chunk);

    bytes = (bytes + alignof(struct name) - 1) / alignof(struct name) *
            alignof(struct name);
    if (bytes > chunk_bytes - sizeof *chunk)
        return mem_map(bytes);
    for (;;) {
        if (chunk) {
            size_t from = atomic_fetch_add(&chunk->used, bytes);

            if (from <= chunk_bytes - bytes)
                return (char *)chunk + from;
        }
        chunk = names_add_chunk(chunk);
        if (!chunk)
            return NULL;
    }
}

/* ---- names by number ----------------------------------------------------- */

static _Atomic(const struct name *) *names_place(uint32_t number)
{
    struct names_part *part = atomic_load(&parts[number / part_names]);

    return part ? &part->names[number % part_names] : NULL;
}

/* The place for a new number; NULL if memory runs out. */
static _Atomic(const struct name *) *names_make_place(uint32_t number)
{
    struct names_part *none = NULL, *part;

    if (number / part_names >= max_parts)
        return NULL;
    if (!names_place(number)) {
        part = mem_map(sizeof *part);
        if (!part)
            return NULL;
        if (!atomic_compare_exchange_strong(&parts[number / part_names], &none,
                                            part))
            mem_unmap(part, sizeof *part); /* another thread was faster */
    }
    return names_place(number);
}

const struct name *names_at(uint32_t number)
{
    return number < NAMES_GIVEN ? &given[number]
                                : atomic_load(names_place(number));
}

uint32_t names_count(void)
{
    return atomic_load(&n_numbers);
}

const struct name *names_find(uint32_t number)
{
    _Atomic(const struct name *) *place;

    if (number < NAMES_GIVEN)
        return &given[number];
    if (number >= (uint32_t)part_names * max_parts)
        return NULL;
    place = names_place(number);
    return place ? atomic_load(place) : NULL;
}

/* May find a name that lost the race between two threads: it has the same texts
 * and parent, and is the same scope in a run. */
const struct name *names_find_scope(uint32_t parent, const char *text,
                                    size_t n_text, const char *class_name)
{
    uint32_t n = atomic_load(&n_numbers);

    for (uint32_t i = NAMES_GIVEN; i < n; i++) {
        const struct name *name = names_find(i);

        if (name && name->kind == NAME_SCOPE && name_parent(name) == parent &&
            strncmp(name->text, text, n_text) == 0 && !name->text[n_text] &&
            (!class_name ||
             (name->detail && strcmp(name->detail, class_name) == 0)))
            return name;
    }
    return NULL;
}

/* Gives a name its number and lets other threads find it: all of it but `next`
 * must be set. False if there is no space left. */
static bool names_number(struct name *name)
{
    _Atomic(const struct name *) *place;

    if (atomic_load(&n_numbers) >= (uint32_t)part_names * max_parts)
        return false;
    name->number = atomic_fetch_add(&n_numbers, 1);
    place = names_make_place(name->number);
    if (!place)
        return false;
    atomic_store(place, name);
    return true;
}

/* ---- making and finding -------------------------------------------------- */

static struct name *names_make(uint32_t below, const char *text,
                               const char *detail)
{
    const struct name *parent = names_at(below & ~NAME_GROUP);
    size_t n_text = strlen(text) + 1;
    size_t n_detail = detail ? strlen(detail) + 1 : 0;
    struct name *name;
    char *copy;

    if (parent->depth == NAME_MAX_DEPTH && !(below & NAME_GROUP))
        return NULL;
    name = names_take_bytes(sizeof *name + n_text + n_detail);
    if (!name)
        return NULL;
    copy = (char *)(name + 1);
    memcpy(copy, text, n_text);
    if (detail)
        memcpy(copy + n_text, detail, n_detail);
    *name = (struct name){.below = below,
                          .depth = parent->depth + !(below & NAME_GROUP),
                          .kind = parent->kind,
                          .text = copy,
                          .detail = detail ? copy + n_text : NULL};
    return names_number(name) ? name : NULL;
}

/* FNV-1a. */
static uint32_t names_mix(uint32_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT32_C(16777619);
    return hash * UINT32_C(16777619);
}

static _Atomic(const struct name *) *
names_list(uint32_t below, const char *text, const char *detail)
{
    uint32_t hash = names_mix(UINT32_C(2166136261) ^ below, text);

    if (detail)
        hash = names_mix(hash, detail);
    return &lists[(hash ^ hash >> 16) % n_lists];
}

/* Searches a list from its head to the part searched before. */
static const struct name *names_find_in(const struct name *head,
                                        const struct name *seen, uint32_t below,
                                        const char *text, const char *detail)
{
    for (; head != seen; head = head->next) {
        if (name_is(head, below, text, detail))
            return head;
    }
    return NULL;
}

static const struct name *names_find_or_make(uint32_t below, const char *text,
                                             const char *detail)
{
    _Atomic(const struct name *) *list = names_list(below, text, detail);
    const struct name *head = atomic_load(list);
    const struct name *found = names_find_in(head, NULL, below, text, detail);
    struct name *made;

    if (found)
        return found;
    made = names_make(below, text, detail);
    if (!made)
        return NULL;
    for (;;) {
        const struct name *seen = head;

        made->next = head;
        if (atomic_compare_exchange_strong(list, &head, made))
            return made;
        found = names_find_in(head, seen, below, text, detail);
        if (found)
            return found;
    }
}

const struct name *names_intern(uint32_t below, const char *text,
                                const char *detail)
{
    int before = errno; /* of the code that a signal interrupted */
    const struct name *name = names_find_or_make(below, text, detail);

    errno = before;
    return name;
}
