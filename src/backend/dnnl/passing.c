/* backend/dnnl/passing.c - Concat, Resize, Dropout and views, which pass values
 * on, and the ops' own kernels on maps in a layout of oneDNN's. */
#include "backend/dnnl/dnnl_internal.h"

#include "backend/dnnl/concat_places.h"
#include "ops/movement/concat.h"
#include "ops/movement/gather.h"
#include "ops/movement/resize.h"
#include "ops/movement/transpose.h"

#include <string.h>

enum assay_status passing_convert(struct onednn *dn, const struct job *job,
                                  const struct tensor *const *inputs, size_t n,
                                  enum order order, struct tensor *own,
                                  const struct tensor **list, struct error *err)
{
    for (size_t i = 0; i < n; i++)
        own[i] = (struct tensor){0};
    for (size_t i = 0; i < n; i++) {
        enum assay_status st = ASSAY_OK;

        list[i] = NULL;
        if (!inputs[i])
            continue;
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

void passing_release(struct tensor *own, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tensor_release(&own[i]);
}

enum assay_status own_kernel(struct onednn *dn, struct job *job,
                             const struct tensor *const *inputs,
                             struct tensor *y, struct error *err)
{
    const struct node *node = job->node;
    struct tensor own[OP_MAX_VALUES];
    const struct tensor *list[OP_MAX_VALUES];
    enum assay_status st;

    st = passing_convert(dn, job, inputs, node->n_inputs, ORDER_DENSE, own,
                         list, err);
    if (!st)
        st = tensor_new(job->context->pool, y->dtype, &job->y, y, err);
    if (!st)
        st = node->op->forward(job->context, node, list, y, err);
    passing_release(own, node->n_inputs);
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
    struct tensor own[OP_MAX_VALUES], y = {0}, dy = {0};
    const struct tensor *list[OP_MAX_VALUES], *gradients = &dy;
    struct op_backward dense = *pass;
    enum assay_status st = make_gradients(job, pass, err);

    for (size_t i = 0; i < node->n_inputs; i++)
        own[i] = (struct tensor){0};
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
    passing_release(own, node->n_inputs);
    tensor_release(&y);
    tensor_release(&dy);
    return st;
}

bool passing_find_blocks(const struct tensor *const *inputs, size_t n,
                         struct channel_blocks *blocks)
{
    const struct tensor *first = NULL;

    for (size_t i = 0; !first && i < n; i++) {
        if (inputs[i]->layout)
            first = inputs[i];
    }
    return first && first->shape.rank == 4 && layout_blocks(first, blocks) &&
           blocks->order != ORDER_CHANNELS_LAST;
}

static void put_behind(const struct node *node,
                       const struct tensor *const *list, struct tensor *y)
{
    int64_t at = 0;

    for (size_t i = 0; i < node->n_inputs; i++) {
        int64_t channels = list[i]->shape.dims[1];

        if (!places_is_there(list[i], y, at))
            move_channels(list[i], 0, y, at, channels);
        at += channels;
    }
    clear_last_lanes(y);
}

enum assay_status forward_concat(struct onednn *dn, struct job *job,
                                 const struct tensor *const *inputs,
                                 struct tensor *y, struct error *err)
{
    struct tensor own[OP_MAX_VALUES];
    const struct tensor *list[OP_MAX_VALUES];
    struct channel_blocks blocks;
    enum assay_status st;

    if (job->y.rank != 4 || concat_axis(job->node, 4) != 1 ||
        !passing_find_blocks(inputs, job->node->n_inputs, &blocks))
        return own_kernel(dn, job, inputs, y, err);
    st = passing_convert(dn, job, inputs, job->node->n_inputs, blocks.order,
                         own, list, err);
    if (!st)
        st = places_concat(dn, job, layout_ordered(dn, &job->y, blocks.order),
                           y, err);
    if (!st) {
        put_behind(job->node, list, y);
        places_note(dn, job, inputs, y);
    }
    passing_release(own, job->node->n_inputs);
    return st;
}

/* A map in channel blocks as the dense tensor that its memory is. */
static struct tensor in_blocks(const struct tensor *map,
                               const struct channel_blocks *blocks)
{
    struct tensor seen = *map;

    seen.layout = NULL;
    seen.shape =
        shape_of(5, map->shape.dims[0],
                 (map->shape.dims[1] + blocks->block - 1) / blocks->block,
                 map->shape.dims[2], map->shape.dims[3], blocks->block);
    return seen;
}

enum assay_status forward_resize(struct onednn *dn, struct job *job,
                                 const struct tensor *const *inputs,
                                 struct tensor *y, struct error *err)
{
    struct channel_blocks blocks;
    struct tensor from, to;
    enum assay_status st;

    if (!passing_find_blocks(inputs, 1, &blocks) ||
        !resize_keeps_channels(job->node, inputs))
        return own_kernel(dn, job, inputs, y, err);
    st = places_tensor(dn, job, layout_ordered(dn, &job->y, blocks.order), y,
                       err);
    if (st)
        return st;
    from = in_blocks(job->x, &blocks);
    to = in_blocks(y, &blocks);
    return resize_blocks(job->context, job->node, inputs, &from, &to, err);
}

enum assay_status forward_dropout(struct onednn *dn, struct job *job,
                                  const struct tensor *const *inputs,
                                  struct tensor *y, struct error *err)
{
    (void)dn, (void)inputs, (void)err;
    *y = tensor_share(job->x);
    return ASSAY_OK;
}

/* ---- views ---------------------------------------------------------------
 */

/* A part of x from an element on, without a copy. */
static struct tensor passing_view(const struct job *job, size_t first)
{
    struct tensor view = tensor_share(job->x);

    view.shape = job->y;
    view.offset += first * dtype_bytes(view.dtype);
    return view;
}

static bool can_view(const struct job *job)
{
    return !job->is_training && !job->x->layout;
}

/* Whether only dimensions of 1 move: the others follow each other as before. */
static bool passing_moves_nothing(const struct shape *x, const struct shape *y,
                                  const int *order)
{
    int last = -1;

    for (int i = 0; i < y->rank; i++) {
        if (x->dims[order[i]] == 1)
            continue;
        if (order[i] < last)
            return false;
        last = order[i];
    }
    return true;
}

/* Whether x is a map whose channels fill one block, and they move after the
 * rest: they lie there. */
static bool passing_has_last(const struct job *job, const int *order)
{
    struct channel_blocks blocks;

    return !job->is_training && job->x->layout && job->x->shape.rank == 4 &&
           job->x->layout->dtype == DTYPE_F32 && order[1] == 2 &&
           order[2] == 3 && order[3] == 1 && layout_blocks(job->x, &blocks) &&
           blocks.block == job->x->shape.dims[1];
}

enum assay_status forward_transpose(struct onednn *dn, struct job *job,
                                    const struct tensor *const *inputs,
                                    struct tensor *y, struct error *err)
{
    int order[SHAPE_MAX_RANK];

    if (transpose_order(job->node, &job->x->shape, order, NULL) ||
        !((can_view(job) &&
           passing_moves_nothing(&job->x->shape, &job->y, order)) ||
          passing_has_last(job, order)))
        return own_kernel(dn, job, inputs, y, err);
    *y = passing_view(job, 0);
    y->layout = NULL;
    return ASSAY_OK;
}

/* One slice along the first axis that is not of size 1. */
enum assay_status forward_gather(struct onednn *dn, struct job *job,
                                 const struct tensor *const *inputs,
                                 struct tensor *y, struct error *err)
{
    int64_t first;

    if (!can_view(job) || !gather_is_slice(job->node, inputs, &first))
        return own_kernel(dn, job, inputs, y, err);
    *y = passing_view(job, (size_t)first);
    return ASSAY_OK;
}
