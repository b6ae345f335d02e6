/* observe/bare.h - what recording costs: iterations with and without it, side
 * by side.
 *
 * A bare iteration runs the photographs of a recorded one again, before or
 * after it in turn, while every mark is ignored.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OBSERVE_BARE_H
#define OBSERVE_BARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BARE_MOST = 48 }; /* pairs */

struct bare {
    double shares[BARE_MOST]; /* recorded / bare - 1 */
    size_t n;
    int64_t bare_ns; /* of the last */
};

/* Whether iteration i has a bare one next to it, and which comes first. Short
 * ones vary more, and cost little: each but the first has one. */
bool bare_is_due(const struct bare *bare, uint64_t i);
bool bare_comes_first(const struct bare *bare);
void bare_add(struct bare *bare, int64_t recorded_ns, int64_t bare_ns);

/* The median of the pairs and its 95 % interval. */
struct bare_cost {
    double share, low, high;
};

/* False if there are too few to say: below RUN_FEWEST_PAIRS. */
bool bare_cost(const struct bare *bare, struct bare_cost *cost);

#endif
