/* base/str.c - see str.h. */
#include "base/str.h"

#include "base/mem.h"
#include "base/vec.h"

#include <stdio.h>
#include <string.h>

void str_release(struct str *str)
{
    mem_free(str->text);
    *str = (struct str){0};
}

void str_clear(struct str *str)
{
    str->n = 0;
    if (str->text)
        str->text[0] = '\0';
}

const char *str_text(const struct str *str)
{
    return str->text ? str->text : "";
}

static enum assay_status str_make_room(struct str *str, size_t more)
{
    size_t needed;

    if (!mem_add(str->n, more, &needed) || !mem_add(needed, 1, &needed) ||
        !vec_grow(&str->text, &str->capacity, needed, 1))
        return ASSAY_NOMEM;
    return ASSAY_OK;
}

enum assay_status str_append_n(struct str *str, const char *text, size_t n)
{
    enum assay_status st = str_make_room(str, n);

    if (st)
        return st;
    memcpy(str->text + str->n, text, n);
    str->n += n;
    str->text[str->n] = '\0';
    return ASSAY_OK;
}

enum assay_status str_append(struct str *str, const char *text)
{
    return str_append_n(str, text, strlen(text));
}

enum assay_status str_append_char(struct str *str, char c)
{
    return str_append_n(str, &c, 1);
}

enum assay_status str_vprintf(struct str *str, const char *format, va_list args)
{
    enum assay_status st;
    va_list again;
    int length;

    va_copy(again, args);
    length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0)
        return ASSAY_NOMEM;
    st = str_make_room(str, (size_t)length);
    if (st)
        return st;
    vsnprintf(str->text + str->n, (size_t)length + 1, format, args);
    str->n += (size_t)length;
    return ASSAY_OK;
}

enum assay_status str_printf(struct str *str, const char *format, ...)
{
    enum assay_status st;
    va_list args;

    va_start(args, format);
    st = str_vprintf(str, format, args);
    va_end(args);
    return st;
}

bool str_ends_with_n(const char *text, size_t n, const char *ending)
{
    size_t n_ending = strlen(ending);

    return n >= n_ending && memcmp(text + n - n_ending, ending, n_ending) == 0;
}

bool str_ends_with(const char *text, const char *ending)
{
    return str_ends_with_n(text, strlen(text), ending);
}
