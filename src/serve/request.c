/* serve/request.c - see request.h. */
#include "serve/request.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static int request_hex(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c | 32) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* Decodes %41, and + if it stands for a space. False for what is not text:
 * bytes below a space, or a % without two digits. */
static bool request_decode(const char *text, size_t n, bool plus_is_space,
                           char out[REQUEST_MAX_TEXT])
{
    size_t used = 0;

    for (size_t i = 0; i < n; i++) {
        char c = text[i];

        if (c == '%') {
            int high = i + 2 < n ? request_hex(text[i + 1]) : -1;

            if (high < 0 || request_hex(text[i + 2]) < 0)
                return false;
            c = (char)(unsigned char)(high * 16 + request_hex(text[i + 2]));
            i += 2;
        } else if (c == '+' && plus_is_space) {
            c = ' ';
        }
        if ((unsigned char)c < 32 || c == 127 || used + 1 >= REQUEST_MAX_TEXT)
            return false;
        out[used++] = c;
    }
    out[used] = '\0';
    return true;
}

/* The end of a line: where the \r\n or \n begins; NULL if there is none. */
static const char *request_line_end(const char *at, const char *end,
                                    const char **next)
{
    const char *line = memchr(at, '\n', (size_t)(end - at));

    if (!line)
        return NULL;
    *next = line + 1;
    return line > at && line[-1] == '\r' ? line - 1 : line;
}

static bool request_starts(const char *at, const char *end, const char *word)
{
    size_t n = strlen(word);

    return (size_t)(end - at) >= n && memcmp(at, word, n) == 0;
}

/* "GET /path?query HTTP/1.1" */
static int request_read_line(const char *at, const char *end,
                             struct request *out)
{
    const char *target, *space, *mark;

    out->is_head = request_starts(at, end, "HEAD ");
    if (!out->is_head && !request_starts(at, end, "GET ")) {
        const char *word = at;

        while (word < end && *word >= 'A' && *word <= 'Z')
            word++;
        return word > at && word < end && *word == ' ' ? 405 : 400;
    }
    target = at + (out->is_head ? 5 : 4);
    space = memchr(target, ' ', (size_t)(end - target));
    if (!space || !request_starts(space, end, " HTTP/1.") || *target != '/')
        return 400;
    if (space - target >= REQUEST_MAX_TEXT)
        return 414;
    mark = memchr(target, '?', (size_t)(space - target));
    if (mark) {
        memcpy(out->query, mark + 1, (size_t)(space - mark - 1));
        out->query[space - mark - 1] = '\0';
        if (memchr(out->query, '\0', (size_t)(space - mark - 1)))
            return 400;
    }
    return request_decode(target, (size_t)((mark ? mark : space) - target),
                          false, out->path)
               ? 200
               : 400;
}

/* Takes the header if it is Host; one request must not have two. */
static bool request_take_header(const char *at, const char *end,
                                struct request *out)
{
    size_t n;

    if ((size_t)(end - at) < 5 || strncasecmp(at, "Host:", 5) != 0)
        return true;
    for (at += 5; at < end && (*at == ' ' || *at == '\t');)
        at++;
    while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    n = (size_t)(end - at);
    if (out->host[0] || n == 0 || n >= REQUEST_MAX_TEXT || memchr(at, '\0', n))
        return false;
    memcpy(out->host, at, n);
    out->host[n] = '\0';
    return true;
}

int request_read(const char *bytes, size_t n, struct request *out)
{
    const char *end = bytes + n, *at = bytes, *next = NULL, *line;
    int status = 0;

    *out = (struct request){.is_head = false};
    while ((line = request_line_end(at, end, &next))) {
        if (next - bytes > REQUEST_MAX_BYTES)
            return 431;
        if (!status)
            status = request_read_line(at, line, out);
        else if (line == at)
            return status;
        else if (!request_take_header(at, line, out))
            return 400;
        if (status != 200)
            return status;
        at = next;
    }
    return n >= REQUEST_MAX_BYTES ? 431 : 0;
}

bool request_value(const struct request *request, const char *key,
                   char value[REQUEST_MAX_TEXT])
{
    size_t n_key = strlen(key);
    const char *at = request->query;

    while (*at) {
        size_t n = strcspn(at, "&");

        if (n > n_key && strncmp(at, key, n_key) == 0 && at[n_key] == '=')
            return request_decode(at + n_key + 1, n - n_key - 1, true, value);
        at += n + (at[n] == '&');
    }
    return false;
}

bool request_is_local(const struct request *request, unsigned port)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    char wanted[32];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(wanted, sizeof wanted, "%s:%u", names[i], port);
        if (strcasecmp(request->host, wanted) == 0 ||
            strcasecmp(request->host, names[i]) == 0)
            return true;
    }
    return false;
}
