/* backend/dnnl/executed.c - what the kernel of a node computes and moves. */
#include "backend/dnnl/dnnl_internal.h"

#include "ops/conv2d.h"
#include "ops/ops.h"

#include <string.h>

/* Winograd's F(m x m, 3 x 3) on tiles of m + 2: products a tile and pair of
 * channels, and the FLOP of transforming a tile of one channel on its way in
 * and out. Of 2: the counts of Lavin and Gray (2015), table 1. Of 4: oneDNN's
 * transforms, 12 multiply-adds and 16 FLOP a line of a tile. Weights are
 * transformed once, when they are packed. */
static const struct winograd {
    const char *name; /* part of an implementation's */
    uint64_t m, products, in_flops, out_flops;
} winograds[] = {{"4x3", 4, 36, 12 * 12 * 2, 10 * 16}, {"2x3", 2, 16, 32, 24}};

/* NULL: the direct algorithm. One of an unknown tile is taken for the one that
 * does the least. */
static const struct winograd *find_winograd(const struct kernel *kernel)
{
    const char *name = kernel->candidates.items[0].name;

    if (!kernel->candidates.n || strncmp(name, "winograd", 8) != 0)
        return NULL;
    return strstr(name, winograds[1].name) ? &winograds[1] : &winograds[0];
}

static uint64_t bytes_of(const dnnl_memory_desc_t *desc)
{
    return dnnl_memory_desc_get_size(desc);
}

/* With the channels that fill up the last block. */
static uint64_t channels(const dnnl_memory_desc_t *desc)
{
    return (uint64_t)desc->padded_dims[1];
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

static uint64_t direct_flops(const struct kernel *kernel,
                             const struct conv2d_attrs *attrs,
                             const struct shape *w)
{
    const dnnl_dim_t *in = kernel->src.dims, *out = kernel->dst.dims;
    uint64_t places = pairs_inside(attrs, 0, in[2], out[2], w->dims[2]) *
                      pairs_inside(attrs, 1, in[3], out[3], w->dims[3]) *
                      (uint64_t)in[0];

    if (attrs->groups > 1)
        return 2 * places * (uint64_t)(w->dims[0] * w->dims[1]);
    return 2 * places * channels(&kernel->src) * channels(&kernel->dst);
}

static uint64_t count_tiles(const struct kernel *kernel,
                            const struct winograd *winograd)
{
    const dnnl_dim_t *out = kernel->dst.dims;
    uint64_t m = winograd->m;

    return (uint64_t)out[0] * (((uint64_t)out[2] + m - 1) / m) *
           (((uint64_t)out[3] + m - 1) / m);
}

static uint64_t winograd_flops(const struct kernel *kernel,
                               const struct winograd *winograd)
{
    uint64_t in = channels(&kernel->src), out = channels(&kernel->dst);

    return count_tiles(kernel, winograd) *
           (2 * winograd->products * in * out + winograd->in_flops * in +
            winograd->out_flops * out);
}

/* Transformed tiles are written and read back: all of them where the scratch
 * memory holds all; where it holds a few at a time, they stay in the cache. */
static uint64_t winograd_bytes(const struct kernel *kernel,
                               const struct winograd *winograd)
{
    uint64_t tiles = count_tiles(kernel, winograd) * winograd->products *
                     (channels(&kernel->src) + channels(&kernel->dst)) *
                     sizeof(float);
    uint64_t held = bytes_of(&kernel->scratch);

    return 2 * (held < tiles ? held : tiles);
}

/* Reorders read and write a map once more. */
static uint64_t reorder_bytes(const struct kernel *kernel,
                              const struct node *node,
                              const struct tensor *const *inputs,
                              const struct tensor *outputs)
{
    uint64_t bytes = 0;

    if (kernel->reorders_x)
        bytes += tensor_bytes(inputs[0]) + bytes_of(&kernel->src);
    if (node->op == &op_conv2d && inputs[CONV2D_RESIDUAL] &&
        inputs[CONV2D_RESIDUAL]->buffer != outputs[0].buffer)
        bytes += tensor_bytes(inputs[CONV2D_RESIDUAL]) + bytes_of(&kernel->dst);
    return bytes;
}

/* What is read and written with tensors as the kernel has them. */
static uint64_t moved_bytes(const struct kernel *kernel,
                            const struct tensor *const *inputs,
                            const struct cost *cost)
{
    uint64_t bytes = cost->done_bytes;

    bytes += bytes_of(&kernel->src) - tensor_bytes(inputs[0]);
    bytes += bytes_of(&kernel->dst) - cost->write_bytes;
    if (kernel->weights.ndims > 0)
        bytes += bytes_of(&kernel->weights) - tensor_bytes(inputs[1]);
    return bytes;
}

void executed_work(const struct kernel *kernel, const struct node *node,
                   const struct tensor *const *inputs,
                   const struct tensor *outputs, struct cost *cost)
{
    const struct winograd *winograd = find_winograd(kernel);

    cost->done_bytes = moved_bytes(kernel, inputs, cost) +
                       reorder_bytes(kernel, node, inputs, outputs);
    if (winograd) {
        cost->done_flops = winograd_flops(kernel, winograd) + cost->flops;
        cost->done_bytes += winograd_bytes(kernel, winograd);
    } else if (node->op == &op_conv2d) {
        cost->done_flops = direct_flops(kernel, conv2d_attrs(node),
                                        &inputs[CONV2D_WEIGHT]->shape) +
                           cost->flops;
    }
}
