/* base/toml_table.c - the tree of a TOML document, and who may add to what. */
#include "base/toml_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* One part of a dotted key. */
struct part {
    struct toml_text text;
    struct toml_place place;
    const char *at;
};

static bool fail_taken(struct toml_parser *parser, const struct part *part,
                       const struct toml_value *found)
{
    char what[160];

    snprintf(what, sizeof what, "%.80s is defined already, in line %" PRIu32,
             part->text.text, found->key_place.line);
    return toml_fail_at(parser, part->at, what);
}

/* The index knows a value by its table's address and its key. */
static bool set_lookup(struct toml_parser *parser,
                       const struct toml_value *table, const struct part *part)
{
    uintptr_t address = (uintptr_t)table;

    str_clear(&parser->lookup);
    return (str_append_n(&parser->lookup, (const char *)&address,
                         sizeof address) == ASSAY_OK &&
            str_append_n(&parser->lookup, part->text.text, part->text.n) ==
                ASSAY_OK) ||
           toml_fail_memory(parser);
}

/* *found is NULL where the table has no such key. */
static bool toml_table_find(struct toml_parser *parser,
                            const struct toml_value *table,
                            const struct part *part, struct toml_value **found)
{
    uint64_t address = 0;

    if (!set_lookup(parser, table, part))
        return false;
    map_find(&parser->index, parser->lookup.text, parser->lookup.n, &address);
    *found = (struct toml_value *)(uintptr_t)address;
    return true;
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
    if (array->items.last)
        array->items.last->next = value;
    else
        array->items.first = value;
    array->items.last = value;
    array->items.n++;
    return value;
}

/* After a find() that found nothing, whose look-up text is still there. */
static struct toml_value *toml_table_add(struct toml_parser *parser,
                                         struct toml_value *table,
                                         const struct part *part)
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

static struct toml_value *toml_table_add_table(struct toml_parser *parser,
                                               struct toml_value *table,
                                               const struct part *part,
                                               enum toml_origin origin)
{
    struct toml_value *added = toml_table_add(parser, table, part);

    if (added) {
        added->kind = TOML_TABLE;
        added->origin = origin;
    }
    return added;
}

/* Reads one part and the blanks behind it; *is_last where no dot follows. */
static bool toml_table_read_part(struct toml_parser *parser, struct part *part,
                                 bool *is_last)
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

/* Dotted keys go only through tables that dotted keys have made: those that a
 * header or braces defined are complete. */
static struct toml_value *step_dotted(struct toml_parser *parser,
                                      struct toml_value *table,
                                      const struct part *part)
{
    struct toml_value *found;

    if (!toml_table_find(parser, table, part, &found))
        return NULL;
    if (!found)
        return toml_table_add_table(parser, table, part, TOML_DOTTED);
    if (found->kind == TOML_TABLE && found->origin == TOML_DOTTED)
        return found;
    fail_taken(parser, part, found);
    return NULL;
}

struct toml_value *toml_add_key(struct toml_parser *parser,
                                struct toml_value *table)
{
    struct toml_value *found;
    struct part part;
    bool is_last;

    if (!toml_table_read_part(parser, &part, &is_last))
        return NULL;
    while (!is_last) {
        table = step_dotted(parser, table, &part);
        if (!table || !toml_table_read_part(parser, &part, &is_last))
            return NULL;
    }
    if (!toml_table_find(parser, table, &part, &found))
        return NULL;
    if (!found)
        return toml_table_add(parser, table, &part);
    fail_taken(parser, &part, found);
    return NULL;
}

/* Headers go through every table but those in braces, and into the newest of
 * an array of tables. */
static struct toml_value *step_header(struct toml_parser *parser,
                                      struct toml_value *table,
                                      const struct part *part)
{
    struct toml_value *found;

    if (!toml_table_find(parser, table, part, &found))
        return NULL;
    if (!found)
        return toml_table_add_table(parser, table, part, TOML_IMPLICIT);
    if (found->kind == TOML_TABLE && found->origin != TOML_CLOSED)
        return found;
    if (found->kind == TOML_ARRAY && found->origin == TOML_TABLE_ARRAY)
        return found->items.last;
    fail_taken(parser, part, found);
    return NULL;
}

static struct toml_value *define_table(struct toml_parser *parser,
                                       struct toml_value *table,
                                       const struct part *part)
{
    struct toml_value *found;

    if (!toml_table_find(parser, table, part, &found))
        return NULL;
    if (!found)
        return toml_table_add_table(parser, table, part, TOML_HEADER);
    if (found->kind != TOML_TABLE || found->origin != TOML_IMPLICIT) {
        fail_taken(parser, part, found);
        return NULL;
    }
    found->origin = TOML_HEADER;
    found->key_place = found->place = part->place;
    return found;
}

static struct toml_value *define_item(struct toml_parser *parser,
                                      struct toml_value *table,
                                      const struct part *part)
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
        fail_taken(parser, part, array);
        return NULL;
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
    struct toml_value *table = parser->toml->root;
    struct part part;
    bool is_last;

    parser->at += is_item ? 2 : 1;
    if (!toml_table_read_part(parser, &part, &is_last))
        return NULL;
    while (!is_last) {
        table = step_header(parser, table, &part);
        if (!table || !toml_table_read_part(parser, &part, &is_last))
            return NULL;
    }
    if (toml_peek(parser, 0) != ']' ||
        (is_item && toml_peek(parser, 1) != ']')) {
        toml_fail(parser, is_item ? "]] is wanted" : "] is wanted");
        return NULL;
    }
    parser->at += is_item ? 2 : 1;
    return is_item ? define_item(parser, table, &part)
                   : define_table(parser, table, &part);
}
