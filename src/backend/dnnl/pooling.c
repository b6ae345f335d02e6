/* backend/dnnl/pooling.c - MaxPool2d. */
#include "backend/dnnl/dnnl_internal.h"

#include "ops/max_pool2d.h"

/* What has to be behind the input so that the last window fits. */
static void padding_behind(const struct max_pool2d_attrs *attrs,
                           const struct shape *x, const struct shape *y,
                           dnnl_dims_t after)
{
    for (int i = 0; i < 2; i++)
        after[i] = (y->dims[2 + i] - 1) * attrs->stride[i] + attrs->kernel[i] -
                   x->dims[2 + i] - attrs->before[i];
}

static enum assay_status make_kernel(struct onednn *dn, const struct job *job,
                                     struct kernel **out, struct error *err)
{
    const struct max_pool2d_attrs *attrs = max_pool2d_attrs(job->node);
    dnnl_memory_desc_t src = desc_of(job->x), dst = desc_any(&job->y);
    dnnl_pooling_desc_t description;
    enum assay_status st;
    dnnl_dims_t after;

    padding_behind(attrs, &job->x->shape, &job->y, after);
    st = onednn_status(
        dnnl_pooling_forward_desc_init(
            &description, dnnl_forward_inference, dnnl_pooling_max, &src, &dst,
            dims_of(attrs->stride, 2).of, dims_of(attrs->kernel, 2).of,
            dims_of(attrs->before, 2).of, after),
        "describe a pooling", err);
    if (!st)
        st = kernel_make(dn, job, &description, NULL, out, err);
    return st;
}

enum assay_status forward_max_pool2d(struct onednn *dn, struct job *job,
                                     const struct tensor *const *inputs,
                                     struct tensor *y, struct error *err)
{
    struct kernel *kernel = kernel_find(dn, job);
    enum assay_status st;

    (void)inputs;
    if (!kernel) {
        st = make_kernel(dn, job, &kernel, err);
        if (st)
            return st;
        kernel_keep(dn, job->at, kernel);
    }
    return kernel_run(dn, job, kernel, y, err);
}
