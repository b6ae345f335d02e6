/* backend/dnnl/pooling.c - MaxPool2d, AvgPool2d and AdaptiveAvgPool2d, both
 * ways, and the means that exporters write instead of these. */
#include "backend/dnnl/dnnl_internal.h"

#include "ops/pooling/adaptive_avg_pool2d.h"
#include "ops/pooling/avg_pool2d.h"
#include "ops/pooling/max_pool2d.h"

static struct windows windows_of(const struct shape *x, const struct shape *y,
                                 enum algorithm algorithm,
                                 const int64_t kernel[2],
                                 const int64_t stride[2],
                                 const int64_t before[2])
{
    struct windows windows = {.algorithm = algorithm};

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

    return windows_of(x, y, ALGORITHM_MAX, attrs->kernel, attrs->stride,
                      attrs->before);
}

/* False where they cannot be described: oneDNN divides by whole windows where
 * padding counts, not where ceil lets the last ones reach beyond it. */
static bool avg_windows(const struct node *node, const struct shape *x,
                        const struct shape *y, struct windows *out)
{
    const struct avg_pool2d_attrs *attrs = avg_pool2d_attrs(node);
    enum algorithm algorithm =
        attrs->counts_padding ? ALGORITHM_MEAN_WITH_PADDING : ALGORITHM_MEAN;

    *out = windows_of(x, y, algorithm, attrs->kernel, attrs->stride,
                      attrs->before);
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
    *out = windows_of(x, y, ALGORITHM_MEAN, size, size, none);
    return true;
}

/* Makes the kernel of a job: forward from src to dst, or back. */
static enum assay_status
pooling_make_kernel(struct onednn *dn, const struct job *job,
                    const struct windows *windows, const struct layout *src,
                    const struct layout *dst, struct kernel **out,
                    struct error *err)
{
    struct operation operation = {.kind = OPERATION_POOLING,
                                  .algorithm = windows->algorithm,
                                  .src = src,
                                  .dst = dst};

    for (int i = 0; i < 2; i++) {
        operation.window[i] = windows->kernel[i];
        operation.stride[i] = windows->stride[i];
        operation.before[i] = windows->before[i];
        operation.after[i] = windows->after[i];
    }
    return kernel_make_kept(dn, job, &operation, out, err);
}

/* Where in each window the largest was, for the backward pass. */
static enum assay_status make_workspace(const struct job *job,
                                        const struct kernel *kernel,
                                        struct tensor *out, struct error *err)
{
    const struct op_context *context = job->context;
    enum assay_status st;

    if (context->saved && context->is_again) {
        *out = tensor_share(context->saved);
        return ASSAY_OK;
    }
    st = layout_tensor(context->pool, kernel->workspace, &job->y, out, err);
    if (!st && context->saved)
        *context->saved = tensor_share(out);
    return st;
}

static enum assay_status pool(struct onednn *dn, struct job *job,
                              const struct windows *windows, struct tensor *y,
                              struct error *err)
{
    struct kernel *kernel;
    struct tensor workspace = {0};
    enum assay_status st = ASSAY_OK;

    if (pool_takes(job, windows))
        return pool_blocks(dn, job, windows, y, err);
    kernel = kernel_find(dn, job);
    if (!kernel)
        st = pooling_make_kernel(
            dn, job, windows, layout_of(dn, job->x),
            layout_typed(dn, layout_of(dn, job->x)->dtype, &job->y, ORDER_ANY),
            &kernel, err);
    if (st)
        return st;
    if (kernel->workspace) {
        st = make_workspace(job, kernel, &workspace, err);
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

/* Rows and columns, and nothing else. */
static bool are_axes_of_plane(const struct tensor *axes)
{
    enum { rank = 4, rows = 2, columns = 3 };
    int64_t a, b;

    if (!axes || tensor_elements(axes) != 2)
        return false;
    a = (tensor_i64(axes)[0] + rank) % rank;
    b = (tensor_i64(axes)[1] + rank) % rank;
    return (a == rows && b == columns) || (a == columns && b == rows);
}

/* Whether y has the mean of each channel of a map in blocks, in dimensions of
 * size 1 or without them. With them, what axes of size 1 are reduced does not
 * matter. */
static bool is_mean_of_channels(const struct job *job,
                                const struct tensor *axes,
                                const struct shape *means)
{
    const struct shape *x = &job->x->shape;

    return job->x->layout && x->rank == 4 && !job->is_training &&
           (shape_equal(&job->y, means) ||
            (job->y.rank == 2 && are_axes_of_plane(axes)));
}

enum assay_status forward_reduce_mean(struct onednn *dn, struct job *job,
                                      const struct tensor *const *inputs,
                                      struct tensor *y, struct error *err)
{
    const struct tensor *axes = job->node->n_inputs > 1 ? inputs[1] : NULL;
    const struct shape *x = &job->x->shape;
    struct shape asked = job->y, means;
    struct tensor blocks, dense;
    enum assay_status st;

    means = shape_of(4, x->dims[0], x->dims[1], (int64_t)1, (int64_t)1);
    if (!is_mean_of_channels(job, axes, &means))
        return own_kernel(dn, job, inputs, y, err);
    job->y = means;
    if (shape_equal(&asked, &means))
        return forward_adaptive_avg_pool2d(dn, job, inputs, y, err);
    st = forward_adaptive_avg_pool2d(dn, job, inputs, &blocks, err);
    if (st)
        return st;
    st = layout_convert(dn, job->context->pool, &blocks,
                        layout_dense(dn, &means), &dense, err);
    tensor_release(&blocks);
    if (st)
        return st;
    *y = tensor_reshape(&dense, &asked);
    tensor_release(&dense);
    return ASSAY_OK;
}

/* ---- backward ------------------------------------------------------------ */

/* dx gets the layout that x had. */
static enum assay_status make_backward(struct onednn *dn, const struct job *job,
                                       const struct windows *windows,
                                       struct kernel **out, struct error *err)
{
    const struct layout *dx = dn->x_layouts[job->at];

    return pooling_make_kernel(dn, job, windows, layout_any(dn, &job->x->shape),
                               dx ? dx : layout_dense(dn, &job->y), out, err);
}

static enum assay_status unpool(struct onednn *dn, struct job *job,
                                const struct op_backward *pass,
                                const struct windows *windows,
                                struct error *err)
{
    struct tensor workspace = *pass->saved;
    struct kernel *kernel;
    enum assay_status st = ASSAY_OK;

    job->direction = DIRECTION_DATA;
    job->x = pass->dy[0];
    job->y = pass->inputs[0]->shape;
    kernel = kernel_find(dn, job);
    if (!kernel)
        st = make_backward(dn, job, windows, &kernel, err);
    if (st)
        return st;
    if (kernel->workspace)
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
