/* backend/cuda/kernels/boxes.cu - the arithmetic of boxes, in the order of
 * ops/detection/boxes.c: AnchorGrid, RpnDecode, ResizeBoxes, and the boxes of
 * BoxDetections.
 *
 * Lists of several images lie one after the other, with a count for each; what
 * follows the last one belongs to no image, and is left zero.
 *
 * SPDX-License-Identifier: MIT */

struct box {
    float x1, y1, x2, y2;
};

__device__ inline float between(float value, float low, float high)
{
    if (value < low)
        return low;
    return value > high ? high : value;
}

__device__ inline box decode(box from, const float *deltas,
                             const float *weights)
{
    const float most = 4.135166556742356f;
    float width = sub(from.x2, from.x1), height = sub(from.y2, from.y1);
    float x = add(from.x1, mul(0.5f, width));
    float y = add(from.y1, mul(0.5f, height));
    float dw = between(__fdiv_rn(deltas[2], weights[2]), -INFINITY_F, most);
    float dh = between(__fdiv_rn(deltas[3], weights[3]), -INFINITY_F, most);
    float to_x = add(mul(__fdiv_rn(deltas[0], weights[0]), width), x);
    float to_y = add(mul(__fdiv_rn(deltas[1], weights[1]), height), y);
    float half_width = mul(0.5f, mul(near_exp(dw), width));
    float half_height = mul(0.5f, mul(near_exp(dh), height));
    box b = {sub(to_x, half_width), sub(to_y, half_height),
             add(to_x, half_width), add(to_y, half_height)};

    return b;
}

__device__ inline box clip_box(box b, int64_t height, int64_t width)
{
    box c = {between(b.x1, 0, (float)width), between(b.y1, 0, (float)height),
             between(b.x2, 0, (float)width), between(b.y2, 0, (float)height)};

    return c;
}

/* ---- AnchorGrid ------------------------------------------------------------ */

struct anchor_level {
    box base[8];
    int n_ratios;
    int64_t rows, columns, down, across;
};

extern "C" __global__ void anchor_grid(anchor_level level, box *to)
{
    int64_t n = level.rows * level.columns * level.n_ratios;

    for (int64_t i = FIRST; i < n; i += STEP) {
        int64_t place = i / level.n_ratios;
        float x = (float)(place % level.columns * level.across);
        float y = (float)(place / level.columns * level.down);
        box b = level.base[i % level.n_ratios];

        b.x1 = add(x, b.x1);
        b.y1 = add(y, b.y1);
        b.x2 = add(x, b.x2);
        b.y2 = add(y, b.y2);
        to[i] = b;
    }
}

/* ---- RpnDecode ------------------------------------------------------------- */

enum { MAX_LEVELS = 8 };

struct delta_levels {
    view deltas[MAX_LEVELS]; /* [n,4a,h,w] */
    int64_t columns[MAX_LEVELS], n_anchors[MAX_LEVELS];
    int n_ratios[MAX_LEVELS];
    int n_levels;
};

extern "C" __global__ void rpn_decode(delta_levels levels,
                                      const int64_t *chosen,
                                      const int64_t *counts, const box *anchors,
                                      const int64_t *sizes, box *to, int64_t n,
                                      int64_t n_images)
{
    const float weights[4] = {1, 1, 1, 1};

    for (int64_t i = FIRST; i < n; i += STEP) {
        int64_t left = i, image = 0, first = 0;
        int level = 0;
        box made = {0, 0, 0, 0};
        float deltas[4];

        while (image < n_images &&
               left >= counts[image * levels.n_levels + level]) {
            left -= counts[image * levels.n_levels + level];
            if (++level == levels.n_levels) {
                level = 0;
                image++;
            }
        }
        for (int k = 0; k < level; k++)
            first += levels.n_anchors[k];
        if (image < n_images) {
            int64_t at = chosen[i] - first;
            const view &from = levels.deltas[level];
            int64_t place = at / levels.n_ratios[level];
            int64_t begin = image * from.strides[0] +
                            at % levels.n_ratios[level] * 4 * from.strides[1] +
                            place / levels.columns[level] * from.strides[2] +
                            place % levels.columns[level] * from.strides[3];

            if (at >= 0 && at < levels.n_anchors[level]) {
                for (int k = 0; k < 4; k++)
                    deltas[k] = load_float(from, begin + k * from.strides[1]);
                made = clip_box(decode(anchors[chosen[i]], deltas, weights),
                                sizes[2 * image], sizes[2 * image + 1]);
            }
        }
        to[i] = made;
    }
}

/* ---- ResizeBoxes ----------------------------------------------------------- */

extern "C" __global__ void resize_boxes(const box *from, const int64_t *counts,
                                        const int64_t *sizes,
                                        const int64_t *original, box *to,
                                        int64_t n, int64_t n_images)
{
    for (int64_t i = FIRST; i < n; i += STEP) {
        int64_t left = i, image = 0;
        box b = {0, 0, 0, 0};

        while (image < n_images && left >= counts[image])
            left -= counts[image++];
        if (image < n_images) {
            float down = __fdiv_rn((float)original[2 * image],
                                   (float)sizes[2 * image]);
            float across = __fdiv_rn((float)original[2 * image + 1],
                                     (float)sizes[2 * image + 1]);

            b = from[i];
            b.x1 = mul(b.x1, across);
            b.y1 = mul(b.y1, down);
            b.x2 = mul(b.x2, across);
            b.y2 = mul(b.y2, down);
        }
        to[i] = b;
    }
}

/* ---- BoxDetections --------------------------------------------------------- */

struct detection_limits {
    float weights[4];
    float score, min_size, iou;
};

/* Decodes what scores enough; the score of others becomes NaN. */
extern "C" __global__ void detection_decode(view deltas, const box *proposals,
                                            const int64_t *counts,
                                            const int64_t *sizes,
                                            int64_t n_images, int64_t rows,
                                            int64_t classes,
                                            detection_limits limits,
                                            float *scores, box *boxes)
{
    for (int64_t i = FIRST; i < rows * classes; i += STEP) {
        int64_t row = i / classes, c = i % classes, left = row, image = 0;
        bool is_one = c > 0 && scores[i] > limits.score;
        float d[4];

        while (image < n_images && left >= counts[image])
            left -= counts[image++];
        if (is_one && image < n_images) {
            box b;

            for (int k = 0; k < 4; k++)
                d[k] = load_float(deltas, row * deltas.strides[0] +
                                              (4 * c + k) * deltas.strides[1]);
            b = clip_box(decode(proposals[row], d, limits.weights),
                         sizes[2 * image], sizes[2 * image + 1]);
            boxes[i] = b;
            is_one = sub(b.x2, b.x1) >= limits.min_size &&
                     sub(b.y2, b.y1) >= limits.min_size;
        }
        if (!is_one || image >= n_images)
            scores[i] = __int_as_float(0x7fc00000);
    }
}
