/* backend/cuda/kernels/photo.cu - photographs to a batch, and masks back into
 * photographs: the same steps and roundings as ops/detection/bilinear.c.
 *
 * SPDX-License-Identifier: MIT */

struct tap {
    int low, high;
    float low_weight, high_weight;
};

__device__ inline tap bilinear_tap(int64_t i, int64_t from, int64_t to)
{
    float scale = __fdiv_rn((float)from, (float)to);
    double at = __dsub_rn(__dmul_rn((double)scale, (double)i + 0.5), 0.5);
    tap t;

    if (from == to) {
        t.low = t.high = (int)i;
        t.low_weight = 1;
        t.high_weight = 0;
        return t;
    }
    if (at < 0)
        at = 0;
    t.low = (int)at;
    if (t.low > from - 1)
        t.low = (int)from - 1;
    t.high = t.low < from - 1 ? t.low + 1 : t.low;
    t.high_weight = (float)(at - (double)t.low);
    if (t.high_weight > 1)
        t.high_weight = 1;
    t.low_weight = sub(1, t.high_weight);
    return t;
}

__device__ inline float blend(float a, float a_weight, float b, float b_weight)
{
    return add(mul(a, a_weight), mul(b, b_weight));
}

/* ---- DetectionTransform ---------------------------------------------------- */

struct photo {
    const float *from; /* [3,h,w] */
    int64_t from_height, from_width;
    int64_t height, width;       /* after resizing */
    int64_t to_height, to_width; /* with the padding */
    int64_t strides[3];          /* of the batch: channel, row, column */
    float mean[3], std[3];
};

/* One image of the batch, a pixel of all colours a thread. */
template <typename T> __device__ void transform_kernel(photo p, T *to)
{
    int64_t plane = p.from_height * p.from_width;

    for (int64_t i = FIRST; i < p.to_height * p.to_width; i += STEP) {
        int64_t y = i / p.to_width, x = i % p.to_width;
        T *at = to + y * p.strides[1] + x * p.strides[2];
        bool is_inside = y < p.height && x < p.width;
        tap down = {0, 0, 0, 0}, across = {0, 0, 0, 0};

        if (is_inside) {
            down = bilinear_tap(y, p.from_height, p.height);
            across = bilinear_tap(x, p.from_width, p.width);
        }
        for (int c = 0; c < 3; c++) {
            const float *low = p.from + c * plane + down.low * p.from_width;
            const float *high = p.from + c * plane + down.high * p.from_width;
            float mean = p.mean[c], std = p.std[c], value = 0;

            if (is_inside) {
                float a = __fdiv_rn(sub(low[across.low], mean), std);
                float b = __fdiv_rn(sub(low[across.high], mean), std);
                float d = __fdiv_rn(sub(high[across.low], mean), std);
                float e = __fdiv_rn(sub(high[across.high], mean), std);

                value = blend(blend(a, across.low_weight, b,
                                    across.high_weight),
                              down.low_weight,
                              blend(d, across.low_weight, e,
                                    across.high_weight),
                              down.high_weight);
            }
            at[c * p.strides[0]] = store<T>(value);
        }
    }
}

FOR_STORED(transform, (photo p, T *to), (p, to))

/* ---- MaskSelect ------------------------------------------------------------ */

/* 8-bit pixels to planes of float32, rounded as the host divides. */
extern "C" __global__ void spread_pixels(const uint8_t *pixels, float *planes,
                                         int64_t n)
{
    for (int64_t i = FIRST; i < n; i += STEP) {
        for (int c = 0; c < 3; c++)
            planes[c * n + i] = __fdiv_rn((float)pixels[3 * i + c], 255);
    }
}

/* logits [d,c,h,w] with any strides; y dense [d,1,h,w]. */
extern "C" __global__ void mask_select(view logits, const int64_t *labels,
                                       float *y, int64_t n, int64_t classes,
                                       int64_t height, int64_t width)
{
    for (int64_t i = FIRST; i < n * height * width; i += STEP) {
        int64_t mask = i / (height * width), row = i / width % height;
        int64_t column = i % width, label = labels[mask];
        int64_t at = mask * logits.strides[0] + label * logits.strides[1] +
                     row * logits.strides[2] + column * logits.strides[3];

        if (label < 0 || label >= classes)
            y[i] = 0;
        else
            y[i] = __fdiv_rn(1, add(1, near_exp(-load_float(logits, at))));
    }
}

/* ---- PasteMasks ------------------------------------------------------------ */

struct placed {
    int left, top, box_width, box_height;
    int x_start, x_end, y_start, y_end;
};

__device__ inline int whole_pixel(float value)
{
    const float far = 1e9f;

    if (!(value > -far))
        return -1000000000;
    return (int)(value < far ? value : far);
}

__device__ inline placed place_mask(const float *box, int side, int height,
                                    int width)
{
    float scale = (float)((double)(side + 2) / (double)side);
    float half_width = mul(mul(sub(box[2], box[0]), 0.5f), scale);
    float half_height = mul(mul(sub(box[3], box[1]), 0.5f), scale);
    float x = mul(add(box[2], box[0]), 0.5f);
    float y = mul(add(box[3], box[1]), 0.5f);
    int right = whole_pixel(add(x, half_width));
    int bottom = whole_pixel(add(y, half_height));
    placed p;

    p.left = whole_pixel(sub(x, half_width));
    p.top = whole_pixel(sub(y, half_height));
    p.box_width = right - p.left + 1;
    p.box_height = bottom - p.top + 1;
    p.x_start = min(max(p.left, 0), width);
    p.y_start = min(max(p.top, 0), height);
    p.x_end = max(min(right + 1, width), p.x_start);
    p.y_end = max(min(bottom + 1, height), p.y_start);
    return p;
}

__device__ inline float mask_at(const float *mask, int side, int y, int x)
{
    if (y < 1 || x < 1 || y > side || x > side)
        return 0;
    return mask[(y - 1) * side + x - 1];
}

__device__ inline float paste_value(const placed &p, const float *mask,
                                    int side, const tap &down, int x)
{
    tap across = bilinear_tap(x - p.left, side + 2, p.box_width);
    float low = blend(mask_at(mask, side, down.low, across.low),
                      across.low_weight,
                      mask_at(mask, side, down.low, across.high),
                      across.high_weight);
    float high = blend(mask_at(mask, side, down.high, across.low),
                       across.low_weight,
                       mask_at(mask, side, down.high, across.high),
                       across.high_weight);

    return blend(low, down.low_weight, high, down.high_weight);
}

/* Blocks (pieces of a plane, mask): the masks of one image, those of all images
 * being one after the other. Sixteen pixels a thread, one after the other in
 * memory and stored at once. */
template <typename T>
__device__ void paste(const float *masks, const float *boxes,
                      const int64_t *counts, int64_t image, T *to, int side,
                      int height, int width, T (*made)(float))
{
    enum { together = 16 };
    int64_t mask = blockIdx.y, row = mask, plane = (int64_t)height * width;
    placed p;

    if (mask >= counts[image])
        return;
    for (int64_t i = 0; i < image; i++)
        row += counts[i];
    p = place_mask(boxes + 4 * row, side, height, width);
    for (int64_t first = FIRST * together; first < plane;
         first += STEP * together) {
        int y = (int)(first / width), x = (int)(first % width), known = -1;
        T *at = to + mask * plane + first;
        tap down = {0, 0, 0, 0};
        union {
            T of[together];
            uint4 all[sizeof(T)];
        } pixels;

#pragma unroll
        for (int k = 0; k < together; k++) {
            float value = 0;

            if (y >= p.y_start && y < p.y_end && x >= p.x_start &&
                x < p.x_end) {
                if (known != y)
                    down = bilinear_tap(y - p.top, side + 2, p.box_height);
                known = y;
                value = paste_value(p, masks + row * side * side, side, down,
                                    x);
            }
            pixels.of[k] = made(value);
            if (++x == width) {
                x = 0;
                y++;
            }
        }
        if (first + together <= plane && ((uint64_t)at & 15) == 0) {
            for (int k = 0; k < (int)sizeof(T); k++)
                ((uint4 *)at)[k] = pixels.all[k];
        } else {
            for (int k = 0; k < together && first + k < plane; k++)
                at[k] = pixels.of[k];
        }
    }
}

__device__ inline float soft(float value)
{
    return value;
}

__device__ inline uint8_t hard(float value)
{
    return value > 0.5f;
}

extern "C" __global__ void paste_soft(const float *masks, const float *boxes,
                                      const int64_t *counts, int64_t image,
                                      float *to, int side, int height,
                                      int width)
{
    paste<float>(masks, boxes, counts, image, to, side, height, width, soft);
}

extern "C" __global__ void paste_hard(const float *masks, const float *boxes,
                                      const int64_t *counts, int64_t image,
                                      uint8_t *to, int side, int height,
                                      int width)
{
    paste<uint8_t>(masks, boxes, counts, image, to, side, height, width, hard);
}
