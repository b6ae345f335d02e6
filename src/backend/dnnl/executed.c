/* backend/dnnl/executed.c - what the kernels of a node compute and move, both
 * ways. */
#include "backend/dnnl/own_winograd.h"

#include "ops/convolution/conv2d.h"
#include "ops/ops.h"

#include <string.h>

/* Winograd's F(m x m, r x r) on tiles of m + r - 1: products a tile and pair of
 * channels, and the FLOP of transforming a tile of one channel on its way in
 * and out, and of the weights of a pair of channels or of their gradient. Of 2:
 * the counts of Lavin and Gray (2015), table 1. Of 4: oneDNN's transforms, a
 * line of a tile after the other: 12 lines of 12 multiply-adds on the way in,
 * 10 of 16 FLOP on the way out. Backward to the weights, F(3 x 3, 4 x 4), the
 * gradient of the output goes in with as many as it came out. The last two are
 * ours: for a stride of 2, additions alone, 10 and 7 lines of 2 and 4; and of 5
 * taps, where 8 lines of 12 FLOP come out and 11 of 54 make the weights. */
static const struct winograd {
    const char *name; /* part of an implementation's */
    uint64_t m, products;
    uint64_t in_flops, out_flops;
    uint64_t weight_flops, gradient_flops;
} winograds[] = {{"4x3", 4, 36, 12 * 12 * 2, 10 * 16, 9 * 15, 9 * 13},
                 {"2x3", 2, 16, 32, 24, 28, 0},
                 {"2x3s2", 2, 25, 10 * 2, 7 * 4, 7, 0},
                 {"2x5", 2, 36, 12 * 12 * 2, 8 * 12, 11 * 54, 0}};

enum { n_winograds = sizeof winograds / sizeof *winograds };

/* NULL: the direct algorithm. One of an unknown tile is taken for the one that
 * does the least. */
static const struct winograd *find_winograd(const struct kernel *kernel)
{
    const char *name = kernel->candidates.items[0].name;

    if (!kernel->candidates.n || strncmp(name, "winograd", 8) != 0)
        return NULL;
    for (size_t i = n_winograds - 1; i > 0; i--) {
        if (strstr(name, winograds[i].name))
            return &winograds[i];
    }
    return &winograds[0];
}

/* Pairs of an output and a kernel place, along one side, that meet the input
 * and not the zeros around it: those are skipped. */
static uint64_t pairs_inside(const struct conv2d_attrs *attrs, int axis,
                             int64_t in, int64_t out, int64_t kernel)
{
    int64_t stride = attrs->stride[axis];
    uint64_t n = 0;

    for (int64_t k = 0; k < kernel; k++) {
        int64_t offset = k * attrs->dilation[axis] - attrs->before[axis];
        int64_t first = offset < 0 ? (-offset + stride - 1) / stride : 0;
        int64_t end = in > offset ? (in - offset + stride - 1) / stride : 0;

        end = end < out ? end : out;
        n += end > first ? (uint64_t)(end - first) : 0;
    }
    return n;
}

/* As many in each direction: a pair that meets nothing is skipped whichever
 * of its three parts is made. */
static uint64_t direct_flops(const struct kernel *kernel,
                             enum direction direction,
                             const struct conv2d_attrs *attrs,
                             const struct shape *w)
{
    bool is_back = direction == DIRECTION_DATA;
    const int64_t *in = (is_back ? kernel->dst : kernel->src)->shape.dims;
    const int64_t *out = (is_back ? kernel->src : kernel->dst)->shape.dims;
    uint64_t places = pairs_inside(attrs, 0, in[2], out[2], w->dims[2]) *
                      pairs_inside(attrs, 1, in[3], out[3], w->dims[3]) *
                      (uint64_t)in[0];

    if (attrs->groups > 1 || kernel->grouped)
        return 2 * places * (uint64_t)(w->dims[0] * w->dims[1]);
    if (kernel->direct)
        return 2 * places * own_direct_pairs(kernel);
    return 2 * places *
           (uint64_t)(kernel->src->channels * kernel->dst->channels);
}

static uint64_t executed_ceil_div(int64_t a, uint64_t b)
{
    return ((uint64_t)a + b - 1) / b;
}

static uint64_t count_tiles(const struct kernel *kernel,
                            const struct layout *made,
                            const struct winograd *winograd)
{
    const int64_t *dims = made->shape.dims;

    if (kernel->winograd)
        return own_winograd_tiles(kernel);
    return (uint64_t)dims[0] * executed_ceil_div(dims[2], winograd->m) *
           executed_ceil_div(dims[3], winograd->m);
}

/* How often the primitive runs: the last part reaches back. */
static uint64_t count_parts(const struct kernel *kernel)
{
    if (!kernel->part.images)
        return 1;
    return executed_ceil_div(kernel->dst->shape.dims[0],
                             (uint64_t)kernel->part.images) *
           executed_ceil_div(kernel->dst->shape.dims[2],
                             (uint64_t)kernel->part.rows);
}

/* Whether the kernel transforms weights itself. Others are transformed when
 * they are packed: once for inference, for each pass in training. */
static bool transforms_weights(const struct kernel *kernel)
{
    return !kernel->weights->is_opaque;
}

static uint64_t winograd_flops(const struct onednn *dn,
                               const struct kernel *kernel,
                               enum direction direction,
                               const struct winograd *winograd)
{
    uint64_t in = (uint64_t)kernel->src->channels;
    uint64_t out = (uint64_t)kernel->dst->channels;
    uint64_t multiplied = kernel->winograd ? own_winograd_inputs(kernel) : in;
    uint64_t of_weights = 0;

    if (direction == DIRECTION_WEIGHTS)
        of_weights = winograd->gradient_flops;
    else if (transforms_weights(kernel) || dn->options.is_training)
        of_weights = winograd->weight_flops;
    return count_parts(kernel) *
           (count_tiles(kernel, kernel->part_dst, winograd) *
                (2 * winograd->products * multiplied * out +
                 winograd->in_flops * in + winograd->out_flops * out) +
            of_weights * multiplied * out);
}

/* Transformed tiles and weights are written and read back: all of them where
 * the scratch memory holds all; where it holds a few at a time, they stay in
 * the cache. */
static uint64_t executed_winograd_bytes(const struct kernel *kernel,
                                        const struct winograd *winograd)
{
    uint64_t in = (uint64_t)kernel->src->channels;
    uint64_t out = (uint64_t)kernel->dst->channels;
    uint64_t numbers = count_tiles(kernel, kernel->dst, winograd) * (in + out);
    uint64_t held = layout_bytes(kernel->scratch), bytes;

    if (transforms_weights(kernel))
        numbers += in * out;
    bytes = numbers * winograd->products * sizeof(float);
    return 2 * (held < bytes ? held : bytes);
}

/* 0: as many as the direct algorithm on dense tensors. */
static uint64_t kernel_flops(const struct onednn *dn,
                             const struct kernel *kernel,
                             enum direction direction, const struct node *node,
                             const struct tensor *const *inputs)
{
    const struct winograd *winograd = find_winograd(kernel);

    if (winograd)
        return winograd_flops(dn, kernel, direction, winograd);
    if (node->op == &op_conv2d || node->op == &op_pick_conv2d)
        return direct_flops(kernel, direction, node->attrs,
                            &inputs[CONV2D_WEIGHT]->shape);
    if (kernel->weights && dense_has(kernel))
        return dense_flops(kernel);
    return 0;
}

static bool is_blocked(const struct layout *layout)
{
    return layout->is_opaque || layout->block > 1;
}

/* In training, weights that are scaled are copied for it, and those that the
 * kernel wants in blocks are laid out for each pass; their gradients take the
 * same way back. */
static uint64_t packing_bytes(const struct kernel *kernel,
                              const struct node *node,
                              const struct tensor *const *inputs)
{
    uint64_t weights, bytes = 0;

    if (!kernel->weights)
        return 0;
    weights = tensor_bytes(inputs[1]);
    if (is_blocked(kernel->weights))
        bytes += weights + layout_bytes(kernel->weights);
    if (node->op == &op_conv2d && conv2d_scale(node, inputs))
        bytes += 2 * weights;
    return bytes;
}

/* Reorders read and write a map once more. */
static uint64_t reorder_bytes(const struct kernel *kernel,
                              const struct node *node,
                              const struct tensor *const *inputs,
                              const struct tensor *outputs)
{
    uint64_t bytes = 0;

    if (kernel->reorders_x)
        bytes += tensor_bytes(inputs[0]) + layout_bytes(kernel->src);
    if (node->op == &op_conv2d && inputs[CONV2D_RESIDUAL] &&
        inputs[CONV2D_RESIDUAL]->buffer != outputs[0].buffer)
        bytes +=
            tensor_bytes(inputs[CONV2D_RESIDUAL]) + layout_bytes(kernel->dst);
    return bytes;
}

/* What is read and written with tensors as the kernel has them. */
static uint64_t moved_bytes(const struct kernel *kernel,
                            const struct tensor *const *inputs,
                            const struct cost *cost)
{
    uint64_t bytes = cost->done_bytes;

    bytes += layout_bytes(kernel->src) - tensor_bytes(inputs[0]);
    bytes += layout_bytes(kernel->dst) - cost->write_bytes;
    if (kernel->weights)
        bytes += layout_bytes(kernel->weights) - tensor_bytes(inputs[1]);
    return bytes;
}

/* Parts that were made in place are neither read nor written. */
static uint64_t bytes_in_place(const struct node *node,
                               const struct tensor *const *inputs,
                               const struct tensor *outputs)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < node->n_inputs; i++) {
        if (inputs[i]->buffer == outputs[0].buffer)
            bytes += 2 * tensor_bytes(inputs[i]);
    }
    return bytes;
}

void executed_forward(const struct onednn *dn, const struct node *node,
                      size_t at, const struct tensor *const *inputs,
                      const struct tensor *outputs, struct cost *cost)
{
    const struct kernel *kernel = *kernel_list(dn, DIRECTION_FORWARD, at);
    const struct winograd *winograd;
    uint64_t flops;

    if (outputs[0].layout && outputs[0].layout->is_pending)
        cost->done_flops = cost->done_bytes = 0; /* left to the next one */
    if (node->op == &op_concat && cost->done_bytes)
        cost->done_bytes -= bytes_in_place(node, inputs, outputs);
    if (!kernel || tensor_elements(&outputs[0]) == 0)
        return;
    winograd = find_winograd(kernel);
    flops = kernel_flops(dn, kernel, DIRECTION_FORWARD, node, inputs);
    cost->done_bytes = moved_bytes(kernel, inputs, cost) +
                       reorder_bytes(kernel, node, inputs, outputs);
    if (dn->options.is_training)
        cost->done_bytes += packing_bytes(kernel, node, inputs);
    if (winograd)
        cost->done_bytes += executed_winograd_bytes(kernel, winograd);
    if (flops)
        cost->done_flops = flops + cost->flops;
    if (inputs[0]->layout && inputs[0]->layout->is_pending)
        cost->done_flops += 2 * tensor_elements(inputs[0]);
}

/* ---- backward ------------------------------------------------------------ */

/* A ReLU that is fused has read the output and made another gradient. */
static bool has_relu(const struct op_backward *pass)
{
    return pass->outputs[0].buffer != NULL;
}

/* It lays the gradient out as the output is first. */
static uint64_t relu_bytes(const struct op_backward *pass)
{
    const struct tensor *dy = pass->dy[0];
    uint64_t bytes = 3 * tensor_bytes(dy);

    if (dy->layout != pass->outputs[0].layout)
        bytes += 2 * tensor_bytes(dy);
    return bytes;
}

/* Backward to the weights: whether the gradient of the output was not laid
 * out as the kernel reads it. */
static bool reorders_gradient(const struct kernel *kernel,
                              const struct op_backward *pass)
{
    const struct tensor *dy = has_relu(pass) ? &pass->outputs[0] : pass->dy[0];

    if (!dy->layout)
        return kernel->dst->order != ORDER_DENSE;
    return dy->layout != kernel->dst;
}

static uint64_t gradient_bytes(const struct kernel *kernel,
                               enum direction direction,
                               const struct node *node,
                               const struct op_backward *pass)
{
    const struct winograd *winograd = find_winograd(kernel);
    const struct tensor *dy = pass->dy[0];
    const struct tensor *x = direction == DIRECTION_DATA ? dy : pass->inputs[0];
    uint64_t bytes = layout_bytes(kernel->src) + layout_bytes(kernel->weights) +
                     layout_bytes(kernel->dst) +
                     layout_bytes(kernel->workspace) +
                     packing_bytes(kernel, node, pass->inputs);

    if (kernel->reorders_x)
        bytes += tensor_bytes(x) + layout_bytes(kernel->src);
    if (direction == DIRECTION_WEIGHTS && reorders_gradient(kernel, pass))
        bytes += tensor_bytes(dy) + layout_bytes(kernel->dst);
    if (winograd)
        bytes += executed_winograd_bytes(kernel, winograd);
    return bytes;
}

/* Whether the step has run a kernel of that direction, and not only the op's
 * own. */
static bool has_run(enum direction direction, const struct op_backward *pass)
{
    if (direction == DIRECTION_DATA)
        return op_wants(pass, 0);
    return op_wants(pass, 1) || op_wants(pass, 2);
}

void executed_backward(const struct onednn *dn, const struct node *node,
                       size_t at, const struct op_backward *pass,
                       struct cost *cost)
{
    static const enum direction directions[] = {DIRECTION_DATA,
                                                DIRECTION_WEIGHTS};
    uint64_t flops = 0, bytes = 0;

    if (!pass->dy[0] || tensor_elements(pass->dy[0]) == 0)
        return;
    if (node->op == &op_add || node->op == &op_dropout) {
        /* The gradient is handed on as it is. */
        cost->done_flops = cost->done_bytes = 0;
        return;
    }
    for (size_t i = 0; i < sizeof directions / sizeof *directions; i++) {
        const struct kernel *kernel = *kernel_list(dn, directions[i], at);

        if (!kernel || !has_run(directions[i], pass))
            continue;
        flops += kernel_flops(dn, kernel, directions[i], node, pass->inputs);
        bytes += gradient_bytes(kernel, directions[i], node, pass);
    }
    if (flops)
        cost->done_flops = flops + cost->flops;
    if (bytes && has_relu(pass))
        bytes += relu_bytes(pass);
    if (bytes)
        cost->done_bytes = bytes;
}
