/* base/toml_document.c - reads the text of a TOML document: places, blanks,
 * comments and keys, then values and the document as a whole. */
#include "base/file.h"
#include "base/mem.h"
#include "base/toml_internal.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <string.h>

enum { max_file_bytes = 64 * 1024 * 1024 };

/* ---- places, blanks and keys ------------------------------------------ */

bool toml_fail_at(struct toml_parser *parser, const char *at, const char *what)
{
    error_set(&parser->failure, ASSAY_BAD_INPUT,
              "%s: line %" PRIu32 ", column %td: %s", parser->toml->name,
              parser->line, at - parser->line_start + 1, what);
    return false;
}

bool toml_fail(struct toml_parser *parser, const char *what)
{
    return toml_fail_at(parser, parser->at, what);
}

bool toml_fail_memory(struct toml_parser *parser)
{
    error_set(&parser->failure, ASSAY_NOMEM, "out of memory reading %s",
              parser->toml->name);
    return false;
}

struct toml_place toml_place(const struct toml_parser *parser)
{
    return (struct toml_place){
        .line = parser->line,
        .column = (uint32_t)(parser->at - parser->line_start + 1)};
}

void toml_skip_blanks(struct toml_parser *parser)
{
    while (toml_peek(parser, 0) == ' ' || toml_peek(parser, 0) == '\t')
        parser->at++;
}

bool toml_take_newline(struct toml_parser *parser)
{
    size_t n = toml_peek(parser, 0) == '\r' ? 2 : 1;

    if (toml_peek(parser, n - 1) != '\n')
        return false;
    parser->at += n;
    parser->line++;
    parser->line_start = parser->at;
    return true;
}

static bool skip_comment(struct toml_parser *parser)
{
    while (parser->at < parser->end) {
        unsigned char c = (unsigned char)*parser->at;

        if (c == '\n' || (c == '\r' && toml_peek(parser, 1) == '\n'))
            break;
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return toml_fail(parser, "a control character in a comment");
        parser->at++;
    }
    return true;
}

/* Skips blanks, a comment and the end of the line. */
static bool toml_end_line(struct toml_parser *parser)
{
    toml_skip_blanks(parser);
    if (toml_peek(parser, 0) == '#' && !skip_comment(parser))
        return false;
    return parser->at == parser->end || toml_take_newline(parser) ||
           toml_fail(parser, "expected the end of the line");
}

/* Skips blanks, newlines and comments. */
static bool toml_skip_lines(struct toml_parser *parser)
{
    do {
        toml_skip_blanks(parser);
        if (toml_peek(parser, 0) == '#' && !skip_comment(parser))
            return false;
    } while (toml_take_newline(parser));
    return true;
}

static bool toml_is_bare(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == '-';
}

bool toml_read_key_part(struct toml_parser *parser, struct toml_text *key)
{
    const char *start = parser->at;

    if (toml_peek(parser, 0) == '"' || toml_peek(parser, 0) == '\'')
        return toml_read_line_string(parser, key);
    while (toml_is_bare(toml_peek(parser, 0)))
        parser->at++;
    if (parser->at == start)
        return toml_fail(parser, "expected a key");
    key->n = (size_t)(parser->at - start);
    key->text = arena_strndup(&parser->toml->arena, start, key->n);
    return key->text || toml_fail_memory(parser);
}

/* ---- values ----------------------------------------------------------- */

/* The open arrays and inline tables, outermost first; never more than the tree
 * may be deep. */
struct nesting {
    struct toml_value *open[TOML_MAX_DEPTH + 1];
    size_t n;
    bool is_first; /* nothing has been read in the innermost one */
};

/* `key =`, up to the value. */
static struct toml_value *toml_read_key(struct toml_parser *parser,
                                        struct toml_value *table)
{
    struct toml_value *value = toml_add_key(parser, table);

    if (!value)
        return NULL;
    if (toml_peek(parser, 0) != '=') {
        toml_fail(parser, "expected = after the key");
        return NULL;
    }
    parser->at++;
    toml_skip_blanks(parser);
    return value;
}

/* An inline table stays on its line, an array need not. */
static bool skip_inside(struct toml_parser *parser,
                        const struct toml_value *container)
{
    if (container->kind == TOML_ARRAY)
        return toml_skip_lines(parser);
    toml_skip_blanks(parser);
    return true;
}

/* Takes the comma between two items. */
static bool take_comma(struct toml_parser *parser,
                       const struct toml_value *container)
{
    bool is_array = container->kind == TOML_ARRAY;

    if (toml_peek(parser, 0) == ',') {
        parser->at++;
        return skip_inside(parser, container);
    }
    if (parser->at == parser->end)
        return toml_fail(parser,
                         is_array ? "the file ends in the middle of an array"
                                  : "the file ends in the middle of a table");
    return toml_fail(parser, is_array ? "expected a comma or ]"
                                      : "expected a comma or }");
}

/* The next value to read: closes containers that end here, and adds an item to
 * the innermost that does not. NULL when all are closed, or after a failure. */
static struct toml_value *next_item(struct toml_parser *parser,
                                    struct nesting *nesting)
{
    while (nesting->n > 0) {
        struct toml_value *container = nesting->open[nesting->n - 1];
        bool is_array = container->kind == TOML_ARRAY;
        char closing = is_array ? ']' : '}';
        bool may_close = true;

        if (!skip_inside(parser, container))
            return NULL;
        if (!nesting->is_first && toml_peek(parser, 0) != closing) {
            if (!take_comma(parser, container))
                return NULL;
            may_close = is_array;
        }
        if (may_close && toml_peek(parser, 0) == closing) {
            parser->at++;
            nesting->n--;
            nesting->is_first = false;
            continue;
        }
        return is_array ? toml_add_item(parser, container)
                        : toml_read_key(parser, container);
    }
    return NULL;
}

static bool toml_begin_value(struct toml_parser *parser,
                             struct toml_value *value, struct nesting *nesting)
{
    char c = toml_peek(parser, 0);

    value->place = toml_place(parser);
    nesting->is_first = c == '[' || c == '{';
    if (!nesting->is_first)
        return toml_read_scalar(parser, value);
    value->kind = c == '[' ? TOML_ARRAY : TOML_TABLE;
    value->origin = TOML_CLOSED;
    nesting->open[nesting->n++] = value;
    parser->at++;
    return true;
}

static bool toml_read_value(struct toml_parser *parser,
                            struct toml_value *value)
{
    struct nesting nesting = {.n = 0};

    do {
        if (!toml_begin_value(parser, value, &nesting))
            return false;
        value = next_item(parser, &nesting);
    } while (value);
    return parser->failure.status == ASSAY_OK;
}

/* ---- the document ----------------------------------------------------- */

static bool check_utf8(struct toml_parser *parser)
{
    const char *start = parser->at;

    while (parser->at < parser->end) {
        size_t n = utf8_length(parser->at, (size_t)(parser->end - parser->at));

        if (n == 0)
            return toml_fail(parser, "the text is not UTF-8");
        if (!toml_take_newline(parser))
            parser->at += n;
    }
    parser->at = parser->line_start = start;
    parser->line = 1;
    return true;
}

static void toml_skip_byte_order_mark(struct toml_parser *parser)
{
    static const char mark[] = "\xef\xbb\xbf";
    size_t n = sizeof mark - 1;

    if ((size_t)(parser->end - parser->at) >= n &&
        memcmp(parser->at, mark, n) == 0)
        parser->at += n;
}

static bool toml_read_document(struct toml_parser *parser)
{
    struct toml_value *table = parser->toml->root;

    if (!check_utf8(parser))
        return false;
    toml_skip_byte_order_mark(parser);
    while (toml_skip_lines(parser) && parser->at < parser->end) {
        if (toml_peek(parser, 0) == '[') {
            table = toml_open_table(parser);
            if (!table)
                return false;
        } else {
            struct toml_value *value = toml_read_key(parser, table);

            if (!value || !toml_read_value(parser, value))
                return false;
        }
        if (!toml_end_line(parser))
            return false;
    }
    return parser->failure.status == ASSAY_OK;
}

struct toml *toml_new(const char *name)
{
    struct toml *toml = mem_zalloc(sizeof *toml);

    if (!toml)
        return NULL;
    toml->name = arena_strdup(&toml->arena, name);
    toml->root = arena_alloc(&toml->arena, sizeof *toml->root);
    if (!toml->name || !toml->root) {
        toml_free(toml);
        return NULL;
    }
    *toml->root = (struct toml_value){.kind = TOML_TABLE,
                                      .origin = TOML_HEADER,
                                      .place = {1, 1},
                                      .file = toml->name};
    return toml;
}

enum assay_status toml_read_text(const char *text, size_t n, const char *name,
                                 struct toml **out, struct error *err)
{
    struct toml_parser parser = {.toml = toml_new(name),
                                 .at = text,
                                 .end = text + n,
                                 .line_start = text,
                                 .line = 1};
    enum assay_status st = ASSAY_OK;

    *out = NULL;
    if (!parser.toml)
        return error_nomem(err, sizeof *parser.toml, "a TOML document");
    if (!toml_read_document(&parser)) {
        st = error_set(err, parser.failure.status, "%s", parser.failure.text);
        goto done;
    }
    *out = parser.toml; /* now the caller's */
    parser.toml = NULL;
done:
    toml_free(parser.toml);
    map_release(&parser.index);
    str_release(&parser.lookup);
    str_release(&parser.scratch);
    return st;
}

enum assay_status toml_read_file(const char *path, struct toml **out,
                                 struct error *err)
{
    struct str text = {0};
    enum assay_status st = file_read(path, max_file_bytes, &text, err);

    *out = NULL;
    if (st == ASSAY_OK)
        st = toml_read_text(str_text(&text), text.n, path, out, err);
    str_release(&text);
    return st;
}

void toml_free(struct toml *toml)
{
    if (!toml)
        return;
    arena_release(&toml->arena);
    mem_free(toml);
}

const struct toml_value *toml_root(const struct toml *toml)
{
    return toml->root;
}
