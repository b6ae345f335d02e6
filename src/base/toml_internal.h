/* base/toml_internal.h - what the TOML reader's files share.
 *
 * Functions that return false have recorded why in parser->failure.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_TOML_INTERNAL_H
#define BASE_TOML_INTERNAL_H

#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "base/toml.h"

struct toml {
    struct arena arena;
    struct toml_value *root;
    const char *name;
};

struct toml_parser {
    struct toml *toml;
    const char *at, *end; /* what is left of the text */
    const char *line_start;
    uint32_t line;
    struct str scratch; /* the string being read */
    struct str lookup;  /* the index key being looked up */
    struct map index;   /* from table and key to value */
    struct error failure;
};

/* ---- toml_document.c -------------------------------------------------- */

/* An empty document; NULL if memory runs out. */
struct toml *toml_new(const char *name);

bool toml_fail(struct toml_parser *parser, const char *what);
/* The same about another place in the line. */
bool toml_fail_at(struct toml_parser *parser, const char *at, const char *what);
bool toml_fail_memory(struct toml_parser *parser);

/* The byte `ahead` bytes after the next one; 0 past the end. */
static inline char toml_peek(const struct toml_parser *parser, size_t ahead)
{
    return ahead < (size_t)(parser->end - parser->at) ? parser->at[ahead]
                                                      : '\0';
}

struct toml_place toml_place(const struct toml_parser *parser);

void toml_skip_blanks(struct toml_parser *parser);
/* Takes a newline, \n or \r\n, if there is one. */
bool toml_take_newline(struct toml_parser *parser);

/* The text lives in the arena. */
bool toml_read_key_part(struct toml_parser *parser, struct toml_text *key);

/* ---- toml_scalar.c ---------------------------------------------------- */

/* A value that is not an array or a table: kind and content. */
bool toml_read_scalar(struct toml_parser *parser, struct toml_value *value);
/* A string that ends on its line, for keys. */
bool toml_read_line_string(struct toml_parser *parser,
                           struct toml_text *string);

/* ---- toml_table.c ----------------------------------------------------- */

/* Adds a value at the end of an array or table. */
void toml_append_item(struct toml_value *container, struct toml_value *value);
/* The same with a new value; NULL after a failure. */
struct toml_value *toml_add_item(struct toml_parser *parser,
                                 struct toml_value *array);

/* Reads `a.b.c` and adds that key to the table, with the tables in between;
 * NULL after a failure. */
struct toml_value *toml_add_key(struct toml_parser *parser,
                                struct toml_value *table);

/* Reads a line [a.b] or [[a.b]] and returns the table that it opens. */
struct toml_value *toml_open_table(struct toml_parser *parser);

#endif
