/* cli/shell_quote.c - see shell_quote.h. */
#include "cli/shell_quote.h"

#include <string.h>

enum assay_status shell_quote(struct str *to, const char *word)
{
    enum assay_status st = str_append_char(to, '\'');

    for (; !st && *word; word++)
        st = *word == '\'' ? str_append(to, "'\\''")
                           : str_append_char(to, *word);
    return st ? st : str_append_char(to, '\'');
}

bool is_plain_word(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./=:+-,";

    return *word && !word[strspn(word, plain)];
}

enum assay_status shell_word(struct str *to, const char *word)
{
    return is_plain_word(word) ? str_append(to, word) : shell_quote(to, word);
}
