/* backend/cuda/cuda_quantize.c - launches kernels/quantize.cu: numbers of 8
 * bits, and products of them. */
#include "backend/cuda/cuda_ops.h"

#include "backend/cuda/cuda_walk.h"
#include "ops/ops.h"
#include "ops/product/quantize.h"

#include <string.h>

/* Products of so many terms fit into 32 bits. */
enum { most_terms = 32768 };

static bool is_small(const struct tensor *x)
{
    return x->dtype == DTYPE_U8 || x->dtype == DTYPE_I8;
}

static size_t small_count(const struct tensor *x)
{
    return x ? tensor_elements(x) : 0;
}

/* ---- QuantizeLinear, DequantizeLinear, Lookup ---------------------------- */

/* In the order of the inputs: x, scale, zero. */
enum { quantize_x, quantize_scale, quantize_zero };

/* The runs of elements that share a scale; false where scales do not fit. */
static bool quantize_runs(const struct node *node,
                          const struct tensor *const *inputs, int64_t *run,
                          int64_t *n_scales)
{
    const struct quantize_attrs *attrs = node->attrs;
    const struct shape *x = &inputs[quantize_x]->shape;
    const struct tensor *zero =
        node->n_inputs > quantize_zero ? inputs[quantize_zero] : NULL;
    int axis = cuda_axis(attrs->axis, x->rank);

    *run = 1;
    *n_scales = (int64_t)tensor_elements(inputs[quantize_scale]);
    if (attrs->block || inputs[quantize_scale]->dtype != DTYPE_F32 ||
        *n_scales < 1 || (zero && small_count(zero) != (size_t)*n_scales))
        return false;
    if (*n_scales == 1)
        return true;
    if (axis < 0 || axis >= x->rank || x->dims[axis] != *n_scales)
        return false;
    *run = cuda_span(x, axis + 1, x->rank);
    return *run > 0;
}

bool cuda_can_quantize(const struct cuda *cuda, const struct node *node,
                       const struct tensor *const *inputs)
{
    const struct quantize_attrs *attrs = node->attrs;
    const struct tensor *zero =
        node->n_inputs > quantize_zero ? inputs[quantize_zero] : NULL;
    bool is_back = node->op == &op_dequantize_linear;
    enum dtype few = attrs->has_dtype ? attrs->dtype : DTYPE_U8;
    int64_t run, n_scales;

    (void)cuda;
    if (zero && !is_small(zero))
        return false;
    if (is_back)
        return is_small(inputs[quantize_x]) &&
               (!attrs->has_dtype || attrs->dtype == DTYPE_F32) &&
               (!zero || zero->dtype == inputs[quantize_x]->dtype) &&
               quantize_runs(node, inputs, &run, &n_scales);
    return inputs[quantize_x]->dtype == DTYPE_F32 &&
           (zero || few == DTYPE_U8 || few == DTYPE_I8) &&
           quantize_runs(node, inputs, &run, &n_scales);
}

enum assay_status cuda_run_quantize(struct cuda_call *call)
{
    bool is_back = call->node->op == &op_dequantize_linear;
    enum assay_status st = cuda_output(call, 0, NULL);
    const struct tensor *y = &call->outputs[0];
    cu_pointer x = cuda_at(call->inputs[quantize_x]);
    cu_pointer scales = cuda_at(call->inputs[quantize_scale]);
    cu_pointer zeros = cuda_at(cuda_input(call, quantize_zero));
    cu_pointer to = cuda_at(y);
    int64_t n = (int64_t)tensor_elements(y), run, n_scales;
    int type = (int)(is_back ? call->inputs[quantize_x]->dtype : y->dtype);

    if (st || !n || !quantize_runs(call->node, call->inputs, &run, &n_scales))
        return st;
    return CUDA_LAUNCH(call, "quantize", is_back ? "dequantize" : "quantize",
                       cuda_grid_for(call->cuda->device, (size_t)n, 2), x,
                       scales, zeros, to, n, run, n_scales, type);
}

/* Outputs: the numbers, their scale and their zero. Where all are 0 the scale
 * is 0, and 0 / 0 becomes the least number, which is 0 too. */
enum assay_status cuda_run_dynamic_quantize(struct cuda_call *call)
{
    enum { numbers, step, middle, threads = 256, each = 4096 };
    struct cuda_device *device = call->cuda->device;
    int64_t n = (int64_t)tensor_elements(call->inputs[0]);
    int64_t most = 2 * (int64_t)device->n_multiprocessors;
    int n_parts = (int)(n / each < most ? n / each + 1 : most);
    struct cuda_grid grid = {(unsigned)n_parts, 1, 1, threads, 0};
    int64_t run = n + !n, n_scales = 1;
    int type = DTYPE_U8;
    struct buffer *made = NULL;
    cu_pointer x = cuda_at(call->inputs[0]), parts, scale, zero, y;
    enum assay_status st =
        cuda_scratch(call, (size_t)n_parts * 2 * sizeof(float), &made);

    for (size_t i = 0; !st && i < call->node->n_outputs; i++)
        st = cuda_output(call, i, NULL);
    if (!st) {
        parts = (cu_pointer)(uintptr_t)buffer_data(made);
        scale = cuda_at(&call->outputs[step]);
        zero = cuda_at(&call->outputs[middle]);
        y = cuda_at(&call->outputs[numbers]);
        st = CUDA_LAUNCH(call, "quantize", "range_parts", grid, x, parts, n);
        grid.x = 1;
        if (!st)
            st = CUDA_LAUNCH(call, "quantize", "range_choose", grid, parts,
                             n_parts, scale, zero);
        if (!st && n)
            st = CUDA_LAUNCH(call, "quantize", "quantize",
                             cuda_grid_for(device, (size_t)n, 2), x, scale,
                             zero, y, n, run, n_scales, type);
    }
    buffer_release(made);
    return st;
}

bool cuda_can_lookup(const struct cuda *cuda, const struct node *node,
                     const struct tensor *const *inputs)
{
    (void)cuda, (void)node;
    return is_small(inputs[0]) && inputs[1] && is_small(inputs[1]);
}

enum assay_status cuda_run_lookup(struct cuda_call *call)
{
    enum assay_status st = cuda_output(call, 0, NULL);
    cu_pointer x = cuda_at(call->inputs[0]), table = cuda_at(call->inputs[1]);
    cu_pointer y = cuda_at(&call->outputs[0]);
    int64_t n = (int64_t)tensor_elements(&call->outputs[0]);
    int type = (int)call->inputs[0]->dtype;

    return st || !n
               ? st
               : CUDA_LAUNCH(call, "quantize", "lookup",
                             cuda_grid_for(call->cuda->device, (size_t)n, 4), x,
                             table, y, n, type);
}

/* ---- QLinearAdd, QLinearMul ---------------------------------------------- */

struct scaled {
    cu_pointer data, scale, zero;
    int type;
};

/* A single scale and zero, the zero of the numbers' own type. */
static bool quantize_has_scale(const struct tensor *const *inputs, size_t scale,
                               enum dtype dtype)
{
    const struct tensor *s = inputs[scale], *z = inputs[scale + 1];

    return s && z && s->dtype == DTYPE_F32 && tensor_elements(s) == 1 &&
           tensor_elements(z) == 1 && z->dtype == dtype;
}

bool cuda_can_qlinear_pair(const struct cuda *cuda, const struct node *node,
                           const struct tensor *const *inputs)
{
    const struct tensor *a = inputs[QLINEAR_X], *b = inputs[QLINEAR_W];

    (void)cuda, (void)node;
    return is_small(a) && is_small(b) && shape_equal(&a->shape, &b->shape) &&
           quantize_has_scale(inputs, QLINEAR_X_SCALE, a->dtype) &&
           quantize_has_scale(inputs, QLINEAR_W_SCALE, b->dtype) &&
           inputs[QLINEAR_Y_ZERO] && is_small(inputs[QLINEAR_Y_ZERO]) &&
           quantize_has_scale(inputs, QLINEAR_Y_SCALE,
                              inputs[QLINEAR_Y_ZERO]->dtype);
}

static struct scaled scaled_of(const struct cuda_call *call,
                               const struct tensor *x, size_t scale)
{
    return (struct scaled){cuda_at(x), cuda_at(call->inputs[scale]),
                           cuda_at(call->inputs[scale + 1]), (int)x->dtype};
}

enum assay_status cuda_run_qlinear_pair(struct cuda_call *call)
{
    enum assay_status st = cuda_output(call, 0, NULL);
    struct scaled a = scaled_of(call, call->inputs[QLINEAR_X], QLINEAR_X_SCALE);
    struct scaled b = scaled_of(call, call->inputs[QLINEAR_W], QLINEAR_W_SCALE);
    struct scaled y = scaled_of(call, &call->outputs[0], QLINEAR_Y_SCALE);
    int64_t n = (int64_t)tensor_elements(&call->outputs[0]);
    int is_product = call->node->op == &op_qlinear_mul;

    return st || !n
               ? st
               : CUDA_LAUNCH(call, "quantize", "qlinear_pair",
                             cuda_grid_for(call->cuda->device, (size_t)n, 2), a,
                             b, y, n, is_product);
}

/* ---- products ------------------------------------------------------------ */

struct quantized_result {
    cu_pointer a_scale, b_scale, y_scale, y_zero, bias;
    int64_t n_scales;
    cu_pointer y;
    int type;
    int bias_is_real, has_relu;
    float limit;
};

struct quantized_factors {
    cu_pointer a, a_zero, b, b_zero;
    int a_type, b_type;
    int64_t n_zeros;
};

/* Where a node has its inputs; those of results are scaled ones only. */
struct product_inputs {
    const struct tensor *a, *a_zero, *b, *b_zero;
    const struct tensor *a_scale, *b_scale, *y_scale, *y_zero, *bias;
};

static struct product_inputs product_of(const struct node *node,
                                        const struct tensor *const *inputs)
{
    bool is_plain =
        node->op == &op_matmul_integer || node->op == &op_conv_integer;
    const struct tensor *all[QLINEAR_INPUTS] = {NULL};

    for (size_t i = 0; i < node->n_inputs && i < QLINEAR_INPUTS; i++)
        all[i] = inputs[i];
    if (is_plain)
        return (struct product_inputs){
            .a = all[0], .b = all[1], .a_zero = all[2], .b_zero = all[3]};
    return (struct product_inputs){.a = all[QLINEAR_X],
                                   .a_zero = all[QLINEAR_X_ZERO],
                                   .b = all[QLINEAR_W],
                                   .b_zero = all[QLINEAR_W_ZERO],
                                   .a_scale = all[QLINEAR_X_SCALE],
                                   .b_scale = all[QLINEAR_W_SCALE],
                                   .y_scale = all[QLINEAR_Y_SCALE],
                                   .y_zero = all[QLINEAR_Y_ZERO],
                                   .bias = all[QLINEAR_BIAS]};
}

static bool is_one_or(const struct tensor *x, int64_t n)
{
    return !x || tensor_elements(x) == 1 || tensor_elements(x) == (size_t)n;
}

/* Types and counts that the kernels know. */
static bool can_product(const struct product_inputs *in, int64_t channels,
                        int64_t terms)
{
    const struct tensor *scales[] = {in->a_scale, in->b_scale, in->y_scale};

    if (!in->a || !in->b || !is_small(in->a) || !is_small(in->b) ||
        terms > most_terms || channels < 1)
        return false;
    if ((in->a_zero && (in->a_zero->dtype != in->a->dtype ||
                        tensor_elements(in->a_zero) != 1)) ||
        (in->b_zero && in->b_zero->dtype != in->b->dtype) ||
        !is_one_or(in->b_zero, channels))
        return false;
    for (size_t i = 0; i < 3; i++) {
        if (scales[i] && scales[i]->dtype != DTYPE_F32)
            return false;
    }
    if (small_count(in->a_scale) > 1 || small_count(in->y_scale) > 1 ||
        !is_one_or(in->b_scale, channels) ||
        (in->y_zero && (!is_small(in->y_zero) || !in->y_scale)))
        return false;
    return !in->bias ||
           (tensor_elements(in->bias) == (size_t)channels &&
            (in->bias->dtype == DTYPE_F32 || in->bias->dtype == DTYPE_I32));
}

static struct quantized_factors factors_of(const struct product_inputs *in)
{
    return (struct quantized_factors){
        .a = cuda_at(in->a),
        .a_zero = cuda_at(in->a_zero),
        .b = cuda_at(in->b),
        .b_zero = cuda_at(in->b_zero),
        .a_type = (int)in->a->dtype,
        .b_type = (int)in->b->dtype,
        .n_zeros = (int64_t)(in->b_zero ? tensor_elements(in->b_zero) : 1)};
}

static struct quantized_result result_of(const struct product_inputs *in,
                                         const struct tensor *y)
{
    return (struct quantized_result){
        .a_scale = cuda_at(in->a_scale),
        .b_scale = cuda_at(in->b_scale),
        .y_scale = cuda_at(in->y_scale),
        .y_zero = cuda_at(in->y_zero),
        .bias = cuda_at(in->bias),
        .n_scales = (int64_t)(in->b_scale ? tensor_elements(in->b_scale) : 1),
        .y = cuda_at(y),
        .type = (int)y->dtype,
        .bias_is_real = in->bias && in->bias->dtype == DTYPE_F32};
}

/* a of any rank, b a matrix: the weights. */
bool cuda_can_quantized_matmul(const struct cuda *cuda, const struct node *node,
                               const struct tensor *const *inputs)
{
    struct product_inputs in = product_of(node, inputs);

    (void)cuda;
    return in.a && in.b && in.a->shape.rank >= 2 && in.b->shape.rank == 2 &&
           can_product(&in, in.b->shape.dims[1], in.b->shape.dims[0]);
}

enum assay_status cuda_run_quantized_matmul(struct cuda_call *call)
{
    struct product_inputs in = product_of(call->node, call->inputs);
    enum assay_status st = cuda_output(call, 0, NULL);
    struct quantized_factors factors = factors_of(&in);
    struct quantized_result result = result_of(&in, &call->outputs[0]);
    int64_t k = in.b->shape.dims[0], columns = in.b->shape.dims[1];
    int64_t n = (int64_t)tensor_elements(&call->outputs[0]);
    int64_t rows = n / columns;

    return st || !n
               ? st
               : CUDA_LAUNCH(call, "quantize", "quantized_matmul",
                             cuda_grid_for(call->cuda->device, (size_t)n, 1),
                             factors, rows, k, columns, result);
}

bool cuda_can_quantized_conv(const struct cuda *cuda, const struct node *node,
                             const struct tensor *const *inputs)
{
    const struct quantized_conv_attrs *attrs = node->attrs;
    struct product_inputs in = product_of(node, inputs);

    (void)cuda;
    return in.a && in.b && in.b->shape.rank >= 3 && attrs->groups > 0 &&
           !attrs->finish.activation &&
           can_product(&in, in.b->shape.dims[0],
                       cuda_span(&in.b->shape, 1, in.b->shape.rank));
}

enum assay_status cuda_run_quantized_conv(struct cuda_call *call)
{
    const struct quantized_conv_attrs *attrs = call->node->attrs;
    struct product_inputs in = product_of(call->node, call->inputs);
    enum assay_status st = cuda_output(call, 0, NULL);
    struct quantized_factors factors = factors_of(&in);
    struct quantized_result result = result_of(&in, &call->outputs[0]);
    const struct shape *w = &in.b->shape;
    int64_t n = in.a->shape.dims[0], outputs = w->dims[0];
    int64_t channels = w->dims[1], groups = attrs->groups;
    size_t elements = tensor_elements(&call->outputs[0]);
    struct window window = attrs->window;
    struct fitted_window fitted;

    for (int i = 0; i < window.rank && 2 + i < w->rank; i++)
        window.kernel[i] = w->dims[2 + i];
    if (!st)
        st = window_fit(&window, &in.a->shape, &fitted, call->err);
    if (st || !elements)
        return st;
    result.has_relu = attrs->finish.has_relu;
    result.limit = attrs->finish.relu_limit;
    return CUDA_LAUNCH(call, "quantize", "quantized_conv",
                       cuda_grid_for(call->cuda->device, elements, 1), factors,
                       fitted, n, outputs, channels, groups, result);
}
