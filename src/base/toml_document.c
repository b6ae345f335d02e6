/* base/toml_document.c - from the text of a TOML document to its tree. */
#include "base/file.h"
#include "base/mem.h"
#include "base/toml_internal.h"
#include "base/utf8.h"

#include <string.h>

enum { max_file_bytes = 64 * 1024 * 1024 };

/* The arrays and tables in braces that are open, outermost first; never more
 * than the tree may be deep. */
struct nesting {
    struct toml_value *open[TOML_MAX_DEPTH + 1];
    size_t n;
    bool is_first; /* nothing was read in the innermost one */
};

/* ---- values ----------------------------------------------------------- */

/* `key =`, up to the value. */
static struct toml_value *toml_document_read_key(struct toml_parser *parser,
                                                 struct toml_value *table)
{
    struct toml_value *value = toml_add_key(parser, table);

    if (!value)
        return NULL;
    if (toml_peek(parser, 0) != '=') {
        toml_fail(parser, "= is wanted behind the key");
        return NULL;
    }
    parser->at++;
    toml_skip_blanks(parser);
    return value;
}

/* A value in braces stays on its line, an array need not. */
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
    return toml_fail(parser, is_array ? "a comma or ] is wanted"
                                      : "a comma or } is wanted");
}

/* The next value to be read: closes what ends here, and adds an item to what
 * does not. NULL when all is closed, or after a failure. */
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
                        : toml_document_read_key(parser, container);
    }
    return NULL;
}

static bool toml_document_begin_value(struct toml_parser *parser,
                                      struct toml_value *value,
                                      struct nesting *nesting)
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

static bool read_value(struct toml_parser *parser, struct toml_value *value)
{
    struct nesting nesting = {.n = 0};

    do {
        if (!toml_document_begin_value(parser, value, &nesting))
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

static void toml_document_skip_byte_order_mark(struct toml_parser *parser)
{
    static const char mark[] = "\xef\xbb\xbf";
    size_t n = sizeof mark - 1;

    if ((size_t)(parser->end - parser->at) >= n &&
        memcmp(parser->at, mark, n) == 0)
        parser->at += n;
}

static bool toml_document_read(struct toml_parser *parser)
{
    struct toml_value *table = parser->toml->root;

    if (!check_utf8(parser))
        return false;
    toml_document_skip_byte_order_mark(parser);
    while (toml_skip_lines(parser) && parser->at < parser->end) {
        if (toml_peek(parser, 0) == '[') {
            table = toml_open_table(parser);
            if (!table)
                return false;
        } else {
            struct toml_value *value = toml_document_read_key(parser, table);

            if (!value || !read_value(parser, value))
                return false;
        }
        if (!toml_end_line(parser))
            return false;
    }
    return parser->failure.status == ASSAY_OK;
}

static struct toml *toml_document_make(const char *name)
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
    struct toml_parser parser = {.toml = toml_document_make(name),
                                 .at = text,
                                 .end = text + n,
                                 .line_start = text,
                                 .line = 1};
    enum assay_status st = ASSAY_OK;

    *out = NULL;
    if (!parser.toml)
        return error_nomem(err, sizeof *parser.toml, "a TOML document");
    if (!toml_document_read(&parser)) {
        st = error_set(err, parser.failure.status, "%s", parser.failure.text);
        goto done;
    }
    *out = parser.toml; /* the caller's from here on */
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
