/* formats/keras/json_tree.c - see json_tree_internal.h. */
#include "formats/keras/json_tree_internal.h"

#include <math.h>
#include <string.h>

enum { max_depth = 128 };

struct tree_builder {
    struct json_reader *reader;
    struct arena *arena;
    struct json_value root; /* holds the document as its only member */
    struct json_value *open[max_depth], *last[max_depth];
    size_t depth;
    const char *key;
};

static enum assay_status json_tree_no_memory(struct error *err)
{
    return error_nomem(err, sizeof(struct json_value), "a JSON document");
}

static enum assay_status json_tree_add_value(struct tree_builder *builder,
                                             enum json_token kind,
                                             struct error *err)
{
    struct json_value *parent = builder->open[builder->depth];
    struct json_value **last = &builder->last[builder->depth];
    struct json_value *value = arena_alloc(builder->arena, sizeof *value);
    size_t n;
    const char *text = json_text(builder->reader, &n);

    if (!value)
        return json_tree_no_memory(err);
    *value = (struct json_value){.kind = kind, .key = builder->key, .text = ""};
    builder->key = NULL;
    if (kind == JSON_NUMBER)
        value->number = json_double(builder->reader);
    if (kind == JSON_STRING) {
        value->text = arena_strndup(builder->arena, text, n);
        if (!value->text)
            return json_tree_no_memory(err);
    }
    if (*last)
        (*last)->next = value;
    else
        parent->first = value;
    *last = value;
    parent->n++;
    if (kind != JSON_OBJECT_BEGIN && kind != JSON_ARRAY_BEGIN)
        return ASSAY_OK;
    if (builder->depth + 1 == max_depth)
        return error_set(err, ASSAY_BAD_INPUT,
                         "its JSON is nested more than %d levels deep",
                         max_depth);
    builder->open[++builder->depth] = value;
    builder->last[builder->depth] = NULL;
    return ASSAY_OK;
}

static enum assay_status json_tree_read_all(struct tree_builder *builder,
                                            struct error *err)
{
    enum json_token token;
    enum assay_status st = json_next(builder->reader, &token, err);

    while (!st && token != JSON_END) {
        if (token == JSON_OBJECT_END || token == JSON_ARRAY_END) {
            builder->depth--;
        } else if (token == JSON_KEY) {
            builder->key =
                arena_strdup(builder->arena, json_text(builder->reader, NULL));
            if (!builder->key)
                st = json_tree_no_memory(err);
        } else {
            st = json_tree_add_value(builder, token, err);
        }
        if (!st)
            st = json_next(builder->reader, &token, err);
    }
    return st;
}

enum assay_status json_tree_read(const char *text, size_t n,
                                 struct arena *arena,
                                 const struct json_value **out,
                                 struct error *err)
{
    struct tree_builder builder = {.arena = arena};
    enum assay_status st = json_reader_new_text(text, n, &builder.reader, err);

    *out = NULL;
    if (st)
        return st;
    builder.open[0] = &builder.root;
    st = json_tree_read_all(&builder, err);
    json_reader_free(builder.reader);
    if (!st)
        *out = builder.root.first;
    return st;
}

const struct json_value *json_tree_get(const struct json_value *value,
                                       const char *key)
{
    if (!json_tree_is(value, JSON_OBJECT_BEGIN))
        return NULL;
    for (value = value->first; value; value = value->next) {
        if (strcmp(value->key, key) == 0)
            return value;
    }
    return NULL;
}

const struct json_value *json_tree_at(const struct json_value *value, size_t i)
{
    if (!json_tree_is(value, JSON_ARRAY_BEGIN))
        return NULL;
    value = value->first;
    while (value && i--)
        value = value->next;
    return value;
}

const char *json_tree_text(const struct json_value *value, const char *fallback)
{
    return json_tree_is(value, JSON_STRING) ? value->text : fallback;
}

double json_tree_number(const struct json_value *value, double fallback)
{
    return json_tree_is(value, JSON_NUMBER) ? value->number : fallback;
}

int64_t json_tree_int(const struct json_value *value, int64_t fallback)
{
    const double limit = 9007199254740992; /* integers up to it are exact */

    if (!json_tree_is(value, JSON_NUMBER) || !(fabs(value->number) <= limit))
        return fallback;
    return (int64_t)value->number;
}

bool json_tree_bool(const struct json_value *value, bool fallback)
{
    return json_tree_is(value, JSON_TRUE)    ? true
           : json_tree_is(value, JSON_FALSE) ? false
                                             : fallback;
}
