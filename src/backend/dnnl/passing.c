/* backend/dnnl/passing.c - Concat and Dropout, which pass values on as they
 * are, and the ops' own kernels on maps in a layout of oneDNN's. */
#include "backend/dnnl/dnnl_internal.h"

#include "ops/movement/concat.h"

#include <string.h>

enum { max_inputs = 64 };

/* Copies, or shares, of the inputs in that order of elements. */
static enum assay_status convert_all(struct onednn *dn, const struct job *job,
                                     const struct tensor *const *inputs,
                                     enum order order, struct tensor *own,
                                     const struct tensor **list,
                                     struct error *err)
{
    for (size_t i = 0; i < job->node->n_inputs; i++) {
        enum assay_status st = ASSAY_OK;

        /* Only float32 has layouts; the rest is dense already. */
        if (inputs[i]->layout || order != ORDER_DENSE)
            st = layout_convert(dn, job->context->pool, inputs[i],
                                layout_ordered(dn, &inputs[i]->shape, order),
                                &own[i], err);
        else
            own[i] = tensor_share(inputs[i]);
        if (st)
            return st;
        list[i] = &own[i];
    }
    return ASSAY_OK;
}

static void passing_release_all(struct tensor *own, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tensor_release(&own[i]);
}

enum assay_status own_kernel(struct onednn *dn, struct job *job,
                             const struct tensor *const *inputs,
                             struct tensor *y, struct error *err)
{
    const struct node *node = job->node;
    struct tensor own[max_inputs] = {{0}};
    const struct tensor *list[max_inputs];
    enum assay_status st;

    st = convert_all(dn, job, inputs, ORDER_DENSE, own, list, err);
    if (!st)
        st = tensor_new(job->context->pool, y->dtype, &job->y, y, err);
    if (!st)
        st = node->op->forward(job->context, node, list, y, err);
    passing_release_all(own, node->n_inputs);
    return st;
}

/* Dense copies, or shares, of what may be without data. */
static enum assay_status make_dense(struct onednn *dn,
                                    const struct op_context *context,
                                    const struct tensor *from,
                                    struct tensor *out, struct error *err)
{
    if (from->buffer && from->layout)
        return layout_convert(dn, context->pool, from,
                              layout_dense(dn, &from->shape), out, err);
    *out = *from;
    if (from->buffer)
        *out = tensor_share(from);
    out->layout = NULL;
    return ASSAY_OK;
}

static enum assay_status make_gradients(const struct job *job,
                                        const struct op_backward *pass,
                                        struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < job->node->n_inputs; i++) {
        struct tensor *dx = &pass->dx[i];

        if (!op_wants(pass, i))
            continue;
        st = tensor_new(job->context->pool, DTYPE_F32, &pass->inputs[i]->shape,
                        dx, err);
        if (!st)
            memset(tensor_data(dx), 0, tensor_bytes(dx));
    }
    return st;
}

enum assay_status own_backward(struct onednn *dn, struct job *job,
                               const struct op_backward *pass,
                               struct error *err)
{
    const struct node *node = job->node;
    struct tensor own[max_inputs] = {{0}}, y = {0}, dy = {0};
    const struct tensor *list[max_inputs] = {0}, *gradients = &dy;
    struct op_backward dense = *pass;
    enum assay_status st = make_gradients(job, pass, err);

    for (size_t i = 0; !st && i < node->n_inputs; i++) {
        if (pass->inputs[i])
            st = make_dense(dn, job->context, pass->inputs[i], &own[i], err);
        list[i] = pass->inputs[i] ? &own[i] : NULL;
    }
    if (!st)
        st = make_dense(dn, job->context, &pass->outputs[0], &y, err);
    if (!st)
        st = make_dense(dn, job->context, pass->dy[0], &dy, err);
    dense.inputs = list;
    dense.outputs = &y;
    dense.dy = &gradients;
    if (!st)
        st = node->op->backward(job->context, node, &dense, err);
    passing_release_all(own, node->n_inputs);
    tensor_release(&y);
    tensor_release(&dy);
    return st;
}

/* The layout that all maps can be put behind one another in: that of the first
 * blocked one. */
static bool passing_find_blocks(const struct node *node,
                                const struct tensor *const *inputs,
                                struct channel_blocks *blocks)
{
    const struct tensor *first = NULL;

    for (size_t i = 0; !first && i < node->n_inputs; i++) {
        if (inputs[i]->layout)
            first = inputs[i];
    }
    return first && first->shape.rank == 4 && concat_axis(node, 4) == 1 &&
           layout_blocks(first, blocks) && blocks->order != ORDER_CHANNELS_LAST;
}

static void put_behind(const struct node *node,
                       const struct tensor *const *list, struct tensor *y)
{
    int64_t at = 0;

    for (size_t i = 0; i < node->n_inputs; i++) {
        int64_t channels = list[i]->shape.dims[1];

        move_channels(list[i], 0, y, at, channels);
        at += channels;
    }
    clear_last_lanes(y);
}

enum assay_status forward_concat(struct onednn *dn, struct job *job,
                                 const struct tensor *const *inputs,
                                 struct tensor *y, struct error *err)
{
    struct tensor own[max_inputs] = {{0}};
    const struct tensor *list[max_inputs];
    struct channel_blocks blocks;
    enum assay_status st;

    if (!passing_find_blocks(job->node, inputs, &blocks))
        return own_kernel(dn, job, inputs, y, err);
    st = convert_all(dn, job, inputs, blocks.order, own, list, err);
    if (!st)
        st = layout_tensor(job->context->pool,
                           layout_ordered(dn, &job->y, blocks.order), &job->y,
                           y, err);
    if (!st)
        put_behind(job->node, list, y);
    passing_release_all(own, job->node->n_inputs);
    return st;
}

enum assay_status forward_dropout(struct onednn *dn, struct job *job,
                                  const struct tensor *const *inputs,
                                  struct tensor *y, struct error *err)
{
    (void)dn, (void)inputs, (void)err;
    *y = tensor_share(job->x);
    return ASSAY_OK;
}
