/* backend/dnnl/own_dense.c - matrices by constant weights, with our own kernel:
 * Dense, MatMul, and Linear of more than a few rows. */
#include "backend/dnnl/dnnl_internal.h"

#include "backend/direct/direct.h"
#include "ops/ops.h"
#include "ops/product/dense.h"
#include "ops/product/linear.h"

#include <stdio.h>

/* The weights of a Linear are [o,k], of the others [k,o]. */
static bool has_rows_of_inputs(const struct job *job)
{
    return job->node->op == &op_linear;
}

static int64_t dense_in(const struct job *job)
{
    return job->weight->shape.dims[has_rows_of_inputs(job) ? 1 : 0];
}

static int64_t dense_out(const struct job *job)
{
    return job->weight->shape.dims[has_rows_of_inputs(job) ? 0 : 1];
}

bool dense_takes(const struct onednn *dn, const struct job *job)
{
    return !job->is_training && !dn->narrow && !dn->options.is_plain &&
           job->weight->shape.rank == 2 && dense_in(job) > 0 &&
           direct_dense_takes(dense_out(job));
}

/* Rows of a matrix, which may have several dimensions. */
static int64_t dense_rows(const struct shape *y)
{
    int64_t rows = 1;

    for (int i = 0; i + 1 < y->rank; i++)
        rows *= y->dims[i];
    return rows;
}

static bool is_halved(const struct kernel *kernel)
{
    return kernel->weights->order == ORDER_DENSE_HALVES;
}

bool dense_has(const struct kernel *kernel)
{
    return kernel->weights->order == ORDER_DENSE_PANELS || is_halved(kernel);
}

/* Seven products of halves are fewer than eight, where there is enough to
 * multiply. */
static const struct layout *dense_weights(struct onednn *dn,
                                          const struct job *job)
{
    int64_t in = dense_in(job), out = dense_out(job);

    if (direct_halves_takes(dense_rows(&job->y), in, out))
        return layout_transformed(dn, &job->weight->shape, ORDER_DENSE_HALVES,
                                  direct_halves_weight_bytes(in, out));
    return layout_transformed(dn, &job->weight->shape, ORDER_DENSE_PANELS,
                              direct_dense_weight_bytes(in, out));
}

static void dense_name(struct kernel *kernel)
{
    struct candidate *candidate =
        kernel_sole_candidate(kernel, "by rule of thumb");

    snprintf(candidate->name, sizeof candidate->name, "direct assay_dense%s:%s",
             is_halved(kernel) ? "_halves" : "", direct_instructions());
}

static enum assay_status own_dense_make(struct onednn *dn,
                                        const struct job *job,
                                        struct kernel **out, struct error *err)
{
    struct kernel *kernel = kernel_new(job);
    enum assay_status st;

    *out = NULL;
    if (!kernel)
        return error_nomem(err, sizeof *kernel, "a kernel");
    kernel->src = layout_dense(dn, &job->x->shape);
    kernel->dst = layout_dense(dn, &job->y);
    kernel->weights = dense_weights(dn, job);
    dense_name(kernel);
    st = kernel_check_layouts(kernel, err);
    if (st) {
        kernel_free(kernel);
        return st;
    }
    kernel_keep(dn, job, kernel);
    *out = kernel;
    return ASSAY_OK;
}

void dense_pack(const struct job *job, const struct kernel *kernel,
                const float *weights, float *packed)
{
    int64_t in = dense_in(job), out = dense_out(job);
    bool has_rows = has_rows_of_inputs(job);
    int64_t in_step = has_rows ? 1 : out, out_step = has_rows ? in : 1;

    if (is_halved(kernel))
        direct_halves_pack(in, out, weights, in_step, out_step, packed);
    else
        direct_dense_pack(in, out, weights, in_step, out_step, packed);
}

uint64_t dense_flops(const struct kernel *kernel)
{
    const struct shape *y = &kernel->y;
    int64_t in = kernel->x.dims[kernel->x.rank - 1];
    int64_t out = y->dims[y->rank - 1];

    return is_halved(kernel) ? direct_halves_flops(dense_rows(y), in, out) : 0;
}

/* x and what is added, as they are read. */
struct dense_inputs {
    struct tensor x, plus;
};

static enum assay_status dense_multiply(struct onednn *dn,
                                        const struct job *job,
                                        const struct kernel *kernel,
                                        const struct dense_inputs *inputs,
                                        enum dense_activation activation,
                                        struct tensor *y, struct error *err)
{
    struct direct_dense dense = {
        .x = tensor_f32(&inputs->x),
        .bias = job->bias ? tensor_f32(job->bias) : NULL,
        .plus = inputs->plus.buffer ? tensor_f32(&inputs->plus) : NULL,
        .y = tensor_f32(y),
        .in = dense_in(job),
        .out = dense_out(job),
        .has_relu = activation == DENSE_RELU,
        .has_gelu = activation == DENSE_GELU};
    struct buffer *held = NULL, *scratch = NULL;
    void *weights = NULL;
    size_t bytes;
    enum assay_status st = packed_get(dn, job, kernel, &held, &weights, err);

    dense.rows = (int64_t)tensor_elements(y) / dense.out;
    dense.weights = weights;
    bytes = is_halved(kernel)
                ? direct_halves_scratch(dense.rows, dense.in, dense.out)
                : direct_dense_scratch(dense.rows, dense.in, dense.out);
    if (!st && bytes)
        st = pool_take_scratch(job->context->pool, bytes, "rows of a product",
                               &scratch, err);
    if (!st) {
        dense.scratch = scratch ? buffer_data(scratch) : NULL;
        if (is_halved(kernel))
            direct_halves_run(&dense);
        else
            direct_dense_run(&dense);
    }
    buffer_release(scratch);
    buffer_release(held);
    return st;
}

enum assay_status dense_run(struct onednn *dn, const struct job *job,
                            const struct tensor *plus,
                            enum dense_activation activation, struct tensor *y,
                            struct error *err)
{
    struct kernel *kernel = kernel_find(dn, job);
    struct dense_inputs inputs = {{0}, {0}};
    struct pool *pool = job->context->pool;
    enum assay_status st = ASSAY_OK;

    if (!kernel)
        st = own_dense_make(dn, job, &kernel, err);
    if (!st)
        st = layout_convert(dn, pool, job->x, kernel->src, &inputs.x, err);
    if (!st && plus)
        st = layout_convert(dn, pool, plus, kernel->dst, &inputs.plus, err);
    if (!st)
        st = tensor_new(pool, DTYPE_F32, &job->y, y, err);
    if (!st) {
        kernel->reorders_x = inputs.x.buffer != job->x->buffer;
        st = dense_multiply(dn, job, kernel, &inputs, activation, y, err);
        if (st)
            tensor_release(y);
    }
    tensor_release(&inputs.plus);
    tensor_release(&inputs.x);
    return st;
}

/* What Dense and MatMul share. */
static void dense_set_weight(struct onednn *dn, struct job *job,
                             const struct tensor *const *inputs)
{
    job->weight = inputs[DENSE_WEIGHT];
    job->weight_value = job->node->inputs[DENSE_WEIGHT];
    job->weight_layout = layout_dense(dn, &job->weight->shape);
}

enum assay_status forward_dense(struct onednn *dn, struct job *job,
                                const struct tensor *const *inputs,
                                struct tensor *y, struct error *err)
{
    dense_set_weight(dn, job, inputs);
    job->bias = inputs[DENSE_BIAS];
    if (!dense_takes(dn, job))
        return own_kernel(dn, job, inputs, y, err);
    return dense_run(dn, job, inputs[DENSE_PLUS],
                     (enum dense_activation)dense_attrs(job->node)->activation,
                     y, err);
}

enum assay_status forward_matmul(struct onednn *dn, struct job *job,
                                 const struct tensor *const *inputs,
                                 struct tensor *y, struct error *err)
{
    dense_set_weight(dn, job, inputs);
    if (!dense_takes(dn, job))
        return own_kernel(dn, job, inputs, y, err);
    return dense_run(dn, job, NULL, DENSE_NO_ACTIVATION, y, err);
}
