/* backend/direct/halves_internal.h - sums around products of halves, see
 * direct_halves.c; compiled once for each instruction set.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_DIRECT_HALVES_INTERNAL_H
#define BACKEND_DIRECT_HALVES_INTERNAL_H

#include "backend/direct/direct_body_internal.h"

PART void halve_vector(const struct direct_halved *halved, int64_t i)
{
    const float *upper = halved->upper, *lower = halved->lower;
    float *to = halved->sums + i;
    int64_t n = halved->n, step = halved->step;
    vec none = vec_splat(0);
    vec a11 = upper ? vec_load(upper + i) : none;
    vec a12 = upper ? vec_load(upper + n + i) : none;
    vec a21 = lower ? vec_load(lower + i) : none;
    vec a22 = lower ? vec_load(lower + n + i) : none;
    vec s1 = a21 + a22, s2 = s1 - a11;

    vec_store(to, s1);
    vec_store(to + step, s2);
    vec_store(to + 2 * step, a11 - a21);
    vec_store(to + 3 * step, a12 - s2);
}

static void body_halve(const struct direct_halved *halved)
{
    int64_t n = halved->n;

    for (int64_t i = 0; i + lanes <= n; i += lanes)
        halve_vector(halved, i);
    if (n % lanes)
        halve_vector(halved, n - lanes);
}

static void body_join(const struct direct_joined *joined)
{
    const struct direct_pixels *end = joined->pixels;
    struct limits limits = find_limits(end->then);

    for (int64_t i = 0; i < joined->n_first; i++) {
        int64_t at = i * joined->step, to = i * end->y_step;

        for (int64_t k = 0; k < joined->width; k += lanes) {
            vec third = vec_load(joined->third + at + k);
            float *first = joined->first + at + k;
            vec y;

            vec_store(first, vec_load(first) + third);
            if (i >= joined->n)
                continue;
            y = vec_load(joined->second + at + k) + third;
            if (joined->bias)
                y += vec_load(joined->bias + k);
            y = vec_limit(y, limits);
            if (end->has_gelu)
                y = vec_gelu(y);
            if (end->plus)
                y += vec_load(end->plus + to + k);
            vec_store(end->y + to + k, y);
        }
    }
}

#endif
