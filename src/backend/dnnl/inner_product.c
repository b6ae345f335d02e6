/* backend/dnnl/inner_product.c - Linear. */
#include "backend/dnnl/dnnl_internal.h"

#include "backend/direct/direct.h"
#include "ops/product/linear.h"

/* Packed weights multiply a little faster, but take longer to pack. */
const struct layout *linear_weight(struct onednn *dn, const struct shape *shape)
{
    return dn->options.is_training ? layout_dense(dn, shape)
                                   : layout_any(dn, shape);
}

/* Input and output stay dense: what comes before and after reads rows. Of bf16
 * there is no other way than to convert them, and to pack weights. */
static enum assay_status inner_product_make_kernel(struct onednn *dn,
                                                   const struct job *job,
                                                   struct kernel **out,
                                                   struct error *err)
{
    enum dtype factors = bf16_factors(dn);
    struct operation operation = {
        .kind = OPERATION_INNER_PRODUCT,
        .src = layout_typed(dn, factors, &job->x->shape, ORDER_DENSE),
        .weights = linear_weight(dn, &job->weight->shape),
        .dst = layout_dense(dn, &job->y)};

    if (dn->narrow)
        operation.weights =
            layout_typed(dn, factors, &job->weight->shape, ORDER_ANY);
    if (job->bias)
        operation.bias = layout_dense(dn, &job->bias->shape);
    return kernel_make_kept(dn, job, &operation, out, err);
}

/* Whether reading the weights takes longest: they are read as they lie then. */
static bool inner_product_is_thin(const struct onednn *dn,
                                  const struct job *job)
{
    enum { few_rows = 4 };

    return job->x->shape.dims[0] <= few_rows && !job->is_training &&
           !dn->narrow && !dn->options.is_plain && direct_lanes() > 0;
}

/* Whether our own kernel for matrices takes it: of a transformer's rows. For
 * the thousand boxes of a detector the two were not compared yet. */
static bool inner_product_is_dense(const struct onednn *dn,
                                   const struct job *job)
{
    enum { many_rows = 512 };

    return job->x->shape.dims[0] <= many_rows && dense_takes(dn, job);
}

static enum assay_status inner_product_multiply(struct onednn *dn,
                                                const struct job *job,
                                                struct tensor *y,
                                                struct error *err)
{
    struct tensor x;
    enum assay_status st =
        layout_convert(dn, job->context->pool, job->x,
                       layout_dense(dn, &job->x->shape), &x, err);

    if (st)
        return st;
    st = tensor_new(job->context->pool, DTYPE_F32, &job->y, y, err);
    if (!st)
        direct_multiply(&(struct direct_product){
            .x = tensor_f32(&x),
            .weights = tensor_f32(job->weight),
            .bias = job->bias ? tensor_f32(job->bias) : NULL,
            .y = tensor_f32(y),
            .rows = job->y.dims[0],
            .in = job->weight->shape.dims[1],
            .out = job->weight->shape.dims[0],
            .has_relu = job->has_relu});
    tensor_release(&x);
    return st;
}

enum assay_status forward_linear(struct onednn *dn, struct job *job,
                                 const struct tensor *const *inputs,
                                 struct tensor *y, struct error *err)
{
    struct kernel *kernel;
    enum assay_status st = ASSAY_OK;

    job->weight = inputs[LINEAR_WEIGHT];
    job->weight_value = job->node->inputs[LINEAR_WEIGHT];
    job->weight_layout = layout_dense(dn, &job->weight->shape);
    job->bias = inputs[LINEAR_BIAS];
    job->has_relu = linear_attrs(job->node)->has_relu;
    if (inner_product_is_thin(dn, job))
        return inner_product_multiply(dn, job, y, err);
    if (inner_product_is_dense(dn, job))
        return dense_run(dn, job, NULL,
                         job->has_relu ? DENSE_RELU : DENSE_NO_ACTIVATION, y,
                         err);
    kernel = kernel_find(dn, job);
    if (!kernel)
        st = inner_product_make_kernel(dn, job, &kernel, err);
    return st ? st : kernel_run(dn, job, kernel, y, err);
}
