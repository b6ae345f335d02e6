/* Any bytes as the checkpoint of a training: it is gone on from or refused, and
 * nothing leaks. */
#include "base/mem.h"
#include "formats/weights/checkpoint.h"
#include "fuzz.h"
#include "train/train_checkpoint.h"

#include <stdlib.h>
#include <string.h>

/* The model of the seed: fc.weight [3,12] and fc.bias [3]. */
static void add_parameter(struct graph *graph, struct pool *pool,
                          uint32_t scope, const char *name, struct shape shape)
{
    struct tensor data;
    uint32_t value;

    if (tensor_new(pool, DTYPE_F32, &shape, &data, NULL) ||
        graph_parameter(graph, scope, name, VALUE_PARAMETER, DTYPE_F32, &shape,
                        &value, NULL) ||
        graph_set_data(graph, value, data, NULL))
        abort();
}

static struct graph *make_graph(struct pool *pool)
{
    struct graph *graph;
    uint32_t scope;

    if (graph_new(&graph, NULL) ||
        graph_scope_add(graph, GRAPH_NONE, "fc", "Linear", false, &scope, NULL))
        abort();
    add_parameter(graph, pool, scope, "weight",
                  shape_of(2, (int64_t)3, (int64_t)12));
    add_parameter(graph, pool, scope, "bias", shape_of(1, (int64_t)3));
    return graph;
}

static void resume(const struct checkpoint *checkpoint, struct pool *pool)
{
    struct optimizer_options options = optimizer_defaults(OPTIMIZER_SGD);
    struct train_position position;
    struct optimizer *optimizer;
    struct engine *engine;
    struct graph *graph = make_graph(pool);
    struct error err = {0};

    options.momentum = 0.9;
    if (engine_new(graph, pool, &(struct engine_options){0}, &engine, NULL) ||
        optimizer_new(engine, &options, &optimizer, NULL))
        abort();
    if (train_position_read(checkpoint, &position, &err) && !err.text[0])
        abort();
    train_position_release(&position);
    err = (struct error){0};
    if (train_states_restore(checkpoint, graph, pool, optimizer, &err) &&
        !err.text[0])
        abort();
    optimizer_free(optimizer);
    engine_free(engine);
    graph_free(graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    long before = mem_live();
    void *copy = mem_alloc(n); /* of its exact size, for the sanitizer */
    struct checkpoint *checkpoint = NULL;
    struct buffer *file;
    struct pool *pool;

    if (!copy || pool_new(&pool, NULL) ||
        buffer_wrap(copy, n, mem_free, copy, &file, NULL))
        abort();
    if (n)
        memcpy(copy, data, n);
    if (checkpoint_read(file, &checkpoint, NULL) == ASSAY_OK)
        resume(checkpoint, pool);
    checkpoint_free(checkpoint);
    buffer_release(file);
    pool_free(pool);
    if (mem_live() != before)
        abort();
    return 0;
}
