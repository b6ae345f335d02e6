/* backend/cuda/kernels/roi.cu - RoiAlign over levels, as ops/detection/
 * roi_align.c does it.
 *
 * SPDX-License-Identifier: MIT */

enum { MAX_LEVELS = 8, CHANNELS = 64, MAX_TAPS = 8 };

struct roi_maps {
    view maps[MAX_LEVELS]; /* [n,c,h,w] */
    int heights[MAX_LEVELS], widths[MAX_LEVELS];
    int n;
    int size, points; /* bins per side, points per bin and side */
    float canonical_size, canonical_level;
};

/* What a row or column of bins reads. */
struct roi_taps {
    int n;
    int at[MAX_TAPS];
    float weight[MAX_TAPS];
};

__device__ inline float map_scale(int map_height, int64_t height)
{
    float ratio = (float)((double)map_height / (double)height);

    return exp2f(rintf((float)log2((double)ratio)));
}

__device__ inline int level_of(const roi_maps &m, float first_level,
                               const float *box)
{
    float area = mul(sub(box[2], box[0]), sub(box[3], box[1]));
    float side = __fdiv_rn(__fsqrt_rn(area), m.canonical_size);
    float level =
        sub(floorf(add(add(m.canonical_level, (float)log2((double)side)),
                       1e-6f)),
            first_level);

    if (!(level > 0))
        return 0;
    return level < (float)(m.n - 1) ? (int)level : m.n - 1;
}

__device__ inline void add_tap(roi_taps *taps, int at, float weight)
{
    for (int i = 0; i < taps->n; i++) {
        if (taps->at[i] == at) {
            taps->weight[i] = add(taps->weight[i], weight);
            return;
        }
    }
    taps->at[taps->n] = at;
    taps->weight[taps->n++] = weight;
}

__device__ void find_taps(float start, float bin_size, int points, int size,
                          int bin, roi_taps *taps)
{
    float share = __fdiv_rn(1, (float)points);

    taps->n = 0;
    for (int i = 0; i < points; i++) {
        float at = add(add(start, mul((float)bin, bin_size)),
                       __fdiv_rn(mul(add((float)i, 0.5f), bin_size),
                                 (float)points));
        float high;
        int low, next;

        if (!(at >= -1 && at <= (float)size))
            continue;
        if (at < 0)
            at = 0;
        low = (int)at;
        next = low + 1;
        if (low >= size - 1) {
            low = next = size - 1;
            at = (float)low;
        }
        high = sub(at, (float)low);
        add_tap(taps, low, mul(share, sub(1, high)));
        add_tap(taps, next, mul(share, high));
    }
}

/* N channels of a bin, which lie one after the other: each is summed in the
 * order that one alone is. */
template <typename M, int N>
__device__ inline void sum_bin(const view &map, int64_t base,
                               const roi_taps &rows, const roi_taps &columns,
                               float *sums)
{
    const M *from = (const M *)map.data + base;

    for (int k = 0; k < N; k++)
        sums[k] = 0;
    for (int r = 0; r < rows.n; r++) {
        const M *row = from + rows.at[r] * map.strides[2];
        float of_row[N];

        for (int k = 0; k < N; k++)
            of_row[k] = 0;
        for (int c = 0; c < columns.n; c++) {
            pack<M, N> read = *(const pack<M, N> *)(
                row + columns.at[c] * map.strides[3]);

            for (int k = 0; k < N; k++)
                of_row[k] += columns.weight[c] * load(read.items[k]);
        }
        for (int k = 0; k < N; k++)
            sums[k] += rows.weight[r] * of_row[k];
    }
}

/* Four channels of a bin; base is of the first. */
__device__ inline void sum_four(const view &map, int64_t base,
                                const roi_taps &rows, const roi_taps &columns,
                                float *sums)
{
    if (map.type == F32)
        sum_bin<float, 4>(map, base, rows, columns, sums);
    else if (map.type == F16)
        sum_bin<half, 4>(map, base, rows, columns, sums);
    else
        sum_bin<bfloat, 4>(map, base, rows, columns, sums);
}

/* Whether channels can be read four at a time. */
__device__ inline bool has_fours(const view &map, int n_channels)
{
    return map.strides[1] == 1 && n_channels % 4 == 0 &&
           map.strides[0] % 4 == 0 && map.strides[2] % 4 == 0 &&
           map.strides[3] % 4 == 0 && (uint64_t)map.data % 16 == 0;
}

/* Blocks (box, channels / 64) of 256 threads. is_turned: y is [r,c,size,size],
 * and else [r,size,size,c]. Dynamic memory: size * size * 64 floats. */
template <typename T>
__device__ void roi_align_kernel(const roi_maps &m, const float *boxes,
                                 const int64_t *counts, const int64_t *sizes,
                                 int64_t n_images, int64_t channels,
                                 int is_turned, T *y)
{
    extern __shared__ float tile[];
    __shared__ roi_taps down[64], across[64];
    __shared__ int level;
    int64_t box_at = blockIdx.x, image = 0, left = box_at;
    int64_t first = (int64_t)blockIdx.y * CHANNELS;
    int n_channels = channels - first < CHANNELS ? (int)(channels - first)
                                                 : CHANNELS;
    int n_bins = m.size * m.size;
    const float *box = boxes + 4 * box_at;
    int64_t base;

    while (image < n_images && left >= counts[image])
        left -= counts[image++];
    if (threadIdx.x < 2 * m.size) {
        int64_t height = 1;
        int which = threadIdx.x / m.size, bin = threadIdx.x % m.size, found;
        float scale, start, length;

        for (int64_t i = 0; i < n_images; i++)
            height = sizes[2 * i] > height ? sizes[2 * i] : height;
        scale = map_scale(m.heights[0], height);
        found = level_of(m, -log2f(scale), box);
        scale = map_scale(m.heights[found], height);
        start = mul(box[which ? 0 : 1], scale);
        length = sub(mul(box[which ? 2 : 3], scale), start);
        length = __fdiv_rn(length > 1 ? length : 1, (float)m.size);
        find_taps(start, length, m.points,
                  which ? m.widths[found] : m.heights[found], bin,
                  which ? &across[bin] : &down[bin]);
        if (!threadIdx.x)
            level = found;
    }
    __syncthreads();
    const view &map = m.maps[level];

    base = image * map.strides[0] + first * map.strides[1];
    bool is_fast = image < n_images && has_fours(map, n_channels);

    for (int i = threadIdx.x; is_fast && i < n_bins * n_channels / 4;
         i += blockDim.x) {
        int c = i % (n_channels / 4) * 4, bin = i / (n_channels / 4);
        float sums[4];

        sum_four(map, base + c, down[bin / m.size], across[bin % m.size],
                 sums);
        for (int k = 0; k < 4; k++)
            tile[is_turned ? (c + k) * n_bins + bin
                           : bin * n_channels + c + k] = sums[k];
    }
    for (int i = threadIdx.x; !is_fast && i < n_bins * n_channels;
         i += blockDim.x) {
        int c = i % n_channels, bin = i / n_channels;
        const roi_taps &rows = down[bin / m.size];
        const roi_taps &columns = across[bin % m.size];
        float sum = 0;

        for (int r = 0; image < n_images && r < rows.n; r++) {
            int64_t row = base + c * map.strides[1] +
                          rows.at[r] * map.strides[2];
            float of_row = 0;

            for (int k = 0; k < columns.n; k++)
                of_row += columns.weight[k] *
                          load_float(map, row + columns.at[k] * map.strides[3]);
            sum += rows.weight[r] * of_row;
        }
        tile[is_turned ? c * n_bins + bin : i] = sum;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n_bins * n_channels; i += blockDim.x) {
        int64_t to = (box_at * channels + first) * n_bins + i;

        if (!is_turned)
            to = (box_at * n_bins + i / n_channels) * channels + first +
                 i % n_channels;
        y[to] = store<T>(tile[i]);
    }
}

FOR_STORED(roi_align,
           (roi_maps m, const float *boxes, const int64_t *counts,
            const int64_t *sizes, int64_t n_images, int64_t channels,
            int is_turned, T *y),
           (m, boxes, counts, sizes, n_images, channels, is_turned, y))

/* ---- its gradients ---------------------------------------------------------- */

enum { MAX_SIZE = 14, TILE = 4 };

/* A box on its map: what its bins read, and the part of the map that they do. */
struct roi_plan {
    int level, top, bottom, left, right;
    roi_taps down[MAX_SIZE], across[MAX_SIZE];
};

__device__ inline void widen_reach(const roi_taps &taps, int *low, int *high)
{
    for (int i = 0; i < taps.n; i++) {
        *low = taps.at[i] < *low ? taps.at[i] : *low;
        *high = taps.at[i] > *high ? taps.at[i] : *high;
    }
}

/* Blocks of 32 threads, one for each box. */
extern "C" __global__ void roi_plan_boxes(roi_maps m, const float *boxes,
                                          const int64_t *sizes,
                                          int64_t n_images, roi_plan *plans)
{
    roi_plan &plan = plans[blockIdx.x];
    const float *box = boxes + 4 * (int64_t)blockIdx.x;
    int64_t height = 1;
    float scale;
    int level;

    for (int64_t i = 0; i < n_images; i++)
        height = sizes[2 * i] > height ? sizes[2 * i] : height;
    scale = map_scale(m.heights[0], height);
    level = level_of(m, -log2f(scale), box);
    scale = map_scale(m.heights[level], height);
    if (threadIdx.x < 2 * m.size) {
        int which = threadIdx.x / m.size, bin = threadIdx.x % m.size;
        float start = mul(box[which ? 0 : 1], scale);
        float length = sub(mul(box[which ? 2 : 3], scale), start);

        length = __fdiv_rn(length > 1 ? length : 1, (float)m.size);
        find_taps(start, length, m.points,
                  which ? m.widths[level] : m.heights[level], bin,
                  which ? &plan.across[bin] : &plan.down[bin]);
    }
    __syncthreads();
    if (threadIdx.x)
        return;
    plan.level = level;
    plan.top = plan.left = 0x7fffffff;
    plan.bottom = plan.right = -1;
    for (int i = 0; i < m.size; i++) {
        widen_reach(plan.down[i], &plan.top, &plan.bottom);
        widen_reach(plan.across[i], &plan.left, &plan.right);
    }
}

__device__ inline float weight_at(const roi_taps &taps, int at)
{
    float weight = 0;

    for (int i = 0; i < taps.n; i++)
        weight = taps.at[i] == at ? taps.weight[i] : weight;
    return weight;
}

/* The boxes of 256 that reach the tile, in their order; returns how many. */
__device__ int find_hits(const roi_plan *plans, int64_t first, int64_t end,
                         int level, int row, int left, int *hits)
{
    __shared__ int counts[8];
    int64_t i = first + threadIdx.x;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, before = 0, n = 0;
    bool is_hit = i < end && plans[i].level == level && plans[i].top <= row &&
                  plans[i].bottom >= row && plans[i].left < left + TILE &&
                  plans[i].right >= left;
    unsigned votes = __ballot_sync(~0u, is_hit);

    if (!lane)
        counts[warp] = __popc(votes);
    __syncthreads();
    for (int k = 0; k < 8; k++) {
        before += k < warp ? counts[k] : 0;
        n += counts[k];
    }
    if (is_hit)
        hits[before + __popc(votes & ((1u << lane) - 1))] = (int)i;
    __syncthreads();
    return n;
}

/* Every place of a map gathers from the boxes that reach it, in their order.
 * Blocks (four places of a row, image, channels / 256) of 256 threads, one for
 * each channel. dy is [r,size,size,c], dx [n,h,w,c]. */
extern "C" __global__ void roi_gather(const roi_plan *plans,
                                      const int64_t *counts, int level,
                                      int size, int height, int width,
                                      int channels, const float *dy, float *dx)
{
    __shared__ int hits[256];
    __shared__ float down[MAX_SIZE], across[TILE][MAX_SIZE];
    int tiles = (width + TILE - 1) / TILE;
    int row = blockIdx.x / tiles, left = blockIdx.x % tiles * TILE;
    int c = blockIdx.z * 256 + threadIdx.x;
    int64_t image = blockIdx.y, begin = 0, end;
    float sums[TILE] = {0};

    for (int64_t i = 0; i < image; i++)
        begin += counts[i];
    end = begin + counts[image];
    for (int64_t first = begin; first < end; first += 256) {
        int n = find_hits(plans, first, end, level, row, left, hits);

        for (int h = 0; h < n; h++) {
            const roi_plan &plan = plans[hits[h]];
            const float *from =
                dy + (int64_t)hits[h] * size * size * channels + c;
            int bin = threadIdx.x % 16, part = threadIdx.x / 16;

            __syncthreads();
            if (bin < size && part < TILE)
                across[part][bin] = weight_at(plan.across[bin], left + part);
            else if (bin < size && part == TILE)
                down[bin] = weight_at(plan.down[bin], row);
            __syncthreads();
            for (int i = 0; i < size; i++) {
                if (down[i] == 0)
                    continue;
                for (int k = 0; k < size; k++) {
                    float a = across[0][k], b = across[1][k];
                    float d = across[2][k], e = across[3][k], slope;

                    if (a == 0 && b == 0 && d == 0 && e == 0)
                        continue;
                    slope = c < channels
                                ? down[i] * from[(i * size + k) * channels]
                                : 0;
                    sums[0] += a * slope;
                    sums[1] += b * slope;
                    sums[2] += d * slope;
                    sums[3] += e * slope;
                }
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < TILE && left + i < width && c < channels; i++)
        dx[((image * height + row) * width + left + i) * channels + c] =
            sums[i];
}
