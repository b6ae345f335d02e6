/* base/scanner.c - see scanner.h. */
#include "base/scanner.h"

#include <string.h>

bool scan_word(const char **at, const char *word)
{
    size_t n = strlen(word);

    if (strncmp(*at, word, n) != 0)
        return false;
    *at += n;
    return true;
}

/* The value of a digit; 16: not a digit. */
static uint64_t scan_digit(char c)
{
    if (c >= '0' && c <= '9')
        return (uint64_t)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (uint64_t)(c - 'a') + 10;
    return c >= 'A' && c <= 'F' ? (uint64_t)(c - 'A') + 10 : 16;
}

static bool scan_digits(const char **at, uint64_t base, uint64_t most,
                        uint64_t *out)
{
    const char *end = *at;
    uint64_t sum = 0, digit;

    for (; (digit = scan_digit(*end)) < base; end++) {
        if (digit > most || sum > (most - digit) / base)
            return false;
        sum = sum * base + digit;
    }
    if (end == *at)
        return false;
    *at = end;
    *out = sum;
    return true;
}

bool scan_number(const char **at, uint64_t most, uint64_t *out)
{
    return scan_digits(at, 10, most, out);
}

bool scan_hex(const char **at, uint64_t *out)
{
    return scan_digits(at, 16, UINT64_MAX, out);
}

void scan_blanks(const char **at)
{
    *at += strspn(*at, " \t");
}

void scan_over(const char **at)
{
    scan_blanks(at);
    *at += strcspn(*at, " \t\n");
}

bool scan_field(const char *line, const char *name, uint64_t *out)
{
    if (!scan_word(&line, name) || !scan_word(&line, ":"))
        return false;
    scan_blanks(&line);
    return scan_number(&line, UINT64_MAX, out);
}
