/* backend/winograd/winograd_weights.c - transforms weights, once for all runs
 * or in every step of a training: in double, so that only the result is
 * rounded, for all lanes of a block at a time. */
#include "backend/winograd/winograd_internal.h"

#include <string.h>

enum { taps = 3, max_side = 6, max_lanes = 16 };

struct weights_transform {
    int side;
    double rows[max_side][taps];
};

/* With a stride of 2: the two taps that meet even lines, then the other one for
 * each output. */
static const struct weights_transform by_2 = {
    .side = 5, .rows = {{1, 0, 0}, {1, 0, 1}, {0, 0, 1}, {0, 1, 0}, {0, 1, 0}}};

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

/* A tap of one input channel and all outputs of a block. */
typedef double lanes_of_taps[taps * taps][max_lanes];

/* Zero where the block has fewer outputs. On the way back the channels change
 * places, and so do the taps around the middle one. */
static void weights_gather(const struct winograd *winograd,
                           const float *weights, int64_t out_block, int64_t c,
                           lanes_of_taps out)
{
    enum { n_taps = taps * taps };
    const struct winograd_shape *shape = &winograd->shape;
    int64_t lanes = winograd->kernels->lanes, first = out_block * lanes;
    int64_t n = shape->out_channels - first;

    memset(out, 0, sizeof(lanes_of_taps));
    for (int64_t l = 0; l < lanes && l < n; l++) {
        int64_t o = first + l;
        const float *from =
            weights + (shape->is_backward ? c * shape->out_channels + o
                                          : o * shape->in_channels + c) *
                          n_taps;

        for (int k = 0; k < n_taps; k++)
            out[k][l] = (double)from[shape->is_backward ? n_taps - 1 - k : k];
    }
}

/* Point by point, a vector for each. */
static void weights_vectors(const struct weights_transform *transform,
                            lanes_of_taps w, float (*out)[max_lanes])
{
    double half[max_side][taps][max_lanes];

    for (int i = 0; i < transform->side; i++) {
        const double *row = transform->rows[i];

        for (int k = 0; k < taps; k++) {
            for (int l = 0; l < max_lanes; l++)
                half[i][k][l] = row[0] * w[k][l] + row[1] * w[taps + k][l] +
                                row[2] * w[2 * taps + k][l];
        }
    }
    for (int i = 0; i < transform->side; i++) {
        for (int j = 0; j < transform->side; j++) {
            const double *row = transform->rows[j];
            float *to = out[i * transform->side + j];

            for (int l = 0; l < max_lanes; l++)
                to[l] =
                    (float)(row[0] * half[i][0][l] + row[1] * half[i][1][l] +
                            row[2] * half[i][2][l]);
        }
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
    struct weights_transform transform =
        winograd->shape.stride == 2 ? by_2 : weights_transform(winograd->tile);
    int64_t lanes = winograd->kernels->lanes;
    int64_t channels = winograd->shape.in_channels;

#pragma omp parallel for
    for (int64_t b = 0; b < winograd->out_blocks; b++) {
        float vectors[max_side * max_side][max_lanes];
        lanes_of_taps gathered;
        int64_t channel_floats;
        float *to = weights_place(winograd, b, packed, &channel_floats);

        for (int64_t c = 0; c < channels; c++) {
            weights_gather(winograd, weights, b, c, gathered);
            weights_vectors(&transform, gathered, vectors);
            for (int64_t p = 0; p < winograd->points; p++)
                memcpy(to + p * winograd->out_blocks * channels * lanes +
                           c * channel_floats,
                       vectors[p], sizeof(float) * (size_t)lanes);
        }
    }
}
