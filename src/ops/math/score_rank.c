/* ops/math/score_rank.c - see score_rank_internal.h. */
#include "ops/math/score_rank_internal.h"

enum { n_digits = 8, digit_values = 256, few = 48 };

static void score_rank_insertion_sort(uint64_t *ranks, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        uint64_t rank = ranks[i];
        size_t at = i;

        for (; at > 0 && ranks[at - 1] > rank; at--)
            ranks[at] = ranks[at - 1];
        ranks[at] = rank;
    }
}

static size_t digit_of(uint64_t rank, int digit)
{
    return rank >> (8 * digit) & (digit_values - 1);
}

/* A stable sort by one digit. starts: how many ranks have each value. */
static void score_rank_scatter(const uint64_t *from, uint64_t *to, size_t n,
                               int digit, uint32_t *starts)
{
    uint32_t before = 0;

    for (int i = 0; i < digit_values; i++) {
        uint32_t count = starts[i];

        starts[i] = before;
        before += count;
    }
    for (size_t i = 0; i < n; i++)
        to[starts[digit_of(from[i], digit)]++] = from[i];
}

void rank_sort(uint64_t *ranks, uint64_t *scratch, size_t n)
{
    uint32_t counts[n_digits][digit_values] = {{0}};
    uint64_t *from = ranks, *to = scratch;

    if (n <= few) {
        score_rank_insertion_sort(ranks, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        for (int digit = 0; digit < n_digits; digit++)
            counts[digit][digit_of(ranks[i], digit)]++;
    }
    for (int digit = 0; digit < n_digits; digit++) {
        uint64_t *swap = from;

        if (counts[digit][digit_of(ranks[0], digit)] == n)
            continue; /* all ranks have the same digit */
        score_rank_scatter(from, to, n, digit, counts[digit]);
        from = to;
        to = swap;
    }
    if (from != ranks)
        memcpy(ranks, from, n * sizeof *ranks);
}

/* How many ranks that begin with `begin`, above `shift` bits and a digit, have
 * each value of that digit. */
enum { wide_bits = 11, wide_values = 1 << wide_bits };

static void count_wide(const uint64_t *ranks, size_t n, uint64_t begin,
                       int shift, uint32_t *counts)
{
    memset(counts, 0, wide_values * sizeof *counts);
    for (size_t i = 0; i < n; i++) {
        uint64_t above = ranks[i] >> shift;

        if (above >> wide_bits == begin)
            counts[above & (wide_values - 1)]++;
    }
}

/* Two digits are enough to leave out nearly all of the others. */
size_t rank_select(uint64_t *ranks, size_t n, size_t k)
{
    uint32_t counts[wide_values];
    uint64_t begin = 0; /* of the last rank that is needed */
    size_t needed = k, kept = 0;
    int shift = 64;

    if (n <= few || k == 0 || k > n / 2)
        return n;
    for (int i = 0; i < 2; i++) {
        size_t value = 0;

        shift -= wide_bits;
        count_wide(ranks, n, begin, shift, counts);
        for (; counts[value] < needed; value++)
            needed -= counts[value];
        begin = begin << wide_bits | value;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t rank = ranks[i];

        ranks[kept] = rank;
        kept += rank >> shift <= begin;
    }
    return kept;
}

uint64_t sort_key(const struct tensor *tensor, size_t i)
{
    static const uint64_t sign = UINT64_C(1) << 63;
    const void *data = tensor_data(tensor);
    uint64_t bits;
    double value;

    switch (tensor->dtype) {
    case DTYPE_F32:
        value = (double)((const float *)data)[i];
        break;
    case DTYPE_F64:
        value = ((const double *)data)[i];
        break;
    case DTYPE_I64:
        return (uint64_t)((const int64_t *)data)[i] ^ sign;
    case DTYPE_U64:
        return ((const uint64_t *)data)[i];
    default:
        return ((const uint8_t *)data)[i];
    }
    if (value != value)
        return UINT64_MAX;
    value += 0.0; /* 0 and -0 are equal */
    memcpy(&bits, &value, sizeof bits);
    return bits & sign ? ~bits : bits | sign;
}
