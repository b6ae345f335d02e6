/* predict/own_memory.c - see own_memory.h. */
#include "predict/own_memory.h"

#include "base/mem.h"
#include "engine/engine.h"
#include "engine/optimizer.h"
#include "passes/fuse.h"
#include "passes/train_pass.h"
#include "predict/hollow_device.h"

enum { n_warm_up = 1, most_inputs = 4 };

/* A network on the hollow device. */
struct own_walk {
    struct graph *graph;
    struct pool *pool;
    void *zeros; /* that all parameters are made of */
    struct engine *engine;
    struct optimizer *optimizer; /* in training */
    struct tensor inputs[most_inputs];
    struct tensor *outputs;
};

static void walk_inputs_free(struct own_walk *walk)
{
    for (size_t i = 0; i < most_inputs; i++)
        tensor_release(&walk->inputs[i]);
}

static void own_walk_free(struct own_walk *walk)
{
    walk_inputs_free(walk);
    optimizer_free(walk->optimizer);
    engine_free(walk->engine);
    graph_free(walk->graph);
    mem_free(walk->outputs);
    pool_free(walk->pool);
    mem_free(walk->zeros);
}

/* ---- the network --------------------------------------------------------- */

static size_t value_bytes(const struct value *value)
{
    size_t n = 0;

    return shape_elements(&value->shape, &n) ? n * dtype_bytes(value->dtype)
                                             : 0;
}

static bool lacks_data(const struct value *value)
{
    return (value->kind == VALUE_PARAMETER || value->kind == VALUE_BUFFER) &&
           !value->data.buffer;
}

/* Nobody writes them: they share their zeros. */
static enum assay_status own_walk_fill(struct own_walk *walk, struct error *err)
{
    size_t n = graph_value_count(walk->graph), most = 0;
    enum assay_status st = ASSAY_OK;

    for (uint32_t i = 0; i < n; i++) {
        const struct value *value = graph_value(walk->graph, i);

        if (lacks_data(value) && value_bytes(value) > most)
            most = value_bytes(value);
    }
    walk->zeros = mem_zalloc(most + 1);
    if (!walk->zeros)
        return error_nomem(err, most, "parameters");
    for (uint32_t i = 0; !st && i < n; i++) {
        const struct value *value = graph_value(walk->graph, i);
        struct tensor data = {.dtype = value->dtype, .shape = value->shape};

        if (!lacks_data(value))
            continue;
        st = buffer_wrap(walk->zeros, value_bytes(value), NULL, NULL,
                         &data.buffer, err);
        if (!st)
            st = graph_set_data(walk->graph, i, data, err);
    }
    return st;
}

/* Of any batch. */
static void walk_open_batch(struct own_walk *walk)
{
    const struct shape *declared = graph_input_shape(walk->graph, 0);
    struct shape shape;

    if (!declared || !declared->rank)
        return;
    shape = *declared;
    shape.dims[0] = -1;
    graph_declare_input(walk->graph, graph_input_at(walk->graph, 0), &shape);
}

/* As a campaign prepares it. */
static enum assay_status own_walk_prepare(struct own_walk *walk,
                                          const struct graph *graph,
                                          bool is_training, struct error *err)
{
    enum assay_status st = pool_new(&walk->pool, err);

    if (!st)
        st = graph_copy(graph, &walk->graph, err);
    if (!st)
        st = own_walk_fill(walk, err);
    if (st)
        return st;
    walk_open_batch(walk);
    if (!is_training)
        return fuse_graph(walk->graph, walk->pool, err);
    st = graph_make_training(walk->graph, NULL, err);
    return st ? st : fuse_training(walk->graph, err);
}

static enum assay_status own_walk_start(struct own_walk *walk, bool is_training,
                                        struct error *err)
{
    struct engine_options options = {
        .device = &hollow_device,
        .backend_options = {.n_threads = 1, .is_training = is_training}};
    struct optimizer_options sgd = optimizer_defaults(OPTIMIZER_SGD);
    size_t n = graph_output_count(walk->graph);
    enum assay_status st =
        engine_new(walk->graph, walk->pool, &options, &walk->engine, err);

    sgd.momentum = 0.9;
    if (!st && is_training)
        st = optimizer_new(walk->engine, &sgd, &walk->optimizer, err);
    walk->outputs = mem_array(n + 1, sizeof *walk->outputs);
    if (!st && !walk->outputs)
        st = error_nomem(err, n * sizeof *walk->outputs, "outputs");
    return st;
}

/* ---- steps --------------------------------------------------------------- */

/* Images in the device's memory, and in training labels and a seed. */
static enum assay_status own_walk_inputs(struct own_walk *walk,
                                         const struct shape *image,
                                         int64_t batch, struct error *err)
{
    struct shape shape = *image;
    size_t n = graph_input_count(walk->graph);
    enum assay_status st;

    walk_inputs_free(walk);
    shape.dims[0] = batch;
    st = tensor_new(engine_pool(walk->engine), DTYPE_F32, &shape,
                    &walk->inputs[0], err);
    for (size_t i = 1; !st && i < n; i++) {
        shape = shape_of(1, i == 1 ? batch : 1);
        st = tensor_new(walk->pool, DTYPE_I64, &shape, &walk->inputs[i], err);
        if (!st)
            st = tensor_clear(&walk->inputs[i], err);
    }
    return st;
}

static enum assay_status own_walk_step(struct own_walk *walk, struct error *err)
{
    enum assay_status st =
        engine_run(walk->engine, walk->inputs, walk->outputs, err);

    for (size_t i = 0; !st && i < graph_output_count(walk->graph); i++)
        tensor_release(&walk->outputs[i]);
    if (st || !walk->optimizer)
        return st;
    st = engine_backward(walk->engine, err);
    return st ? st : optimizer_step(walk->optimizer, 0.001, err);
}

static enum assay_status own_walk_batch(struct own_walk *walk,
                                        const struct shape *image,
                                        int64_t batch, double *mb,
                                        struct error *err)
{
    struct pool *pool = engine_pool(walk->engine);
    enum assay_status st = own_walk_inputs(walk, image, batch, err);

    for (int i = 0; !st && i < n_warm_up; i++)
        st = own_walk_step(walk, err);
    pool_reset_peak(pool);
    if (!st)
        st = own_walk_step(walk, err);
    *mb = (double)pool_usage(pool).peak_bytes / 0x1p20;
    return st;
}

/* Every node is one that the hollow device has, with shapes that do not depend
 * on data. */
static bool can_be_walked(const struct graph *graph, const struct shape *image)
{
    if (graph_input_count(graph) != 1 || !graph_output_count(graph) ||
        image->rank != 4)
        return false;
    for (size_t i = 0; i < graph_node_count(graph); i++) {
        const struct op_class *op = graph_node(graph, i)->op;

        if (!op->is_view && (op->counted == COUNTED_NOT || !op->infer))
            return false;
    }
    return true;
}

enum assay_status own_memory_of(const struct graph *graph,
                                const struct shape *image, bool is_training,
                                double out[OWN_MEMORY_BATCHES],
                                struct error *err)
{
    struct own_walk walk = {0};
    double mb[OWN_MEMORY_BATCHES] = {0};
    struct error why = {0};
    enum assay_status st = ASSAY_OK;

    for (int i = 0; i < OWN_MEMORY_BATCHES; i++)
        out[i] = 0;
    if (!can_be_walked(graph, image))
        return ASSAY_OK;
    st = own_walk_prepare(&walk, graph, is_training, &why);
    if (!st)
        st = own_walk_start(&walk, is_training, &why);
    for (int i = 0; !st && i < OWN_MEMORY_BATCHES; i++)
        st = own_walk_batch(&walk, image, (int64_t)1 << i, &mb[i], &why);
    for (int i = 0; !st && i < OWN_MEMORY_BATCHES; i++)
        out[i] = mb[i];
    own_walk_free(&walk);
    if (st == ASSAY_NOMEM && err)
        *err = why;
    return st == ASSAY_NOMEM ? st : ASSAY_OK; /* it is only not known */
}
