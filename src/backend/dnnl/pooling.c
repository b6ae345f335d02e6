/* backend/dnnl/pooling.c - MaxPool2d, AvgPool2d and AdaptiveAvgPool2d, both
 * ways. */
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

static struct windows windows_of(const struct shape *x, const struct shape *y,
                                 dnnl_alg_kind_t kind, const int64_t kernel[2],
                                 const int64_t stride[2],
                                 const int64_t before[2])
{
    struct windows windows = {.kind = kind};

    for (int i = 0; i < 2; i++) {
        windows.kernel[i] = kernel[i];
        windows.stride[i] = stride[i];
        windows.before[i] = before[i];
        windows.after[i] = (y->dims[2 + i] - 1) * stride[i] + kernel[i] -
                           x->dims[2 + i] - before[i];
    }
    return windows;
}

static struct windows max_windows(const struct node *node,
                                  const struct shape *x, const struct shape *y)
{
    const struct max_pool2d_attrs *attrs = max_pool2d_attrs(node);

    return windows_of(x, y, dnnl_pooling_max, attrs->kernel, attrs->stride,
                      attrs->before);
}

/* False where they cannot be described: oneDNN divides by whole windows where
 * padding counts, not where ceil lets the last ones reach beyond it. */
static bool avg_windows(const struct node *node, const struct shape *x,
                        const struct shape *y, struct windows *out)
{
    const struct avg_pool2d_attrs *attrs = avg_pool2d_attrs(node);
    dnnl_alg_kind_t kind = attrs->counts_padding
                               ? dnnl_pooling_avg_include_padding
                               : dnnl_pooling_avg_exclude_padding;

    *out = windows_of(x, y, kind, attrs->kernel, attrs->stride, attrs->before);
    return !attrs->counts_padding || (out->after[0] <= attrs->after[0] &&
                                      out->after[1] <= attrs->after[1]);
}

/* False where they are not all of one size. */
static bool adaptive_windows(const struct shape *x, const struct shape *y,
                             struct windows *out)
{
    static const int64_t none[2];
    int64_t size[2];

    for (int i = 0; i < 2; i++) {
        size[i] = x->dims[2 + i] / y->dims[2 + i];
        if (x->dims[2 + i] % y->dims[2 + i])
            return false;
    }
    *out = windows_of(x, y, dnnl_pooling_avg_exclude_padding, size, size, none);
    return true;
}

static enum assay_status describe(const dnnl_memory_desc_t *src,
                                  const struct shape *y, dnnl_prop_kind_t kind,
                                  const struct windows *windows,
                                  dnnl_pooling_desc_t *out, struct error *err)
{
    dnnl_memory_desc_t dst = desc_any(y);

    return onednn_status(
        dnnl_pooling_forward_desc_init(out, kind, windows->kind, src, &dst,
                                       windows->stride, windows->kernel,
                                       windows->before, windows->after),
        "describe a pooling", err);
}

static enum assay_status make_kernel(struct onednn *dn, const struct job *job,
                                     const struct windows *windows,
                                     struct kernel **out, struct error *err)
{
    dnnl_memory_desc_t src = desc_of(job->x);
    dnnl_pooling_desc_t description;
    enum assay_status st =
        describe(&src, &job->y, job->kind, windows, &description, err);

    return st ? st : kernel_make(dn, job, &description, NULL, out, err);
}

/* Where in each window the largest was, for the backward pass. */
static enum assay_status make_workspace(struct onednn *dn,
                                        const struct job *job,
                                        const struct kernel *kernel,
                                        struct tensor *out, struct error *err)
{
    const struct op_context *context = job->context;
    enum assay_status st;

    if (context->saved && context->is_again) {
        *out = tensor_share(context->saved);
        return ASSAY_OK;
    }
    st =
        layout_tensor(dn, context->pool, &kernel->workspace, &job->y, out, err);
    if (!st && context->saved)
        *context->saved = tensor_share(out);
    return st;
}

static enum assay_status pool(struct onednn *dn, struct job *job,
                              const struct windows *windows, struct tensor *y,
                              struct error *err)
{
    struct kernel *kernel = kernel_find(dn, job);
    struct tensor workspace = {0};
    enum assay_status st = ASSAY_OK;

    if (!kernel) {
        st = make_kernel(dn, job, windows, &kernel, err);
        if (st)
            return st;
        kernel_keep(dn, job, kernel);
    }
    if (kernel->workspace.ndims > 0) {
        st = make_workspace(dn, job, kernel, &workspace, err);
        job->workspace = &workspace;
    }
    if (!st)
        st = kernel_run(dn, job, kernel, y, err);
    tensor_release(&workspace);
    return st;
}

enum assay_status forward_max_pool2d(struct onednn *dn, struct job *job,
                                     const struct tensor *const *inputs,
                                     struct tensor *y, struct error *err)
{
    struct windows windows = max_windows(job->node, &job->x->shape, &job->y);

    (void)inputs;
    return pool(dn, job, &windows, y, err);
}

enum assay_status forward_avg_pool2d(struct onednn *dn, struct job *job,
                                     const struct tensor *const *inputs,
                                     struct tensor *y, struct error *err)
{
    struct windows windows;

    if (!avg_windows(job->node, &job->x->shape, &job->y, &windows))
        return own_kernel(dn, job, inputs, y, err);
    return pool(dn, job, &windows, y, err);
}

enum assay_status
forward_adaptive_avg_pool2d(struct onednn *dn, struct job *job,
                            const struct tensor *const *inputs,
                            struct tensor *y, struct error *err)
{
    struct windows windows;

    if (shape_equal(&job->x->shape, &job->y)) {
        *y = tensor_share(job->x);
        return ASSAY_OK;
    }
    if (!adaptive_windows(&job->x->shape, &job->y, &windows))
        return own_kernel(dn, job, inputs, y, err);
    return pool(dn, job, &windows, y, err);
}

/* ---- backward ------------------------------------------------------------ */

/* dx gets the layout that x had. */
static enum assay_status make_backward(struct onednn *dn, struct job *job,
                                       const struct windows *windows,
                                       struct kernel **out, struct error *err)
{
    const struct layout *layout = dn->x_layouts[job->at];
    dnnl_memory_desc_t src = layout ? layout->desc : desc_dense(&job->y);
    dnnl_primitive_desc_t forward = NULL;
    dnnl_pooling_desc_t description;
    enum assay_status st = describe(&src, &job->x->shape, dnnl_forward_training,
                                    windows, &description, err);

    if (!st)
        st = onednn_status(dnnl_primitive_desc_create(&forward, &description,
                                                      NULL, dn->engine, NULL),
                           "find a pooling", err);
    if (!st)
        st = onednn_status(
            dnnl_pooling_backward_desc_init(
                &description, windows->kind, &src,
                dnnl_primitive_desc_query_md(forward, dnnl_query_dst_md, 0),
                windows->stride, windows->kernel, windows->before,
                windows->after),
            "describe the gradient of a pooling", err);
    job->hint = forward;
    if (!st)
        st = kernel_make(dn, job, &description, NULL, out, err);
    dnnl_primitive_desc_destroy(forward);
    return st;
}

static enum assay_status unpool(struct onednn *dn, struct job *job,
                                const struct op_backward *pass,
                                const struct windows *windows,
                                struct error *err)
{
    struct tensor workspace = *pass->saved;
    struct kernel *kernel;
    enum assay_status st;

    job->direction = DIRECTION_DATA;
    job->x = pass->dy[0];
    job->y = pass->inputs[0]->shape;
    kernel = kernel_find(dn, job);
    if (!kernel) {
        st = make_backward(dn, job, windows, &kernel, err);
        if (st)
            return st;
        kernel_keep(dn, job, kernel);
    }
    if (kernel->workspace.ndims > 0)
        job->workspace = &workspace;
    return kernel_run(dn, job, kernel, &pass->dx[0], err);
}

enum assay_status backward_max_pool2d(struct onednn *dn, struct job *job,
                                      const struct op_backward *pass,
                                      struct error *err)
{
    struct windows windows =
        max_windows(job->node, &pass->inputs[0]->shape, &pass->dy[0]->shape);

    return unpool(dn, job, pass, &windows, err);
}

enum assay_status backward_avg_pool2d(struct onednn *dn, struct job *job,
                                      const struct op_backward *pass,
                                      struct error *err)
{
    struct windows windows;

    if (!avg_windows(job->node, &pass->inputs[0]->shape, &pass->dy[0]->shape,
                     &windows))
        return own_backward(dn, job, pass, err);
    return unpool(dn, job, pass, &windows, err);
}

enum assay_status backward_adaptive_avg_pool2d(struct onednn *dn,
                                               struct job *job,
                                               const struct op_backward *pass,
                                               struct error *err)
{
    const struct shape *x = &pass->inputs[0]->shape;
    struct windows windows;

    if (shape_equal(x, &pass->dy[0]->shape)) {
        pass->dx[0] = tensor_share(pass->dy[0]);
        return ASSAY_OK;
    }
    if (!adaptive_windows(x, &pass->dy[0]->shape, &windows))
        return own_backward(dn, job, pass, err);
    return unpool(dn, job, pass, &windows, err);
}
