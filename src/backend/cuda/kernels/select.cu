/* backend/cuda/kernels/select.cu - the k best of each of several lists, in order:
 * RpnTopK, TopK.
 *
 * SPDX-License-Identifier: MIT */

enum { MAX_LEVELS = 8 };

/* A rank holds a score and its index: the smaller is the better. All ranks of a
 * list differ, so that the k best are found by their bits, 11 at a time; counts
 * do not depend on the order that they are counted in. */
enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, PASSES = 6 };

/* A list of scores: element i is at x + i / inner * outer_step + ... */
struct score_list {
    view scores;         /* [n, ratios, h, w], or [lists, 1, 1, length] */
    int64_t ratios, columns, length;
    int64_t k, first_index, to; /* where the best of list 0 go */
    int64_t to_step;            /* and of the next */
    int is_smallest;
};

struct score_lists {
    score_list of[MAX_LEVELS];
    int n;
};

__device__ inline int64_t score_place(const score_list &list, int64_t image,
                                      int64_t i)
{
    int64_t ratio = i % list.ratios, place = i / list.ratios;

    return image * list.scores.strides[0] + ratio * list.scores.strides[1] +
           place / list.columns * list.scores.strides[2] +
           place % list.columns * list.scores.strides[3];
}

__device__ inline uint64_t score_rank(const score_list &list, int64_t image,
                                      int64_t i)
{
    float score = load_float(list.scores, score_place(list, image, i));
    uint32_t key = rank_key(list.is_smallest ? -score : score);

    return (uint64_t)key << 32 | (uint32_t)i;
}

/* What is known of the k-th best rank before a pass. */
struct known {
    uint64_t bits;
    int left; /* how many of those with these bits are chosen */
};

__device__ inline int digit_shift(int pass)
{
    return 64 - DIGIT_BITS * (pass + 1) < 0 ? 0 : 64 - DIGIT_BITS * (pass + 1);
}

__device__ inline uint32_t digit_of(uint64_t rank, int pass)
{
    int shift = digit_shift(pass);
    uint64_t mask = pass == PASSES - 1
                        ? (1ULL << (64 - DIGIT_BITS * (PASSES - 1))) - 1
                        : DIGITS - 1;

    return (uint32_t)(rank >> shift & mask);
}

/* Goes on by the counts of the pass before: a whole block. */
__device__ known next_known(known before, const uint32_t *counts, int pass)
{
    __shared__ uint32_t sums[256];
    __shared__ known made;
    enum { each = DIGITS / 256 };
    uint32_t sum = 0;

    if (threadIdx.x < 256) {
        for (int i = 0; i < each; i++)
            sum += counts[threadIdx.x * each + i];
        sums[threadIdx.x] = sum;
    }
    __syncthreads();
    for (int step = 1; step < 256; step *= 2) {
        uint32_t other = threadIdx.x >= step && threadIdx.x < 256
                             ? sums[threadIdx.x - step]
                             : 0;

        __syncthreads();
        if (threadIdx.x < 256)
            sums[threadIdx.x] += other;
        __syncthreads();
    }
    if (threadIdx.x < 256) {
        uint32_t end = sums[threadIdx.x], at = end - sum;

        if (at < before.left && before.left <= end) {
            int digit = threadIdx.x * each;

            while (at + counts[digit] < before.left)
                at += counts[digit++];
            made.bits = before.bits | (uint64_t)digit << digit_shift(pass);
            made.left = before.left - (int)at;
        }
    }
    __syncthreads();
    return made;
}

/* Counts the digits of a pass of the ranks that begin as the k-th best does.
 * Blocks (pieces, list, image); counts [image, list, pass, digit], zero at
 * first; known [image, list, pass]. */
extern "C" __global__ void rank_count(score_lists lists, int pass,
                                      uint32_t *counts, known *found)
{
    __shared__ uint32_t own[DIGITS];
    const score_list &list = lists.of[blockIdx.y];
    int64_t image = blockIdx.z, at = image * lists.n + blockIdx.y;
    uint32_t *all = counts + at * PASSES * DIGITS;
    known now = {0, (int)list.k};

    if (list.k <= 0 || (int64_t)blockIdx.x * blockDim.x >= list.length)
        return;
    if (pass) {
        known before = {0, (int)list.k};

        if (pass > 1)
            before = found[at * PASSES + pass - 1];
        now = next_known(before, all + (pass - 1) * DIGITS, pass - 1);
        if (!blockIdx.x && !threadIdx.x)
            found[at * PASSES + pass] = now;
    }
    for (int i = threadIdx.x; i < DIGITS; i += blockDim.x)
        own[i] = 0;
    __syncthreads();
    for (int64_t i = FIRST; i < list.length; i += STEP) {
        uint64_t rank = score_rank(list, image, i);
        uint64_t mask = pass ? ~0ULL << (64 - DIGIT_BITS * pass) : 0;

        if ((rank & mask) == now.bits)
            atomicAdd(&own[digit_of(rank, pass)], 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < DIGITS; i += blockDim.x) {
        if (own[i])
            atomicAdd(&all[pass * DIGITS + i], own[i]);
    }
}

/* The k best ranks of each list, in any order; *n_taken [image, list] is zero
 * at first. */
extern "C" __global__ void rank_collect(score_lists lists, uint32_t *counts,
                                        const known *found, int *n_taken,
                                        uint64_t *ranks, int64_t room)
{
    const score_list &list = lists.of[blockIdx.y];
    int64_t image = blockIdx.z, at = image * lists.n + blockIdx.y;
    known last;

    if (list.k <= 0 || (int64_t)blockIdx.x * blockDim.x >= list.length)
        return;
    last = next_known(found[at * PASSES + PASSES - 1],
                      counts + (at * PASSES + PASSES - 1) * DIGITS, PASSES - 1);
    for (int64_t i = FIRST; i < list.length; i += STEP) {
        uint64_t rank = score_rank(list, image, i);

        if (rank <= last.bits)
            ranks[at * room + atomicAdd(&n_taken[at], 1)] = rank;
    }
}

/* Blocks (list, image): sorts and writes them. room is a power of two. values
 * may be of any stored type. */
extern "C" __global__ void rank_write(score_lists lists, const uint64_t *ranks,
                                      int64_t room, view values,
                                      int64_t *indices, int64_t *counts)
{
    extern __shared__ uint64_t own[];
    const score_list &list = lists.of[blockIdx.x];
    int64_t image = blockIdx.y, at = image * lists.n + blockIdx.x;
    int64_t to = list.to + image * list.to_step;
    int n = 1;

    while (n < list.k)
        n *= 2;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        own[i] = i < list.k ? ranks[at * room + i] : ~0ULL;
    sort_ranks(own, n);
    for (int i = threadIdx.x; i < list.k; i += blockDim.x) {
        uint32_t index = (uint32_t)own[i];

        store_float(values, to + i,
                    load_float(list.scores, score_place(list, image, index)));
        indices[to + i] = list.first_index + index;
    }
    if (counts && !threadIdx.x)
        counts[at] = list.k;
}

/* Blocks (row): rows that are short enough to be sorted as a whole. room is a
 * power of two. */
extern "C" __global__ void rows_best(const float *x, int64_t length,
                                     int64_t room, int64_t k, int is_smallest,
                                     float *values, int64_t *indices)
{
    extern __shared__ uint64_t own[];
    const float *row = x + blockIdx.x * length;

    for (int64_t i = threadIdx.x; i < room; i += blockDim.x) {
        float score = i < length ? row[i] : 0;
        uint32_t key = rank_key(is_smallest ? -score : score);

        own[i] = i < length ? (uint64_t)key << 32 | (uint32_t)i : ~0ULL;
    }
    sort_ranks(own, (int)room);
    for (int64_t i = threadIdx.x; i < k; i += blockDim.x) {
        uint32_t index = (uint32_t)own[i];

        values[blockIdx.x * k + i] = row[index];
        indices[blockIdx.x * k + i] = index;
    }
}
