/* backend/dnnl/elementwise_backward.c - gradients of ReLU, Clip, other
 * activations, Add and Dropout, and sums of gradients, on the layouts that
 * convolutions leave.
 *
 * A gradient of an output is read by the node that made the output and by
 * nobody after it: where its memory has no other reference, what is made of it
 * takes its place. */
#include "backend/dnnl/dnnl_internal.h"

#include "base/variants.h"
#include "ops/math/clip.h"
#include "ops/math/unary_math.h"

#include <math.h>

/* What one thread does at a time: it stays in the cache. */
enum { chunk = 1 << 13 };

enum assay_status gradient_like(struct onednn *dn, const struct job *job,
                                const struct tensor *given,
                                const struct layout *layout, struct tensor *dy,
                                struct tensor *dx, struct error *err)
{
    bool is_alone = buffer_references(given->buffer) == 1;
    enum assay_status st =
        layout_convert(dn, job->context->pool, given, layout, dy, err);

    *dx = (struct tensor){0};
    if (st)
        return st;
    if (is_alone || dy->buffer != given->buffer)
        *dx = tensor_share(dy);
    else
        st = layout_tensor(job->context->pool, layout, &given->shape, dx, err);
    if (st)
        tensor_release(dy);
    return st;
}

VARIANTS(void, pass_inside,
         (const float *dy, const float *y, float low, float high, float *dx,
          size_t n),
         (dy, y, low, high, dx, n))
{
    for (size_t i = 0; i < n; i++)
        dx[i] = y[i] > low && y[i] < high ? dy[i] : 0;
}

void pass_between(const float *dy, const float *y, float low, float high,
                  float *dx, size_t n)
{
    pass_inside(dy, y, low, high, dx, n);
}

static enum assay_status between(struct onednn *dn, const struct job *job,
                                 const struct op_backward *pass, float low,
                                 float high, struct tensor *dx,
                                 struct error *err)
{
    const struct tensor *y = &pass->outputs[0];
    int64_t n = (int64_t)layout_elements(y);
    struct tensor dy;
    enum assay_status st =
        gradient_like(dn, job, pass->dy[0], layout_of(dn, y), &dy, dx, err);

    if (st)
        return st;
#pragma omp parallel for if (n > chunk)
    for (int64_t i = 0; i < n; i += chunk)
        pass_between(tensor_f32(&dy) + i, tensor_f32(y) + i, low, high,
                     tensor_f32(dx) + i,
                     (size_t)(n - i < chunk ? n - i : chunk));
    tensor_release(&dy);
    return ASSAY_OK;
}

enum assay_status gradient_before_relu(struct onednn *dn, const struct job *job,
                                       const struct op_backward *pass,
                                       bool has_relu, float limit,
                                       struct tensor *dy, struct error *err)
{
    if (has_relu)
        return between(dn, job, pass, 0, limit > 0 ? limit : INFINITY, dy, err);
    *dy = tensor_share(pass->dy[0]);
    return ASSAY_OK;
}

enum assay_status backward_relu(struct onednn *dn, struct job *job,
                                const struct op_backward *pass,
                                struct error *err)
{
    return between(dn, job, pass, 0, INFINITY, &pass->dx[0], err);
}

enum assay_status backward_clip(struct onednn *dn, struct job *job,
                                const struct op_backward *pass,
                                struct error *err)
{
    const struct clip_attrs *attrs = clip_attrs(job->node);

    return between(dn, job, pass, attrs->low, attrs->high, &pass->dx[0], err);
}

/* Functions of one element; dy is 0 in the padding. */
enum assay_status backward_activation(struct onednn *dn, struct job *job,
                                      const struct op_backward *pass,
                                      struct error *err)
{
    const struct tensor *told =
        pass->inputs[0]->buffer ? pass->inputs[0] : &pass->outputs[0];
    struct tensor dy;
    enum assay_status st = gradient_like(
        dn, job, pass->dy[0], layout_of(dn, told), &dy, &pass->dx[0], err);

    if (st)
        return st;
    unary_backward_f32(job->context, job->node, tensor_f32(told),
                       tensor_f32(&dy), tensor_f32(&pass->dx[0]),
                       layout_elements(told));
    tensor_release(&dy);
    return ASSAY_OK;
}

/* Both summands share it. */
enum assay_status backward_add(struct onednn *dn, struct job *job,
                               const struct op_backward *pass,
                               struct error *err)
{
    (void)dn, (void)err;
    for (size_t i = 0; i < job->node->n_inputs; i++) {
        if (op_wants(pass, i))
            pass->dx[i] = tensor_share(pass->dy[0]);
    }
    return ASSAY_OK;
}

enum assay_status backward_dropout(struct onednn *dn, struct job *job,
                                   const struct op_backward *pass,
                                   struct error *err)
{
    (void)dn, (void)job, (void)err;
    pass->dx[0] = tensor_share(pass->dy[0]);
    return ASSAY_OK;
}

VARIANTS(void, add_up, (const float *a, const float *b, float *sum, size_t n),
         (a, b, sum, n))
{
    for (size_t i = 0; i < n; i++)
        sum[i] = a[i] + b[i];
}

static void add_gradients(const struct tensor *a, const struct tensor *b,
                          const struct tensor *sum)
{
    int64_t n = (int64_t)layout_elements(a);

#pragma omp parallel for if (n > chunk)
    for (int64_t i = 0; i < n; i += chunk)
        add_up(tensor_f32(a) + i, tensor_f32(b) + i, tensor_f32(sum) + i,
               (size_t)(n - i < chunk ? n - i : chunk));
}

/* In a layout of the backend's where one has it: it came from a kernel, and
 * the next kernel will want it. */
enum assay_status onednn_accumulate(struct backend *backend,
                                    const struct op_context *context,
                                    struct tensor *sum, const struct tensor *dx,
                                    struct error *err)
{
    struct onednn *dn = (struct onednn *)backend;
    struct job job = {.context = context};
    const struct layout *layout = layout_of(dn, sum->layout ? sum : dx);
    struct tensor a, b, out;
    enum assay_status st;

    onednn_enter(dn);
    st = layout_convert(dn, context->pool, dx, layout, &b, err);
    if (st)
        return st;
    st = gradient_like(dn, &job, sum, layout, &a, &out, err);
    if (!st) {
        add_gradients(&a, &b, &out);
        tensor_release(&a);
        tensor_release(sum);
        *sum = out;
    }
    tensor_release(&b);
    return st;
}
