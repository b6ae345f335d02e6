/* machine/probe_compute.c - runs a layer with the kernels that models use. */
#include "machine/machine_internal.h"

#include "base/mem.h"
#include "ops/convolution/conv2d.h"
#include "ops/ops.h"
#include "ops/product/linear.h"

struct probe_layer {
    struct pool *host_pool, *pool; /* the same on the host */
    struct graph *graph;
    struct backend *backend;
    struct op_context context;
    struct tensor x; /* in the layout of the kernel's output */
    double flops;
};

static enum assay_status fill_tensor(struct pool *pool,
                                     const struct shape *shape,
                                     struct tensor *out, struct error *err)
{
    enum assay_status st = tensor_new(pool, DTYPE_F32, shape, out, err);

    if (st)
        return st;
    /* Neither zero nor so small that products are denormal, which some
     * processors are slow with. */
    for (size_t i = 0; i < tensor_elements(out); i++)
        tensor_f32(out)[i] = (float)((int)(i % 7) - 3) / 64;
    return ASSAY_OK;
}

/* Moves it into the device's memory. */
static enum assay_status move_tensor(struct probe_layer *layer,
                                     struct tensor *tensor, struct error *err)
{
    struct tensor moved;
    enum assay_status st;

    if (layer->pool == layer->host_pool)
        return ASSAY_OK;
    st = tensor_copy(layer->pool, tensor, &moved, err);
    tensor_release(tensor);
    *tensor = moved;
    return st;
}

static enum assay_status add_weight(struct probe_layer *layer,
                                    const struct shape *shape, uint32_t *value,
                                    struct error *err)
{
    struct tensor data;
    enum assay_status st =
        graph_parameter(layer->graph, GRAPH_NONE, "weight", VALUE_PARAMETER,
                        DTYPE_F32, shape, value, err);

    if (!st)
        st = fill_tensor(layer->host_pool, shape, &data, err);
    if (!st)
        st = move_tensor(layer, &data, err);
    if (!st)
        st = graph_set_data(layer->graph, *value, data, err);
    return st;
}

static enum assay_status add_conv(struct probe_layer *layer, uint32_t x,
                                  const struct layer_shape *shape,
                                  struct error *err)
{
    struct shape weight = shape_of(4, shape->channels, shape->channels,
                                   shape->kernel, shape->kernel);
    struct conv2d_attrs attrs = conv2d_defaults();
    uint32_t inputs[CONV2D_INPUTS] = {x, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE};
    struct node_description node = {.op = &op_conv2d,
                                    .attrs = &attrs,
                                    .scope = GRAPH_NONE,
                                    .inputs = inputs,
                                    .n_inputs = CONV2D_INPUTS,
                                    .n_outputs = 1};
    enum assay_status st =
        add_weight(layer, &weight, &inputs[CONV2D_WEIGHT], err);
    uint32_t y;

    for (int i = 0; i < 2; i++)
        attrs.before[i] = attrs.after[i] = shape->kernel / 2;
    return st ? st : graph_node_add(layer->graph, &node, &y, err);
}

static enum assay_status
probe_compute_add_product(struct probe_layer *layer, uint32_t x,
                          const struct layer_shape *shape, struct error *err)
{
    struct shape weight = shape_of(2, shape->channels, shape->channels);
    struct linear_attrs attrs = {.has_relu = false};
    uint32_t inputs[LINEAR_INPUTS] = {x, GRAPH_NONE, GRAPH_NONE};
    struct node_description node = {.op = &op_linear,
                                    .attrs = &attrs,
                                    .scope = GRAPH_NONE,
                                    .inputs = inputs,
                                    .n_inputs = LINEAR_INPUTS,
                                    .n_outputs = 1};
    enum assay_status st =
        add_weight(layer, &weight, &inputs[LINEAR_WEIGHT], err);
    uint32_t y;

    return st ? st : graph_node_add(layer->graph, &node, &y, err);
}

static enum assay_status probe_compute_build(struct probe_layer *layer,
                                             const struct layer_shape *shape,
                                             struct error *err)
{
    enum assay_status st = graph_new(&layer->graph, err);
    uint32_t x;

    if (!st)
        st = graph_input(layer->graph, "x", DTYPE_F32, &x, err);
    if (st)
        return st;
    return shape->kernel ? add_conv(layer, x, shape, err)
                         : probe_compute_add_product(layer, x, shape, err);
}

/* The inputs of the only node. */
static size_t probe_compute_find_inputs(const struct probe_layer *layer,
                                        const struct tensor **inputs)
{
    const struct node *node = graph_node(layer->graph, 0);

    for (size_t i = 0; i < node->n_inputs; i++)
        inputs[i] = node->inputs[i] == GRAPH_NONE
                        ? NULL
                        : &graph_value(layer->graph, node->inputs[i])->data;
    inputs[0] = &layer->x;
    return node->n_inputs;
}

enum { max_inputs = 8 };

static enum assay_status probe_compute_forward(struct probe_layer *layer,
                                               struct tensor *y,
                                               struct error *err)
{
    const struct node *node = graph_node(layer->graph, 0);
    const struct backend_class *class = layer->backend->class;
    const struct tensor *inputs[max_inputs];
    enum assay_status st;

    *y = (struct tensor){0};
    probe_compute_find_inputs(layer, inputs);
    if (class->can_run(layer->backend, node, inputs))
        return class->forward(layer->backend, &layer->context, node, 0, inputs,
                              y, err);
    st = node->op->infer(node, inputs, y, err);
    if (!st) {
        struct shape shape = y->shape;

        st = tensor_new(layer->pool, DTYPE_F32, &shape, y, err);
    }
    if (!st)
        st = node->op->forward(&layer->context, node, inputs, y, err);
    return st;
}

static void count_flops(struct probe_layer *layer, const struct tensor *y)
{
    const struct node *node = graph_node(layer->graph, 0);
    const struct backend *backend = layer->backend;
    const struct tensor *inputs[max_inputs];
    struct cost cost = {0};

    probe_compute_find_inputs(layer, inputs);
    node->op->cost(node, inputs, y, &cost);
    cost.done_flops = 2 * cost.macs + cost.flops;
    if (backend->class->executed &&
        backend->class->can_run(backend, node, inputs))
        backend->class->executed(backend, node, 0, inputs, y, &cost);
    layer->flops = (double)cost.done_flops;
}

static enum assay_status probe_compute_start(struct probe_layer *layer,
                                             const struct device *device,
                                             const struct layer_shape *shape,
                                             struct error *err)
{
    struct backend_options options = {.n_threads = layer->context.n_threads,
                                      .is_plain = true};
    struct shape x = shape->kernel
                         ? shape_of(4, (int64_t)1, shape->channels,
                                    shape->height, shape->width)
                         : shape_of(2, shape->height, shape->channels);
    enum assay_status st = device->backend->make(device, layer->graph, &options,
                                                 &layer->backend, err);
    struct tensor y = {0};

    if (!st)
        st = fill_tensor(layer->host_pool, &x, &layer->x, err);
    if (!st)
        st = move_tensor(layer, &layer->x, err);
    if (!st)
        st = probe_compute_forward(layer, &y, err);
    if (st)
        return st;
    count_flops(layer, &y);
    tensor_release(&layer->x);
    layer->x = y;
    return ASSAY_OK;
}

enum assay_status probe_layer_new(const struct device *device, int n_threads,
                                  const struct layer_shape *shape,
                                  struct probe_layer **out, struct error *err)
{
    struct probe_layer *layer = mem_zalloc(sizeof *layer);
    enum assay_status st;

    *out = NULL;
    if (!layer)
        return error_nomem(err, sizeof *layer, "a layer to measure");
    st = pool_new(&layer->host_pool, err);
    layer->pool = layer->host_pool;
    if (!st && !device->space->is_host)
        st = pool_new_in(device->space, &layer->pool, err);
    layer->context =
        (struct op_context){.pool = layer->pool, .n_threads = n_threads};
    if (!st)
        st = probe_compute_build(layer, shape, err);
    if (!st)
        st = probe_compute_start(layer, device, shape, err);
    if (st) {
        probe_layer_free(layer);
        return st;
    }
    *out = layer;
    return ASSAY_OK;
}

void probe_layer_free(struct probe_layer *layer)
{
    if (!layer)
        return;
    tensor_release(&layer->x);
    if (layer->backend)
        layer->backend->class->free(layer->backend);
    graph_free(layer->graph);
    if (layer->pool != layer->host_pool)
        pool_free(layer->pool);
    pool_free(layer->host_pool);
    mem_free(layer);
}

enum assay_status probe_layer_run(void *context, struct error *err)
{
    struct probe_layer *layer = context;
    const struct backend_class *class = layer->backend->class;
    struct tensor y;
    enum assay_status st = probe_compute_forward(layer, &y, err);

    tensor_release(&y);
    if (!st && class->synchronise)
        st = class->synchronise(layer->backend, err);
    return st;
}

double probe_layer_flops(const struct probe_layer *layer)
{
    return layer->flops;
}
