/* base/toml_lexer.c - places, blanks, comments and keys of a TOML text. */
#include "base/toml_internal.h"

#include <inttypes.h>

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

bool toml_end_line(struct toml_parser *parser)
{
    toml_skip_blanks(parser);
    if (toml_peek(parser, 0) == '#' && !skip_comment(parser))
        return false;
    return parser->at == parser->end || toml_take_newline(parser) ||
           toml_fail(parser, "the end of the line is wanted");
}

bool toml_skip_lines(struct toml_parser *parser)
{
    do {
        toml_skip_blanks(parser);
        if (toml_peek(parser, 0) == '#' && !skip_comment(parser))
            return false;
    } while (toml_take_newline(parser));
    return true;
}

static bool toml_lexer_is_bare(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == '-';
}

bool toml_read_key_part(struct toml_parser *parser, struct toml_text *key)
{
    const char *start = parser->at;

    if (toml_peek(parser, 0) == '"' || toml_peek(parser, 0) == '\'')
        return toml_read_line_string(parser, key);
    while (toml_lexer_is_bare(toml_peek(parser, 0)))
        parser->at++;
    if (parser->at == start)
        return toml_fail(parser, "a key is wanted");
    key->n = (size_t)(parser->at - start);
    key->text = arena_strndup(&parser->toml->arena, start, key->n);
    return key->text || toml_fail_memory(parser);
}
