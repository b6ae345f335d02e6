/* engine/bodies.c - see engine_internal.h: graphs inside of nodes. */
#include "engine/engine_internal.h"

#include "base/mem.h"

static enum assay_status make_engines(struct engine *engine, size_t at,
                                      const struct engine_options *options,
                                      struct error *err)
{
    const struct node *node = graph_node(engine->graph, at);
    struct node_bodies *bodies = &engine->bodies[at];
    enum assay_status st = ASSAY_OK;

    if (!node->n_bodies)
        return ASSAY_OK;
    bodies->engines = mem_array(node->n_bodies, sizeof *bodies->engines);
    if (!bodies->engines)
        return error_nomem(err, node->n_bodies * sizeof *bodies->engines,
                           "an engine");
    for (; !st && bodies->n < node->n_bodies; bodies->n++)
        st = engine_new_inside(node->bodies[bodies->n], engine, options,
                               &bodies->engines[bodies->n], err);
    return st;
}

enum assay_status engine_bodies_make(struct engine *engine,
                                     const struct engine_options *options,
                                     struct error *err)
{
    size_t n = graph_node_count(engine->graph);
    enum assay_status st = ASSAY_OK;

    engine->bodies = mem_array(n, sizeof *engine->bodies);
    if (!engine->bodies)
        return error_nomem(err, n * sizeof *engine->bodies, "an engine");
    for (size_t i = 0; !st && i < n; i++)
        st = make_engines(engine, i, options, err);
    return st;
}

void engine_bodies_free(struct engine *engine)
{
    size_t n = engine->bodies ? graph_node_count(engine->graph) : 0;

    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < engine->bodies[i].n; k++)
            engine_free(engine->bodies[i].engines[k]);
        mem_free(engine->bodies[i].engines);
    }
    mem_free(engine->bodies);
}

static void add_cost(struct cost *sum, const struct cost *cost)
{
    sum->macs += cost->macs;
    sum->flops += cost->flops;
    sum->read_bytes += cost->read_bytes;
    sum->write_bytes += cost->write_bytes;
}

static enum assay_status run_body(void *runner, size_t i,
                                  const struct tensor *inputs,
                                  struct tensor *outputs, struct error *err)
{
    struct node_bodies *bodies = runner;
    struct engine *engine = bodies->engines[i];
    enum assay_status st = engine_run(engine, inputs, outputs, err);

    for (size_t n = 0; !st && n < graph_node_count(engine->graph); n++)
        add_cost(&bodies->cost, &engine->costs[n]);
    return st;
}

void engine_bodies_enter(struct engine *engine, size_t node)
{
    engine->bodies[node].cost = (struct cost){0};
    engine->context.run_body = run_body;
    engine->context.runner = &engine->bodies[node];
}

void engine_bodies_cost(const struct engine *engine, size_t node,
                        struct cost *cost)
{
    add_cost(cost, &engine->bodies[node].cost);
}
