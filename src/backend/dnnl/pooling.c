/* backend/dnnl/pooling.c - MaxPool2d, AvgPool2d and AdaptiveAvgPool2d. */
#include "backend/dnnl/dnnl_internal.h"

#include "ops/adaptive_avg_pool2d.h"
#include "ops/avg_pool2d.h"
#include "ops/max_pool2d.h"

/* Windows as oneDNN describes them: `after` is what has to be behind the input
 * so that the last one fits. */
struct windows {
    dnnl_alg_kind_t kind;
    dnnl_dims_t kernel, stride, before, after;
};

static struct windows windows_of(const struct job *job, dnnl_alg_kind_t kind,
                                 const int64_t kernel[2],
                                 const int64_t stride[2],
                                 const int64_t before[2])
{
    struct windows windows = {.kind = kind};

    for (int i = 0; i < 2; i++) {
        windows.kernel[i] = kernel[i];
        windows.stride[i] = stride[i];
        windows.before[i] = before[i];
        windows.after[i] = (job->y.dims[2 + i] - 1) * stride[i] + kernel[i] -
                           job->x->shape.dims[2 + i] - before[i];
    }
    return windows;
}

static enum assay_status make_kernel(struct onednn *dn, const struct job *job,
                                     const struct windows *windows,
                                     struct kernel **out, struct error *err)
{
    dnnl_memory_desc_t src = desc_of(job->x), dst = desc_any(&job->y);
    dnnl_pooling_desc_t description;
    enum assay_status st = onednn_status(
        dnnl_pooling_forward_desc_init(
            &description, dnnl_forward_inference, windows->kind, &src, &dst,
            windows->stride, windows->kernel, windows->before, windows->after),
        "describe a pooling", err);

    if (!st)
        st = kernel_make(dn, job, &description, NULL, out, err);
    return st;
}

static enum assay_status pool(struct onednn *dn, struct job *job,
                              const struct windows *windows, struct tensor *y,
                              struct error *err)
{
    struct kernel *kernel = kernel_find(dn, job);
    enum assay_status st;

    if (!kernel) {
        st = make_kernel(dn, job, windows, &kernel, err);
        if (st)
            return st;
        kernel_keep(dn, job->at, kernel);
    }
    return kernel_run(dn, job, kernel, y, err);
}

enum assay_status forward_max_pool2d(struct onednn *dn, struct job *job,
                                     const struct tensor *const *inputs,
                                     struct tensor *y, struct error *err)
{
    const struct max_pool2d_attrs *attrs = max_pool2d_attrs(job->node);
    struct windows windows = windows_of(job, dnnl_pooling_max, attrs->kernel,
                                        attrs->stride, attrs->before);

    (void)inputs;
    return pool(dn, job, &windows, y, err);
}

/* oneDNN divides by whole windows where padding counts: not where ceil lets
 * the last ones reach beyond the padding. */
enum assay_status forward_avg_pool2d(struct onednn *dn, struct job *job,
                                     const struct tensor *const *inputs,
                                     struct tensor *y, struct error *err)
{
    const struct avg_pool2d_attrs *attrs = avg_pool2d_attrs(job->node);
    dnnl_alg_kind_t kind = attrs->counts_padding
                               ? dnnl_pooling_avg_include_padding
                               : dnnl_pooling_avg_exclude_padding;
    struct windows windows =
        windows_of(job, kind, attrs->kernel, attrs->stride, attrs->before);

    if (attrs->counts_padding && (windows.after[0] > attrs->after[0] ||
                                  windows.after[1] > attrs->after[1]))
        return own_kernel(dn, job, inputs, y, err);
    return pool(dn, job, &windows, y, err);
}

enum assay_status
forward_adaptive_avg_pool2d(struct onednn *dn, struct job *job,
                            const struct tensor *const *inputs,
                            struct tensor *y, struct error *err)
{
    static const int64_t none[2];
    const int64_t *from = job->x->shape.dims + 2, *to = job->y.dims + 2;
    int64_t size[2];
    struct windows windows;

    if (shape_equal(&job->x->shape, &job->y)) {
        *y = tensor_share(job->x);
        return ASSAY_OK;
    }
    if (from[0] % to[0] || from[1] % to[1])
        return own_kernel(dn, job, inputs, y, err);
    size[0] = from[0] / to[0];
    size[1] = from[1] / to[1];
    windows =
        windows_of(job, dnnl_pooling_avg_exclude_padding, size, size, none);
    return pool(dn, job, &windows, y, err);
}
