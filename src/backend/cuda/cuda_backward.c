/* backend/cuda/cuda_backward.c - see cuda_backward.h: one line for each op. */
#include "backend/cuda/cuda_backward.h"

#include "backend/cuda/cuda_gate.h"
#include "backend/cuda/cuda_ops.h"
#include "backend/cuda/cuda_plan.h"
#include "ops/convolution/conv2d.h"
#include "ops/norm/batch_norm.h"
#include "ops/ops.h"
#include "ops/pooling/max_pool2d.h"

enum { most_widened = 64 }; /* what a node that is trained may have */

typedef struct op_reads cuda_reads(const struct node *node, uint64_t wanted);
typedef bool cuda_can_back(const struct cuda *cuda, const struct node *node);

static struct op_reads reads_nothing(const struct node *node, uint64_t wanted)
{
    (void)node, (void)wanted;
    return (struct op_reads){0};
}

static struct op_reads reads_as_host(const struct node *node, uint64_t wanted)
{
    if (!node->op->backward_reads)
        return (struct op_reads){0};
    return node->op->backward_reads(node, wanted);
}

/* The deviation, whichever gradients are asked for. */
static struct op_reads reads_batch_norm(const struct node *node,
                                        uint64_t wanted)
{
    struct op_reads reads = reads_as_host(node, wanted);

    if (wanted)
        reads.inputs |= OP_INPUT(BATCH_NORM_VARIANCE);
    return reads;
}

/* The frozen scale of a folded norm is part of the weights. */
static bool can_back_conv2d(const struct cuda *cuda, const struct node *node)
{
    (void)cuda;
    return !conv2d_attrs(node)->activation;
}

/* Statistics that are trained are left to the host, and a ReLU that is
 * fused. */
static bool can_back_batch_norm(const struct cuda *cuda,
                                const struct node *node)
{
    if (batch_norm_attrs(node)->has_relu)
        return false;
    for (size_t i = BATCH_NORM_MEAN; i < BATCH_NORM_INPUTS; i++) {
        const struct value *of = graph_value(cuda->graph, node->inputs[i]);

        if (of->kind == VALUE_COMPUTED ||
            (of->kind == VALUE_PARAMETER && !of->is_frozen))
            return false;
    }
    return true;
}

static bool can_back_rpn_loss(const struct cuda *cuda, const struct node *node)
{
    return cuda_can_rpn_loss(cuda, node, NULL);
}

static bool can_back_dropout(const struct cuda *cuda, const struct node *node)
{
    return cuda_can_dropout(cuda, node, NULL);
}

/* The place of a maximum in its window is one byte. */
static bool can_back_max_pool2d(const struct cuda *cuda,
                                const struct node *node)
{
    const struct max_pool2d_attrs *attrs = node->attrs;

    (void)cuda;
    return attrs->kernel[0] * attrs->kernel[1] <= 256;
}

static bool can_back_roi_align(const struct cuda *cuda, const struct node *node)
{
    return cuda_can_roi_align(cuda, node, NULL);
}

/* The weights of classes, and logarithms, are the host's. */
static bool can_back_loss(const struct cuda *cuda, const struct node *node)
{
    return cuda_can_cross_entropy(cuda, node, NULL);
}

static const struct cuda_back_op {
    const struct op_class *op;
    cuda_back *run;
    cuda_reads *reads;
    cuda_can_back *can;  /* NULL: always */
    bool may_lack_first; /* the gradient of its first output may be missing */
    bool takes_any;      /* stored in any type; else it is given float32 */
} cuda_back_ops[] = {
    {&op_conv2d, cuda_back_conv2d, reads_as_host, can_back_conv2d, false, true},
    {&op_conv_transpose2d, cuda_back_conv_transpose2d, reads_as_host,
     cuda_can_back_transposed, false, true},
    {&op_linear, cuda_back_linear, reads_as_host, NULL, false, true},
    {&op_batch_norm, cuda_back_batch_norm, reads_batch_norm,
     can_back_batch_norm, false, true},
    {&op_batch_norm_training, cuda_back_batch_norm_training, reads_as_host,
     NULL, false, true},
    {&op_relu, cuda_back_relu, reads_as_host, NULL, false, true},
    {&op_clip, cuda_back_clip, reads_as_host, NULL, false, true},
    {&op_sigmoid, cuda_back_activation, reads_as_host, NULL, false, true},
    {&op_tanh, cuda_back_activation, reads_as_host, NULL, false, true},
    {&op_hard_sigmoid, cuda_back_activation, reads_as_host, NULL, false, true},
    {&op_silu, cuda_back_activation, reads_as_host, NULL, false, true},
    {&op_hard_swish, cuda_back_activation, reads_as_host, NULL, false, true},
    {&op_leaky_relu, cuda_back_activation, reads_as_host, NULL, false, true},
    {&op_add, cuda_back_add, reads_nothing, NULL, false, true},
    {&op_mul, cuda_back_mul, reads_as_host, NULL, false, true},
    {&op_concat, cuda_back_concat, reads_nothing, NULL, false, true},
    {&op_dropout_training, cuda_back_dropout, reads_as_host, can_back_dropout,
     false, false},
    {&op_max_pool2d, cuda_back_max_pool2d, reads_nothing, can_back_max_pool2d,
     false, true},
    {&op_avg_pool2d, cuda_back_pool2d, reads_nothing, NULL, false, true},
    {&op_adaptive_avg_pool2d, cuda_back_pool2d, reads_nothing, NULL, false,
     true},
    {&op_resize_nearest, cuda_back_resize_nearest, reads_nothing, NULL, false,
     true},
    {&op_roi_align, cuda_back_roi_align, reads_as_host, can_back_roi_align,
     false, false},
    {&op_softmax_cross_entropy_loss, cuda_back_cross_entropy, reads_as_host,
     can_back_loss, false, false},
    {&op_rpn_loss, cuda_back_rpn_loss, reads_as_host, can_back_rpn_loss, true,
     false},
    {&op_box_loss, cuda_back_box_loss, reads_as_host, NULL, false, false},
    {&op_mask_loss, cuda_back_mask_loss, reads_as_host, NULL, false, false},
};

static const struct cuda_back_op *back_find(const struct node *node)
{
    for (size_t i = 0; i < sizeof cuda_back_ops / sizeof *cuda_back_ops; i++) {
        if (cuda_back_ops[i].op == node->op)
            return &cuda_back_ops[i];
    }
    return NULL;
}

bool cuda_can_backward(const struct backend *backend, const struct node *node)
{
    const struct cuda *cuda = (const struct cuda *)backend;
    const struct cuda_back_op *op = back_find(node);

    return op && (!op->can || op->can(cuda, node));
}

struct op_reads cuda_backward_reads(const struct backend *backend,
                                    const struct node *node, uint64_t wanted)
{
    (void)backend;
    return back_find(node)->reads(node, wanted);
}

static enum assay_status back_zeros(struct cuda_call *call,
                                    const struct op_backward *pass)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < call->node->n_inputs; i++) {
        if (!op_wants(pass, i))
            continue;
        st = cuda_tensor_new(call, &pass->inputs[i]->shape, NULL, &pass->dx[i]);
        if (!st)
            st = tensor_clear(&pass->dx[i], call->err);
    }
    return st;
}

/* ---- ops that know float32 only, or no padding --------------------------- */

/* The tensors of a pass as an op knows them, for as long as a kernel is
 * queued. */
struct widened {
    struct tensor inputs[most_widened], outputs[most_widened];
    struct tensor dy[most_widened];
    const struct tensor *input_list[most_widened], *dy_list[most_widened];
    struct op_backward pass;
};

static bool is_strange(const struct cuda_back_op *op, const struct tensor *x)
{
    if (!x || !x->buffer || x->dtype != DTYPE_F32)
        return false;
    return (cuda_stored(x) != DTYPE_F32 && !op->takes_any) ||
           (cuda_is_padded(x) && !cuda_takes_padded(op->op));
}

static bool has_strange(const struct cuda_back_op *op, const struct node *node,
                        const struct op_backward *pass)
{
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (is_strange(op, pass->inputs[i]))
            return true;
    }
    for (size_t i = 0; i < node->n_outputs; i++) {
        if (is_strange(op, &pass->outputs[i]) || is_strange(op, pass->dy[i]))
            return true;
    }
    return false;
}

/* To be released; shapes without data stay what they are. */
static enum assay_status widen(struct cuda_call *call,
                               const struct cuda_back_op *op,
                               const struct tensor *x, struct tensor *out)
{
    enum cuda_order order;

    if (!is_strange(op, x)) {
        *out = x && x->buffer ? tensor_share(x) : x ? *x : (struct tensor){0};
        return ASSAY_OK;
    }
    order = cuda_is_padded(x) ? CUDA_CHANNELS_LAST : cuda_order(x);
    return cuda_in_layout(
        call, x, cuda_layout(order, op->takes_any ? cuda_stored(x) : DTYPE_F32),
        out);
}

static enum assay_status widened_fill(struct cuda_call *call,
                                      const struct cuda_back_op *op,
                                      const struct op_backward *pass,
                                      struct widened *wide)
{
    const struct node *node = call->node;
    enum assay_status st = ASSAY_OK;

    wide->pass = *pass;
    for (size_t i = 0; !st && i < node->n_inputs; i++) {
        st = widen(call, op, pass->inputs[i], &wide->inputs[i]);
        wide->input_list[i] = pass->inputs[i] ? &wide->inputs[i] : NULL;
    }
    for (size_t i = 0; !st && i < node->n_outputs; i++) {
        st = widen(call, op, &pass->outputs[i], &wide->outputs[i]);
        if (!st)
            st = widen(call, op, pass->dy[i], &wide->dy[i]);
        wide->dy_list[i] = pass->dy[i] ? &wide->dy[i] : NULL;
    }
    wide->pass.inputs = wide->input_list;
    wide->pass.outputs = wide->outputs;
    wide->pass.dy = wide->dy_list;
    return st;
}

static void widened_release(const struct node *node, struct widened *wide)
{
    for (size_t i = 0; i < node->n_inputs; i++)
        tensor_release(&wide->inputs[i]);
    for (size_t i = 0; i < node->n_outputs; i++) {
        tensor_release(&wide->outputs[i]);
        tensor_release(&wide->dy[i]);
    }
}

static enum assay_status back_widened(struct cuda_call *call,
                                      const struct cuda_back_op *op,
                                      const struct op_backward *pass)
{
    struct widened wide = {0};
    struct cuda_call own = *call;
    enum assay_status st = widened_fill(call, op, pass, &wide);

    own.inputs = wide.input_list;
    if (!st)
        st = op->run(&own, &wide.pass);
    widened_release(call->node, &wide);
    return st;
}

static enum assay_status back_run(struct cuda_call *call,
                                  const struct cuda_back_op *op,
                                  const struct op_backward *pass)
{
    return has_strange(op, call->node, pass) ? back_widened(call, op, pass)
                                             : op->run(call, pass);
}

enum assay_status cuda_run_backward(struct backend *backend,
                                    const struct op_context *context,
                                    const struct node *node, size_t at,
                                    const struct op_backward *pass,
                                    struct error *err)
{
    struct cuda *cuda = (struct cuda *)backend;
    const struct cuda_back_op *op = back_find(node);
    struct cuda_call call = {cuda, context, node, at, pass->inputs, NULL, err};
    bool is_zero =
        pass->dy[0] ? tensor_elements(pass->dy[0]) == 0 : !op->may_lack_first;
    enum assay_status st = cuda_enter(cuda->device, err);

    if (st)
        return st;
    cuda_timing_begin(cuda->device, context->tag);
    st = is_zero ? back_zeros(&call, pass) : back_run(&call, op, pass);
    cuda_timing_end(cuda->device, context->tag);
    for (size_t i = 0; st && i < node->n_inputs; i++) {
        if (op_wants(pass, i))
            tensor_release(&pass->dx[i]);
    }
    return st;
}

enum assay_status cuda_accumulate(struct backend *backend,
                                  const struct op_context *context,
                                  struct tensor *sum, const struct tensor *dx,
                                  struct error *err)
{
    struct cuda *cuda = (struct cuda *)backend;
    struct cuda_call call = {.cuda = cuda, .context = context, .err = err};
    struct tensor term = {0}, made = {0}, all = cuda_as_stored(sum);
    int64_t n = (int64_t)tensor_elements(&all);
    enum assay_status st = cuda_enter(cuda->device, err);
    cu_pointer a, b, y;
    int has_relu = 0;
    char name[CUDA_NAME];

    if (st || !n)
        return st;
    cuda_timing_begin(cuda->device, context->tag);
    st = cuda_in_layout(&call, dx, sum->layout, &term);
    if (!st && buffer_references(sum->buffer) == 1)
        made = tensor_share(sum);
    else if (!st)
        st = cuda_tensor_new(&call, &sum->shape, sum->layout, &made);
    a = cuda_at(sum);
    b = cuda_at(&term);
    y = cuda_at(&made);
    if (!st)
        st = CUDA_LAUNCH(&call, "elementwise",
                         cuda_kernel_name(name, "add", cuda_stored(sum)),
                         cuda_grid_for(cuda->device, (size_t)n, 8), a, b, y, n,
                         has_relu);
    cuda_timing_end(cuda->device, context->tag);
    tensor_release(&term);
    if (st) {
        tensor_release(&made);
        return st;
    }
    tensor_release(sum);
    *sum = made;
    return ASSAY_OK;
}
