/* backend/cuda/kernels/targets.cu - what anchors are to learn, as
 * ops/detection/box_match.c and anchor_sample.c have it.
 *
 * SPDX-License-Identifier: MIT */

struct box {
    float x1, y1, x2, y2;
};

enum { BACKGROUND = -1, BETWEEN = -2 };

struct match_rule {
    float high, low;
    int keeps_best;
};

__device__ inline float area_of(box b)
{
    return mul(sub(b.x2, b.x1), sub(b.y2, b.y1));
}

__device__ inline float overlap(box a, box b)
{
    float width = sub(a.x2 < b.x2 ? a.x2 : b.x2, a.x1 > b.x1 ? a.x1 : b.x1);
    float height = sub(a.y2 < b.y2 ? a.y2 : b.y2, a.y1 > b.y1 ? a.y1 : b.y1);
    float both = mul(width > 0 ? width : 0, height > 0 ? height : 0);

    return __fdiv_rn(both, sub(add(area_of(a), area_of(b)), both));
}

/* The objects of an image: [*first, *end). */
__device__ inline void objects_of(const int64_t *counts, int64_t image,
                                  int64_t n, int64_t *first, int64_t *end)
{
    *first = 0;
    for (int64_t i = 0; i < image; i++)
        *first += counts[i];
    *end = *first + counts[image];
    *end = *end < n ? *end : n;
}

/* The object that a box overlaps most, the first of equals. */
__device__ inline int64_t find_object(const box *objects, int64_t first,
                                      int64_t end, box b, float *part)
{
    int64_t best = first;

    *part = overlap(objects[first], b);
    for (int64_t k = first + 1; k < end; k++) {
        float now = overlap(objects[k], b);

        if (now > *part) {
            *part = now;
            best = k;
        }
    }
    return best;
}

/* A grid row for each image. most: the largest overlap of each object, as the
 * bits of a float, which starts at 0. */
extern "C" __global__ void match_boxes(const box *boxes, int64_t n,
                                       const box *objects, int64_t n_objects,
                                       const int64_t *counts, match_rule rule,
                                       int64_t *matches, int *most)
{
    int64_t image = blockIdx.y, first, end;

    objects_of(counts, image, n_objects, &first, &end);
    for (int64_t i = FIRST; i < n; i += STEP) {
        int64_t found = BACKGROUND;
        float part;

        if (first < end) {
            found = find_object(objects, first, end, boxes[i], &part);
            if (part < rule.low)
                found = BACKGROUND;
            else if (part < rule.high)
                found = BETWEEN;
        }
        matches[image * n + i] = found;
        for (int64_t k = first; rule.keeps_best && k < end; k++) {
            float own = overlap(objects[k], boxes[i]);

            if (own > 0 && __float_as_int(own) > most[k])
                atomicMax(&most[k], __float_as_int(own));
        }
    }
}

/* Boxes that overlap an object as much as any does match too. */
extern "C" __global__ void match_best(const box *boxes, int64_t n,
                                      const box *objects, int64_t n_objects,
                                      const int64_t *counts, int64_t *matches,
                                      const int *most)
{
    int64_t image = blockIdx.y, first, end;

    objects_of(counts, image, n_objects, &first, &end);
    for (int64_t i = FIRST; i < n; i += STEP) {
        bool is_best = false;
        float part;

        for (int64_t k = first; k < end; k++)
            is_best |= overlap(objects[k], boxes[i]) == __int_as_float(most[k]);
        if (is_best)
            matches[image * n + i] =
                find_object(objects, first, end, boxes[i], &part);
    }
}

/* 1: an object, 0: background, -1: neither. */
extern "C" __global__ void label_matches(const int64_t *matches, int8_t *labels,
                                         int64_t n)
{
    for (int64_t i = FIRST; i < n; i += STEP)
        labels[i] = matches[i] >= 0 ? 1 : (int8_t)(matches[i] + 1);
}

/* What the chosen anchors are to say. n_anchors: of one image. */
extern "C" __global__ void encode_chosen(const int64_t *chosen, int64_t n,
                                         const int64_t *matches,
                                         const box *anchors, int64_t n_anchors,
                                         const box *objects, float *labels,
                                         float *deltas)
{
    for (int64_t i = FIRST; i < n; i += STEP) {
        int64_t match = matches[chosen[i]];
        float *to = deltas + 4 * i;

        labels[i] = match >= 0;
        to[0] = to[1] = to[2] = to[3] = 0;
        if (match < 0)
            continue;
        box a = anchors[chosen[i] % n_anchors], b = objects[match];
        float width = sub(a.x2, a.x1), height = sub(a.y2, a.y1);
        float wide = sub(b.x2, b.x1), high = sub(b.y2, b.y1);
        float x = sub(add(b.x1, mul(0.5f, wide)), add(a.x1, mul(0.5f, width)));
        float y = sub(add(b.y1, mul(0.5f, high)), add(a.y1, mul(0.5f, height)));

        to[0] = __fdiv_rn(x, width);
        to[1] = __fdiv_rn(y, height);
        to[2] = (float)log((double)__fdiv_rn(wide, width));
        to[3] = (float)log((double)__fdiv_rn(high, height));
    }
}
