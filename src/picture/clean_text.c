/* picture/clean_text.c - see clean_text_internal.h. */
#include "picture/clean_text_internal.h"

#include "base/utf8.h"

enum assay_status clean_text(struct str *out, const char *text, size_t n)
{
    enum assay_status st = ASSAY_OK;

    while (n > 0 && !st) {
        size_t taken = utf8_length(text, n);

        if (taken && (unsigned char)*text >= ' ')
            st = str_append_n(out, text, taken);
        else
            st = str_append_char(out, '?');
        taken = taken ? taken : 1;
        text += taken;
        n -= taken;
    }
    return st;
}
