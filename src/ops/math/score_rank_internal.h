/* ops/math/score_rank_internal.h - numbers to sort scores and elements by.
 *
 * A rank holds a score and its index in one number: the smaller number is the
 * higher score or, for equal scores, the lower index. NaNs come last.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MATH_SCORE_RANK_INTERNAL_H
#define OPS_MATH_SCORE_RANK_INTERNAL_H

#include "base/variants.h"
#include "tensor/tensor.h"

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

/* Sorts n ranks, best first. scratch has room for n. */
void rank_sort(uint64_t *ranks, uint64_t *scratch, size_t n);
/* Moves the k best of n ranks to the front, in any order and with a few others
 * among them. How many there are is what it returns. */
size_t rank_select(uint64_t *ranks, size_t n, size_t k);

/* A number that sorts like element i of a tensor of a wide type
 * (tensor/convert.h) or bool. NaNs come last. */
uint64_t sort_key(const struct tensor *tensor, size_t i);

#endif
