/* detect/bare.h - what recording costs: iterations with and without it, side
 * by side.
 *
 * A bare iteration runs the photographs of a recorded one again, before it or
 * behind it in turn, while every mark is passed over.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DETECT_BARE_H
#define DETECT_BARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BARE_MOST = 32, BARE_FEWEST = 3 }; /* pairs: made, and told of */

struct bare {
    double shares[BARE_MOST]; /* recorded / bare - 1 */
    size_t n;
};

/* Whether the i-th iteration has a bare one beside it, and which comes
 * first. */
bool bare_is_due(const struct bare *bare, uint64_t i);
bool bare_comes_first(const struct bare *bare);
void bare_add(struct bare *bare, int64_t recorded_ns, int64_t bare_ns);

/* The median of the pairs and its 95 % interval (of all where they are few). */
struct bare_cost {
    double share, low, high;
};

/* False where there are too few to tell. */
bool bare_cost(const struct bare *bare, struct bare_cost *cost);

#endif
