/* base/ini.c - see ini.h. */
#include "base/ini.h"

#include "base/decimal.h"
#include "base/file.h"
#include "base/toml_internal.h"

#include <string.h>

enum { max_file_bytes = 16 << 20 };

struct ini {
    struct toml *toml;
    struct toml_value *section, *entry; /* the open ones; may be NULL */
    struct str raw;                     /* all lines of the open value */
    struct toml_place raw_place;        /* where it begins */
    uint32_t line;
    struct error *err;
};

static enum assay_status fail_at(const struct ini *ini, uint32_t line,
                                 size_t column, const char *what)
{
    return error_set(ini->err, ASSAY_BAD_INPUT, "%s: line %u, column %zu: %s",
                     ini->toml->name, line, column, what);
}

static enum assay_status ini_no_memory(const struct ini *ini)
{
    return error_nomem(ini->err, 64, "a configuration");
}

static bool ini_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* ---- the tree ----------------------------------------------------------- */

static struct toml_value *ini_add_value(const struct ini *ini,
                                        struct toml_value *parent,
                                        struct toml_place place)
{
    struct toml_value *value = arena_alloc(&ini->toml->arena, sizeof *value);

    if (!value)
        return NULL;
    *value = (struct toml_value){.depth = parent->depth + 1,
                                 .file = ini->toml->name,
                                 .place = place,
                                 .key_place = place};
    toml_append_item(parent, value);
    return value;
}

/* A value with a key, in lower case. */
static enum assay_status ini_add_entry(const struct ini *ini,
                                       struct toml_value *table,
                                       const char *key, size_t n, size_t column,
                                       struct toml_value **out)
{
    struct toml_place place = {.line = ini->line, .column = (uint32_t)column};
    char *copy = arena_strndup(&ini->toml->arena, key, n);

    if (!copy)
        return ini_no_memory(ini);
    for (char *c = copy; *c; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    if (toml_find(table, copy))
        return error_set(ini->err, ASSAY_BAD_INPUT,
                         "%s: line %u: '%.60s' is defined twice",
                         ini->toml->name, ini->line, copy);
    *out = ini_add_value(ini, table, place);
    if (!*out)
        return ini_no_memory(ini);
    (*out)->key = (struct toml_text){.text = copy, .n = strlen(copy)};
    return ASSAY_OK;
}

/* ---- values ------------------------------------------------------------- */

/* What is left of a value. */
struct ini_cursor {
    const char *at, *end;
};

static enum assay_status fail_value(const struct ini *ini,
                                    const struct ini_cursor *cursor,
                                    const char *what)
{
    const char *text = str_text(&ini->raw), *line = text;
    struct toml_place place = ini->raw_place;
    size_t column;

    for (const char *c = text; c < cursor->at; c++) {
        if (*c == '\n') {
            place.line++;
            line = c + 1;
        }
    }
    column = (size_t)(cursor->at - line) + 1;
    if (line == text)
        column += place.column - 1;
    return fail_at(ini, place.line, column, what);
}

static void skip_blanks(struct ini_cursor *cursor)
{
    while (cursor->at < cursor->end &&
           (ini_is_blank(*cursor->at) || *cursor->at == '\n'))
        cursor->at++;
}

static enum assay_status ini_set_text(const struct ini *ini,
                                      struct toml_value *value,
                                      const char *text, size_t n)
{
    value->kind = TOML_STRING;
    value->string.text = arena_strndup(&ini->toml->arena, text, n);
    value->string.n = n;
    return value->string.text ? ASSAY_OK : ini_no_memory(ini);
}

/* 'text' or "text"; a backslash escapes a quotation mark or itself. */
static enum assay_status ini_read_quoted(const struct ini *ini,
                                         struct ini_cursor *cursor,
                                         struct toml_value *value)
{
    struct ini_cursor begin = *cursor;
    char mark = *cursor->at++;
    struct str text = {0};
    enum assay_status st = ASSAY_OK;

    while (!st && cursor->at < cursor->end && *cursor->at != mark) {
        if (*cursor->at == '\\' && cursor->at + 1 < cursor->end &&
            (cursor->at[1] == mark || cursor->at[1] == '\\'))
            cursor->at++;
        if (str_append_char(&text, *cursor->at++))
            st = ini_no_memory(ini);
    }
    if (!st && cursor->at == cursor->end)
        st = fail_value(ini, &begin, "the text has no closing quotation mark");
    if (!st) {
        cursor->at++;
        st = ini_set_text(ini, value, str_text(&text), text.n);
    }
    str_release(&text);
    return st;
}

/* [+-]digits[.digits][e[+-]digits], for decimal.h. */
static bool ini_is_number(const char *text, size_t n, bool *is_whole)
{
    size_t i = n && (text[0] == '-' || text[0] == '+'), digits = 0;

    *is_whole = true;
    for (; i < n && text[i] >= '0' && text[i] <= '9'; i++)
        digits++;
    if (digits && i + 1 < n && text[i] == '.') {
        *is_whole = false;
        for (i++; i < n && text[i] >= '0' && text[i] <= '9'; i++)
            digits++;
    }
    if (digits && i + 1 < n && (text[i] == 'e' || text[i] == 'E')) {
        size_t first;

        *is_whole = false;
        i += text[i + 1] == '-' || text[i + 1] == '+' ? 2 : 1;
        for (first = i; i < n && text[i] >= '0' && text[i] <= '9'; i++)
            continue;
        if (i == first)
            return false;
    }
    return digits && i == n;
}

/* Reads True, False and numbers; false if it is none of them. */
static bool ini_read_word(const char *text, size_t n, struct toml_value *value)
{
    bool is_whole;

    if ((n == 4 && memcmp(text, "True", 4) == 0) ||
        (n == 5 && memcmp(text, "False", 5) == 0)) {
        value->kind = TOML_BOOL;
        value->boolean = n == 4;
        return true;
    }
    if (!ini_is_number(text, n, &is_whole))
        return false;
    value->kind = TOML_INTEGER;
    if (is_whole && decimal_int64(text, n, &value->integer))
        return true;
    value->kind = TOML_FLOAT;
    value->real = decimal_double(text, n);
    return true;
}

static enum assay_status ini_read_item(const struct ini *ini,
                                       struct ini_cursor *cursor,
                                       struct toml_value *list)
{
    struct toml_value *item = ini_add_value(ini, list, ini->raw_place);
    const char *begin = cursor->at;

    if (!item)
        return ini_no_memory(ini);
    if (*cursor->at == '\'' || *cursor->at == '"')
        return ini_read_quoted(ini, cursor, item);
    while (cursor->at < cursor->end && !strchr(",]) \t\r\n", *cursor->at))
        cursor->at++;
    if (ini_read_word(begin, (size_t)(cursor->at - begin), item))
        return ASSAY_OK;
    cursor->at = begin;
    return fail_value(ini, cursor,
                      *begin == '[' || *begin == '('
                          ? "lists cannot be nested"
                          : "expected a number, True, False or a text in "
                            "quotation marks");
}

static enum assay_status ini_read_list(const struct ini *ini,
                                       struct ini_cursor *cursor,
                                       struct toml_value *list)
{
    char closing = *cursor->at == '[' ? ']' : ')';
    struct ini_cursor begin = *cursor;

    list->kind = TOML_ARRAY;
    list->items = (struct toml_items){0};
    cursor->at++;
    for (;;) {
        enum assay_status st;

        skip_blanks(cursor);
        if (cursor->at == cursor->end)
            return fail_value(ini, &begin, "the list is not closed");
        if (*cursor->at == closing)
            break;
        st = ini_read_item(ini, cursor, list);
        if (st)
            return st;
        skip_blanks(cursor);
        if (cursor->at < cursor->end && *cursor->at == ',')
            cursor->at++;
        else if (cursor->at < cursor->end && *cursor->at != closing)
            return fail_value(ini, cursor,
                              "expected a comma or the end of the list");
    }
    cursor->at++;
    return ASSAY_OK;
}

/* Ends the open value, now that it has all of its lines. */
static enum assay_status close_entry(struct ini *ini)
{
    struct toml_value *value = ini->entry;
    struct ini_cursor cursor = {.at = str_text(&ini->raw)};
    enum assay_status st;

    ini->entry = NULL;
    if (!value)
        return ASSAY_OK;
    cursor.end = cursor.at + ini->raw.n;
    skip_blanks(&cursor);
    while (cursor.end > cursor.at &&
           (ini_is_blank(cursor.end[-1]) || cursor.end[-1] == '\n'))
        cursor.end--;
    if (cursor.at == cursor.end)
        return ini_set_text(ini, value, "", 0);
    if (*cursor.at == '[' || *cursor.at == '(')
        st = ini_read_list(ini, &cursor, value);
    else if (*cursor.at == '\'' || *cursor.at == '"')
        st = ini_read_quoted(ini, &cursor, value);
    else if (ini_read_word(cursor.at, (size_t)(cursor.end - cursor.at), value))
        return ASSAY_OK;
    else
        return ini_set_text(ini, value, cursor.at,
                            (size_t)(cursor.end - cursor.at));
    skip_blanks(&cursor);
    if (!st && cursor.at < cursor.end)
        st = fail_value(ini, &cursor, "unexpected text after the value");
    return st;
}

/* ---- lines -------------------------------------------------------------- */

static enum assay_status ini_read_section(struct ini *ini, const char *line,
                                          size_t n)
{
    const char *end = memchr(line, ']', n);
    enum assay_status st;

    if (!end || end == line + 1)
        return fail_at(ini, ini->line, 1, "a section is written [name]");
    for (const char *c = end + 1; c < line + n; c++) {
        if (!ini_is_blank(*c))
            return fail_at(ini, ini->line, (size_t)(c - line) + 1,
                           "unexpected text after the section's name");
    }
    st = ini_add_entry(ini, ini->toml->root, line + 1, (size_t)(end - line) - 1,
                       1, &ini->section);
    if (!st)
        ini->section->kind = TOML_TABLE;
    return st;
}

/* key = value, or key: value */
static enum assay_status ini_read_entry(struct ini *ini, const char *line,
                                        size_t n)
{
    size_t key = 0, n_key;

    while (key < n && line[key] != '=' && line[key] != ':')
        key++;
    if (!ini->section)
        return fail_at(ini, ini->line, 1,
                       "a [section] must come before the first key");
    if (key == n || key == 0)
        return fail_at(ini, ini->line, 1, "expected key = value");
    n_key = key;
    while (n_key && ini_is_blank(line[n_key - 1]))
        n_key--;
    ini->raw_place =
        (struct toml_place){.line = ini->line, .column = (uint32_t)key + 2};
    str_clear(&ini->raw);
    if (str_append_n(&ini->raw, line + key + 1, n - key - 1))
        return ini_no_memory(ini);
    return ini_add_entry(ini, ini->section, line, n_key, 1, &ini->entry);
}

/* Adds a line to the open value; a comment adds an empty one. */
static enum assay_status go_on(struct ini *ini, const char *line, size_t n)
{
    return str_append_char(&ini->raw, '\n') || str_append_n(&ini->raw, line, n)
               ? ini_no_memory(ini)
               : ASSAY_OK;
}

static enum assay_status ini_read_line(struct ini *ini, const char *line,
                                       size_t n)
{
    size_t first = 0;
    enum assay_status st;

    while (first < n && ini_is_blank(line[first]))
        first++;
    if (first == n || line[first] == '#' || line[first] == ';')
        return ini->entry ? go_on(ini, "", 0) : ASSAY_OK;
    if (first && ini->entry)
        return go_on(ini, line, n);
    st = close_entry(ini);
    if (st)
        return st;
    if (line[first] == '[')
        return ini_read_section(ini, line + first, n - first);
    return ini_read_entry(ini, line + first, n - first);
}

static enum assay_status ini_read_lines(struct ini *ini, const char *text,
                                        size_t n)
{
    const char *end = text + n;
    enum assay_status st = ASSAY_OK;

    while (!st && text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        const char *line = text;

        ini->line++;
        text = stop ? stop + 1 : end;
        if (memchr(line, '\0', (size_t)((stop ? stop : end) - line)))
            return fail_at(ini, ini->line, 1, "it is not a text file");
        st = ini_read_line(ini, line, (size_t)((stop ? stop : end) - line));
    }
    return st ? st : close_entry(ini);
}

enum assay_status ini_read_text(const char *text, size_t n, const char *name,
                                struct toml **out, struct error *err)
{
    struct ini ini = {.toml = toml_new(name), .err = err};
    enum assay_status st;

    *out = NULL;
    if (!ini.toml)
        return ini_no_memory(&ini);
    st = ini_read_lines(&ini, text, n);
    if (st)
        toml_free(ini.toml);
    else
        *out = ini.toml;
    str_release(&ini.raw);
    return st;
}

enum assay_status ini_read_file(const char *path, struct toml **out,
                                struct error *err)
{
    struct str text = {0};
    enum assay_status st = file_read(path, max_file_bytes, &text, err);

    *out = NULL;
    if (!st)
        st = ini_read_text(str_text(&text), text.n, path, out, err);
    str_release(&text);
    return st;
}
