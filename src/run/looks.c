/* run/looks.c - see looks.h. */
#include "run/looks.h"

enum { FIRST_LOOK = 4 };

static size_t looks_after(size_t n)
{
    return n + (n + 1) / 2;
}

bool looks_is_due(const struct looks *looks, size_t n)
{
    size_t look = FIRST_LOOK;

    while (look < n)
        look = looks_after(look);
    return n == look || n == looks->most;
}

size_t looks_count(const struct looks *looks)
{
    size_t count = 0;

    for (size_t n = 1; n <= looks->most; n++)
        count += looks_is_due(looks, n);
    return count;
}
