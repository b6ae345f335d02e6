/* backend/dnnl/int8_depthwise.c - see int8_internal.h: a convolution of every
 * channel with weights of its own, with the kernels of int8_depthwise.h.
 *
 * A place of the result is made of one pointer per tap to the channels there;
 * taps beside the map point to a row of zeros. Places of 3x3 whose columns are
 * all inside the map are made together. */
#include "backend/dnnl/int8_depthwise.h"

#include "backend/dnnl/int8_internal.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

enum { depthwise_taps = 64 }; /* at most, in whole groups */

/* What is computed. */
struct depthwise_numbers {
    int64_t channels, n_taps;
    const int16_t *weights; /* [channel][tap], minus their zeros */
    bool fits_bytes;        /* the weights are within int8 */
    bool has_columns;       /* windows of 3x3 without gaps */
    int x_zero, y_zero;
    bool x_signed, y_signed;
    const float *scales, *bias; /* of a channel, in steps of the result */
    bool has_relu;
    float relu_limit; /* in steps; 0: none */
};

/* ---- packing ------------------------------------------------------------- */

/* The channel of its block that element i of the sums belongs to. */
static int64_t depthwise_channel(const struct depthwise_kind *kind, int64_t i)
{
    int64_t vector = kind->block / kind->parts;
    int64_t part = i / vector, half = i % vector / 4;

    return half * 4 * kind->parts + part * 4 + i % 4;
}

static void depthwise_set(const struct depthwise *dw, void *weights, int64_t at,
                          int value)
{
    if (dw->kind->has_bytes)
        ((int8_t *)weights)[at] = (int8_t)value;
    else
        ((int16_t *)weights)[at] = (int16_t)value;
}

/* The weight of a tap of 3x3 in the order of columns. */
static void depthwise_set_column(const struct depthwise *dw, int64_t at,
                                 int64_t tap, int value)
{
    const struct depthwise_kind *kind = dw->kind;
    int64_t row = tap / 3, column = tap % 3;
    int64_t before = at / kind->block * kind->block;
    int64_t group = column * kind->columns + row / kind->group;
    int64_t lane =
        before * 3 * kind->columns + group * kind->block + at - before;

    depthwise_set(dw, dw->columns, lane * kind->group + row % kind->group,
                  value);
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

        depthwise_set(dw, dw->weights, lane * kind->group + tap % kind->group,
                      weight);
        if (dw->columns)
            depthwise_set_column(dw, at, tap, weight);
        sum += weight;
    }
    /* Signed bytes are taken as unsigned ones, 128 above. */
    dw->first[at] =
        -sum * (from->x_zero + (kind->has_bytes && dw->x_flip ? 128 : 0));
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
    mem_free(dw->columns);
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

    dw->kind = depthwise_find(from->fits_bytes);
    block = dw->kind->block;
    group = dw->kind->group;
    dw->channels = from->channels;
    dw->padded = (from->channels + block - 1) / block * block;
    dw->per_block = block % from->channels ? 1 : block / from->channels;
    dw->n_groups = (from->n_taps + group - 1) / group;
    dw->x_flip = from->x_signed ? 0x80 : 0;
    dw->y_flip = from->y_signed ? 0x80 : 0;
    dw->zero = (int16_t)(from->y_zero + dw->y_flip);
    dw->high = 255;
    if (from->has_relu)
        dw->low = (uint8_t)dw->zero;
    if (from->has_relu && from->relu_limit > 0)
        dw->high =
            (uint8_t)fminf((float)dw->zero + rintf(from->relu_limit), 255);
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
    if (from->has_columns)
        dw->columns =
            mem_array(n, (size_t)(3 * dw->kind->columns * dw->kind->group) *
                             (dw->kind->has_bytes ? 1 : sizeof(int16_t)));
    dw->first = mem_array(n, sizeof *dw->first);
    dw->scale = mem_array(n, sizeof *dw->scale);
    dw->bias = mem_array(n, sizeof *dw->bias);
    dw->outside = mem_array(n, 1);
    if (dw->weights && dw->first && dw->scale && dw->bias && dw->outside &&
        (dw->columns || !from->has_columns)) {
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
    const struct depthwise_kind *kind = depthwise_find(fits_bytes);

    return kind && job->groups > 1 && w->dims[1] == 1 &&
           w->dims[0] == job->groups && job->inputs[QLINEAR_Y_SCALE] &&
           !job->finish.activation &&
           w->dims[2] * w->dims[3] + kind->group <= depthwise_taps &&
           integer_sums_are_small(job);
}

/* Whether places can be made many at a time. */
static bool depthwise_has_columns(const struct fitted_window *window)
{
    return window->kernel[1] == 3 && window->kernel[2] == 3 &&
           window->dilation[1] == 1 && window->dilation[2] == 1;
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
    integer_take_scales(job);
    integer_take_weights(job, weights);
    integer_weights_range(job, &low, &high);
    from.fits_bytes = low >= -128 && high <= 127;
    from.has_columns = depthwise_has_columns(&job->window);
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
    enum assay_status st = depthwise_make(job, result, err);

    if (st)
        return st;
    return integer_own_kernel(dn, job, result, "depthwise",
                              job->numbers->depthwise->kind->name, out, err);
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

/* Places [first, end) of a row, one by one, or a few of few channels. */
static void depthwise_run_places(const struct depthwise *dw,
                                 const struct fitted_window *window,
                                 const uint8_t *image, int64_t top,
                                 int64_t first, int64_t end, uint8_t *y)
{
    int64_t reach = (window->kernel[2] - 1) * window->dilation[2];
    int64_t n_taps = dw->n_groups * dw->kind->group, moved = 0, n;
    int64_t most = window->stride[2] == 1 ? dw->per_block : 1;
    struct depthwise joined = *dw;
    struct depthwise_row row;

    joined.channels = most * dw->channels;
    for (int64_t i = 0; i < n_taps; i++) {
        row.taps[i] = dw->outside;
        row.steps[i] = 0;
    }
    for (int64_t i = first; i < end; i += n) {
        int64_t left = i * window->stride[2] - window->before[2];
        int64_t inside = left < 0 ? 0 : window->in[2] - left - reach;

        if (inside > 0 && moved) {
            for (int64_t tap = 0; tap < n_taps; tap++)
                row.taps[tap] += moved * row.steps[tap];
        } else {
            depthwise_point(dw, window, image, top, left, &row);
        }
        /* Neighbours lie side by side, as the channels of one place do. */
        n = inside >= most && i + most <= end ? most : 1;
        moved = inside > 0 ? n : 0;
        dw->kind->place(n > 1 ? &joined : dw, row.taps, y + i * dw->channels,
                        (end - i) * dw->channels);
    }
}

/* Places [first, end) of a row, whose columns are all inside the map. */
static void depthwise_run_columns(const struct depthwise *dw,
                                  const struct fitted_window *window,
                                  const uint8_t *image, int64_t top,
                                  int64_t first, int64_t end, uint8_t *y)
{
    int64_t left = first * window->stride[2] - window->before[2];
    struct depthwise_places places = {.stride = window->stride[2],
                                      .n = end - first,
                                      .y = y + first * dw->channels};

    for (int64_t i = 0; i < 3; i++) {
        bool is_inside = top + i >= 0 && top + i < window->in[1];

        places.rows[i] =
            is_inside
                ? image + ((top + i) * window->in[2] + left) * dw->channels
                : dw->outside;
        places.steps[i] = is_inside ? dw->channels : 0;
    }
    dw->kind->places(dw, &places);
}

static void depthwise_run_row(const struct depthwise *dw,
                              const struct fitted_window *window,
                              const uint8_t *image, int64_t at, uint8_t *y)
{
    int64_t top = at * window->stride[1] - window->before[1];
    int64_t stride = window->stride[2], n = window->out[2];
    int64_t first = (window->before[2] + stride - 1) / stride;
    int64_t room = window->in[2] - 3 + window->before[2];
    int64_t end = room < 0 ? 0 : room / stride + 1;

    end = end < n ? end : n;
    if (!dw->columns || first >= end) {
        depthwise_run_places(dw, window, image, top, 0, n, y);
        return;
    }
    depthwise_run_places(dw, window, image, top, 0, first, y);
    depthwise_run_columns(dw, window, image, top, first, end, y);
    depthwise_run_places(dw, window, image, top, end, n, y);
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
