/* base/toml_internal.h - what the TOML reader's files share.
 *
 * The functions that answer bool note what went wrong in parser->failure
 * before they answer false.
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
    struct str lookup;  /* the key of the index being looked for */
    struct map index;   /* from table and key to value */
    struct error failure;
};

/* ---- toml_lexer.c ----------------------------------------------------- */

bool toml_fail(struct toml_parser *parser, const char *what);
/* The same about another place of the line. */
bool toml_fail_at(struct toml_parser *parser, const char *at, const char *what);
bool toml_fail_memory(struct toml_parser *parser);

/* The byte `ahead` of the next one; 0 behind the end. */
static inline char toml_peek(const struct toml_parser *parser, size_t ahead)
{
    return ahead < (size_t)(parser->end - parser->at) ? parser->at[ahead]
                                                      : '\0';
}

struct toml_place toml_place(const struct toml_parser *parser);

void toml_skip_blanks(struct toml_parser *parser);
/* A newline, \n or \r\n, if there is one. */
bool toml_take_newline(struct toml_parser *parser);
/* Blanks and a comment up to the end of the line, and that. */
bool toml_end_line(struct toml_parser *parser);
/* Blanks, newlines and comments. */
bool toml_skip_lines(struct toml_parser *parser);

/* The text lives in the arena. */
bool toml_read_key_part(struct toml_parser *parser, struct toml_text *key);

/* ---- toml_string.c ---------------------------------------------------- */

/* One of the four kinds of string, from its first quote on. */
bool toml_read_string(struct toml_parser *parser, struct toml_text *string);
/* The same on one line only, for keys. */
bool toml_read_line_string(struct toml_parser *parser,
                           struct toml_text *string);

/* ---- toml_scalar.c and toml_date.c ------------------------------------ */

/* A value that is not an array or a table: kind and content. */
bool toml_read_scalar(struct toml_parser *parser, struct toml_value *value);

/* True where the n bytes begin as a date or a time does. */
bool toml_is_time(const char *text, size_t n);
/* Kind and content of a date, a time or both; false where malformed (nothing is
 * noted). */
bool toml_read_time(const char *text, size_t n, struct toml_value *value);

/* ---- toml_table.c ----------------------------------------------------- */

/* A value at the end of an array. */
struct toml_value *toml_add_item(struct toml_parser *parser,
                                 struct toml_value *array);

/* Reads `a.b.c` and adds that key to the table, with the tables in between;
 * NULL after a failure. */
struct toml_value *toml_add_key(struct toml_parser *parser,
                                struct toml_value *table);

/* Reads a line [a.b] or [[a.b]] and gives the table that it opens. */
struct toml_value *toml_open_table(struct toml_parser *parser);

#endif
