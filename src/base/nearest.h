/* base/nearest.h - the word that was probably meant.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

/* The best candidate so far. */
struct nearest {
    const char *word;      /* what was typed */
    const char *candidate; /* NULL if nothing is near */
    size_t distance;
};

struct nearest nearest_to(const char *word);

/* Keeps the candidate if it is nearer than all before it, and near enough to
 * suggest. The text is borrowed. */
void nearest_offer(struct nearest *nearest, const char *candidate);

/* How many single letters to insert, remove or replace, and neighbours to swap,
 * to turn one word into the other (restricted Damerau-Levenshtein distance).
 * Words longer than 63 bytes are far from everything. */
size_t word_distance(const char *a, const char *b);

#endif
