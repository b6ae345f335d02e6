/* base/nearest.c - see nearest.h. */
#include "base/nearest.h"

#include <stdint.h>
#include <string.h>

enum { max_word = 63 };

static size_t nearest_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Three rows of the table of distances between the first i letters of a and
 * the first j of b are enough: a swap looks two rows back. */
size_t word_distance(const char *a, const char *b)
{
    size_t rows[3][max_word + 1];
    size_t n_a = strlen(a), n_b = strlen(b);

    if (n_a > max_word || n_b > max_word)
        return SIZE_MAX;
    for (size_t j = 0; j <= n_b; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= n_a; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];

        row[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            row[j] = nearest_least(above[j - 1] + (a[i - 1] != b[j - 1]),
                                   nearest_least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = nearest_least(row[j], second[j - 2] + 1);
        }
    }
    return rows[n_a % 3][n_b];
}

struct nearest nearest_to(const char *word)
{
    return (struct nearest){.word = word, .distance = SIZE_MAX};
}

/* A third of the letters may be wrong: beyond that it is another word. */
static size_t farthest(size_t length)
{
    return (length + 2) / 3;
}

void nearest_offer(struct nearest *nearest, const char *candidate)
{
    size_t length = strlen(nearest->word);
    size_t distance = word_distance(nearest->word, candidate);

    /* The beginning of a word is as good as one typing error. */
    if (length >= 2 && strncmp(nearest->word, candidate, length) == 0)
        distance = nearest_least(distance, 1);
    if (distance < nearest->distance && distance <= farthest(length)) {
        nearest->distance = distance;
        nearest->candidate = candidate;
    }
}
