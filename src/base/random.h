/* base/random.h - a small generator; a seed gives the same on every machine.
 *
 * SplitMix64 (Steele, Lea, Flood 2014) seeding xoshiro256** (Blackman, Vigna
 * 2018). Not for secrets.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t state[4];
};

struct random random_seed(uint64_t seed);
/* One of many independent generators for a seed. */
struct random random_stream(uint64_t seed, uint64_t stream);
uint64_t random_u64(struct random *random);
double random_unit(struct random *random);                /* [0, 1) */
uint64_t random_below(struct random *random, uint64_t n); /* [0, n), n > 0 */
double random_normal(struct random *random);              /* mean 0, sd 1 */

#endif
