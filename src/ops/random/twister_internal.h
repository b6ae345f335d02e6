/* ops/random/twister_internal.h - the generator that ONNX's own reference draws
 * from: MT19937 of Matsumoto and Nishimura (1998), as NumPy's RandomState seeds
 * it.
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
double twister_normal(struct twister *twister); /* after Box and Muller */

#endif
