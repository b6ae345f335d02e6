/* backend/cuda/kernels/nms.cu - non-maximum suppression with the results of
 * ops/detection/nms.c, for proposals (RpnNms) and detections (BoxDetections).
 *
 * Boxes are compared within their group, best first. What stays of all groups
 * of an image goes to one list in any order, is sorted by rank (score, then
 * index), and cut. So nothing depends on the order that threads run in.
 *
 * SPDX-License-Identifier: MIT */

struct box {
    float x1, y1, x2, y2;
};

/* Up to this many boxes groups are separated by shifting, as in torchvision. */
enum { MAX_MOVED = 1000, BLOCK = 64, SORTED = 4096 };

__device__ inline bool is_at_least(box b, float side)
{
    return sub(b.x2, b.x1) >= side && sub(b.y2, b.y1) >= side;
}

__device__ inline float area_of(box b)
{
    return mul(sub(b.x2, b.x1), sub(b.y2, b.y1));
}

__device__ inline float overlap(box a, float a_area, box b, float b_area)
{
    float width = sub(a.x2 < b.x2 ? a.x2 : b.x2, a.x1 > b.x1 ? a.x1 : b.x1);
    float height = sub(a.y2 < b.y2 ? a.y2 : b.y2, a.y1 > b.y1 ? a.y1 : b.y1);
    float both = mul(width > 0 ? width : 0, height > 0 ? height : 0);

    return __fdiv_rn(both, sub(add(a_area, b_area), both));
}

__device__ inline box shifted(box b, float by)
{
    b.x1 = add(b.x1, by);
    b.y1 = add(b.y1, by);
    b.x2 = add(b.x2, by);
    b.y2 = add(b.y2, by);
    return b;
}

__device__ inline uint64_t rank_of(float score, int64_t index)
{
    return (uint64_t)rank_key(score) << 32 | (uint32_t)index;
}

/* The count and the largest coordinate of an image's candidates, of a block's
 * threads: the shift that separates their groups. */
__device__ float find_shift(int n, float most)
{
    __shared__ float mosts[256];
    __shared__ int counts[256];

    mosts[threadIdx.x] = most;
    counts[threadIdx.x] = n;
    __syncthreads();
    for (int k = 128; k; k /= 2) {
        if (threadIdx.x < k) {
            float other = mosts[threadIdx.x + k];

            counts[threadIdx.x] += counts[threadIdx.x + k];
            if (other > mosts[threadIdx.x])
                mosts[threadIdx.x] = other;
        }
        __syncthreads();
    }
    return counts[0] > MAX_MOVED || !counts[0] ? 0 : add(mosts[0], 1);
}

__device__ inline float larger_of(float most, box b)
{
    most = b.x1 > most ? b.x1 : most;
    most = b.y1 > most ? b.y1 : most;
    most = b.x2 > most ? b.x2 : most;
    return b.y2 > most ? b.y2 : most;
}

/* The start and end of an image's rows. */
__device__ inline void image_rows(const int64_t *counts, int64_t n_levels,
                                  int64_t image, int64_t *first, int64_t *end)
{
    int64_t at = 0;

    for (int64_t i = 0; i < image * n_levels; i++)
        at += counts[i];
    *first = at;
    for (int64_t i = 0; i < n_levels; i++)
        at += counts[image * n_levels + i];
    *end = at;
}

/* ---- proposals: long groups ------------------------------------------------ */

/* Block (image): scores, and the shift of the image. NaN: not a candidate. */
extern "C" __global__ void proposal_scores(const box *boxes,
                                           const float *logits,
                                           const int64_t *counts,
                                           int64_t n_levels, float min_size,
                                           float least, float *scores,
                                           float *shifts)
{
    int64_t first, end;
    float most = -INFINITY_F, shift;
    int n = 0;

    image_rows(counts, n_levels, blockIdx.x, &first, &end);
    for (int64_t i = first + threadIdx.x; i < end; i += blockDim.x) {
        float score = __fdiv_rn(1, add(1, near_exp(-logits[i])));
        bool is_one = is_at_least(boxes[i], min_size) && score >= least;

        scores[i] = is_one ? score : __int_as_float(0x7fc00000);
        if (is_one) {
            n++;
            most = larger_of(most, boxes[i]);
        }
    }
    shift = find_shift(n, most);
    if (!threadIdx.x)
        shifts[blockIdx.x] = shift;
}

/* Group g of the image: its rows. */
__device__ inline void group_rows(const int64_t *counts, int64_t n_levels,
                                  int64_t image, int64_t level, int64_t *first,
                                  int64_t *n)
{
    int64_t at = 0;

    for (int64_t i = 0; i < image * n_levels + level; i++)
        at += counts[i];
    *first = at;
    *n = counts[image * n_levels + level];
}

/* Blocks (row of blocks, level, image and part of the row) of 64 threads: bit k
 * of word w of a row is set where the box overlaps the better one of the row too
 * much. Groups are sorted, best first. */
extern "C" __global__ void proposal_overlaps(
    const box *boxes, const float *scores, const float *shifts,
    const int64_t *counts, int64_t n_levels, float iou, uint64_t *masks,
    int64_t words, int64_t parts)
{
    __shared__ box others[BLOCK];
    __shared__ float areas[BLOCK];
    int64_t first, n, row = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    int64_t image = blockIdx.z / parts, part = blockIdx.z % parts;
    float by;
    box own = {0, 0, 0, 0};
    float area = 0;

    group_rows(counts, n_levels, image, blockIdx.y, &first, &n);
    if ((blockIdx.x + part) * BLOCK >= n)
        return;
    by = mul((float)blockIdx.y, shifts[image]);
    if (row < n) {
        own = shifted(boxes[first + row], by);
        area = area_of(own);
    }
    for (int64_t at = blockIdx.x + part; at * BLOCK < n; at += parts) {
        int64_t other = at * BLOCK + threadIdx.x;
        uint64_t mask = 0;

        __syncthreads();
        if (other < n) {
            others[threadIdx.x] = shifted(boxes[first + other], by);
            areas[threadIdx.x] = area_of(others[threadIdx.x]);
        }
        __syncthreads();
        if (row >= n)
            continue;
        for (int k = 0; k < BLOCK && at * BLOCK + k < n; k++) {
            if (at * BLOCK + k > row &&
                overlap(own, area, others[k], areas[k]) > iou)
                mask |= 1ULL << k;
        }
        masks[(first + row) * words + at] = mask;
    }
}

/* Blocks (level, image) of 1024 threads: which boxes stay. Their ranks go to
 * the list of the image, n_listed is zero at first. Dynamic memory: a word for
 * each block. */
extern "C" __global__ void proposal_keep(const float *scores,
                                         const int64_t *counts,
                                         int64_t n_levels,
                                         const uint64_t *masks, int64_t words,
                                         int *n_listed, uint64_t *lists,
                                         int64_t room)
{
    extern __shared__ uint64_t removed[];
    __shared__ uint64_t rows[BLOCK], kept;
    int64_t first, n, image = blockIdx.y, begin, end;
    int n_blocks, lane = threadIdx.x % 32;

    group_rows(counts, n_levels, image, blockIdx.x, &first, &n);
    image_rows(counts, n_levels, image, &begin, &end);
    n_blocks = (int)((n + BLOCK - 1) / BLOCK);
    for (int i = threadIdx.x; i < n_blocks; i += blockDim.x) {
        uint64_t none = 0;

        for (int k = 0; k < BLOCK; k++) {
            int64_t row = (int64_t)i * BLOCK + k;
            float score = row < n ? scores[first + row] : 0;

            if (row >= n || score != score)
                none |= 1ULL << k;
        }
        removed[i] = none;
    }
    __syncthreads();
    for (int at = 0; at < n_blocks; at++) {
        if (threadIdx.x < BLOCK) {
            int64_t row = (int64_t)at * BLOCK + threadIdx.x;

            rows[threadIdx.x] =
                row < n ? masks[(first + row) * words + at] : 0;
        }
        __syncthreads();
        if (!threadIdx.x) {
            uint64_t gone = removed[at];

#pragma unroll
            for (int k = 0; k < BLOCK; k++)
                gone |= gone >> k & 1 ? 0 : rows[k];
            kept = ~gone;
        }
        __syncthreads();
        if (threadIdx.x < BLOCK && kept >> threadIdx.x & 1) {
            int64_t row = first + (int64_t)at * BLOCK + threadIdx.x;

            lists[image * room + atomicAdd(&n_listed[image], 1)] =
                rank_of(scores[row], row - begin);
        }
        /* A warp for each of the words that follow. */
        for (int w = at + 1 + threadIdx.x / 32; w < n_blocks;
             w += blockDim.x / 32) {
            uint64_t gone = 0;

            for (int k = lane; k < BLOCK; k += 32) {
                if (kept >> k & 1)
                    gone |= masks[(first + (int64_t)at * BLOCK + k) * words +
                                  w];
            }
            for (int k = 16; k; k /= 2)
                gone |= __shfl_xor_sync(0xffffffff, gone, k);
            if (!lane)
                removed[w] |= gone;
        }
        __syncthreads();
    }
}

/* ---- the best of all groups ------------------------------------------------ */

/* The k-th smallest of n different ranks, 8 bits at a time. */
__device__ uint64_t find_rank(const uint64_t *list, int n, int k)
{
    __shared__ int counts[256];
    __shared__ uint64_t bits;
    __shared__ int left;

    if (!threadIdx.x) {
        bits = 0;
        left = k;
    }
    for (int shift = 56; shift >= 0; shift -= 8) {
        uint64_t mask = shift == 56 ? 0 : ~0ULL << (shift + 8);

        for (int i = threadIdx.x; i < 256; i += blockDim.x)
            counts[i] = 0;
        __syncthreads();
        for (int i = threadIdx.x; i < n; i += blockDim.x) {
            if ((list[i] & mask) == bits)
                atomicAdd(&counts[list[i] >> shift & 255], 1);
        }
        __syncthreads();
        if (!threadIdx.x) {
            int digit = 0;

            while (counts[digit] < left)
                left -= counts[digit++];
            bits |= (uint64_t)digit << shift;
        }
        __syncthreads();
    }
    return bits;
}

/* Block (image) of 1024 threads: the best `keep` ranks of the image's list,
 * sorted, to best [image, keep]; counts [image]. keep is at most SORTED. */
extern "C" __global__ void list_best(const int *n_listed, const uint64_t *lists,
                                     int64_t room, int64_t keep,
                                     uint64_t *best, int64_t *kept)
{
    __shared__ uint64_t own[SORTED];
    __shared__ int n_own;
    const uint64_t *list = lists + blockIdx.x * room;
    int n = n_listed[blockIdx.x], wanted = n < keep ? n : (int)keep, size = 1;
    uint64_t last = ~0ULL;

    if (n > SORTED && wanted)
        last = find_rank(list, n, wanted);
    if (!threadIdx.x)
        n_own = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n && wanted; i += blockDim.x) {
        if (list[i] <= last)
            own[atomicAdd(&n_own, 1)] = list[i];
    }
    __syncthreads();
    while (size < n_own)
        size *= 2;
    for (int i = n_own + threadIdx.x; i < size; i += blockDim.x)
        own[i] = ~0ULL;
    sort_ranks(own, size);
    for (int i = threadIdx.x; i < wanted; i += blockDim.x)
        best[blockIdx.x * keep + i] = own[i];
    if (!threadIdx.x)
        kept[blockIdx.x] = wanted;
}

/* Blocks (image): the proposals of all images one after the other, and how
 * many of each level. */
extern "C" __global__ void proposal_write(const box *boxes,
                                          const int64_t *counts,
                                          int64_t n_levels,
                                          const uint64_t *best, int64_t keep,
                                          const int64_t *kept, box *to,
                                          int64_t *levels)
{
    __shared__ int of_level[64];
    int64_t image = blockIdx.x, first, end, at = 0;

    image_rows(counts, n_levels, image, &first, &end);
    for (int64_t i = 0; i < image; i++)
        at += kept[i];
    for (int i = threadIdx.x; i < 64; i += blockDim.x)
        of_level[i] = 0;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < kept[image]; i += blockDim.x) {
        int64_t row = (uint32_t)best[image * keep + i];
        int level = 0;

        to[at + i] = boxes[first + row];
        for (int64_t left = row; left >= counts[image * n_levels + level];
             level++)
            left -= counts[image * n_levels + level];
        atomicAdd(&of_level[level], 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n_levels; i += blockDim.x)
        levels[image * n_levels + i] = of_level[i];
}

/* ---- detections: many short groups ----------------------------------------- */

/* A warp for each row: the softmax of the logits, summed in order. */
extern "C" __global__ void detection_scores(view logits, int64_t rows,
                                            int64_t classes, float *scores)
{
    int64_t lane = threadIdx.x % 32;

    for (int64_t row = FIRST / 32; row < rows; row += STEP / 32) {
        int64_t at = row * logits.strides[0];
        float *to = scores + row * classes;
        float most = -INFINITY_F, sum = 0;

        for (int64_t i = lane; i < classes; i += 32) {
            float x = load_float(logits, at + i * logits.strides[1]);

            most = x > most ? x : most;
        }
        for (int k = 16; k; k /= 2) {
            float other = __shfl_xor_sync(0xffffffff, most, k);

            most = other > most ? other : most;
        }
        for (int64_t i = 0; i < classes; i += 32) {
            float e = 0;

            if (i + lane < classes)
                e = near_exp(sub(load_float(logits, at + (i + lane) *
                                                            logits.strides[1]),
                                 most));
            for (int k = 0; k < 32 && i + k < classes; k++)
                sum = add(sum, __shfl_sync(0xffffffff, e, k));
            if (i + lane < classes)
                to[i + lane] = e;
        }
        for (int64_t i = lane; i < classes; i += 32)
            to[i] = __fdiv_rn(to[i], sum);
    }
}

/* What the shift of an image comes from; all zero at first. Sums of whole
 * numbers and maxima are the same in any order. */
struct candidates {
    int n;
    uint32_t most; /* the largest coordinate, as a key that orders as it does */
};

__device__ inline float shift_of(candidates of)
{
    float most = __uint_as_float(of.most >> 31 ? of.most ^ 0x80000000
                                               : ~of.most);

    return of.n > MAX_MOVED || !of.n ? 0 : add(most, 1);
}

/* Blocks (part, image) of 256 threads. */
extern "C" __global__ void detection_count(const float *scores,
                                           const box *boxes,
                                           const int64_t *counts,
                                           int64_t classes, candidates *of)
{
    int64_t first, end;
    uint32_t most = 0;
    int n = 0;

    image_rows(counts, 1, blockIdx.y, &first, &end);
    for (int64_t i = first * classes + FIRST; i < end * classes; i += STEP) {
        uint32_t bits, key;

        if (scores[i] != scores[i])
            continue;
        n++;
        bits = __float_as_uint(larger_of(-INFINITY_F, boxes[i]));
        key = bits >> 31 ? ~bits : bits | 0x80000000;
        most = key > most ? key : most;
    }
    for (int k = 16; k; k /= 2) {
        uint32_t other = __shfl_xor_sync(0xffffffff, most, k);

        n += __shfl_xor_sync(0xffffffff, n, k);
        most = other > most ? other : most;
    }
    if (threadIdx.x % 32 || !n)
        return;
    atomicAdd(&of[blockIdx.y].n, n);
    atomicMax(&of[blockIdx.y].most, most);
}

/* The candidates of a class, in order, to `ranks`. A whole block. */
__device__ int collect(const float *scores, int64_t first, int64_t n,
                       int64_t classes, int64_t c, uint64_t *ranks)
{
    __shared__ int sums[32];
    __shared__ int before;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    if (!threadIdx.x)
        before = 0;
    __syncthreads();
    for (int64_t at = 0; at < n; at += blockDim.x) {
        int64_t row = at + threadIdx.x;
        float score = row < n ? scores[(first + row) * classes + c]
                              : __int_as_float(0x7fc00000);
        unsigned is_one = __ballot_sync(0xffffffff, score == score);
        int place = before;

        if (!lane)
            sums[warp] = __popc(is_one);
        __syncthreads();
        for (int i = 0; i < warp; i++)
            place += sums[i];
        place += __popc(is_one & ((1u << lane) - 1));
        if (score == score)
            ranks[place] = rank_of(score, row * classes + c);
        __syncthreads();
        if (!threadIdx.x) {
            for (int i = 0; i < blockDim.x / 32; i++)
                before += sums[i];
        }
        __syncthreads();
    }
    return before;
}

/* Sorts n ranks in global memory, with room for the next power of two. */
__device__ void sort_class(uint64_t *ranks, int n, uint64_t *own)
{
    int size = 1;

    while (size < n)
        size *= 2;
    if (size <= SORTED) {
        for (int i = threadIdx.x; i < size; i += blockDim.x)
            own[i] = i < n ? ranks[i] : ~0ULL;
        sort_ranks(own, size);
        for (int i = threadIdx.x; i < n; i += blockDim.x)
            ranks[i] = own[i];
    } else {
        for (int i = n + threadIdx.x; i < size; i += blockDim.x)
            ranks[i] = ~0ULL;
        sort_ranks(ranks, size);
    }
    __syncthreads();
}

/* The boxes of a class. */
struct class_rows {
    const float *scores; /* of the image's rows, by row and class */
    const box *boxes;    /* by row and class, or by row */
    int64_t n_rows, classes, c;
    float by; /* its shift */
};

template <bool IS_BY_ROW>
__device__ inline box class_box(const class_rows &rows, uint64_t rank)
{
    uint32_t index = (uint32_t)rank;

    return shifted(rows.boxes[IS_BY_ROW ? index / (uint32_t)rows.classes
                                        : index],
                   rows.by);
}

/* A block of 256 threads: boxes of the class that stay, the best `keep` of them
 * at most; returns how many. ranks has room for twice the rows; those of the
 * kept ones are moved to its front, in order. They also go to a list, where
 * there is one. */
template <bool IS_BY_ROW>
__device__ int keep_class(const class_rows &rows, float iou, int64_t keep,
                          uint64_t *ranks, int *n_listed, uint64_t *list)
{
    __shared__ uint64_t own[SORTED];
    __shared__ box ahead[BLOCK];
    __shared__ uint64_t masks[BLOCK], kept;
    __shared__ unsigned is_gone[BLOCK];
    int n = collect(rows.scores, 0, rows.n_rows, rows.classes, rows.c, ranks);
    int n_kept = 0;

    sort_class(ranks, n, own);
    for (int at = 0; at < n && n_kept < keep; at += BLOCK) {
        int n_here = n - at < BLOCK ? n - at : BLOCK;

        if (threadIdx.x < BLOCK)
            is_gone[threadIdx.x] = threadIdx.x >= n_here;
        if (threadIdx.x < n_here)
            ahead[threadIdx.x] =
                class_box<IS_BY_ROW>(rows, ranks[at + threadIdx.x]);
        __syncthreads();
        /* Against the kept ones, whose ranks are at the front. */
        for (int i = threadIdx.x; i < n_here * n_kept; i += blockDim.x) {
            box b = ahead[i % n_here];
            box a = class_box<IS_BY_ROW>(rows, ranks[i / n_here]);

            if (overlap(a, area_of(a), b, area_of(b)) > iou)
                is_gone[i % n_here] = 1;
        }
        if (threadIdx.x < BLOCK) {
            uint64_t mask = 0;

            for (int k = threadIdx.x + 1; k < n_here; k++) {
                box a = ahead[threadIdx.x], b = ahead[k];

                if (overlap(a, area_of(a), b, area_of(b)) > iou)
                    mask |= 1ULL << k;
            }
            masks[threadIdx.x] = mask;
        }
        __syncthreads();
        if (!threadIdx.x) {
            uint64_t gone = 0;

            for (int k = 0; k < BLOCK; k++)
                gone |= (uint64_t)(is_gone[k] != 0) << k;
            for (int k = 0; k < BLOCK; k++)
                gone |= gone >> k & 1 ? 0 : masks[k];
            kept = ~gone;
        }
        __syncthreads();
        if (threadIdx.x < BLOCK && kept >> threadIdx.x & 1) {
            int place = n_kept + __popcll(kept & ((1ULL << threadIdx.x) - 1));
            uint64_t rank = ranks[at + threadIdx.x];

            masks[threadIdx.x] = rank;
            is_gone[threadIdx.x] = place;
            if (place < keep && list)
                list[atomicAdd(n_listed, 1)] = rank;
        }
        __syncthreads();
        if (threadIdx.x < BLOCK && kept >> threadIdx.x & 1)
            ranks[is_gone[threadIdx.x]] = masks[threadIdx.x];
        n_kept += __popcll(kept);
        __syncthreads();
    }
    return n_kept < keep ? n_kept : (int)keep;
}

/* Blocks (class, image) of 256 threads; ranks has room for 2 * rows * classes.
 */
extern "C" __global__ void detection_keep(const float *scores, const box *boxes,
                                          const candidates *of,
                                          const int64_t *counts,
                                          int64_t classes, float iou,
                                          int64_t keep, uint64_t *ranks,
                                          int *n_listed, uint64_t *lists,
                                          int64_t room)
{
    int64_t image = blockIdx.y, c = blockIdx.x, first, end;

    if (!c)
        return;
    image_rows(counts, 1, image, &first, &end);
    class_rows rows = {scores + first * classes, boxes + first * classes,
                       end - first, classes, c,
                       mul((float)c, shift_of(of[image]))};

    keep_class<false>(rows, iou, keep,
                      ranks + 2 * (first * classes + c * (end - first)),
                      &n_listed[image], lists + image * room);
}

/* Blocks (image): the detections of all images one after the other. */
extern "C" __global__ void detection_write(const float *scores,
                                           const box *boxes,
                                           const int64_t *counts,
                                           int64_t classes,
                                           const uint64_t *best, int64_t keep,
                                           const int64_t *kept, box *to_boxes,
                                           float *to_scores, int64_t *to_labels)
{
    int64_t image = blockIdx.x, first, end, to = 0;

    image_rows(counts, 1, image, &first, &end);
    for (int64_t i = 0; i < image; i++)
        to += kept[i];
    for (int64_t i = threadIdx.x; i < kept[image]; i += blockDim.x) {
        int64_t index = (uint32_t)best[image * keep + i];

        to_boxes[to + i] = boxes[first * classes + index];
        to_scores[to + i] = scores[first * classes + index];
        to_labels[to + i] = index % classes;
    }
}

/* ---- ONNX's NonMaxSuppression: see ops/detection/box_select.h ---------------- */

/* scores [n,c,b] to [n,b,c]; NaN: not a candidate. */
extern "C" __global__ void select_scores(const float *scores,
                                         const float *limit, float *to,
                                         int64_t n, int64_t classes,
                                         int64_t rows)
{
    float least = limit ? *limit : -INFINITY_F;

    for (int64_t i = FIRST; i < n * classes * rows; i += STEP) {
        int64_t row = i % rows, c = i / rows % classes;
        int64_t image = i / rows / classes;

        to[(image * rows + row) * classes + c] =
            scores[i] > least ? scores[i] : __int_as_float(0x7fc00000);
    }
}

/* Corners may be in any order. */
extern "C" __global__ void select_boxes(const float *boxes, box *to, int64_t n,
                                        int is_centred)
{
    for (int64_t i = FIRST; i < n; i += STEP) {
        const float *at = boxes + 4 * i;
        box made;

        if (is_centred) {
            float x = __fdiv_rn(at[2], 2), y = __fdiv_rn(at[3], 2);

            made = {sub(at[0], x), sub(at[1], y), add(at[0], x), add(at[1], y)};
        } else {
            made = {fminf(at[1], at[3]), fminf(at[0], at[2]),
                    fmaxf(at[1], at[3]), fmaxf(at[0], at[2])};
        }
        to[i] = made;
    }
}

/* Blocks (class, image) of 256 threads. */
extern "C" __global__ void select_keep(const float *scores, const box *boxes,
                                       const float *iou, const int64_t *most,
                                       int64_t classes, int64_t n_rows,
                                       uint64_t *ranks, int *n_kept)
{
    int64_t image = blockIdx.y, c = blockIdx.x, first = image * n_rows;
    class_rows rows = {scores + first * classes, boxes + first, n_rows,
                       classes, c, 0};
    int n = keep_class<true>(rows, iou ? *iou : 0, most && *most > 0 ? *most : 0,
                             ranks + 2 * (first * classes + c * n_rows), NULL,
                             NULL);

    if (!threadIdx.x)
        n_kept[image * classes + c] = n;
}

/* Blocks (class, image): image, class and box of each. */
extern "C" __global__ void select_write(const uint64_t *ranks,
                                        const int *n_kept, int64_t classes,
                                        int64_t n_rows, int64_t *to)
{
    int64_t image = blockIdx.y, c = blockIdx.x, group = image * classes + c;
    const uint64_t *mine = ranks + 2 * group * n_rows;
    int64_t before = 0;

    for (int64_t i = 0; i < group; i++)
        before += n_kept[i];
    for (int i = threadIdx.x; i < n_kept[group]; i += blockDim.x) {
        int64_t *at = to + 3 * (before + i);

        at[0] = image;
        at[1] = c;
        at[2] = (uint32_t)mine[i] / (uint32_t)classes;
    }
}
