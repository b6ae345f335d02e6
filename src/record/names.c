/* record/names.c - see names.h. */
#include "record/names.h"

#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static const struct name given[NAMES_GIVEN] = {
    [NAME_ROOT] = {.kind = NAME_SCOPE, .text = ""},
    [NAME_MARK] = {.kind = NAME_SCOPE, .text = ""},
    [NAME_PHASES] = {.kind = NAME_PHASE, .text = ""},
    [NAME_COUNTERS] = {.kind = NAME_COUNTER, .text = ""},
    [NAME_MEMORY] = {.kind = NAME_COUNTER, .text = "memory", .detail = "bytes"},
};

static struct {
    pthread_mutex_t mutex;
    struct map numbers; /* from parent, text and detail */
    struct str key;
    struct arena texts;
    struct name *made; /* number NAMES_GIVEN is made[0] */
    size_t n_made, made_capacity;
} names = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static const struct name *name_at(uint32_t number)
{
    return number < NAMES_GIVEN ? &given[number]
                                : &names.made[number - NAMES_GIVEN];
}

static enum assay_status write_key(uint32_t parent, const char *text,
                                   const char *detail)
{
    enum assay_status st;

    str_clear(&names.key);
    st = str_append_n(&names.key, (const char *)&parent, sizeof parent);
    if (!st)
        st = str_append_n(&names.key, text, strlen(text) + 1);
    if (!st && detail)
        st = str_append_n(&names.key, detail, strlen(detail) + 1);
    return st;
}

static bool copy_texts(struct name *name, const char *text, const char *detail)
{
    name->text = arena_strdup(&names.texts, text);
    name->detail = detail ? arena_strdup(&names.texts, detail) : NULL;
    return name->text && (name->detail || !detail);
}

static uint32_t add(uint32_t parent, const char *text, const char *detail)
{
    bool is_group = parent & NAME_GROUP;
    const struct name *above = name_at(parent & ~NAME_GROUP);
    struct name name = {.parent = parent & ~NAME_GROUP,
                        .depth = above->depth + !is_group,
                        .kind = above->kind};
    size_t number = NAMES_GIVEN + names.n_made;
    struct name *moved;

    moved = vec_reserve(names.made, &names.made_capacity, names.n_made + 1,
                        sizeof *moved);
    if (!moved)
        return NAME_NONE;
    names.made = moved;
    if (number >= NAME_GROUP || !copy_texts(&name, text, detail) ||
        map_put(&names.numbers, names.key.text, names.key.n, number))
        return NAME_NONE;
    names.made[names.n_made++] = name;
    return (uint32_t)number;
}

uint32_t names_intern(uint32_t parent, const char *text, const char *detail,
                      struct name *out)
{
    uint32_t number = NAME_NONE;
    uint64_t found;

    pthread_mutex_lock(&names.mutex);
    if (write_key(parent, text, detail) == ASSAY_OK) {
        if (map_find(&names.numbers, names.key.text, names.key.n, &found))
            number = (uint32_t)found;
        else
            number = add(parent, text, detail);
    }
    if (number != NAME_NONE)
        *out = *name_at(number);
    pthread_mutex_unlock(&names.mutex);
    return number;
}

size_t names_read(uint32_t first, struct name *out, size_t max)
{
    size_t n = 0;

    pthread_mutex_lock(&names.mutex);
    while (n < max && first + n < NAMES_GIVEN + names.n_made) {
        out[n] = *name_at(first + (uint32_t)n);
        n++;
    }
    pthread_mutex_unlock(&names.mutex);
    return n;
}
