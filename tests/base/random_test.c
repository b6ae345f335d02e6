/* Numbers below a bound are those that the definition gives: the remainder of
 * the first 64 bits that are not rejected. */
#include "base/random.h"
#include "test.h"

static uint64_t by_definition(struct random *random, uint64_t n)
{
    uint64_t x;

    do
        x = random_u64(random);
    while (x < (UINT64_C(0) - n) % n);
    return x % n;
}

TEST(numbers_below_a_bound_are_exact_remainders)
{
    static const uint64_t bounds[] = {1,
                                      2,
                                      3,
                                      1000,
                                      (1 << 14) - 1,
                                      1 << 14,
                                      (1 << 14) + 1,
                                      159882,
                                      1000003,
                                      UINT64_C(1) << 31,
                                      (UINT64_C(1) << 31) + 1,
                                      (UINT64_C(1) << 63) + 12345};

    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        struct random fast = random_seed(i), plain = random_seed(i);

        for (int k = 0; k < 100000; k++)
            CHECK_INT(random_below(&fast, bounds[i]),
                      by_definition(&plain, bounds[i]));
    }
}
