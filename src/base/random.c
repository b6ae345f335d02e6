/* base/random.c - see random.h. */
#include "base/random.h"

#include <math.h>

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

struct random random_seed(uint64_t seed)
{
    struct random random;

    for (int i = 0; i < 4; i++)
        random.state[i] = splitmix(&seed);
    return random;
}

struct random random_stream(uint64_t seed, uint64_t stream)
{
    stream += splitmix(&seed);
    return random_seed(splitmix(&stream));
}

static uint64_t random_rotate(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

uint64_t random_u64(struct random *random)
{
    uint64_t *s = random->state;
    uint64_t result = random_rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = random_rotate(s[3], 45);
    return result;
}

double random_unit(struct random *random)
{
    return (double)(random_u64(random) >> 11) * 0x1p-53;
}

/* x % n. A division of floating point numbers is several times faster, and off
 * by one at most where the quotient has fewer bits than they hold. */
static uint64_t random_remainder(uint64_t x, uint64_t n)
{
    const uint64_t least = UINT64_C(1) << 14, most = UINT64_C(1) << 31;
    int64_t rest;

    if (n < least || n > most)
        return x % n;
    rest = (int64_t)(x - (uint64_t)((double)x / (double)n) * n);
    if (rest < 0)
        rest += (int64_t)n;
    else if (rest >= (int64_t)n)
        rest -= (int64_t)n;
    return (uint64_t)rest;
}

uint64_t random_below(struct random *random, uint64_t n)
{
    uint64_t x;

    /* Values below 2^64 mod n would make some results likelier; those from n
     * on are not, which saves a division almost always. */
    do
        x = random_u64(random);
    while (x < n && x < (UINT64_C(0) - n) % n);
    return random_remainder(x, n);
}

double random_normal(struct random *random)
{
    const double two_pi = 6.283185307179586;
    double u = 1.0 - random_unit(random); /* never 0 */

    return sqrt(-2.0 * log(u)) * cos(two_pi * random_unit(random));
}
