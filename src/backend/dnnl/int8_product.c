/* backend/dnnl/int8_product.c - see int8_internal.h: convolutions in one group
 * and products of matrices as tiles of pixels and outputs (int8_product.h).
 *
 * Pixels are taken in pieces that stay in the nearest caches while all outputs
 * pass. Of each, its inputs are laid side by side first, as the kernel takes
 * them, unless they already are. */
#include "backend/dnnl/int8_product.h"
#include "backend/dnnl/int8_internal.h"

#include "base/mem.h"

#include <math.h>
#include <omp.h>
#include <string.h>

struct product {
    const struct product_kind *kind;
    int64_t n_inputs, n_outputs;
    int64_t n_groups; /* of inputs */
    int64_t padded;   /* outputs in whole vectors */
    void *weights;
    int8_t *rest_weights; /* see struct product_rest; NULL: leave none */
    int32_t *rest_ends, *rest_groups;
    int32_t *first;
    float *scale, *bias;
    uint8_t *outside; /* a row of a window beside the map */
    struct product_end end;
    uint8_t x_zero; /* as a byte */
    uint8_t flip;   /* 0x80: x is signed */
};

/* ---- making -------------------------------------------------------------- */

void product_free(struct product *product)
{
    if (!product)
        return;
    mem_free(product->weights);
    mem_free(product->rest_weights);
    mem_free(product->rest_ends);
    mem_free(product->rest_groups);
    mem_free(product->outside);
    mem_free(product->first);
    mem_free(product->scale);
    mem_free(product->bias);
    mem_free(product);
}

/* Whether every pixel is made of one, in the same order. */
static bool product_is_plain(const struct fitted_window *window)
{
    for (int i = 1; i < WINDOW_MAX_RANK; i++) {
        if (window->kernel[i] != 1 || window->stride[i] != 1 ||
            window->before[i] || window->after[i])
            return false;
    }
    return true;
}

bool product_fits(const struct integer_job *job, bool fits_bytes)
{
    const struct product_kind *kind = product_find(fits_bytes);

    /* With VNNI, windows are oneDNN's: it need not lay them side by side. */
    return kind && job->groups == 1 && job->inputs[QLINEAR_Y_SCALE] &&
           !job->finish.activation &&
           (kind->has_rest || !kind->has_bytes || job->is_matrix ||
            product_is_plain(&job->window)) &&
           integer_sums_are_small(job);
}

static void product_set_end(const struct integer_job *job, bool is_signed,
                            struct product_end *end)
{
    double step = (double)*tensor_f32(job->inputs[QLINEAR_Y_SCALE]);
    int zero = integer_byte(job->inputs[QLINEAR_Y_ZERO], 0);

    end->zero = (int16_t)(zero + (is_signed ? 128 : 0));
    end->flip = is_signed ? 0x80 : 0;
    end->high = 255;
    if (!job->finish.has_relu)
        return;
    end->low = (uint8_t)end->zero;
    if (job->finish.relu_limit > 0) {
        double high = end->zero + rint((double)job->finish.relu_limit / step);

        end->high = (uint8_t)fmin(high, 255);
    }
}

/* Weights, and where the sums begin, of output o. */
static void product_pack(struct product *product, const struct integer_job *job,
                         int64_t o)
{
    const struct product_kind *kind = product->kind;
    int64_t each = product->n_inputs, channels = job->weight.dims[1];
    int64_t taps = each / channels, lane = o % kind->lanes;
    int64_t vector = o / kind->lanes * product->n_groups * kind->lanes;
    int sum = 0;

    for (int64_t i = 0; i < each; i++) {
        /* Of a pixel, channels lie last. */
        int64_t from = i % channels * taps + i / channels;
        int weight = integer_weight(job, o, from, each);
        int64_t at =
            (vector + i / kind->group * kind->lanes + lane) * kind->group +
            i % kind->group;

        if (kind->has_bytes)
            ((int8_t *)product->weights)[at] = (int8_t)weight;
        else
            ((int16_t *)product->weights)[at] = (int16_t)weight;
        sum += weight;
    }
    product->first[o] = -sum * (integer_byte(job->inputs[QLINEAR_X_ZERO], 0) +
                                (kind->has_bytes && product->flip ? 128 : 0));
    product->scale[o] = job->numbers->scales[o];
    product->bias[o] = job->numbers->bias[o];
}

static enum assay_status product_new(const struct integer_job *job,
                                     const struct product_kind *kind,
                                     enum dtype result, struct product **out,
                                     struct error *err)
{
    struct product *product = mem_zalloc(sizeof *product);
    size_t n, each, line;

    *out = product;
    if (!product)
        return error_nomem(err, sizeof *product, "a kernel");
    product->kind = kind;
    product->n_inputs = integer_weights_each(job);
    product->n_outputs = job->weight.dims[0];
    product->n_groups = (product->n_inputs + kind->group - 1) / kind->group;
    product->padded =
        (product->n_outputs + kind->lanes - 1) / kind->lanes * kind->lanes;
    product->x_zero = (uint8_t)integer_byte(job->inputs[QLINEAR_X_ZERO], 0);
    product->flip = job->inputs[QLINEAR_X]->dtype == DTYPE_I8 ? 0x80 : 0;
    product_set_end(job, result == DTYPE_I8, &product->end);
    n = (size_t)product->padded;
    each = (size_t)(product->n_groups * kind->group) *
           (kind->has_bytes ? 1 : sizeof(int16_t));
    line = (size_t)(job->weight.dims[1] * job->weight.dims[3]) + PRODUCT_SLACK;
    product->weights = mem_array(n, each);
    product->first = mem_array(n, sizeof *product->first);
    product->scale = mem_array(n, sizeof *product->scale);
    product->bias = mem_array(n, sizeof *product->bias);
    product->outside = mem_array(line, 1);
    if (!product->weights || !product->first || !product->scale ||
        !product->bias || !product->outside) {
        product_free(product);
        *out = NULL;
        return error_nomem(err, n * each, "the weights of a kernel");
    }
    memset(product->outside, product->x_zero, line);
    for (int64_t o = 0; o < product->n_outputs; o++)
        product_pack(product, job, o);
    return ASSAY_OK;
}

/* ---- weights that are too large in pairs ----------------------------------
 */

enum { pair_most = 128 }; /* times 255 has 16 bits */

/* Whether a group of a vector's weights leaves a rest. */
static bool product_has_rest(const int8_t *weights, int64_t n)
{
    for (int64_t i = 0; i < n; i += 2) {
        int a = weights[i], b = weights[i + 1];

        if ((a > 0) == (b > 0) && (a + b > pair_most || a + b < -pair_most))
            return true;
    }
    return false;
}

static void product_leave_rest(int8_t *weights, int8_t *rest, int64_t n)
{
    enum { half = pair_most / 2 };

    for (int64_t i = 0; i < n; i++) {
        int weight = weights[i];
        int kept = weight > half ? half : weight < -half ? -half : weight;

        weights[i] = (int8_t)kept;
        rest[i] = (int8_t)(weight - kept);
    }
}

static int64_t product_count_rest(const struct product *product)
{
    const int8_t *weights = product->weights;
    int64_t each = product->kind->lanes * product->kind->group, n = 0;
    int64_t all = product->padded / product->kind->lanes * product->n_groups;

    for (int64_t i = 0; i < all; i++)
        n += product_has_rest(weights + i * each, each);
    return n;
}

static enum assay_status product_divide_weights(struct product *product,
                                                int64_t n_rest,
                                                struct error *err)
{
    int64_t each = product->kind->lanes * product->kind->group;
    int64_t vectors = product->padded / product->kind->lanes;
    int8_t *weights = product->weights;
    int32_t n = 0;

    product->rest_ends =
        mem_array((size_t)vectors + 1, sizeof *product->rest_ends);
    product->rest_groups =
        mem_array((size_t)n_rest + 1, sizeof *product->rest_groups);
    product->rest_weights = mem_array((size_t)n_rest + 1, (size_t)each);
    if (!product->rest_ends || !product->rest_groups || !product->rest_weights)
        return error_nomem(err, (size_t)(n_rest * each), "weights");
    for (int64_t v = 0; v < vectors; v++) {
        for (int64_t g = 0; g < product->n_groups; g++, weights += each) {
            if (!product_has_rest(weights, each))
                continue;
            product_leave_rest(weights, product->rest_weights + n * each, each);
            product->rest_groups[n++] = (int32_t)g;
        }
        product->rest_ends[v + 1] = n;
    }
    return ASSAY_OK;
}

static enum assay_status product_make(const struct integer_job *job,
                                      enum dtype result, struct error *err)
{
    const struct product_kind *kind;
    struct product *product;
    enum assay_status st;
    int64_t n_rest = 0;
    int low, high;

    integer_weights_range(job, &low, &high);
    kind = product_find(low >= -128 && high <= 127);
    integer_take_scales(job);
    st = product_new(job, kind, result, &product, err);
    if (st)
        return st;
    if (kind->has_rest)
        n_rest = product_count_rest(product);
    /* Beyond two fifths of all groups, 16 bits are faster. */
    if (5 * n_rest > 2 * (product->padded / kind->lanes * product->n_groups)) {
        product_free(product);
        st = product_new(job, product_find_wide(), result, &product, err);
    } else if (kind->has_rest) {
        st = product_divide_weights(product, n_rest, err);
    }
    if (st) {
        product_free(product);
        return st;
    }
    job->numbers->product = product;
    return ASSAY_OK;
}

enum assay_status product_kernel(struct onednn *dn,
                                 const struct integer_job *job,
                                 enum dtype result, struct kernel **out,
                                 struct error *err)
{
    enum assay_status st = product_make(job, result, err);

    if (st)
        return st;
    return integer_own_kernel(dn, job, result, "product",
                              job->numbers->product->kind->name, out, err);
}

/* ---- the inputs of a pixel ----------------------------------------------- */

/* One execution. */
struct product_run {
    const struct product *product;
    const struct fitted_window *window;
    const uint8_t *x;
    int64_t x_bytes;
    uint8_t *y;
    int64_t pixels;          /* of all images */
    int64_t channels;        /* of x */
    bool is_plain;           /* a pixel of y is made of one of x */
    bool is_ready;           /* and that is as the kernel takes it */
    int64_t row;             /* bytes of a pixel's inputs, in whole groups */
    int64_t piece;           /* pixels at a time, in whole tiles */
    int64_t parts, sections; /* of the pixels, of the outputs */
    int64_t room;            /* bytes of a piece's inputs */
    uint8_t *rooms;          /* for every part and section */
};

static int64_t product_bytes(const struct product *product)
{
    return product->kind->has_bytes ? 1 : 2;
}

/* n inputs beside the map. */
static void product_fill(const struct product *product, uint8_t *to, int64_t n)
{
    if (product->kind->has_bytes) {
        memset(to, product->x_zero ^ product->flip, (size_t)n);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        ((int16_t *)to)[i] =
            product->flip ? (int8_t)product->x_zero : (int16_t)product->x_zero;
}

/* n inputs from x on. */
static void product_take_row(const struct product_run *run, const uint8_t *x,
                             uint8_t *to, int64_t n)
{
    run->product->kind->take(x, run->product->flip, to, n,
                             run->x + run->x_bytes - x);
}

/* A row of the window at column `left` of the map's row x; NULL: beside it. */
static void product_take_taps(const struct product_run *run, const uint8_t *x,
                              int64_t left, uint8_t *to)
{
    const struct product *product = run->product;
    const struct fitted_window *window = run->window;
    int64_t channels = run->channels, taps = window->kernel[2];
    int64_t gap = window->dilation[2];

    if (!x) {
        product_fill(product, to, taps * channels);
    } else if (gap == 1 && left >= 0 && left + taps <= window->in[2]) {
        product_take_row(run, x + left * channels, to, taps * channels);
    } else {
        for (int64_t i = 0; i < taps; i++, left += gap) {
            uint8_t *at = to + i * channels * product_bytes(product);

            if (left >= 0 && left < window->in[2])
                product_take_row(run, x + left * channels, at, channels);
            else
                product_fill(product, at, channels);
        }
    }
}

/* The pixel of y in row `down` and column `across`. */
static void product_take_window(const struct product_run *run, int64_t image,
                                int64_t down, int64_t across, uint8_t *to)
{
    const struct fitted_window *window = run->window;
    int64_t top = down * window->stride[1] - window->before[1];
    int64_t left = across * window->stride[2] - window->before[2];
    int64_t line =
        window->kernel[2] * run->channels * product_bytes(run->product);

    for (int64_t i = 0; i < window->kernel[1]; i++, to += line) {
        int64_t h = top + i * window->dilation[1];
        const uint8_t *x = NULL;

        if (h >= 0 && h < window->in[1])
            x = run->x +
                (image * window->in[1] + h) * window->in[2] * run->channels;
        product_take_taps(run, x, left, to);
    }
}

/* So many of n windows from column `across` on as lie side by side in the map,
 * and as may be read in whole vectors; takes them. */
static int64_t product_take_many(const struct product_run *run, int64_t image,
                                 int64_t down, int64_t across, int64_t n,
                                 uint8_t *to)
{
    enum { most_rows = 8 };
    const struct product *product = run->product;
    const struct fitted_window *window = run->window;
    int64_t top = down * window->stride[1] - window->before[1];
    int64_t left = across * window->stride[2] - window->before[2];
    int64_t room = window->in[2] - left - window->kernel[2];
    const uint8_t *rows[most_rows];
    int64_t steps[most_rows];

    if (!product->kind->has_bytes || window->dilation[2] != 1 || left < 0 ||
        room < 0 || window->kernel[1] > most_rows)
        return 0;
    n = n < room / window->stride[2] + 1 ? n : room / window->stride[2] + 1;
    for (int64_t i = 0; i < window->kernel[1]; i++) {
        int64_t h = top + i * window->dilation[1];
        int64_t at = ((image * window->in[1] + h) * window->in[2] + left) *
                     run->channels;
        bool is_inside = h >= 0 && h < window->in[1];

        rows[i] = is_inside ? run->x + at : product->outside;
        steps[i] = is_inside ? window->stride[2] * run->channels : 0;
        while (is_inside && n > 0 &&
               at + (n - 1) * steps[i] + window->kernel[2] * run->channels +
                       PRODUCT_SLACK >
                   run->x_bytes)
            n--;
    }
    product_take_windows(
        &(struct product_windows){.rows = rows,
                                  .steps = steps,
                                  .n_rows = window->kernel[1],
                                  .line = window->kernel[2] * run->channels,
                                  .n = n,
                                  .flip = product->flip,
                                  .to = to,
                                  .to_step = run->row});
    return n;
}

static void product_take_some(const struct product_run *run, int64_t first,
                              int64_t n, uint8_t *to)
{
    const struct fitted_window *window = run->window;
    int64_t wide = window->out[2], high = window->out[1];

    for (int64_t taken; n > 0;
         first += taken, n -= taken, to += taken * run->row) {
        int64_t across = first % wide, down = first / wide % high;
        int64_t image = first / wide / high;
        int64_t most = wide - across < n ? wide - across : n;

        taken = product_take_many(run, image, down, across, most, to);
        if (taken > 0)
            continue;
        product_take_window(run, image, down, across, to);
        taken = 1;
    }
}

/* The inputs of n pixels; those that fill the last group have no weight. */
static const uint8_t *product_take(const struct product_run *run, int64_t first,
                                   int64_t n, uint8_t *to)
{
    const struct product *product = run->product;
    int64_t inputs = product->n_inputs;

    if (run->is_ready)
        return run->x + first * inputs;
    if (run->is_plain && run->row == inputs * product_bytes(product)) {
        product_take_row(run, run->x + first * inputs, to, n * inputs);
        return to;
    }
    if (!run->is_plain)
        product_take_some(run, first, n, to);
    for (int64_t i = 0; run->is_plain && i < n; i++)
        product_take_row(run, run->x + (first + i) * inputs, to + i * run->row,
                         inputs);
    return to;
}

/* ---- running ------------------------------------------------------------- */

static struct product_rest product_rest(const struct product *product,
                                        int64_t vector)
{
    if (!product->rest_ends)
        return (struct product_rest){0};
    return (struct product_rest){.ends = product->rest_ends + vector,
                                 .groups = product->rest_groups,
                                 .weights = product->rest_weights};
}

/* Outputs [from, to) of n pixels whose inputs lie at x. */
static void product_run_piece(const struct product_run *run, const uint8_t *x,
                              int64_t first, int64_t n, int64_t from,
                              int64_t to)
{
    const struct product *product = run->product;
    int64_t width = product->kind->lanes * product->kind->vectors;
    int64_t each =
        product->n_groups * product->kind->group * product_bytes(product);

    for (int64_t o = from; o < to; o += width)
        product->kind->run(&(struct product_strip){
            .x = x,
            .x_step = run->row,
            .n_pixels = n,
            .n_groups = product->n_groups,
            .n_outputs = to - o < width ? to - o : width,
            .weights = (const uint8_t *)product->weights + o * each,
            .rest = product_rest(product, o / product->kind->lanes),
            .first = product->first + o,
            .scale = product->scale + o,
            .bias = product->bias + o,
            .end = &product->end,
            .y = run->y + first * product->n_outputs + o,
            .y_step = product->n_outputs});
}

/* The outputs of one section, of the pixels of one part. */
static void product_run_part(const struct product_run *run, int64_t part,
                             int64_t section)
{
    const struct product *product = run->product;
    int64_t rows = product->kind->rows;
    int64_t tiles = (run->pixels + rows - 1) / rows;
    int64_t vectors = product->padded / product->kind->lanes;
    int64_t first = part * tiles / run->parts * rows;
    int64_t end = (part + 1) * tiles / run->parts * rows;
    int64_t from = section * vectors / run->sections * product->kind->lanes;
    int64_t to = (section + 1) * vectors / run->sections * product->kind->lanes;
    int64_t own = part * run->sections + section;
    uint8_t *room = run->rooms ? run->rooms + own * run->room : NULL;

    end = end < run->pixels ? end : run->pixels;
    to = to < product->n_outputs ? to : product->n_outputs;
    for (int64_t n; first < end; first += n) {
        n = end - first < run->piece ? end - first : run->piece;
        product_run_piece(run, product_take(run, first, n, room), first, n,
                          from, to);
    }
}

/* How the work is divided: pixels, or outputs where pixels are few, so that
 * every thread reads weights of its own. */
static void product_divide(struct product_run *run)
{
    enum { few_tiles = 8, near_bytes = 48 << 10, least_tiles = 4 };
    static const int64_t few_products = 1 << 18;
    const struct product *product = run->product;
    int64_t rows = product->kind->rows, threads = omp_get_max_threads();
    int64_t tiles = (run->pixels + rows - 1) / rows;
    int64_t width = product->kind->lanes * product->kind->vectors;
    int64_t blocks = (product->n_outputs + width - 1) / width;
    int64_t most = near_bytes / ((run->row + product->n_outputs) * rows);

    if (run->pixels * product->n_inputs * product->n_outputs < few_products)
        threads = 1;
    run->sections = 1;
    if (threads > 1 && tiles < few_tiles * threads)
        run->sections = blocks < threads ? blocks : threads;
    run->parts = threads / run->sections;
    if (run->parts > tiles)
        run->parts = tiles;
    tiles = (tiles + run->parts - 1) / run->parts;
    most = most < least_tiles ? least_tiles : most;
    run->piece = (tiles < most ? tiles : most) * rows;
}

enum assay_status product_run(const struct integer_job *job, const uint8_t *x,
                              uint8_t *y, struct error *err)
{
    const struct product *product = job->numbers->product;
    const struct fitted_window *window = &job->window;
    int64_t bytes = product_bytes(product);
    struct product_run run = {
        .product = product,
        .window = window,
        .x = x,
        .y = y,
        .pixels = job->job.y.dims[0] * job->job.y.dims[2] * job->job.y.dims[3],
        .x_bytes = (int64_t)tensor_elements(job->job.x),
        .channels = job->weight.dims[1],
        .row = product->n_groups * product->kind->group * bytes};
    struct tensor rooms = {0};
    struct shape shape;
    enum assay_status st = ASSAY_OK;

    run.is_plain = job->is_matrix || product_is_plain(window);
    run.is_ready = run.is_plain && product->kind->has_bytes && !product->flip &&
                   run.row == product->n_inputs;
    product_divide(&run);
    if (!run.is_ready) {
        run.room = run.piece * run.row + PRODUCT_SLACK * bytes;
        shape = shape_of(1, run.parts * run.sections * run.room);
        st = tensor_new(job->job.context->pool, DTYPE_U8, &shape, &rooms, err);
        run.rooms = st ? NULL : tensor_data(&rooms);
    }
    if (st)
        return st;
#pragma omp parallel for if (run.parts * run.sections > 1)
    for (int64_t i = 0; i < run.parts * run.sections; i++)
        product_run_part(&run, i / run.sections, i % run.sections);
    tensor_release(&rooms);
    return ASSAY_OK;
}
