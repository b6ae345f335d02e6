/* ops/random/twister.c - see twister_internal.h. */
#include "ops/random/twister_internal.h"

#include <math.h>

enum { mt_words = TWISTER_WORDS, mt_shift = 397 };

void twister_seed(struct twister *twister, uint32_t seed)
{
    twister->words[0] = seed;
    for (uint32_t i = 1; i < mt_words; i++) {
        uint32_t last = twister->words[i - 1];

        twister->words[i] = 1812433253U * (last ^ last >> 30) + i;
    }
    twister->used = mt_words;
}

static void twister_twist(struct twister *twister)
{
    uint32_t *words = twister->words;

    for (int i = 0; i < mt_words; i++) {
        uint32_t mixed = (words[i] & 0x80000000U) |
                         (words[(i + 1) % mt_words] & 0x7fffffffU);

        words[i] = words[(i + mt_shift) % mt_words] ^ mixed >> 1 ^
                   (mixed & 1 ? 0x9908b0dfU : 0);
    }
    twister->used = 0;
}

static uint32_t twister_u32(struct twister *twister)
{
    uint32_t word;

    if (twister->used == mt_words)
        twister_twist(twister);
    word = twister->words[twister->used++];
    word ^= word >> 11;
    word ^= word << 7 & 0x9d2c5680U;
    word ^= word << 15 & 0xefc60000U;
    return word ^ word >> 18;
}

double twister_unit(struct twister *twister)
{
    uint32_t high = twister_u32(twister) >> 5;
    uint32_t low = twister_u32(twister) >> 6;

    return (high * 0x1p26 + low) * 0x1p-53;
}

double twister_normal(struct twister *twister)
{
    double radius = sqrt(-2 * log(1 - twister_unit(twister)));

    return radius * cos(2 * 3.14159265358979323846 * twister_unit(twister));
}
