/* backend/dnnl/int8_depthwise.c - see int8_internal.h: a convolution of every
 * channel with weights of its own.
 *
 * A place of the result is made of one pointer per tap to the channels there;
 * taps beside the map point to a row of zeros. Channels are taken in blocks,
 * taps in groups whose bytes lie side by side for an instruction that adds
 * their products: four with VNNI, which takes weights of 8 bits, two of 16 bits
 * with AVX2, which takes all. Both interleave channels in halves of 128 bits,
 * so weights, scales and sums lie in the order that comes of it; packing the
 * results to bytes undoes it. */
#include "backend/dnnl/int8_internal.h"

#include "base/mem.h"
#include "base/processor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* How a kernel takes channels and taps. */
struct depthwise_kind {
    const char *name;
    int64_t block;  /* channels at a time */
    int64_t parts;  /* vectors of sums per block */
    int64_t group;  /* taps that are added at once */
    bool has_bytes; /* its weights, else 16 bits */
};

/* One place: all channels. Behind y are `room` bytes that may be overwritten,
 * since those of the next places are yet to be made. */
typedef void depthwise_place(const struct depthwise *dw,
                             const uint8_t *const *taps, uint8_t *y,
                             int64_t room);

struct depthwise {
    const struct depthwise_kind *kind;
    depthwise_place *place;
    int64_t channels, n_groups;
    int64_t padded;      /* channels in whole blocks */
    int64_t per_block;   /* places whose channels fill a block; else 1 */
    void *weights;       /* [block][group][channel][tap] */
    int32_t *first;      /* sums begin here: what the zero of x leaves out */
    float *scale, *bias; /* in steps of the result */
    float low, high;     /* the range of the result, minus its zero */
    int32_t zero;        /* of the result */
    bool x_signed, y_signed;
    uint8_t *outside; /* channels beside the map */
};

enum { depthwise_taps = 64 }; /* at most, in whole groups */

/* What is computed. */
struct depthwise_numbers {
    int64_t channels, n_taps;
    const int16_t *weights; /* [channel][tap], minus their zeros */
    bool fits_bytes;        /* the weights are within int8 */
    int x_zero, y_zero;
    bool x_signed, y_signed;
    const float *scales, *bias; /* of a channel, in steps of the result */
    bool has_relu;
    float relu_limit; /* in steps; 0: none */
};

/* ---- kernels ------------------------------------------------------------- */

#ifdef __x86_64__
#include <immintrin.h>

#define VNNI_TARGET                                                            \
    __attribute__((target("avx512f,avx512bw,avx512vnni"), always_inline))
#define AVX2_TARGET __attribute__((target("avx2"), always_inline))

/* The sums of 64 channels. Each has a name: arrays would stay in memory. */
struct vnni_sums {
    __m512i a, b, c, d;
};

/* 16 sums as steps of the result. */
VNNI_TARGET static inline __m512i vnni_steps(const struct depthwise *dw,
                                             __m512i sums, int64_t at)
{
    __m512 y = _mm512_cvtepi32_ps(sums);

    y = _mm512_add_ps(_mm512_mul_ps(y, _mm512_loadu_ps(dw->scale + at)),
                      _mm512_loadu_ps(dw->bias + at));
    y = _mm512_max_ps(y, _mm512_set1_ps(dw->low));
    y = _mm512_min_ps(y, _mm512_set1_ps(dw->high));
    return _mm512_add_epi32(_mm512_cvtps_epi32(y), _mm512_set1_epi32(dw->zero));
}

VNNI_TARGET static inline __m512i vnni_first(const struct depthwise *dw,
                                             int64_t at)
{
    return _mm512_loadu_si512(dw->first + at);
}

VNNI_TARGET static inline __m512i
vnni_products(__m512i sums, __m512i x, __m512i flip, const int8_t *weights)
{
    return _mm512_dpbusd_epi32(sums, _mm512_xor_si512(x, flip),
                               _mm512_loadu_si512(weights));
}

/* Adds four taps of 64 channels, as unsigned bytes. */
VNNI_TARGET static inline struct vnni_sums
vnni_add(struct vnni_sums sums, const uint8_t *const *taps, int64_t c,
         __mmask64 mask, __m512i flip, const int8_t *weights)
{
    __m512i x0 = _mm512_maskz_loadu_epi8(mask, taps[0] + c);
    __m512i x1 = _mm512_maskz_loadu_epi8(mask, taps[1] + c);
    __m512i x2 = _mm512_maskz_loadu_epi8(mask, taps[2] + c);
    __m512i x3 = _mm512_maskz_loadu_epi8(mask, taps[3] + c);
    __m512i low01 = _mm512_unpacklo_epi8(x0, x1);
    __m512i low23 = _mm512_unpacklo_epi8(x2, x3);
    __m512i high01 = _mm512_unpackhi_epi8(x0, x1);
    __m512i high23 = _mm512_unpackhi_epi8(x2, x3);

    sums.a = vnni_products(sums.a, _mm512_unpacklo_epi16(low01, low23), flip,
                           weights);
    sums.b = vnni_products(sums.b, _mm512_unpackhi_epi16(low01, low23), flip,
                           weights + 64);
    sums.c = vnni_products(sums.c, _mm512_unpacklo_epi16(high01, high23), flip,
                           weights + 128);
    sums.d = vnni_products(sums.d, _mm512_unpackhi_epi16(high01, high23), flip,
                           weights + 192);
    return sums;
}

/* 64 sums as bytes. */
VNNI_TARGET static inline __m512i vnni_bytes(const struct depthwise *dw,
                                             struct vnni_sums sums, int64_t c)
{
    __m512i low = _mm512_packs_epi32(vnni_steps(dw, sums.a, c),
                                     vnni_steps(dw, sums.b, c + 16));
    __m512i high = _mm512_packs_epi32(vnni_steps(dw, sums.c, c + 32),
                                      vnni_steps(dw, sums.d, c + 48));

    return dw->y_signed ? _mm512_packs_epi16(low, high)
                        : _mm512_packus_epi16(low, high);
}

__attribute__((target("avx512f,avx512bw,avx512vnni"))) static void
vnni_place(const struct depthwise *dw, const uint8_t *const *taps, uint8_t *y,
           int64_t room)
{
    __m512i flip = _mm512_set1_epi8((char)(dw->x_signed ? 0x80 : 0));
    const int8_t *weights = dw->weights;

    for (int64_t c = 0; c < dw->channels; c += 64) {
        int64_t left = dw->channels - c;
        __mmask64 mask = left < 64 ? (1ULL << left) - 1 : ~0ULL;
        struct vnni_sums sums = {vnni_first(dw, c), vnni_first(dw, c + 16),
                                 vnni_first(dw, c + 32),
                                 vnni_first(dw, c + 48)};
        __m512i bytes;

        for (int64_t g = 0; g < dw->n_groups; g++, weights += 256)
            sums = vnni_add(sums, taps + 4 * g, c, mask, flip, weights);
        bytes = vnni_bytes(dw, sums, c);
        /* Some processors take long for stores with a mask. */
        if (room - c >= 64)
            _mm512_storeu_si512(y + c, bytes);
        else
            _mm512_mask_storeu_epi8(y + c, mask, bytes);
    }
}

AVX2_TARGET static inline __m256i avx2_steps(const struct depthwise *dw,
                                             __m256i sums, int64_t at)
{
    __m256 y = _mm256_cvtepi32_ps(sums);

    y = _mm256_add_ps(_mm256_mul_ps(y, _mm256_loadu_ps(dw->scale + at)),
                      _mm256_loadu_ps(dw->bias + at));
    y = _mm256_max_ps(y, _mm256_set1_ps(dw->low));
    y = _mm256_min_ps(y, _mm256_set1_ps(dw->high));
    return _mm256_add_epi32(_mm256_cvtps_epi32(y), _mm256_set1_epi32(dw->zero));
}

/* 16 channels, or as many as are left, as numbers of 16 bits. */
AVX2_TARGET static inline __m256i avx2_load(const uint8_t *x, int64_t left,
                                            bool is_signed)
{
    uint8_t rest[16] = {0};
    __m128i bytes;

    if (left < 16)
        x = memcpy(rest, x, (size_t)left);
    bytes = _mm_loadu_si128((const __m128i *)x);
    return is_signed ? _mm256_cvtepi8_epi16(bytes)
                     : _mm256_cvtepu8_epi16(bytes);
}

/* The sums of 16 channels over all taps. */
AVX2_TARGET static inline void avx2_add(const struct depthwise *dw,
                                        const uint8_t *const *taps, int64_t c,
                                        bool is_signed, __m256i sums[2])
{
    const int16_t *weights =
        (const int16_t *)dw->weights + c * dw->n_groups * 2;
    int64_t left = dw->channels - c;

    for (int i = 0; i < 2; i++)
        sums[i] = _mm256_loadu_si256((const __m256i *)(dw->first + c + 8 * i));
    for (int64_t g = 0; g < dw->n_groups; g++, weights += 32) {
        __m256i a = avx2_load(taps[2 * g] + c, left, is_signed);
        __m256i b = avx2_load(taps[2 * g + 1] + c, left, is_signed);
        const __m256i x[2] = {_mm256_unpacklo_epi16(a, b),
                              _mm256_unpackhi_epi16(a, b)};

        for (int i = 0; i < 2; i++)
            sums[i] = _mm256_add_epi32(
                sums[i],
                _mm256_madd_epi16(
                    x[i], _mm256_loadu_si256((const __m256i *)weights + i)));
    }
}

__attribute__((target("avx2"))) static void
avx2_place(const struct depthwise *dw, const uint8_t *const *taps, uint8_t *y,
           int64_t room)
{
    for (int64_t c = 0; c < dw->channels; c += 16) {
        int64_t left = dw->channels - c;
        __m256i sums[2], words;
        uint8_t bytes[16];

        if (dw->x_signed)
            avx2_add(dw, taps, c, true, sums);
        else
            avx2_add(dw, taps, c, false, sums);
        words = _mm256_packs_epi32(avx2_steps(dw, sums[0], c),
                                   avx2_steps(dw, sums[1], c + 8));
        words = dw->y_signed ? _mm256_packs_epi16(words, words)
                             : _mm256_packus_epi16(words, words);
        words = _mm256_permute4x64_epi64(words, 0x08);
        _mm_storeu_si128((__m128i *)(room - c < 16 ? bytes : y + c),
                         _mm256_castsi256_si128(words));
        if (room - c < 16)
            memcpy(y + c, bytes, (size_t)left);
    }
}

static const struct depthwise_kind vnni_kind = {
    .name = "avx512_vnni",
    .block = 64,
    .parts = 4,
    .group = 4,
    .has_bytes = true,
};
static const struct depthwise_kind avx2_kind = {
    .name = "avx2", .block = 16, .parts = 2, .group = 2};

static const struct depthwise_kind *depthwise_find(bool fits_bytes,
                                                   depthwise_place **place)
{
    if (fits_bytes && processor_level() >= PROCESSOR_AVX512 &&
        __builtin_cpu_supports("avx512vnni")) {
        *place = vnni_place;
        return &vnni_kind;
    }
    *place = avx2_place;
    return processor_level() >= PROCESSOR_AVX2 ? &avx2_kind : NULL;
}
#else
static const struct depthwise_kind *depthwise_find(bool fits_bytes,
                                                   depthwise_place **place)
{
    (void)fits_bytes, (void)place;
    return NULL;
}
#endif

/* ---- packing ------------------------------------------------------------- */

/* The channel of its block that element i of the sums belongs to. */
static int64_t depthwise_channel(const struct depthwise_kind *kind, int64_t i)
{
    int64_t vector = kind->block / kind->parts;
    int64_t part = i / vector, half = i % vector / 4;

    return half * 4 * kind->parts + part * 4 + i % 4;
}

static void depthwise_set(struct depthwise *dw, int64_t at, int value)
{
    if (dw->kind->has_bytes)
        ((int8_t *)dw->weights)[at] = (int8_t)value;
    else
        ((int16_t *)dw->weights)[at] = (int16_t)value;
}

/* Everything about one channel, which is element `at` in the kernel's order. */
static void depthwise_pack_channel(struct depthwise *dw,
                                   const struct depthwise_numbers *from,
                                   int64_t c, int64_t at)
{
    const struct depthwise_kind *kind = dw->kind;
    int64_t before = at / kind->block * kind->block;
    int32_t sum = 0;

    for (int64_t tap = 0; tap < from->n_taps; tap++) {
        int64_t group = tap / kind->group;
        int weight = from->weights[c * from->n_taps + tap];
        int64_t lane =
            before * dw->n_groups + group * kind->block + at - before;

        depthwise_set(dw, lane * kind->group + tap % kind->group, weight);
        sum += weight;
    }
    /* Signed bytes are taken as unsigned ones, 128 above. */
    dw->first[at] =
        -sum * (from->x_zero + (kind->has_bytes && dw->x_signed ? 128 : 0));
    dw->scale[at] = from->scales[c];
    dw->bias[at] = from->bias[c];
}

static void depthwise_pack(struct depthwise *dw,
                           const struct depthwise_numbers *from)
{
    const struct depthwise_kind *kind = dw->kind;

    for (int64_t at = 0; at < dw->padded; at++) {
        int64_t c = at / kind->block * kind->block +
                    depthwise_channel(kind, at % kind->block);

        /* Again for the places beside the first one in a block. */
        if (dw->per_block > 1)
            c %= dw->channels;
        if (c < dw->channels)
            depthwise_pack_channel(dw, from, c, at);
    }
    memset(dw->outside, from->x_zero, (size_t)dw->padded);
}

/* ---- making -------------------------------------------------------------- */

void depthwise_free(struct depthwise *dw)
{
    if (!dw)
        return;
    mem_free(dw->weights);
    mem_free(dw->first);
    mem_free(dw->scale);
    mem_free(dw->bias);
    mem_free(dw->outside);
    mem_free(dw);
}

static void depthwise_describe(struct depthwise *dw,
                               const struct depthwise_numbers *from)
{
    int64_t block, group;

    dw->kind = depthwise_find(from->fits_bytes, &dw->place);
    block = dw->kind->block;
    group = dw->kind->group;
    dw->channels = from->channels;
    dw->padded = (from->channels + block - 1) / block * block;
    dw->per_block = block % from->channels ? 1 : block / from->channels;
    dw->n_groups = (from->n_taps + group - 1) / group;
    dw->x_signed = from->x_signed;
    dw->y_signed = from->y_signed;
    dw->zero = from->y_zero;
    dw->low = (float)((from->y_signed ? -128 : 0) - from->y_zero);
    dw->high = dw->low + 255;
    if (from->has_relu)
        dw->low = fmaxf(dw->low, 0);
    if (from->has_relu && from->relu_limit > 0)
        dw->high = fminf(dw->high, from->relu_limit);
}

static enum assay_status depthwise_new(const struct depthwise_numbers *from,
                                       struct depthwise **out,
                                       struct error *err)
{
    struct depthwise *dw = mem_zalloc(sizeof *dw);
    size_t n, each;

    *out = dw;
    if (!dw)
        return error_nomem(err, sizeof *dw, "a kernel");
    depthwise_describe(dw, from);
    n = (size_t)dw->padded;
    each = (size_t)(dw->n_groups * dw->kind->group) *
           (dw->kind->has_bytes ? 1 : sizeof(int16_t));
    dw->weights = mem_array(n, each);
    dw->first = mem_array(n, sizeof *dw->first);
    dw->scale = mem_array(n, sizeof *dw->scale);
    dw->bias = mem_array(n, sizeof *dw->bias);
    dw->outside = mem_array(n, 1);
    if (dw->weights && dw->first && dw->scale && dw->bias && dw->outside) {
        depthwise_pack(dw, from);
        return ASSAY_OK;
    }
    depthwise_free(dw);
    *out = NULL;
    return error_nomem(err, n * each, "the weights of a kernel");
}

/* ---- from a node ----------------------------------------------------------
 */

bool depthwise_fits(const struct integer_job *job, bool fits_bytes)
{
    const struct shape *w = &job->weight;
    depthwise_place *place;
    const struct depthwise_kind *kind = depthwise_find(fits_bytes, &place);

    return kind && job->groups > 1 && w->dims[1] == 1 &&
           w->dims[0] == job->groups && job->inputs[QLINEAR_Y_SCALE] &&
           !job->finish.activation &&
           w->dims[2] * w->dims[3] + kind->group <= depthwise_taps;
}

static void depthwise_take_weights(const struct integer_job *job,
                                   int16_t *weights)
{
    int64_t each = integer_weights_each(job);

    for (int64_t i = 0; i < job->weight.dims[0] * each; i++)
        weights[i] = (int16_t)integer_weight(job, i / each, i % each, each);
}

static enum assay_status depthwise_make(const struct integer_job *job,
                                        enum dtype result, struct error *err)
{
    struct integer_numbers *numbers = job->numbers;
    double step = (double)*tensor_f32(job->inputs[QLINEAR_Y_SCALE]);
    struct depthwise_numbers from = {
        .channels = numbers->channels,
        .n_taps = integer_weights_each(job),
        .x_zero = integer_byte(job->inputs[QLINEAR_X_ZERO], 0),
        .y_zero = integer_byte(job->inputs[QLINEAR_Y_ZERO], 0),
        .x_signed = job->inputs[QLINEAR_X]->dtype == DTYPE_I8,
        .y_signed = result == DTYPE_I8,
        .scales = numbers->scales,
        .bias = numbers->bias,
        .has_relu = job->finish.has_relu,
        .relu_limit = (float)((double)job->finish.relu_limit / step)};
    size_t n = (size_t)(from.channels * from.n_taps);
    int16_t *weights = mem_array(n, sizeof *weights);
    enum assay_status st;
    int low, high;

    if (!weights)
        return error_nomem(err, n * sizeof *weights, "weights");
    for (int64_t c = 0; c < from.channels; c++) {
        numbers->scales[c] = (float)(integer_scale(job, c) / step);
        numbers->bias[c] = (float)(integer_bias_at(job, c) / step);
    }
    depthwise_take_weights(job, weights);
    integer_weights_range(job, &low, &high);
    from.fits_bytes = low >= -128 && high <= 127;
    from.weights = weights;
    st = depthwise_new(&from, &numbers->depthwise, err);
    mem_free(weights);
    return st;
}

enum assay_status depthwise_kernel(struct onednn *dn,
                                   const struct integer_job *job,
                                   enum dtype result, struct kernel **out,
                                   struct error *err)
{
    const struct job *own = &job->job;
    struct kernel *kernel = mem_zalloc(sizeof *kernel);
    struct candidate *first;
    enum assay_status st;

    *out = kernel;
    if (!kernel)
        return error_nomem(err, sizeof *kernel, "a kernel");
    st = depthwise_make(job, result, err);
    if (st) {
        mem_free(kernel);
        *out = NULL;
        return st;
    }
    kernel->x = own->x->shape;
    kernel->y = own->y;
    kernel->x_layout = own->x->layout;
    kernel->src = int8_layout(dn, own->x->dtype, &own->x->shape);
    kernel->dst = int8_layout(dn, result, &own->y);
    kernel->integers = job->numbers;
    kernel->how = "one step";
    kernel->candidates.n = 1;
    first = &kernel->candidates.items[0];
    first->ms = -1;
    snprintf(first->name, sizeof first->name, "integers depthwise:%s",
             job->numbers->depthwise->kind->name);
    kernel_keep(dn, own, kernel);
    return ASSAY_OK;
}

/* ---- running ------------------------------------------------------------- */

/* The taps of one place, and how far each is from that of the next place. */
struct depthwise_row {
    const uint8_t *taps[depthwise_taps];
    ptrdiff_t steps[depthwise_taps];
};

static void depthwise_point(const struct depthwise *dw,
                            const struct fitted_window *window,
                            const uint8_t *image, int64_t top, int64_t left,
                            struct depthwise_row *row)
{
    size_t n = 0;

    for (int64_t i = 0; i < window->kernel[1]; i++) {
        int64_t h = top + i * window->dilation[1];
        bool has_row = h >= 0 && h < window->in[1];

        for (int64_t k = 0; k < window->kernel[2]; k++, n++) {
            int64_t w = left + k * window->dilation[2];
            bool is_inside = has_row && w >= 0 && w < window->in[2];

            row->taps[n] = is_inside
                               ? image + (h * window->in[2] + w) * dw->channels
                               : dw->outside;
            row->steps[n] = has_row ? window->stride[2] * dw->channels : 0;
        }
    }
}

static void depthwise_run_row(const struct depthwise *dw,
                              const struct fitted_window *window,
                              const uint8_t *image, int64_t at, uint8_t *y)
{
    int64_t reach = (window->kernel[2] - 1) * window->dilation[2];
    int64_t top = at * window->stride[1] - window->before[1];
    int64_t n_taps = dw->n_groups * dw->kind->group, moved = 0, n;
    int64_t most = window->stride[2] == 1 ? dw->per_block : 1;
    struct depthwise joined = *dw;
    struct depthwise_row row;

    joined.channels = most * dw->channels;
    for (int64_t i = 0; i < n_taps; i++) {
        row.taps[i] = dw->outside;
        row.steps[i] = 0;
    }
    for (int64_t i = 0; i < window->out[2]; i += n, y += n * dw->channels) {
        int64_t left = i * window->stride[2] - window->before[2];
        int64_t inside = left < 0 ? 0 : window->in[2] - left - reach;

        if (inside > 0 && moved) {
            for (int64_t tap = 0; tap < n_taps; tap++)
                row.taps[tap] += moved * row.steps[tap];
        } else {
            depthwise_point(dw, window, image, top, left, &row);
        }
        /* Neighbours lie side by side, as the channels of one place do. */
        n = inside >= most && i + most <= window->out[2] ? most : 1;
        moved = inside > 0 ? n : 0;
        dw->place(n > 1 ? &joined : dw, row.taps, y,
                  (window->out[2] - i) * dw->channels);
    }
}

void depthwise_run(const struct depthwise *dw,
                   const struct fitted_window *window, int64_t n_images,
                   const uint8_t *x, uint8_t *y)
{
    int64_t rows = window->out[1];
    int64_t image = window->in[1] * window->in[2] * dw->channels;
    int64_t row = window->out[2] * dw->channels;

#pragma omp parallel for
    for (int64_t i = 0; i < n_images * rows; i++)
        depthwise_run_row(dw, window, x + i / rows * image, i % rows,
                          y + i * row);
}
