/* backend/dnnl/int8_ops.c - see int8_internal.h: which kernel takes a node, and
 * those that treat every number alone. */
#include "backend/dnnl/int8_internal.h"

#include "ops/ops.h"
#include "ops/product/quantize.h"

enum { int8_piece = 1 << 14 };

static const struct {
    const struct op_class *op;
    int8_takes_op *takes;
    int8_forward_op *forward;
} int8_kernels[] = {
    {&op_qlinear_conv, int8_conv_takes, int8_conv},
    {&op_qlinear_matmul, int8_matmul_takes, int8_matmul},
    {&op_quantize_linear, int8_quantize_takes, int8_quantize},
    {&op_dequantize_linear, int8_dequantize_takes, int8_dequantize},
    {&op_dynamic_quantize_linear, int8_dynamic_takes, int8_dynamic},
    {&op_lookup, int8_lookup_takes, int8_lookup},
    {&op_qlinear_add, int8_binary_takes, int8_binary},
    {&op_qlinear_mul, int8_binary_takes, int8_binary},
    {&op_concat, int8_concat_takes, int8_concat},
    {&op_split, int8_split_takes, int8_split},
    {&op_max_pool2d, int8_map_takes, int8_max_pool},
    {&op_resize, int8_resize_takes, int8_resize},
};

enum { n_int8_kernels = sizeof int8_kernels / sizeof *int8_kernels };

static size_t int8_find(const struct onednn *dn, const struct node *node,
                        const struct tensor *const *inputs)
{
    size_t i = 0;

    if (dn->options.is_training)
        return n_int8_kernels;
    while (i < n_int8_kernels && int8_kernels[i].op != node->op)
        i++;
    return i < n_int8_kernels && int8_kernels[i].takes(dn, node, inputs)
               ? i
               : n_int8_kernels;
}

bool onednn_takes_int8(const struct onednn *dn, const struct node *node,
                       const struct tensor *const *inputs)
{
    return int8_find(dn, node, inputs) < n_int8_kernels;
}

enum assay_status onednn_run_int8(struct onednn *dn, struct job *job,
                                  const struct tensor *const *inputs,
                                  struct tensor *outputs, struct error *err)
{
    return int8_kernels[int8_find(dn, job->node, inputs)].forward(
        dn, job, inputs, outputs, err);
}

/* ---- layouts ------------------------------------------------------------- */

const struct layout *int8_layout(struct onednn *dn, enum dtype dtype,
                                 const struct shape *shape)
{
    return layout_typed(dn, dtype, shape,
                        shape->rank == 4 ? ORDER_CHANNELS_LAST : ORDER_DENSE);
}

bool int8_is_last(const struct tensor *tensor)
{
    return tensor->layout && tensor->shape.rank == 4 &&
           tensor->layout->order == ORDER_CHANNELS_LAST;
}

static bool int8_is_byte(const struct tensor *tensor)
{
    return tensor->dtype == DTYPE_U8 || tensor->dtype == DTYPE_I8;
}

/* An output whose elements lie as those of x. */
static enum assay_status int8_like(struct onednn *dn, const struct job *job,
                                   const struct tensor *x, struct tensor *y,
                                   struct error *err)
{
    struct shape shape = x->shape;
    enum dtype dtype = y->dtype;

    if (!x->layout)
        return tensor_new(job->context->pool, dtype, &shape, y, err);
    return layout_tensor(job->context->pool,
                         layout_typed(dn, dtype, &shape, x->layout->order),
                         &shape, y, err);
}

/* x as it is, or with its channels last where its blocks have gaps. */
static enum assay_status int8_plain(struct onednn *dn, const struct job *job,
                                    struct tensor *out, struct error *err)
{
    const struct tensor *x = job->x;

    if (!x->layout || int8_is_last(x)) {
        *out = tensor_share(x);
        return ASSAY_OK;
    }
    return layout_convert(dn, job->context->pool, x,
                          int8_layout(dn, x->dtype, &x->shape), out, err);
}

/* ---- quantising ---------------------------------------------------------- */

/* A scale and a zero for all; the zero of 8 bits, or left out. */
static bool int8_has_step(const struct node *node,
                          const struct tensor *const *inputs)
{
    const struct quantize_attrs *attrs = node->attrs;
    const struct tensor *zero = node->n_inputs > 2 ? inputs[2] : NULL;

    return !attrs->block && inputs[1]->dtype == DTYPE_F32 &&
           tensor_elements(inputs[1]) == 1 && zero && int8_is_byte(zero) &&
           tensor_elements(zero) == 1;
}

static int int8_zero(const struct tensor *zero)
{
    return zero->dtype == DTYPE_U8 ? *(const uint8_t *)tensor_data(zero)
                                   : *(const int8_t *)tensor_data(zero);
}

bool int8_quantize_takes(const struct onednn *dn, const struct node *node,
                         const struct tensor *const *inputs)
{
    (void)dn;
    return inputs[0]->dtype == DTYPE_F32 && inputs[0]->layout &&
           inputs[0]->shape.rank == 4 && int8_has_step(node, inputs);
}

bool int8_dequantize_takes(const struct onednn *dn, const struct node *node,
                           const struct tensor *const *inputs)
{
    const struct quantize_attrs *attrs = node->attrs;

    (void)dn;
    return int8_is_byte(inputs[0]) && int8_is_last(inputs[0]) &&
           (!attrs->has_dtype || attrs->dtype == DTYPE_F32) &&
           int8_has_step(node, inputs);
}

bool int8_dynamic_takes(const struct onednn *dn, const struct node *node,
                        const struct tensor *const *inputs)
{
    (void)dn, (void)node;
    return inputs[0]->dtype == DTYPE_F32 &&
           (!inputs[0]->layout || inputs[0]->shape.rank == 4);
}

static void int8_quantise_all(const struct tensor *x, const struct tensor *y,
                              float scale, int zero)
{
    size_t n = tensor_elements(x);

#pragma omp parallel for if (n > int8_piece)
    for (size_t at = 0; at < n; at += int8_piece)
        quantize_row(y->dtype, tensor_f32(x) + at,
                     (uint8_t *)tensor_data(y) + at,
                     n - at < int8_piece ? n - at : int8_piece, scale, zero);
}

enum assay_status int8_quantize(struct onednn *dn, struct job *job,
                                const struct tensor *const *inputs,
                                struct tensor *outputs, struct error *err)
{
    struct tensor x;
    enum assay_status st = int8_plain(dn, job, &x, err);

    if (!st)
        st = int8_like(dn, job, &x, outputs, err);
    if (!st)
        int8_quantise_all(&x, outputs, *tensor_f32(inputs[1]),
                          int8_zero(inputs[2]));
    tensor_release(&x);
    return st;
}

enum assay_status int8_dequantize(struct onednn *dn, struct job *job,
                                  const struct tensor *const *inputs,
                                  struct tensor *outputs, struct error *err)
{
    const struct tensor *x = inputs[0];
    size_t n = tensor_elements(x);
    float scale = *tensor_f32(inputs[1]);
    int zero = int8_zero(inputs[2]);
    enum assay_status st = int8_like(dn, job, x, outputs, err);

    if (st)
        return st;
#pragma omp parallel for if (n > int8_piece)
    for (size_t at = 0; at < n; at += int8_piece)
        dequantize_row(x->dtype, (const uint8_t *)tensor_data(x) + at,
                       tensor_f32(outputs) + at,
                       n - at < int8_piece ? n - at : int8_piece, scale, zero);
    return ASSAY_OK;
}

/* Each part is one thread's; none waits for another. */
static void int8_find_range(const struct tensor *x, float *low, float *high)
{
    enum { most_parts = 64 };
    size_t n = tensor_elements(x), parts = (n + int8_piece - 1) / int8_piece;
    float lows[most_parts] = {0}, highs[most_parts] = {0};
    size_t each;

    parts = parts < 1 ? 1 : parts > most_parts ? most_parts : parts;
    each = (n + parts - 1) / parts;
#pragma omp parallel for if (parts > 1)
    for (size_t i = 0; i < parts; i++) {
        size_t from = i * each, left = from < n ? n - from : 0;

        if (left)
            quantized_range(tensor_f32(x) + from, left < each ? left : each,
                            &lows[i], &highs[i]);
    }
    *low = *high = 0;
    for (size_t i = 0; i < parts; i++) {
        *low = lows[i] < *low ? lows[i] : *low;
        *high = highs[i] > *high ? highs[i] : *high;
    }
}

enum assay_status int8_dynamic(struct onednn *dn, struct job *job,
                               const struct tensor *const *inputs,
                               struct tensor *outputs, struct error *err)
{
    struct pool *pool = job->context->pool;
    struct shape scalar = outputs[1].shape;
    struct tensor x;
    float low, high, scale;
    uint8_t zero;
    enum assay_status st = int8_plain(dn, job, &x, err);

    (void)inputs;
    if (!st)
        st = int8_like(dn, job, &x, &outputs[0], err);
    if (!st)
        st = tensor_new(pool, DTYPE_F32, &scalar, &outputs[1], err);
    if (!st)
        st = tensor_new(pool, DTYPE_U8, &scalar, &outputs[2], err);
    if (!st) {
        int8_find_range(&x, &low, &high);
        quantized_choose(low, high, &scale, &zero);
        int8_quantise_all(&x, &outputs[0], scale > 0 ? scale : 1, zero);
        *tensor_f32(&outputs[1]) = scale;
        *(uint8_t *)tensor_data(&outputs[2]) = zero;
    }
    tensor_release(&x);
    return st;
}

/* ---- tables, sums, products ---------------------------------------------- */

bool int8_lookup_takes(const struct onednn *dn, const struct node *node,
                       const struct tensor *const *inputs)
{
    (void)dn, (void)node;
    return int8_is_last(inputs[0]);
}

enum assay_status int8_lookup(struct onednn *dn, struct job *job,
                              const struct tensor *const *inputs,
                              struct tensor *outputs, struct error *err)
{
    const struct tensor *x = inputs[0];
    const uint8_t *from = tensor_data(x), *table = tensor_data(inputs[1]);
    size_t n = tensor_elements(x);
    uint8_t *to;
    enum assay_status st = int8_like(dn, job, x, outputs, err);

    if (st)
        return st;
    to = tensor_data(outputs);
#pragma omp parallel for if (n > int8_piece)
    for (size_t at = 0; at < n; at += int8_piece)
        lookup_row(x->dtype, from + at, table, to + at,
                   n - at < int8_piece ? n - at : int8_piece);
    return ASSAY_OK;
}

bool int8_binary_takes(const struct onednn *dn, const struct node *node,
                       const struct tensor *const *inputs)
{
    const struct tensor *a = inputs[QLINEAR_X], *b = inputs[QLINEAR_W];
    struct qlinear_row row;

    (void)dn;
    return (int8_is_last(a) || int8_is_last(b)) &&
           shape_equal(&a->shape, &b->shape) &&
           qlinear_row_find(node, inputs, &row);
}

enum assay_status int8_binary(struct onednn *dn, struct job *job,
                              const struct tensor *const *inputs,
                              struct tensor *outputs, struct error *err)
{
    struct pool *pool = job->context->pool;
    const struct tensor *x[] = {inputs[QLINEAR_X], inputs[QLINEAR_W]};
    size_t n = tensor_elements(x[0]);
    struct tensor own[2] = {{0}};
    struct qlinear_row row = {0};
    enum assay_status st = ASSAY_OK;

    qlinear_row_find(job->node, inputs, &row);
    for (size_t i = 0; !st && i < 2; i++)
        st = layout_convert(dn, pool, x[i],
                            int8_layout(dn, x[i]->dtype, &x[i]->shape), &own[i],
                            err);
    if (!st)
        st = int8_like(dn, job, &own[0], outputs, err);
#pragma omp parallel for if (n > int8_piece)
    for (size_t at = 0; at < n; at += int8_piece) {
        struct qlinear_row part = row;

        if (st)
            continue;
        part.a = (const uint8_t *)tensor_data(&own[0]) + at;
        part.b = (const uint8_t *)tensor_data(&own[1]) + at;
        part.y = (uint8_t *)tensor_data(outputs) + at;
        part.n = n - at < int8_piece ? n - at : int8_piece;
        if (!int8_add_row(&part))
            qlinear_row(&part);
    }
    tensor_release(&own[0]);
    tensor_release(&own[1]);
    return st;
}
