/* Which variant of a loop runs, and that all of them compute the same. */
#include "base/processor.h"

static enum processor_level ran;
#define VARIANT_RUNS(level) (ran = (level))
#include "base/variants.h"
#include "test.h"

#include <string.h>

VARIANT_PART float third(float x)
{
    return x / 3 + 0.1F;
}

VARIANTS(void, scale, (const float *x, float *y, size_t n), (x, y, n))
{
    for (size_t i = 0; i < n; i++)
        y[i] = y[i] * third(x[i]) + x[i];
}

VARIANTS(double, total, (const float *x, size_t n), (x, n))
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)x[i];
    return sum;
}

VARIANTS(bool, is_below, (float x, float limit), (x, limit))
{
    return x < limit;
}

enum { n_numbers = 1003 };

static void fill(float *x)
{
    for (size_t i = 0; i < n_numbers; i++)
        x[i] = 1 / (float)(i + 1) - 0.01F;
}

static enum processor_level highest(void)
{
    return processor_limits().hardware;
}

/* Runs them at a level; *y gets the result. */
static void run_at(enum processor_level level, float *y)
{
    float x[n_numbers];

    processor_limit(level);
    fill(x);
    fill(y);
    ran = PROCESSOR_AMX;
    scale(x, y, n_numbers);
}

/* Which variant runs at a level. */
static enum processor_level variant_at(enum processor_level level)
{
    float y[n_numbers];

    if (highest() < level)
        SKIP_PROCESSOR("it has no such level");
    run_at(level, y);
    return ran;
}

TEST(the_plain_variant_runs_if_no_other_is_allowed)
{
    CHECK_INT(variant_at(PROCESSOR_PLAIN), PROCESSOR_PLAIN);
}

TEST(the_plain_variant_runs_with_sse41)
{
    CHECK_INT(variant_at(PROCESSOR_SSE41), PROCESSOR_PLAIN);
}

TEST(a_variant_of_its_own_runs_with_avx2)
{
    CHECK_INT(variant_at(PROCESSOR_AVX2), PROCESSOR_AVX2);
}

TEST(a_variant_of_its_own_runs_with_avx512)
{
    CHECK_INT(variant_at(PROCESSOR_AVX512), PROCESSOR_AVX512);
}

TEST(all_variants_compute_the_same_bits)
{
    float plain[n_numbers], y[n_numbers];

    run_at(PROCESSOR_PLAIN, plain);
    for (int i = PROCESSOR_PLAIN; i <= (int)highest(); i++) {
        run_at((enum processor_level)i, y);
        CHECK_INT(memcmp(y, plain, sizeof y), 0);
    }
}

TEST(every_variant_returns_its_result)
{
    float x[n_numbers];

    fill(x);
    for (int i = PROCESSOR_PLAIN; i <= (int)highest(); i++) {
        processor_limit((enum processor_level)i);
        CHECK_NEAR(total(x, 4), 2.0433333, 1e-6);
        CHECK(is_below(1, 2));
        CHECK(!is_below(2, 1));
    }
}
