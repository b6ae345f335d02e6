/* run/looks.h - when to look at a comparison that gets more runs as it goes on.
 *
 * Looking often and stopping at the first difference finds differences where
 * there are none. So the looks are planned: after 4 pairs of runs, and each
 * time there are half as many again. The risk to err is divided among them
 * (compare_options.n_looks).
 *
 * SPDX-License-Identifier: MIT */
#ifndef RUN_LOOKS_H
#define RUN_LOOKS_H

#include <stdbool.h>
#include <stddef.h>

struct looks {
    size_t most; /* pairs, at least 1 */
};

/* Whether to look after n pairs; always after the last. */
bool looks_is_due(const struct looks *looks, size_t n);
/* How many looks there are in total. */
size_t looks_count(const struct looks *looks);

#endif
