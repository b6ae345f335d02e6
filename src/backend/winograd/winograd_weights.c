/* backend/winograd/winograd_weights.c - transforms weights, once for all runs
 * or in every step of a training: in double, so that only the result is
 * rounded, for all lanes of a block at a time. */
#include "backend/winograd/winograd_internal.h"

#include "base/variants.h"

#include <string.h>

enum { most_taps = 5, max_side = 6, max_lanes = 16 };

struct weights_transform {
    int side, taps;
    double rows[max_side][most_taps];
};

/* With a stride of 2: the two taps that meet even lines, then the other one,
 * which the last two lines of a tile share. */
static const struct weights_transform by_2 = {
    .side = 4, .taps = 3, .rows = {{1, 0, 0}, {1, 0, 1}, {0, 0, 1}, {0, 1, 0}}};

/* Row j has the powers of the finite point p_j, divided by the product of all
 * p_j - p_k; the last one is that of infinity. */
static struct weights_transform weights_transform(const struct winograd *plan)
{
    static const double of_4[] = {0, 1, -1};
    static const double of_6[] = {0, (double)WINOGRAD_A, -(double)WINOGRAD_A,
                                  (double)WINOGRAD_B, -(double)WINOGRAD_B};
    struct weights_transform transform = {.side = (int)plan->side,
                                          .taps = (int)plan->shape.taps};
    const double *points = transform.side == max_side ? of_6 : of_4;
    int n_finite = transform.side - 1;

    for (int j = 0; j < n_finite; j++) {
        double power = 1;

        for (int k = 0; k < n_finite; k++)
            power /= k == j ? 1 : points[j] - points[k];
        for (int k = 0; k < transform.taps; k++) {
            transform.rows[j][k] = power;
            power *= points[j];
        }
    }
    transform.rows[n_finite][transform.taps - 1] = 1;
    return transform;
}

/* A tap of one input channel and all outputs of a block. */
typedef double lanes_of_taps[most_taps * most_taps][max_lanes];

/* Zero where the block has fewer outputs. On the way back the channels change
 * places, and so do the taps around the middle one. */
static void weights_gather(const struct winograd *winograd,
                           const float *weights, int64_t out_block, int64_t c,
                           lanes_of_taps out)
{
    const struct winograd_shape *shape = &winograd->shape;
    int64_t n_taps = shape->taps * shape->taps;
    int64_t lanes = winograd->kernels->lanes, first = out_block * lanes;
    int64_t n = shape->out_channels - first;

    memset(out, 0, sizeof(lanes_of_taps));
    for (int64_t l = 0; l < lanes && l < n; l++) {
        int64_t o = first + l;
        const float *from =
            weights + (shape->is_backward ? c * shape->out_channels + o
                                          : o * shape->in_channels + c) *
                          n_taps;

        for (int64_t k = 0; k < n_taps; k++)
            out[k][l] = (double)from[shape->is_backward ? n_taps - 1 - k : k];
    }
}

/* The sum of n vectors, `step` of them apart, times a number each. */
VARIANT_PART void weights_sum(const double *row, int n, double (*w)[max_lanes],
                              int step, double *sums)
{
    for (int l = 0; l < max_lanes; l++)
        sums[l] = row[0] * w[0][l];
    for (int k = 1; k < n; k++) {
        for (int l = 0; l < max_lanes; l++)
            sums[l] += row[k] * w[k * step][l];
    }
}

/* Point by point, a vector for each. */
VARIANTS(void, weights_vectors,
         (const struct weights_transform *transform, lanes_of_taps w,
          float (*out)[max_lanes]),
         (transform, w, out))
{
    double half[max_side][most_taps][max_lanes], sums[max_lanes];
    int taps = transform->taps;

    for (int i = 0; i < transform->side; i++) {
        for (int k = 0; k < taps; k++)
            weights_sum(transform->rows[i], taps, w + k, taps, half[i][k]);
    }
    for (int i = 0; i < transform->side; i++) {
        for (int j = 0; j < transform->side; j++) {
            float *to = out[i * transform->side + j];

            weights_sum(transform->rows[j], taps, half[i], 1, sums);
            for (int l = 0; l < max_lanes; l++)
                to[l] = (float)sums[l];
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

/* A block of outputs of a group. */
static void pack_block(const struct winograd *winograd,
                       const struct weights_transform *transform, int64_t block,
                       const float *weights, float *packed)
{
    int64_t lanes = winograd->kernels->lanes, channel_floats;
    int64_t channels = winograd->shape.in_channels;
    float vectors[max_side * max_side][max_lanes];
    lanes_of_taps gathered;
    float *to = weights_place(winograd, block, packed, &channel_floats);

    for (int64_t c = 0; c < channels; c++) {
        weights_gather(winograd, weights, block, c, gathered);
        weights_vectors(transform, gathered, vectors);
        for (int p = 0; p < transform->side * transform->side; p++)
            memcpy(to + p * winograd->out_blocks * channels * lanes +
                       c * channel_floats,
                   vectors[p], sizeof(float) * (size_t)lanes);
    }
}

void winograd_pack(const struct winograd *winograd, const float *weights,
                   float *packed)
{
    const struct winograd_shape *shape = &winograd->shape;
    struct weights_transform transform =
        shape->stride == 2 ? by_2 : weights_transform(winograd);
    int64_t each =
        shape->in_channels * shape->out_channels * shape->taps * shape->taps;
    int64_t blocks = winograd->out_blocks;

#pragma omp parallel for
    for (int64_t i = 0; i < shape->groups * blocks; i++) {
        int64_t group = i / blocks;

        pack_block(winograd, &transform, i % blocks, weights + group * each,
                   packed + group * winograd_group_floats(winograd));
    }
}
