/* backend/winograd/winograd_weights.c - transforms weights, once for all runs:
 * in double, so that only the result is rounded. */
#include "backend/winograd/winograd_internal.h"

#include <string.h>

enum { taps = 3, max_side = 6, max_lanes = 16 };

struct weights_transform {
    int side;
    double rows[max_side][taps];
};

/* Row j has the powers of the finite point p_j, divided by the product of all
 * p_j - p_k; the last one is that of infinity. */
static struct weights_transform weights_transform(enum winograd_tile tile)
{
    static const double of_2[] = {0, 1, -1};
    static const double of_4[] = {0, (double)WINOGRAD_A, -(double)WINOGRAD_A,
                                  (double)WINOGRAD_B, -(double)WINOGRAD_B};
    struct weights_transform transform = {.side = (int)tile + 2};
    const double *points = tile == WINOGRAD_4X3 ? of_4 : of_2;
    int n_finite = transform.side - 1;

    for (int j = 0; j < n_finite; j++) {
        double factor = 1;

        for (int k = 0; k < n_finite; k++)
            factor *= k == j ? 1 : points[j] - points[k];
        transform.rows[j][0] = 1 / factor;
        transform.rows[j][1] = points[j] / factor;
        transform.rows[j][2] = points[j] * points[j] / factor;
    }
    transform.rows[n_finite][taps - 1] = 1;
    return transform;
}

/* The 3x3 weights of a pair of channels. */
static void weights_tile(const struct weights_transform *transform,
                         const float *w, double *out)
{
    double half[max_side][taps];

    for (int i = 0; i < transform->side; i++) {
        const double *row = transform->rows[i];

        for (int k = 0; k < taps; k++)
            half[i][k] = row[0] * (double)w[k] + row[1] * (double)w[taps + k] +
                         row[2] * (double)w[2 * taps + k];
    }
    for (int i = 0; i < transform->side; i++) {
        for (int j = 0; j < transform->side; j++) {
            const double *row = transform->rows[j];

            out[i * transform->side + j] =
                row[0] * half[i][0] + row[1] * half[i][1] + row[2] * half[i][2];
        }
    }
}

/* The weights of one input channel and all outputs of a block, zero where
 * these are fewer: point by point, a vector for each. */
static void weights_vectors(const struct winograd *winograd,
                            const struct weights_transform *transform,
                            const float *weights, int64_t out_block, int64_t c,
                            float (*out)[max_lanes])
{
    const struct winograd_shape *shape = &winograd->shape;
    int64_t lanes = winograd->kernels->lanes;

    memset(out, 0, sizeof *out * (size_t)winograd->points);
    for (int64_t l = 0; l < lanes; l++) {
        int64_t o = out_block * lanes + l;
        double tile[max_side * max_side];

        if (o >= shape->out_channels)
            return;
        weights_tile(transform,
                     weights + (o * shape->in_channels + c) * taps * taps,
                     tile);
        for (int64_t p = 0; p < winograd->points; p++)
            out[p][l] = (float)tile[p];
    }
}

/* The place of an output block's weights of channel 0 and point 0, and how far
 * it is to the next channel. */
static float *weights_place(const struct winograd *winograd, int64_t out_block,
                            float *packed, int64_t *channel_floats)
{
    int64_t lanes = winograd->kernels->lanes;
    int64_t first = out_block / WINOGRAD_PANEL * WINOGRAD_PANEL;
    int64_t left = winograd->out_blocks - first;
    int64_t n = left < WINOGRAD_PANEL ? left : WINOGRAD_PANEL;

    *channel_floats = n * lanes;
    return packed +
           (first * winograd->shape.in_channels + out_block - first) * lanes;
}

void winograd_pack(const struct winograd *winograd, const float *weights,
                   float *packed)
{
    struct weights_transform transform = weights_transform(winograd->tile);
    int64_t lanes = winograd->kernels->lanes;
    int64_t channels = winograd->shape.in_channels;

#pragma omp parallel for
    for (int64_t b = 0; b < winograd->out_blocks; b++) {
        float vectors[max_side * max_side][max_lanes];
        int64_t channel_floats;
        float *to = weights_place(winograd, b, packed, &channel_floats);

        for (int64_t c = 0; c < channels; c++) {
            weights_vectors(winograd, &transform, weights, b, c, vectors);
            for (int64_t p = 0; p < winograd->points; p++)
                memcpy(to + p * winograd->out_blocks * channels * lanes +
                           c * channel_floats,
                       vectors[p], sizeof(float) * (size_t)lanes);
        }
    }
}
