/* base/toml_table.c - the tree of a TOML document, and what may be added to
 * which table. */
#include "base/toml_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* One part of a dotted key. */
struct key_part {
    struct toml_text text;
    struct toml_place place;
    const char *at;
};

static struct toml_value *fail_taken(struct toml_parser *parser,
                                     const struct key_part *part,
                                     const struct toml_value *found)
{
    char what[160];

    snprintf(what, sizeof what, "%.80s is already defined, in line %" PRIu32,
             part->text.text, found->key_place.line);
    toml_fail_at(parser, part->at, what);
    return NULL;
}

/* The index key of a value is its table's address and its key. */
static bool set_lookup(struct toml_parser *parser,
                       const struct toml_value *table,
                       const struct key_part *part)
{
    uintptr_t address = (uintptr_t)table;

    str_clear(&parser->lookup);
    return (str_append_n(&parser->lookup, (const char *)&address,
                         sizeof address) == ASSAY_OK &&
            str_append_n(&parser->lookup, part->text.text, part->text.n) ==
                ASSAY_OK) ||
           toml_fail_memory(parser);
}

/* *found is NULL if the table has no such key. */
static bool toml_table_find(struct toml_parser *parser,
                            const struct toml_value *table,
                            const struct key_part *part,
                            struct toml_value **found)
{
    uint64_t address = 0;

    if (!set_lookup(parser, table, part))
        return false;
    map_find(&parser->index, parser->lookup.text, parser->lookup.n, &address);
    *found = (struct toml_value *)(uintptr_t)address;
    return true;
}

void toml_append_item(struct toml_value *container, struct toml_value *value)
{
    struct toml_items *items = &container->items;

    if (items->last)
        items->last->next = value;
    else
        items->first = value;
    items->last = value;
    items->n++;
}

struct toml_value *toml_add_item(struct toml_parser *parser,
                                 struct toml_value *array)
{
    struct toml_value *value;

    if (array->depth == TOML_MAX_DEPTH) {
        toml_fail(parser, "nested too deeply");
        return NULL;
    }
    value = arena_alloc(&parser->toml->arena, sizeof *value);
    if (!value) {
        toml_fail_memory(parser);
        return NULL;
    }
    *value = (struct toml_value){.depth = array->depth + 1,
                                 .file = parser->toml->name,
                                 .place = toml_place(parser)};
    toml_append_item(array, value);
    return value;
}

/* After toml_table_find() found nothing; uses its look-up text. */
static struct toml_value *toml_table_add(struct toml_parser *parser,
                                         struct toml_value *table,
                                         const struct key_part *part)
{
    struct toml_value *value = toml_add_item(parser, table);

    if (!value)
        return NULL;
    value->key = part->text;
    value->key_place = value->place = part->place;
    if (map_put(&parser->index, parser->lookup.text, parser->lookup.n,
                (uint64_t)(uintptr_t)value)) {
        toml_fail_memory(parser);
        return NULL;
    }
    return value;
}

/* The value with this key, or a new table of this origin. */
static struct toml_value *toml_table_enter(struct toml_parser *parser,
                                           struct toml_value *table,
                                           const struct key_part *part,
                                           enum toml_origin origin)
{
    struct toml_value *found = NULL;

    if (!toml_table_find(parser, table, part, &found) || found)
        return found;
    found = toml_table_add(parser, table, part);
    if (found) {
        found->kind = TOML_TABLE;
        found->origin = origin;
    }
    return found;
}

/* Reads one part and the blanks after it; *is_last if no dot follows. */
static bool toml_table_read_part(struct toml_parser *parser,
                                 struct key_part *part, bool *is_last)
{
    toml_skip_blanks(parser);
    part->place = toml_place(parser);
    part->at = parser->at;
    if (!toml_read_key_part(parser, &part->text))
        return false;
    toml_skip_blanks(parser);
    *is_last = toml_peek(parser, 0) != '.';
    parser->at += !*is_last;
    return true;
}

typedef struct toml_value *toml_step(struct toml_parser *parser,
                                     struct toml_value *table,
                                     const struct key_part *part);

/* Reads a dotted key and steps through all of its parts but the last, which it
 * leaves in *last. Returns the table for that; NULL after a failure. */
static struct toml_value *toml_table_walk(struct toml_parser *parser,
                                          struct toml_value *table,
                                          toml_step *step,
                                          struct key_part *last)
{
    bool is_last;

    if (!toml_table_read_part(parser, last, &is_last))
        return NULL;
    while (!is_last) {
        table = step(parser, table, last);
        if (!table || !toml_table_read_part(parser, last, &is_last))
            return NULL;
    }
    return table;
}

/* Dotted keys may only pass through tables made by dotted keys: tables defined
 * by a header or in braces are complete. */
static struct toml_value *step_dotted(struct toml_parser *parser,
                                      struct toml_value *table,
                                      const struct key_part *part)
{
    struct toml_value *found =
        toml_table_enter(parser, table, part, TOML_DOTTED);

    if (!found || (found->kind == TOML_TABLE && found->origin == TOML_DOTTED))
        return found;
    return fail_taken(parser, part, found);
}

struct toml_value *toml_add_key(struct toml_parser *parser,
                                struct toml_value *table)
{
    struct toml_value *found;
    struct key_part part;

    table = toml_table_walk(parser, table, step_dotted, &part);
    if (!table || !toml_table_find(parser, table, &part, &found))
        return NULL;
    return found ? fail_taken(parser, &part, found)
                 : toml_table_add(parser, table, &part);
}

/* Headers pass through every table except inline ones, and into the newest item
 * of an array of tables. */
static struct toml_value *step_header(struct toml_parser *parser,
                                      struct toml_value *table,
                                      const struct key_part *part)
{
    struct toml_value *found =
        toml_table_enter(parser, table, part, TOML_IMPLICIT);

    if (!found || (found->kind == TOML_TABLE && found->origin != TOML_CLOSED))
        return found;
    if (found->kind == TOML_ARRAY && found->origin == TOML_TABLE_ARRAY)
        return found->items.last;
    return fail_taken(parser, part, found);
}

static struct toml_value *define_table(struct toml_parser *parser,
                                       struct toml_value *table,
                                       const struct key_part *part)
{
    struct toml_value *found =
        toml_table_enter(parser, table, part, TOML_IMPLICIT);

    if (!found)
        return NULL;
    if (found->kind != TOML_TABLE || found->origin != TOML_IMPLICIT)
        return fail_taken(parser, part, found);
    found->origin = TOML_HEADER;
    found->key_place = found->place = part->place;
    return found;
}

static struct toml_value *define_item(struct toml_parser *parser,
                                      struct toml_value *table,
                                      const struct key_part *part)
{
    struct toml_value *array, *item;

    if (!toml_table_find(parser, table, part, &array))
        return NULL;
    if (!array) {
        array = toml_table_add(parser, table, part);
        if (!array)
            return NULL;
        array->kind = TOML_ARRAY;
        array->origin = TOML_TABLE_ARRAY;
    } else if (array->kind != TOML_ARRAY || array->origin != TOML_TABLE_ARRAY) {
        return fail_taken(parser, part, array);
    }
    item = toml_add_item(parser, array);
    if (item) {
        item->kind = TOML_TABLE;
        item->origin = TOML_HEADER;
        item->place = part->place;
    }
    return item;
}

struct toml_value *toml_open_table(struct toml_parser *parser)
{
    bool is_item = toml_peek(parser, 1) == '[';
    struct toml_value *table;
    struct key_part part;

    parser->at += is_item ? 2 : 1;
    table = toml_table_walk(parser, parser->toml->root, step_header, &part);
    if (!table)
        return NULL;
    if (toml_peek(parser, 0) != ']' ||
        (is_item && toml_peek(parser, 1) != ']')) {
        toml_fail(parser, is_item ? "expected ]]" : "expected ]");
        return NULL;
    }
    parser->at += is_item ? 2 : 1;
    return is_item ? define_item(parser, table, &part)
                   : define_table(parser, table, &part);
}
