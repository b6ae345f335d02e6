/* backend/direct/lines_internal.h - softmax and norm of a line; compiled once
 * for each instruction set.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_DIRECT_LINES_INTERNAL_H
#define BACKEND_DIRECT_LINES_INTERNAL_H

#include "backend/direct/direct_internal.h"
#include "backend/vector_activations_internal.h"

#include <math.h>
#include <string.h>

/* vec_exp() counts what is far below 0 as -87: that becomes 0 here, as of
 * values that a mask has made minus infinity. */
PART vec softmax_exp(vec x)
{
    static const float least = 1.7e-38F;

    return vec_max(vec_splat(0), vec_exp(x) - least);
}

/* The last values of a line, fewer than a vector's; others are `fill`. */
PART vec load_last(const float *x, int64_t n, float fill)
{
    float last[lanes];

    for (int i = 0; i < lanes; i++)
        last[i] = fill;
    memcpy(last, x, (size_t)n * sizeof *x);
    return vec_load(last);
}

static void body_softmax(const float *x, float *y, int64_t n)
{
    int64_t whole = n / lanes * lanes, rest = n - whole;
    vec last = load_last(x + whole, rest, -INFINITY), most = last;
    vec sums = vec_splat(0), largest, inverse;
    float ends[lanes];

    for (int64_t i = 0; i < whole; i += lanes)
        most = vec_max(most, vec_load(x + i));
    largest = vec_splat(vec_largest(most));
    for (int64_t i = 0; i < whole; i += lanes) {
        vec e = softmax_exp(vec_load(x + i) - largest);

        vec_store(y + i, e);
        sums += e;
    }
    last = softmax_exp(last - largest);
    inverse = vec_splat(1 / vec_total(sums + last));
    for (int64_t i = 0; i < whole; i += lanes)
        vec_store(y + i, vec_load(y + i) * inverse);
    vec_store(ends, last * inverse);
    memcpy(y + whole, ends, (size_t)rest * sizeof *y);
}

/* As many lines at once as a vector has numbers, of fewer numbers each: one
 * vector has the first number of all lines, the next one the second. */
static void body_softmax_short(const float *x, float *y, int64_t n)
{
    float numbers[lanes * lanes];
    vec most = vec_splat(-INFINITY), sums = vec_splat(0), inverse;

    for (int64_t i = 0; i < n; i++) {
        for (int l = 0; l < lanes; l++)
            numbers[i * lanes + l] = x[l * n + i];
    }
    for (int64_t i = 0; i < n; i++)
        most = vec_max(most, vec_load(numbers + i * lanes));
    for (int64_t i = 0; i < n; i++) {
        vec e = softmax_exp(vec_load(numbers + i * lanes) - most);

        vec_store(numbers + i * lanes, e);
        sums += e;
    }
    inverse = vec_splat(1) / sums;
    for (int64_t i = 0; i < n; i++)
        vec_store(numbers + i * lanes, vec_load(numbers + i * lanes) * inverse);
    for (int64_t i = 0; i < n; i++) {
        for (int l = 0; l < lanes; l++)
            y[l * n + i] = numbers[i * lanes + l];
    }
}

enum { attend_at_once = 3 };

/* n numbers of a line, or as many as a vector has; the others are 0. */
PART vec attend_load(const float *x, int64_t n)
{
    return n < lanes ? vec_load_first(x, n) : vec_load(x);
}

/* 0 for the first n numbers, minus infinity for the others. */
PART vec attend_end(int64_t n)
{
    float end[lanes];

    for (int i = 0; i < lanes; i++)
        end[i] = i < n ? 0 : -INFINITY;
    return vec_load(end);
}

/* A row: scores with what is added to them, and the largest of each lane. */
PART vec attend_add(float *x, const float *plus, const float *mask, int64_t n,
                    vec most)
{
    vec v = attend_load(x, n);

    if (plus)
        v += attend_load(plus, n);
    if (mask)
        v += attend_load(mask, n);
    if (n < lanes)
        v += attend_end(n);
    vec_store(x, v);
    return vec_max(most, v);
}

/* So many rows at once, a constant: each step of one waits for the step before,
 * and the others fill the gaps. */
PART void attend_rows(const struct direct_attended *rows, int64_t first,
                      int n_rows)
{
    vec most[attend_at_once], largest[attend_at_once], sums[attend_at_once];
    int64_t n = rows->n;
    float *x = rows->x + first * rows->step;
    const float *plus = rows->plus ? rows->plus + first * n : NULL;
    const float *mask = rows->mask ? rows->mask + first * n : NULL;

    for (int r = 0; r < n_rows; r++)
        most[r] = vec_splat(-INFINITY);
    for (int64_t i = 0; i < n; i += lanes) {
        for (int r = 0; r < n_rows; r++)
            most[r] = attend_add(
                x + r * rows->step + i, plus ? plus + r * n + i : NULL,
                mask ? mask + r * n + i : NULL, n - i, most[r]);
    }
    for (int r = 0; r < n_rows; r++) {
        largest[r] = vec_splat(vec_largest(most[r]));
        sums[r] = vec_splat(0);
    }
    for (int64_t i = 0; i < n; i += lanes) {
        for (int r = 0; r < n_rows; r++) {
            float *at = x + r * rows->step + i;
            vec e = softmax_exp(vec_load(at) - largest[r]);

            vec_store(at, e);
            sums[r] += e;
        }
    }
    for (int r = 0; r < n_rows; r++)
        sums[r] = vec_splat(1 / vec_total(sums[r]));
    for (int64_t i = 0; i < n; i += lanes) {
        for (int r = 0; r < n_rows; r++) {
            float *at = x + r * rows->step + i;

            vec_store(at, vec_load(at) * sums[r]);
        }
    }
}

static void body_attend(const struct direct_attended *rows)
{
    int64_t i = 0;

    for (; i + attend_at_once <= rows->rows; i += attend_at_once)
        attend_rows(rows, i, attend_at_once);
    for (; i < rows->rows; i++)
        attend_rows(rows, i, 1);
}

/* ---- norm ---------------------------------------------------------------- */

/* Two sums at once: one would wait for itself. */
PART float norm_mean(const float *x, int64_t n)
{
    int64_t i = 0;
    vec even = vec_splat(0), odd = vec_splat(0);

    for (; i + 2 * lanes <= n; i += 2 * lanes) {
        even += vec_load(x + i);
        odd += vec_load(x + i + lanes);
    }
    for (; i + lanes <= n; i += lanes)
        even += vec_load(x + i);
    odd += load_last(x + i, n - i, 0);
    return vec_total(even + odd) / (float)n;
}

/* From values less the mean: a mean far from 0 would spoil it otherwise. */
PART float norm_variance(const float *x, int64_t n, float mean)
{
    int64_t i = 0;
    vec even = vec_splat(0), odd = vec_splat(0);

    for (; i + 2 * lanes <= n; i += 2 * lanes) {
        vec a = vec_load(x + i) - mean, b = vec_load(x + i + lanes) - mean;

        even += a * a;
        odd += b * b;
    }
    for (; i + lanes <= n; i += lanes) {
        vec a = vec_load(x + i) - mean;

        even += a * a;
    }
    if (i < n) {
        vec a = load_last(x + i, n - i, mean) - mean;

        odd += a * a;
    }
    return vec_total(even + odd) / (float)n;
}

static void body_norm(const struct direct_norm *norm, const float *x, float *y)
{
    int64_t n = norm->n, i = 0;
    float mean = norm_mean(x, n);
    float factor = 1 / sqrtf(norm_variance(x, n, mean) + norm->eps);

    for (; i + lanes <= n; i += lanes) {
        vec v = (vec_load(x + i) - mean) * factor * vec_load(norm->scale + i);

        if (norm->bias)
            v += vec_load(norm->bias + i);
        vec_store(y + i, v);
    }
    for (; i < n; i++)
        y[i] = (x[i] - mean) * factor * norm->scale[i] +
               (norm->bias ? norm->bias[i] : 0);
}

#endif
