/* ops/random/twister_internal.h - the generator of ONNX's reference: MT19937 by
 * Matsumoto and Nishimura (1998), seeded as in NumPy's RandomState.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_RANDOM_TWISTER_INTERNAL_H
#define OPS_RANDOM_TWISTER_INTERNAL_H

#include <stdint.h>

enum { TWISTER_WORDS = 624 };

struct twister {
    uint32_t words[TWISTER_WORDS];
    int used;
};

void twister_seed(struct twister *twister, uint32_t seed);
double twister_unit(struct twister *twister);   /* [0, 1), 53 random bits */
double twister_normal(struct twister *twister); /* by Box and Muller's method */

#endif
