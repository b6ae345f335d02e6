/* backend/cuda/cuda_losses.c - launches kernels/losses.cu. */
#include "backend/cuda/cuda_ops.h"

#include "backend/cuda/cuda_backward.h"
#include "backend/cuda/cuda_walk.h"
#include "ops/loss/box_loss.h"
#include "ops/loss/loss.h"
#include "ops/loss/mask_loss.h"
#include "ops/loss/rpn_loss.h"
#include "ops/ops.h"

static const struct cuda_grid one_block = {1, 1, 1, 256, 0};

/* ---- cross entropy of classes -------------------------------------------- */

enum { SCORES, LABELS, WEIGHTS };

/* As kernels/losses.cu has it. */
struct scores {
    int64_t images, classes, places;
    int label_type, reduction, has_ignored;
    int64_t ignored;
};

static struct scores cuda_scores_of(const struct node *node,
                                    const struct tensor *x,
                                    const struct tensor *labels)
{
    const struct loss_attrs *attrs = node->attrs;

    return (struct scores){.images = x->shape.dims[0],
                           .classes = x->shape.dims[1],
                           .places = cuda_span(&x->shape, 2, x->shape.rank),
                           .label_type = (int)labels->dtype,
                           .reduction = (int)attrs->reduction,
                           .has_ignored = attrs->has_ignored,
                           .ignored = attrs->ignored};
}

/* Without weights of the classes, and without the logarithms. */
bool cuda_can_cross_entropy(const struct cuda *cuda, const struct node *node,
                            const struct tensor *const *inputs)
{
    (void)cuda;
    if (node->n_outputs > 1 ||
        (node->n_inputs > WEIGHTS && node->inputs[WEIGHTS] != GRAPH_NONE))
        return false;
    return !inputs || (inputs[SCORES]->dtype == DTYPE_F32 &&
                       (inputs[LABELS]->dtype == DTYPE_I64 ||
                        inputs[LABELS]->dtype == DTYPE_I32));
}

enum assay_status cuda_run_cross_entropy(struct cuda_call *call)
{
    const struct op_context *context = call->context;
    const struct tensor *input = call->inputs[SCORES];
    struct scores scores =
        cuda_scores_of(call->node, input, call->inputs[LABELS]);
    size_t n = (size_t)(scores.images * scores.places);
    struct buffer *scratch = NULL;
    cu_pointer x = cuda_at(input), labels = cuda_at(call->inputs[LABELS]);
    cu_pointer lines, shares = 0, y, fault = 0;
    enum assay_status st = cuda_output(call, 0, NULL);

    if (!st && context->saved && !context->is_again)
        st = cuda_tensor_new(call, &input->shape, NULL, context->saved);
    if (!st && context->saved)
        shares = cuda_at(context->saved);
    if (!st)
        st = cuda_fault_word(call->cuda->device, &fault, call->err);
    if (!st)
        st = cuda_scratch(call, (2 * n + 1) * sizeof(double), &scratch);
    if (st)
        return st;
    lines = (cu_pointer)(uintptr_t)buffer_data(scratch);
    y = cuda_at(&call->outputs[0]);
    if (n)
        st = CUDA_LAUNCH(call, "losses", "entropy_lines",
                         cuda_grid_for(call->cuda->device, n * 32, 1), scores,
                         x, labels, lines, shares, fault);
    if (!st)
        st = CUDA_LAUNCH(call, "losses", "entropy_finish", one_block, scores,
                         lines, y);
    buffer_release(scratch);
    return st;
}

enum assay_status cuda_back_cross_entropy(struct cuda_call *call,
                                          const struct op_backward *pass)
{
    const struct tensor *x = pass->inputs[SCORES];
    struct scores scores = cuda_scores_of(call->node, x, pass->inputs[LABELS]);
    struct buffer *scratch = NULL;
    struct tensor own = {0};
    cu_pointer labels = cuda_at(pass->inputs[LABELS]);
    cu_pointer shares = cuda_at(pass->saved), share, dy, dx;
    enum assay_status st = cuda_tensor_new(call, &x->shape, NULL, &pass->dx[0]);

    if (!st)
        st = cuda_in_layout(call, pass->dy[0], NULL, &own);
    if (!st)
        st = cuda_scratch(call, sizeof(float), &scratch);
    if (!st) {
        share = (cu_pointer)(uintptr_t)buffer_data(scratch);
        dy = cuda_at(&own);
        dx = cuda_at(&pass->dx[0]);
        st = CUDA_LAUNCH(call, "losses", "entropy_count", one_block, scores,
                         labels, share);
    }
    if (!st && tensor_elements(x))
        st = CUDA_LAUNCH(
            call, "losses", "entropy_back",
            cuda_grid_for(call->cuda->device, tensor_elements(x), 1), scores,
            shares, labels, share, dy, dx);
    buffer_release(scratch);
    tensor_release(&own);
    return st;
}

/* ---- the losses of proposals --------------------------------------------- */

enum { most_levels = 8 };

struct rpn_levels {
    struct cuda_view scores[most_levels], deltas[most_levels];
    int64_t shapes[most_levels], widths[most_levels];
    int64_t anchors[most_levels];
    int64_t n_images;
    int n;
    float beta;
};

/* Where the maps are, or their gradients. */
static struct rpn_levels levels_of(const struct node *node,
                                   const struct tensor *const *inputs,
                                   const struct tensor *const *maps)
{
    const struct rpn_loss_attrs *attrs = node->attrs;
    int n = (int)(node->n_inputs - RPN_LOSS_MAPS) / 2;
    struct rpn_levels levels = {.n_images =
                                    inputs[RPN_LOSS_MAPS]->shape.dims[0],
                                .n = n,
                                .beta = attrs->beta};

    for (int i = 0; i < n; i++) {
        const int64_t *dims = inputs[RPN_LOSS_MAPS + i]->shape.dims;

        levels.shapes[i] = dims[1];
        levels.widths[i] = dims[3];
        levels.anchors[i] = dims[1] * dims[2] * dims[3];
        levels.scores[i] = cuda_view_of(maps[RPN_LOSS_MAPS + i]);
        levels.deltas[i] = cuda_view_of(maps[RPN_LOSS_MAPS + n + i]);
    }
    return levels;
}

bool cuda_can_rpn_loss(const struct cuda *cuda, const struct node *node,
                       const struct tensor *const *inputs)
{
    (void)cuda, (void)inputs;
    return node->n_inputs <= RPN_LOSS_MAPS + 2 * most_levels;
}

enum assay_status cuda_run_rpn_loss(struct cuda_call *call)
{
    struct rpn_levels levels =
        levels_of(call->node, call->inputs, call->inputs);
    cu_pointer chosen = cuda_at(call->inputs[RPN_LOSS_CHOSEN]);
    cu_pointer labels = cuda_at(call->inputs[RPN_LOSS_LABELS]);
    cu_pointer targets = cuda_at(call->inputs[RPN_LOSS_TARGETS]);
    int64_t n = (int64_t)tensor_elements(call->inputs[RPN_LOSS_CHOSEN]);
    cu_pointer of_scores, of_boxes, fault;
    enum assay_status st =
        cuda_fault_word(call->cuda->device, &fault, call->err);

    for (size_t i = 0; !st && i < RPN_LOSS_OUTPUTS; i++)
        st = cuda_output(call, i, NULL);
    if (st)
        return st;
    of_scores = cuda_at(&call->outputs[RPN_LOSS_OBJECTNESS]);
    of_boxes = cuda_at(&call->outputs[RPN_LOSS_BOXES]);
    return CUDA_LAUNCH(call, "losses", "rpn_loss", one_block, levels, chosen,
                       labels, targets, n, of_scores, of_boxes, fault);
}

enum assay_status cuda_back_rpn_loss(struct cuda_call *call,
                                     const struct op_backward *pass)
{
    const struct tensor *maps[RPN_LOSS_MAPS + 2 * most_levels] = {0};
    const struct tensor *const *dy = pass->dy;
    cu_pointer chosen = cuda_at(pass->inputs[RPN_LOSS_CHOSEN]);
    cu_pointer labels = cuda_at(pass->inputs[RPN_LOSS_LABELS]);
    cu_pointer targets = cuda_at(pass->inputs[RPN_LOSS_TARGETS]);
    cu_pointer of_scores = cuda_at(dy[RPN_LOSS_OBJECTNESS]);
    cu_pointer of_boxes = cuda_at(dy[RPN_LOSS_BOXES]);
    int64_t n = (int64_t)tensor_elements(pass->inputs[RPN_LOSS_CHOSEN]);
    struct rpn_levels levels, to;
    enum assay_status st = ASSAY_OK;

    for (size_t i = RPN_LOSS_MAPS; !st && i < call->node->n_inputs; i++) {
        const struct tensor *map = pass->inputs[i];

        if (op_wants(pass, i))
            st = cuda_tensor_new(call, &map->shape, cuda_map_layout(),
                                 &pass->dx[i]);
        if (!st && op_wants(pass, i))
            st = tensor_clear(&pass->dx[i], call->err);
        else
            pass->dx[i].shape = map->shape;
        maps[i] = &pass->dx[i];
    }
    if (st || !n)
        return st;
    levels = levels_of(call->node, pass->inputs, pass->inputs);
    to = levels_of(call->node, pass->inputs, maps);
    return CUDA_LAUNCH(call, "losses", "rpn_loss_back",
                       cuda_grid_for(call->cuda->device, (size_t)n, 1), levels,
                       to, chosen, labels, targets, n, of_scores, of_boxes);
}

/* ---- the loss of boxes --------------------------------------------------- */

bool cuda_can_box_loss(const struct cuda *cuda, const struct node *node,
                       const struct tensor *const *inputs)
{
    (void)cuda, (void)node, (void)inputs;
    return true;
}

enum assay_status cuda_run_box_loss(struct cuda_call *call)
{
    const struct box_loss_attrs *attrs = call->node->attrs;
    const struct tensor *input = call->inputs[BOX_LOSS_DELTAS];
    cu_pointer deltas = cuda_at(input);
    cu_pointer labels = cuda_at(call->inputs[BOX_LOSS_LABELS]);
    cu_pointer targets = cuda_at(call->inputs[BOX_LOSS_TARGETS]), y, fault = 0;
    int64_t n = input->shape.dims[0], classes = input->shape.dims[1] / 4;
    float beta = attrs->beta;
    enum assay_status st = cuda_output(call, 0, NULL);

    if (!st)
        st = cuda_fault_word(call->cuda->device, &fault, call->err);
    y = cuda_at(&call->outputs[0]);
    if (st)
        return st;
    return CUDA_LAUNCH(call, "losses", "box_loss", one_block, deltas, labels,
                       targets, n, classes, beta, y, fault);
}

enum assay_status cuda_back_box_loss(struct cuda_call *call,
                                     const struct op_backward *pass)
{
    const struct box_loss_attrs *attrs = call->node->attrs;
    const struct tensor *input = pass->inputs[BOX_LOSS_DELTAS];
    cu_pointer deltas = cuda_at(input), dy = cuda_at(pass->dy[0]), dx;
    cu_pointer labels = cuda_at(pass->inputs[BOX_LOSS_LABELS]);
    cu_pointer targets = cuda_at(pass->inputs[BOX_LOSS_TARGETS]);
    int64_t n = input->shape.dims[0], classes = input->shape.dims[1] / 4;
    float beta = attrs->beta;
    enum assay_status st;

    if (!op_wants(pass, BOX_LOSS_DELTAS))
        return ASSAY_OK;
    st = cuda_tensor_new(call, &input->shape, NULL, &pass->dx[BOX_LOSS_DELTAS]);
    dx = cuda_at(&pass->dx[BOX_LOSS_DELTAS]);
    if (st || !tensor_elements(input))
        return st;
    return CUDA_LAUNCH(
        call, "losses", "box_loss_back",
        cuda_grid_for(call->cuda->device, tensor_elements(input), 1), deltas,
        labels, targets, n, classes, beta, dy, dx);
}

/* ---- the loss of masks --------------------------------------------------- */

struct mask_maps {
    struct cuda_view logits;
    int64_t n, classes, height, width;
};

static struct mask_maps mask_maps_of(const struct tensor *logits)
{
    const int64_t *dims = logits->shape.dims;

    return (struct mask_maps){cuda_view_of(logits), dims[0], dims[1], dims[2],
                              dims[3]};
}

enum assay_status cuda_run_mask_loss(struct cuda_call *call)
{
    struct mask_maps maps = mask_maps_of(call->inputs[MASK_LOSS_LOGITS]);
    cu_pointer labels = cuda_at(call->inputs[MASK_LOSS_LABELS]);
    cu_pointer targets = cuda_at(call->inputs[MASK_LOSS_TARGETS]), y, fault = 0;
    enum assay_status st = cuda_output(call, 0, NULL);

    if (!st)
        st = cuda_fault_word(call->cuda->device, &fault, call->err);
    y = cuda_at(&call->outputs[0]);
    if (st)
        return st;
    return CUDA_LAUNCH(call, "losses", "mask_loss", one_block, maps, labels,
                       targets, y, fault);
}

enum assay_status cuda_back_mask_loss(struct cuda_call *call,
                                      const struct op_backward *pass)
{
    const struct tensor *logits = pass->inputs[MASK_LOSS_LOGITS];
    struct mask_maps maps = mask_maps_of(logits);
    cu_pointer labels = cuda_at(pass->inputs[MASK_LOSS_LABELS]);
    cu_pointer targets = cuda_at(pass->inputs[MASK_LOSS_TARGETS]);
    cu_pointer dy = cuda_at(pass->dy[0]), dx;
    enum assay_status st;

    if (!op_wants(pass, MASK_LOSS_LOGITS))
        return ASSAY_OK;
    st = cuda_tensor_new(call, &logits->shape, cuda_map_layout(),
                         &pass->dx[MASK_LOSS_LOGITS]);
    dx = cuda_at(&pass->dx[MASK_LOSS_LOGITS]);
    if (st || !tensor_elements(logits))
        return st;
    return CUDA_LAUNCH(
        call, "losses", "mask_loss_back",
        cuda_grid_for(call->cuda->device, tensor_elements(logits), 2), maps,
        labels, targets, dy, dx);
}
