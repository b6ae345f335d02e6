/* backend/direct/responses_internal.h - channels divided by a power of their
 * neighbours' squares (LocalResponseNorm), in vectors of a width that the
 * including file chooses, as those of direct_body_internal.h, which comes
 * before.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_DIRECT_RESPONSES_INTERNAL_H
#define BACKEND_DIRECT_RESPONSES_INTERNAL_H

#include "backend/direct/direct_internal.h"

#include <math.h>

/* Floats of a pixel's squares: a block, and the neighbours on both sides. */
enum { most_squares = 3 * lanes };

/* Squares of a pixel's channels, from `before` ones ahead of the block to
 * `after` ones behind it; 0 where there is none. */
PART void square_pixel(const struct direct_response *r, const float *x,
                       float *squares)
{
    vec v = vec_load(x);

    for (int64_t c = 0; c < r->before; c++) {
        float other =
            r->has_before ? x[lanes - r->before + c - r->plane_floats] : 0;

        squares[c] = other * other;
    }
    vec_store(squares + r->before, v * v);
    for (int64_t c = 0; c < r->after; c++) {
        float other = r->has_after ? x[r->plane_floats + c] : 0;

        squares[r->before + lanes + c] = other * other;
    }
}

/* d^beta, without a logarithm for the exponent that everybody takes. */
PART vec raise(vec d, float beta)
{
    static const float usual = 0.75F;
    float each[lanes];

    if (beta == usual) {
        vec root = vec_sqrt(d);

        return root * vec_sqrt(root);
    }
    vec_store(each, d);
    for (int i = 0; i < lanes; i++)
        each[i] = powf(each[i], beta);
    return vec_load(each);
}

/* The squares of all pixels first: a sum reads parts of several stores, which
 * have to be in the cache for that. */
static void body_respond(const struct direct_response *r)
{
    float squares[DIRECT_RESPONSES * most_squares];
    int64_t width = r->before + lanes + r->after;

    for (int64_t p = 0; p < r->n; p++)
        square_pixel(r, r->x + p * lanes, squares + p * width);
    for (int64_t p = 0; p < r->n; p++) {
        const float *from = squares + p * width;
        vec sum = vec_load(from);

        for (int64_t k = 1; k <= r->before + r->after; k++)
            sum += vec_load(from + k);
        vec_store(r->y + p * lanes,
                  vec_load(r->x + p * lanes) /
                      raise(r->bias + r->scale * sum, r->beta));
    }
}

#endif
