/* backend/vector_activations_internal.h - activations of vectors, of a width
 * that the including file chooses by a header with vectors. It is compiled once
 * for each instruction set, with that set's flags.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_VECTOR_ACTIVATIONS_INTERNAL_H
#define BACKEND_VECTOR_ACTIVATIONS_INTERNAL_H

#include "backend/activation.h"

#include <stdint.h>

#define PART static inline __attribute__((always_inline))

/* 2^n, n whole, by the polynomial of least relative error (1e-7) for 2^f, f
 * from -1/2 to 1/2. What is below -87 counts as that, and likewise above. */
PART vec vec_exp(vec x)
{
    vec held = vec_max(vec_splat(-87), vec_min(vec_splat(87), x));
    vec n = vec_round(held * 1.44269504F);
    vec f = vec_fma(held, vec_splat(1.44269504F), -n);
    vec p = f * 1.326472691e-3F + 9.671512662e-3F;

    p = p * f + 5.550733744e-2F;
    p = p * f + 2.402224208e-1F;
    p = p * f + 6.931469776e-1F;
    p = p * f + 1;
    return vec_scale(p, n);
}

PART vec vec_sigmoid(vec x)
{
    return 1 / (1 + vec_exp(-x));
}

PART vec vec_silu(vec x)
{
    return x / (1 + vec_exp(-x));
}

/* x * tanh(log(1 + e^x)), with the hyperbolic tangent written as a fraction. */
PART vec vec_mish(vec x)
{
    vec e = vec_exp(vec_min(vec_splat(40), x)), n = e * (e + 2);

    return x * (n / (n + 2));
}

/* 1 / x, by one of Newton's steps; 2 units in the last place. */
PART vec vec_inverse(vec x)
{
    vec about = vec_about_inverse(x);

    return about * (2 - x * about);
}

/* x (1 + erf(x / sqrt 2)) / 2, with the fraction of vector_math_internal.h. */
PART vec vec_gelu(vec x)
{
    vec held = vec_max(vec_splat(-4), vec_min(vec_splat(4), x * 0.70710678F));
    vec square = held * held;
    vec p = square * -2.72614225801306e-10F + 2.77068142495902e-08F;
    vec q = square * -1.45660718464996e-05F - 2.13374055278905e-04F;

    p = p * square - 2.10102402082508e-06F;
    p = p * square - 5.69250639462346e-05F;
    p = p * square - 7.34990630326855e-04F;
    p = p * square - 2.95459980854025e-03F;
    p = p * square - 1.60960333262415e-02F;
    q = q * square - 1.68282697438203e-03F;
    q = q * square - 7.37332916720468e-03F;
    q = q * square - 1.42647390514189e-02F;
    return x * 0.5F * (1 + held * p * vec_inverse(q));
}

PART vec vec_hard_swish(vec x)
{
    vec part = x * (1.0F / 6) + 0.5F;

    return x * vec_max(vec_splat(0), vec_min(vec_splat(1), part));
}

/* NaNs pass: minimum and maximum answer with their second argument then. */
PART vec vec_relu(vec x, const struct activation *by)
{
    vec y = vec_max(vec_splat(0), x);

    return by->relu_limit > 0 ? vec_min(vec_splat(by->relu_limit), y) : y;
}

PART vec vec_leaky(vec x, float slope)
{
    return vec_max(vec_splat(0), x) + slope * vec_min(vec_splat(0), x);
}

PART void activate(vec *y, int n, const struct activation *by)
{
    if (by->has_relu) {
        for (int i = 0; i < n; i++)
            y[i] = vec_relu(y[i], by);
        return;
    }
    switch (by->kind) {
    case CONV2D_NO_ACTIVATION:
        break;
    case CONV2D_SILU:
        for (int i = 0; i < n; i++)
            y[i] = vec_silu(y[i]);
        break;
    case CONV2D_SIGMOID:
        for (int i = 0; i < n; i++)
            y[i] = vec_sigmoid(y[i]);
        break;
    case CONV2D_HARD_SWISH:
        for (int i = 0; i < n; i++)
            y[i] = vec_hard_swish(y[i]);
        break;
    case CONV2D_MISH:
        for (int i = 0; i < n; i++)
            y[i] = vec_mish(y[i]);
        break;
    case CONV2D_LEAKY_RELU:
        for (int i = 0; i < n; i++)
            y[i] = vec_leaky(y[i], by->slope);
        break;
    }
}

#endif
