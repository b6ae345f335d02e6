/* backend/cuda/kernels/gate.cu - maps [n,places,c] and one value per image and
 * channel, [n,c]: global average pools, the products of squeeze-and-excitation,
 * and their gradients. Every sum is taken in an order that does not change.
 *
 * SPDX-License-Identifier: MIT */

/* y[n,c] = factor * (sum over the places of x, or of x by). A block has `lanes`
 * threads along the channels, of V each, for each of its rows; blocks in y are
 * images. The shared memory is for V floats of each thread. */
template <typename T, int V>
__device__ void image_sums(const T *__restrict__ x, const T *__restrict__ by,
                           T *y, int places, int c, int lanes, float factor)
{
    extern __shared__ float parts[];
    int row = threadIdx.x / lanes, lane = threadIdx.x - row * lanes;
    int rows = blockDim.x / lanes, width = lanes * V;
    int channel = blockIdx.x * width + lane * V;
    int64_t image = (int64_t)blockIdx.y * places * c;
    float sums[V] = {};

    x += image + channel;
    by = by ? by + image + channel : 0;
#pragma unroll 4
    for (int p = row; p < places && channel < c; p += rows) {
        pack<T, V> of = *(const pack<T, V> *)(x + (int64_t)p * c), also;

        if (by)
            also = *(const pack<T, V> *)(by + (int64_t)p * c);
#pragma unroll
        for (int v = 0; v < V; v++)
            sums[v] += by ? load(of.items[v]) * load(also.items[v])
                          : load(of.items[v]);
    }
#pragma unroll
    for (int v = 0; v < V; v++)
        parts[row * width + lane * V + v] = sums[v];
    while (rows > 1) {
        int half = (rows + 1) / 2;

        __syncthreads();
        for (int i = threadIdx.x; i < (rows - half) * width; i += blockDim.x)
            parts[i] += parts[i + half * width];
        rows = half;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        if (blockIdx.x * width + i < c)
            y[(int64_t)blockIdx.y * c + blockIdx.x * width + i] =
                store<T>(parts[i] * factor);
    }
}

/* y[n,p,c] = x[n,p,c] by[n,c]; without x, factor by[n,c]. y may be x. */
template <typename T, int V>
__device__ void gate(const T *x, const T *by, T *y, uint32_t places,
                     uint32_t c, int64_t n, float factor)
{
    uint32_t packs = c / V;

    for (int64_t i = FIRST; i < n / V; i += STEP) {
        uint32_t place = i >> 32 ? (uint32_t)(i / packs) : (uint32_t)i / packs;
        uint32_t pack_of = (uint32_t)(i - (int64_t)place * packs);
        int64_t image = place / places;
        pack<T, V> of = ((const pack<T, V> *)by)[image * packs + pack_of], in;

        if (x)
            in = ((const pack<T, V> *)x)[i];
#pragma unroll
        for (int v = 0; v < V; v++)
            of.items[v] = store<T>(load(of.items[v]) *
                                   (x ? load(in.items[v]) : factor));
        ((pack<T, V> *)y)[i] = of;
    }
}

/* With 16 bytes at once where the number of channels allows it, and without. */
#define GATE_PARAMETERS                                                        \
    (const T *x, const T *by, T *y, uint32_t places, uint32_t c, int64_t n,    \
     float factor)
#define SUMS_PARAMETERS                                                        \
    (const T *x, const T *by, T *y, int places, int c, int lanes, float factor)

template <typename T> __device__ void gate_wide_kernel GATE_PARAMETERS
{
    gate<T, 16 / sizeof(T)>(x, by, y, places, c, n, factor);
}

template <typename T> __device__ void gate_one_kernel GATE_PARAMETERS
{
    gate<T, 1>(x, by, y, places, c, n, factor);
}

template <typename T> __device__ void image_sums_wide_kernel SUMS_PARAMETERS
{
    image_sums<T, 16 / sizeof(T)>(x, by, y, places, c, lanes, factor);
}

template <typename T> __device__ void image_sums_one_kernel SUMS_PARAMETERS
{
    image_sums<T, 1>(x, by, y, places, c, lanes, factor);
}

FOR_STORED(gate_wide, GATE_PARAMETERS, (x, by, y, places, c, n, factor))
FOR_STORED(gate_one, GATE_PARAMETERS, (x, by, y, places, c, n, factor))
FOR_STORED(image_sums_wide, SUMS_PARAMETERS,
           (x, by, y, places, c, lanes, factor))
FOR_STORED(image_sums_one, SUMS_PARAMETERS,
           (x, by, y, places, c, lanes, factor))

/* y = the sum of a b over what y is repeated over: `outer` goes through y,
 * `inner` through what is summed for each of its elements, with views of their
 * own. One block of 256 threads for each. */
extern "C" __global__ void product_sums(walk outer, view outer_a, view outer_b,
                                        view y, walk inner, view inner_a,
                                        view inner_b)
{
    const view *const outers[3] = {&outer_a, &outer_b, &y};
    const view *const inners[2] = {&inner_a, &inner_b};

    for (int64_t i = blockIdx.x; i < outer.n; i += gridDim.x) {
        int64_t at[3], in[2];
        double sum = 0;

        walk_to(outer, outers, i, at);
        for (int64_t k = threadIdx.x; k < inner.n; k += blockDim.x) {
            walk_to(inner, inners, k, in);
            sum += load_float(outer_a, at[0] + in[0]) *
                   load_float(outer_b, at[1] + in[1]);
        }
        sum = sum_block(sum);
        if (!threadIdx.x)
            store_float(y, at[2], (float)sum);
    }
}
