/* backend/dnnl/int8_conv.c - QLinearConv and QLinearMatMul.
 *
 * Five ways, chosen for every kernel:
 *
 * - depthwise: our own kernel (int8_depthwise.c) makes the result of channels
 *   that have weights of their own. Needs constant scales, and no activation
 *   but a ReLU.
 * - product: our own kernel (int8_product.c) for one group, on the same
 *   conditions.
 * - fused: oneDNN makes the result, scales, bias, activation and rounding
 *   included. Needs constant scales, and weights that fit into int8 once their
 *   zeros are subtracted.
 * - sums: oneDNN makes the sums, a loop of ours the rest: scales are computed
 *   (dynamic quantisation), or weights are uint8 that do not fit. Those are
 *   moved by 128, and what that leaves out is a multiple of the sum of all
 *   inputs, which one more output channel of ones makes.
 * - float: before VNNI, processors add pairs of products in 16 bits, which are
 *   too few unless the weights are below 65. The integers are multiplied as
 *   float32 then, which is exact up to 2^24.
 *
 * A product of matrices is a convolution of 1 x 1 on a map whose pixels are the
 * rows. */
#include "backend/dnnl/int8_internal.h"

#include "base/mem.h"
#include "ops/ops.h"

#include <stdio.h>
#include <string.h>

static bool is_constant(const struct onednn *dn, const struct node *node,
                        size_t input)
{
    uint32_t value = input < node->n_inputs ? node->inputs[input] : GRAPH_NONE;

    return value == GRAPH_NONE ||
           (graph_value(dn->graph, value)->kind != VALUE_COMPUTED &&
            graph_value(dn->graph, value)->kind != VALUE_INPUT);
}

/* ---- weights ------------------------------------------------------------- */

static struct shape packed_shape(const struct integer_job *job)
{
    struct shape w = job->weight;

    w.dims[0] += job->numbers->has_ones;
    if (job->groups == 1)
        return w;
    return shape_of(5, job->groups, w.dims[0] / job->groups, w.dims[1],
                    w.dims[2], w.dims[3]);
}

/* Fills a tensor of int8, or of float32, as kernels want the weights. */
static enum assay_status prepare_integers(const struct job *job,
                                          struct tensor *out, struct error *err)
{
    const struct integer_job *own = (const struct integer_job *)job;
    const struct integer_numbers *numbers = own->numbers;
    enum dtype dtype = numbers->way == WAY_FLOAT ? DTYPE_F32 : DTYPE_I8;
    struct shape shape = packed_shape(own);
    int64_t each = integer_weights_each(own), n = own->weight.dims[0];
    enum assay_status st =
        tensor_new(job->context->pool, dtype, &shape, out, err);

    if (st)
        return st;
    for (int64_t o = 0; o < n; o++) {
        int move = numbers->has_ones ? (int)numbers->moves[o] : 0;

        for (int64_t i = 0; i < each; i++) {
            int w = integer_weight(own, o, i, each) - move;

            if (dtype == DTYPE_F32)
                tensor_f32(out)[o * each + i] = (float)w;
            else
                ((int8_t *)tensor_data(out))[o * each + i] = (int8_t)w;
        }
    }
    if (numbers->has_ones)
        memset((int8_t *)tensor_data(out) + n * each, 1, (size_t)each);
    return ASSAY_OK;
}

/* ---- making a kernel ----------------------------------------------------- */

void integer_numbers_free(struct integer_numbers *numbers)
{
    if (!numbers)
        return;
    mem_free(numbers->scales);
    mem_free(numbers->bias);
    mem_free(numbers->moves);
    depthwise_free(numbers->depthwise);
    product_free(numbers->product);
    mem_free(numbers);
}

static enum integer_way choose_way(const struct onednn *dn,
                                   const struct integer_job *job,
                                   bool *has_ones)
{
    static const size_t numbers[] = {
        QLINEAR_X_SCALE, QLINEAR_X_ZERO, QLINEAR_W_SCALE, QLINEAR_W_ZERO,
        QLINEAR_Y_SCALE, QLINEAR_Y_ZERO, QLINEAR_BIAS};
    enum { safe = 64 }; /* 2 * 255 * 64 is below 2^15 */
    enum integer_way way = WAY_FUSED;
    int low, high;

    integer_weights_range(job, &low, &high);
    *has_ones = low < -128 || high > 127;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (!is_constant(dn, job->job.node, numbers[i]))
            way = WAY_SUMS;
    }
    if (way == WAY_FUSED && depthwise_fits(job, !*has_ones)) {
        *has_ones = false;
        return WAY_DEPTHWISE;
    }
    if (way == WAY_FUSED && product_fits(job, !*has_ones)) {
        *has_ones = false;
        return WAY_PRODUCT;
    }
    if (*has_ones)
        way = job->groups == 1 ? WAY_SUMS : WAY_FLOAT;
    if (!onednn_sums_exactly() && (low < -safe || high > safe ||
                                   job->inputs[QLINEAR_X]->dtype != DTYPE_U8))
        way = WAY_FLOAT;
    *has_ones = *has_ones && way == WAY_SUMS;
    return way;
}

static enum assay_status make_numbers(const struct onednn *dn,
                                      const struct integer_job *job,
                                      struct integer_numbers **out,
                                      struct error *err)
{
    size_t n = (size_t)job->weight.dims[0];
    struct integer_numbers *numbers = mem_zalloc(sizeof *numbers);

    *out = numbers;
    if (!numbers)
        return error_nomem(err, sizeof *numbers, "a kernel");
    numbers->channels = (int64_t)n;
    numbers->way = choose_way(dn, job, &numbers->has_ones);
    numbers->has_bias = integer_bias(job) != NULL;
    numbers->scales = mem_array(n, sizeof(float));
    numbers->bias = mem_array(n, sizeof(float));
    numbers->moves = mem_array(n, sizeof(float));
    if (numbers->scales && numbers->bias && numbers->moves)
        return ASSAY_OK;
    integer_numbers_free(numbers);
    *out = NULL;
    return error_nomem(err, n * sizeof(float), "the scales of a kernel");
}

/* Weights of uint8 minus 128 are int8: the rest of their zero is a move. */
static void set_moves(const struct integer_job *job,
                      struct integer_numbers *numbers)
{
    const struct tensor *zeros = job->inputs[QLINEAR_W_ZERO];
    int middle = job->inputs[QLINEAR_W]->dtype == DTYPE_U8 ? 128 : 0;

    for (int64_t c = 0; numbers->has_ones && c < numbers->channels; c++)
        numbers->moves[c] = (float)(middle - integer_zero(zeros, c));
}

/* Without an activation, sums are scaled to steps at once. */
static void describe_results(const struct integer_job *job,
                             struct integer_numbers *numbers,
                             struct operation *operation,
                             struct quantisation *quantised)
{
    const struct tensor *y_scale = job->inputs[QLINEAR_Y_SCALE];
    double step = y_scale ? (double)*tensor_f32(y_scale) : 1;
    double unit = job->finish.activation ? 1 : step;
    int zero = y_scale ? integer_byte(job->inputs[QLINEAR_Y_ZERO], 0) : 0;

    for (int64_t c = 0; c < numbers->channels; c++) {
        double scale = integer_scale(job, c);

        numbers->scales[c] = (float)(scale / unit);
        numbers->bias[c] = (float)(integer_bias_at(job, c) /
                                   (onednn_scales_bias() ? scale : unit));
    }
    quantised->scales = numbers->scales;
    quantised->n_scales = numbers->channels;
    quantised->has_groups = job->groups > 1;
    quantised->unit = !y_scale || unit == step ? 1 : (float)(1 / step);
    quantised->shift = (float)zero;
    operation->has_relu = job->finish.has_relu;
    operation->relu_limit = (float)((double)job->finish.relu_limit / unit);
    operation->activation = job->finish.activation;
    operation->slope = job->finish.slope;
}

/* Types of what a way reads and makes. */
static enum dtype way_reads(const struct integer_job *job)
{
    return job->numbers->way == WAY_FLOAT ? DTYPE_F32
                                          : job->inputs[QLINEAR_X]->dtype;
}

static enum dtype way_makes(const struct integer_job *job, enum dtype result)
{
    switch (job->numbers->way) {
    case WAY_DEPTHWISE:
    case WAY_PRODUCT:
    case WAY_FUSED:
        return result;
    case WAY_SUMS:
        return DTYPE_I32;
    case WAY_FLOAT:
        break;
    }
    return DTYPE_F32;
}

static struct shape sums_shape(const struct integer_job *job)
{
    struct shape shape = job->job.y;

    shape.dims[1] += job->numbers->has_ones;
    return shape;
}

static void describe_window(const struct integer_job *job,
                            struct operation *operation)
{
    for (int i = 0; i < 2; i++) {
        operation->stride[i] = job->window.stride[1 + i];
        operation->gaps[i] = job->window.dilation[1 + i] - 1;
        operation->before[i] = job->window.before[1 + i];
        operation->after[i] = job->window.after[1 + i];
    }
}

static bool note_first(const char *name, const struct layout *y, void *context)
{
    struct candidate *first = context;

    (void)y;
    snprintf(first->name, sizeof first->name, "integers %s", name);
    return false;
}

/* What runs, for those who ask: the library's first choice. */
static enum assay_status name_kernel(struct onednn *dn,
                                     const struct operation *operation,
                                     struct kernel *kernel, struct error *err)
{
    static const char *const ways[] = {
        [WAY_FUSED] = "one step",
        [WAY_SUMS] = "sums first",
        [WAY_FLOAT] = "multiplied as float32",
    };
    return onednn_list(
        dn, operation, note_first,
        kernel_sole_candidate(kernel, ways[kernel->integers->way]), err);
}

static enum assay_status make_kernel(struct onednn *dn, struct integer_job *job,
                                     enum dtype result, struct kernel **out,
                                     struct error *err)
{
    struct quantisation quantised = {
        .has_zero = job->inputs[QLINEAR_X_ZERO] != NULL, .unit = 1};
    struct operation operation = {.kind = OPERATION_CONVOLUTION};
    struct shape bias = shape_of(1, job->weight.dims[0]);
    struct shape w, y;
    struct job *own = &job->job;
    enum assay_status st = make_numbers(dn, job, &job->numbers, err);

    if (st)
        return st;
    if (job->numbers->way <= WAY_PRODUCT) {
        st = job->numbers->way == WAY_PRODUCT
                 ? product_kernel(dn, job, result, out, err)
                 : depthwise_kernel(dn, job, result, out, err);
        if (st)
            integer_numbers_free(job->numbers);
        return st;
    }
    set_moves(job, job->numbers);
    w = packed_shape(job);
    y = sums_shape(job);
    operation.src = int8_layout(dn, way_reads(job), &own->x->shape);
    operation.dst = int8_layout(dn, way_makes(job, result), &y);
    operation.weights =
        layout_typed(dn, job->numbers->way == WAY_FLOAT ? DTYPE_F32 : DTYPE_I8,
                     &w, ORDER_ANY);
    describe_window(job, &operation);
    if (job->numbers->way == WAY_FUSED) {
        describe_results(job, job->numbers, &operation, &quantised);
        if (job->numbers->has_bias)
            operation.bias = layout_dense(dn, &bias);
    }
    own->has_relu = operation.has_relu;
    own->relu_limit = operation.relu_limit;
    own->activation = operation.activation;
    own->slope = operation.slope;
    operation.quantised = job->numbers->way == WAY_FLOAT ? NULL : &quantised;
    st = kernel_make(dn, own, &operation, NULL, out, err);
    if (st) {
        integer_numbers_free(job->numbers);
        return st;
    }
    (*out)->integers = job->numbers;
    kernel_keep(dn, own, *out);
    return name_kernel(dn, &operation, *out, err);
}

size_t integer_arguments(struct onednn *dn, const struct kernel *kernel,
                         struct argument *arguments)
{
    struct integer_numbers *numbers = kernel->integers;
    struct shape one, channels;
    size_t n = 0;

    if (!numbers || numbers->way == WAY_FLOAT)
        return 0;
    one = shape_of(1, (int64_t)1);
    channels = shape_of(1, numbers->channels);
    arguments[n++] = (struct argument){
        .role = ROLE_SRC_ZERO,
        .layout = layout_typed(dn, DTYPE_I32, &one, ORDER_DENSE),
        .data = &numbers->src_zero};
    if (numbers->way == WAY_SUMS)
        return n;
    arguments[n++] = (struct argument){.role = ROLE_SCALES,
                                       .layout = layout_dense(dn, &channels),
                                       .data = numbers->scales};
    if (numbers->has_bias)
        arguments[n++] =
            (struct argument){.role = ROLE_BIAS,
                              .layout = layout_dense(dn, &channels),
                              .data = numbers->bias};
    return n;
}

/* ---- running ------------------------------------------------------------- */

/* x with its channels last, and for WAY_FLOAT minus its zero. */
static enum assay_status make_source(struct onednn *dn,
                                     const struct integer_job *job,
                                     const struct kernel *kernel,
                                     struct tensor *out, struct error *err)
{
    const struct tensor *x = job->job.x;
    struct pool *pool = job->job.context->pool;
    struct tensor last;
    size_t n = tensor_elements(x);
    enum assay_status st = layout_convert(
        dn, pool, x, int8_layout(dn, x->dtype, &x->shape), &last, err);

    if (st || job->numbers->way != WAY_FLOAT) {
        *out = last;
        return st;
    }
    st = layout_tensor(pool, kernel->src, &x->shape, out, err);
    if (!st) {
        int zero = integer_byte(job->inputs[QLINEAR_X_ZERO], 0);
        enum { part = 1 << 14 };

#pragma omp parallel for
        for (size_t at = 0; at < n; at += part)
            dequantize_row(x->dtype, (const uint8_t *)tensor_data(&last) + at,
                           tensor_f32(out) + at, n - at < part ? n - at : part,
                           1, zero);
    }
    tensor_release(&last);
    return st;
}

/* With a primitive: it makes y, or the sums that become y. */
static enum assay_status
integer_run_primitive(struct onednn *dn, struct integer_job *job,
                      const struct kernel *kernel, const struct tensor *x,
                      const struct tensor *y, struct error *err)
{
    struct shape sums_of = sums_shape(job);
    struct tensor sums = {0};
    struct buffer *held = NULL;
    struct operands operands = {.src = tensor_data(x), .dst = tensor_data(y)};
    enum assay_status st = ASSAY_OK;

    if (job->numbers->way != WAY_FUSED) {
        st = layout_tensor(job->job.context->pool, kernel->dst, &sums_of, &sums,
                           err);
        operands.dst = st ? NULL : tensor_data(&sums);
    }
    if (!st)
        st = packed_get(dn, &job->job, kernel, &held, &operands.weights, err);
    if (!st)
        st = kernel_execute(dn, &job->job, kernel, &operands, err);
    if (!st && sums.buffer)
        integer_finish(job, &sums, y);
    buffer_release(held);
    tensor_release(&sums);
    return st;
}

/* From x in its layout to y in its own, in the kernel's way. */
static enum assay_status
integer_run_way(struct onednn *dn, struct integer_job *job,
                const struct kernel *kernel, const struct tensor *x,
                const struct tensor *y, struct error *err)
{
    switch (job->numbers->way) {
    case WAY_DEPTHWISE:
        depthwise_run(job->numbers->depthwise, &job->window,
                      job->job.x->shape.dims[0], tensor_data(x),
                      tensor_data(y));
        return ASSAY_OK;
    case WAY_PRODUCT:
        return product_run(job, tensor_data(x), tensor_data(y), err);
    case WAY_FUSED:
    case WAY_SUMS:
    case WAY_FLOAT:
        break;
    }
    return integer_run_primitive(dn, job, kernel, x, y, err);
}

static enum assay_status integer_run(struct onednn *dn, struct integer_job *job,
                                     struct kernel *kernel, struct tensor *y,
                                     struct error *err)
{
    const struct layout *layout = int8_layout(dn, y->dtype, &job->job.y);
    struct tensor x = {0};
    enum assay_status st = make_source(dn, job, kernel, &x, err);

    kernel->integers->src_zero = integer_byte(job->inputs[QLINEAR_X_ZERO], 0);
    if (!st)
        st = layout_tensor(job->job.context->pool, layout, &job->job.y, y, err);
    if (!st)
        st = integer_run_way(dn, job, kernel, &x, y, err);
    tensor_release(&x);
    if (st)
        tensor_release(y);
    return st;
}

static enum assay_status integer_convolve(struct onednn *dn,
                                          struct integer_job *job,
                                          struct tensor *y, struct error *err)
{
    struct kernel *kernel = kernel_find(dn, &job->job);
    struct shape w;
    enum assay_status st = ASSAY_OK;

    if (kernel)
        job->numbers = kernel->integers;
    else
        st = make_kernel(dn, job, y->dtype, &kernel, err);
    if (st)
        return st;
    w = packed_shape(job);
    job->job.weight = job->inputs[QLINEAR_W];
    job->job.weight_value = job->job.node->inputs[QLINEAR_W];
    job->job.prepare = prepare_integers;
    job->job.weight_layout =
        layout_typed(dn, job->numbers->way == WAY_FLOAT ? DTYPE_F32 : DTYPE_I8,
                     &w, ORDER_DENSE);
    return integer_run(dn, job, kernel, y, err);
}

/* Inputs that all ways take. */
static bool takes_numbers(const struct onednn *dn, const struct node *node,
                          const struct tensor *const *inputs, int64_t channels)
{
    const struct tensor *w_scale = inputs[QLINEAR_W_SCALE];
    const struct tensor *w_zero = inputs[QLINEAR_W_ZERO];
    const struct tensor *x_zero = inputs[QLINEAR_X_ZERO];
    const struct tensor *y_scale = inputs[QLINEAR_Y_SCALE];
    const struct tensor *bias =
        node->n_inputs > QLINEAR_BIAS ? inputs[QLINEAR_BIAS] : NULL;
    int64_t scales = (int64_t)tensor_elements(w_scale);

    return integer_is_byte(inputs[QLINEAR_X]) &&
           integer_is_byte(inputs[QLINEAR_W]) &&
           is_constant(dn, node, QLINEAR_W) &&
           is_constant(dn, node, QLINEAR_W_ZERO) &&
           inputs[QLINEAR_X_SCALE]->dtype == DTYPE_F32 &&
           tensor_elements(inputs[QLINEAR_X_SCALE]) == 1 &&
           w_scale->dtype == DTYPE_F32 && (scales == 1 || scales == channels) &&
           (!w_zero || (integer_is_byte(w_zero) &&
                        (tensor_elements(w_zero) == 1 ||
                         (int64_t)tensor_elements(w_zero) == channels))) &&
           (!x_zero ||
            (integer_is_byte(x_zero) && tensor_elements(x_zero) == 1)) &&
           (!y_scale ||
            (y_scale->dtype == DTYPE_F32 && tensor_elements(y_scale) == 1 &&
             integer_is_byte(inputs[QLINEAR_Y_ZERO]))) &&
           (!bias || ((bias->dtype == DTYPE_F32 || bias->dtype == DTYPE_I32) &&
                      (int64_t)tensor_elements(bias) == channels));
}

bool int8_conv_takes(const struct onednn *dn, const struct node *node,
                     const struct tensor *const *inputs)
{
    const struct quantized_conv_attrs *attrs = node->attrs;
    const struct tensor *w = inputs[QLINEAR_W];

    return attrs->window.rank == 2 && inputs[QLINEAR_X]->shape.rank == 4 &&
           w->shape.rank == 4 && tensor_elements(inputs[QLINEAR_X]) > 0 &&
           tensor_elements(w) > 0 &&
           (!attrs->finish.activation || w->shape.dims[0] <= INTEGER_PIECE) &&
           takes_numbers(dn, node, inputs, w->shape.dims[0]);
}

enum assay_status int8_conv(struct onednn *dn, struct job *job,
                            const struct tensor *const *inputs,
                            struct tensor *outputs, struct error *err)
{
    const struct quantized_conv_attrs *attrs = job->node->attrs;
    struct integer_job own = {.job = *job,
                              .inputs = inputs,
                              .groups = attrs->groups,
                              .finish = attrs->finish,
                              .weight = inputs[QLINEAR_W]->shape};
    struct window window = attrs->window;
    enum assay_status st;

    for (int i = 0; i < 2; i++)
        window.kernel[i] = own.weight.dims[2 + i];
    st = window_fit(&window, &inputs[QLINEAR_X]->shape, &own.window, err);
    return st ? st : integer_convolve(dn, &own, outputs, err);
}

/* ---- products of matrices ------------------------------------------------ */

bool int8_matmul_takes(const struct onednn *dn, const struct node *node,
                       const struct tensor *const *inputs)
{
    const struct tensor *x = inputs[QLINEAR_X], *w = inputs[QLINEAR_W];

    return x->shape.rank > 1 && !x->layout && w->shape.rank == 2 &&
           tensor_elements(x) > 0 && tensor_elements(w) > 0 &&
           takes_numbers(dn, node, inputs, w->shape.dims[1]);
}

enum assay_status int8_matmul(struct onednn *dn, struct job *job,
                              const struct tensor *const *inputs,
                              struct tensor *outputs, struct error *err)
{
    const struct shape *w = &inputs[QLINEAR_W]->shape;
    struct tensor x = *inputs[QLINEAR_X];
    struct shape y = outputs[0].shape;
    int64_t k = w->dims[0], n = w->dims[1];
    int64_t rows = (int64_t)tensor_elements(&x) / k;
    struct integer_job own = {.job = *job,
                              .inputs = inputs,
                              .groups = 1,
                              .weight =
                                  shape_of(4, n, k, (int64_t)1, (int64_t)1),
                              .is_matrix = true};
    const struct layout *layout;
    enum assay_status st;

    for (int i = 0; i < WINDOW_MAX_RANK; i++)
        own.window.kernel[i] = own.window.stride[i] = own.window.dilation[i] =
            1;
    x.shape = shape_of(4, (int64_t)1, k, (int64_t)1, rows);
    layout = int8_layout(dn, x.dtype, &x.shape);
    x.layout = layout->order == ORDER_DENSE ? NULL : layout;
    own.job.x = &x;
    own.job.y = shape_of(4, (int64_t)1, n, (int64_t)1, rows);
    st = integer_convolve(dn, &own, outputs, err);
    if (!st) {
        outputs[0].shape = y;
        outputs[0].layout = NULL;
    }
    return st;
}
