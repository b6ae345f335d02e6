/* backend/dnnl/pending.c - see channel_affine.h: a BatchNorm that is left to
 * the convolution after it. */
#include "backend/dnnl/channel_affine.h"

#include "backend/direct/direct.h"
#include "base/mem.h"
#include "ops/norm/batch_norm.h"
#include "ops/ops.h"

#include <math.h>
#include <string.h>

const struct pending *pending_of(const struct tensor *tensor)
{
    return tensor->layout && tensor->layout->is_pending
               ? (const struct pending *)tensor->layout
               : NULL;
}

/* Whether a convolution reads each pixel once, and none beyond the edge. */
static bool reads_pixels(const struct graph *graph, const struct node *node)
{
    const struct conv2d_attrs *attrs = conv2d_attrs(node);
    const struct shape *w =
        &graph_value(graph, node->inputs[CONV2D_WEIGHT])->shape;

    return attrs->groups == 1 && w->rank == 4 && w->dims[2] == 1 &&
           w->dims[3] == 1 && !attrs->before[0] && !attrs->before[1] &&
           !attrs->after[0] && !attrs->after[1];
}

/* Whether the statistics are the same in every pass. */
static bool has_constants(const struct graph *graph, const struct node *node)
{
    for (size_t i = BATCH_NORM_WEIGHT; i < BATCH_NORM_INPUTS; i++) {
        enum value_kind kind = graph_value(graph, node->inputs[i])->kind;

        if (kind == VALUE_INPUT || kind == VALUE_COMPUTED)
            return false;
    }
    return true;
}

/* Whether such a convolution alone reads the node's output, as its x. */
static bool has_one_reader(const struct onednn *dn, const struct job *job)
{
    uint32_t value = job->node->outputs[0];

    if (graph_use_count(dn->graph, value) != 1)
        return false;
    for (size_t i = job->at + 1; i < graph_node_count(dn->graph); i++) {
        const struct node *node = graph_node(dn->graph, (uint32_t)i);

        for (size_t k = 0; k < node->n_inputs; k++) {
            if (node->inputs[k] == value)
                return k == 0 && node->op == &op_conv2d &&
                       onednn_has_kernel(dn, node) &&
                       reads_pixels(dn->graph, node);
        }
    }
    return false; /* a graph inside of a node does */
}

/* NULL without memory. */
static struct pending *pending_new(struct onednn *dn, const struct layout *base)
{
    struct pending *pending = arena_alloc(&dn->memory, sizeof *pending);
    size_t n = (size_t)base->channels;
    float *affine = arena_alloc(&dn->memory, 2 * n * sizeof *affine);

    if (!pending || !affine)
        return NULL;
    memset(affine, 0, 2 * n * sizeof *affine);
    *pending = (struct pending){
        .layout = *base, .base = base, .scale = affine, .shift = affine + n};
    pending->layout.order = ORDER_OTHER;
    pending->layout.is_pending = true;
    pending->layout.native = NULL;
    pending->layout.next = NULL;
    return pending;
}

/* That of the node for the layout of its input. */
static struct pending *find_pending(struct onednn *dn, const struct job *job)
{
    struct pending **list, *pending;

    if (!dn->pending)
        dn->pending =
            mem_array(graph_node_count(dn->graph), sizeof(struct pending *));
    if (!dn->pending)
        return NULL;
    list = &dn->pending[job->at];
    for (pending = *list; pending; pending = pending->next) {
        if (pending->base == job->x->layout)
            return pending;
    }
    pending = pending_new(dn, job->x->layout);
    if (pending) {
        pending->next = *list;
        *list = pending;
    }
    return pending;
}

bool pending_leave(struct onednn *dn, const struct job *job,
                   const struct tensor *const *inputs, struct tensor *y)
{
    struct channel_blocks blocks;
    struct pending *pending;

    if (dn->options.is_plain || dn->options.is_training || dn->narrow ||
        !direct_lanes() || !job->x->layout || !layout_blocks(job->x, &blocks) ||
        blocks.block != direct_lanes() ||
        !has_constants(dn->graph, job->node) || !has_one_reader(dn, job))
        return false;
    pending = find_pending(dn, job);
    if (!pending)
        return false;
    for (int64_t c = 0; !pending->is_made && c < job->x->shape.dims[1]; c++)
        batch_norm_affine(job->node, inputs, c, &pending->scale[c],
                          &pending->shift[c]);
    pending->is_made = true;
    pending->has_relu = batch_norm_attrs(job->node)->has_relu;
    *y = tensor_share(job->x);
    y->layout = &pending->layout;
    return true;
}

void pending_forget(struct onednn *dn)
{
    for (size_t i = 0; dn->pending && i < graph_node_count(dn->graph); i++) {
        for (struct pending *at = dn->pending[i]; at; at = at->next)
            at->is_made = false;
    }
}

enum assay_status pending_apply(struct pool *pool, const struct tensor *tensor,
                                struct tensor *out, struct error *err)
{
    const struct pending *pending = pending_of(tensor);
    struct channel_affine by = {.scale = pending->scale,
                                .shift = pending->shift,
                                .has_relu = pending->has_relu,
                                .high = INFINITY};
    enum assay_status st =
        layout_tensor(pool, pending->base, &tensor->shape, out, err);
    struct channel_blocks blocks;

    if (!st && layout_blocks(out, &blocks))
        affine_channels(&blocks, &by, tensor_f32(tensor), tensor_f32(out));
    return st;
}
