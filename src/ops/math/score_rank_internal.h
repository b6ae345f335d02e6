/* ops/math/score_rank_internal.h - scores in falling order.
 *
 * A rank is a score and the index it belongs to in one number: the smaller
 * number is the higher score or, where scores are equal, the lower index. A
 * score that is not a number comes after all others.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MATH_SCORE_RANK_INTERNAL_H
#define OPS_MATH_SCORE_RANK_INTERNAL_H

#include "base/variants.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The score's half of a rank. */
VARIANT_PART uint32_t rank_key(float score)
{
    float positive_zero = score + 0.0F; /* 0 and -0 are equal */
    uint32_t bits, is_positive;

    memcpy(&bits, &positive_zero, sizeof bits);
    is_positive = (bits >> 31) - 1; /* all bits, or none */
    bits ^= is_positive & INT32_MAX;
    return score == score ? bits : UINT32_MAX;
}

static inline uint64_t rank_of(float score, uint32_t index)
{
    return (uint64_t)rank_key(score) << 32 | index;
}

static inline uint32_t rank_index(uint64_t rank)
{
    return (uint32_t)rank;
}

/* Sorts n ranks, the best first. scratch has room for as many. */
void rank_sort(uint64_t *ranks, uint64_t *scratch, size_t n);

#endif
