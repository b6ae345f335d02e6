/* engine/restore.c - see tape.h: values that were dropped are made again. */
#include "engine/tape.h"

#include "base/clock.h"

/* Marks the nodes to run, from the producer of a value back; gives the first
 * of them. */
static size_t mark_sources(struct engine *engine, size_t producer)
{
    const struct graph *graph = engine->graph;
    bool *is_marked = engine->tape->is_marked;
    size_t n_open = 1, first = producer;

    is_marked[producer] = true;
    for (size_t i = producer + 1; n_open && i-- > 0;) {
        const struct node *node = graph_node(graph, i);

        if (!is_marked[i])
            continue;
        n_open--;
        first = i;
        for (size_t k = 0; k < node->n_inputs; k++) {
            uint32_t input = node->inputs[k], source;

            if (input == GRAPH_NONE || engine_value(engine, input)->buffer)
                continue;
            source = graph_value(graph, input)->producer;
            if (source == GRAPH_NONE || is_marked[source])
                continue;
            is_marked[source] = true;
            n_open++;
        }
    }
    return first;
}

/* What was made on the way and no backward kernel will read. */
static void release_passing(struct engine *engine, const struct node *node)
{
    for (size_t k = 0; k < node->n_outputs; k++) {
        uint32_t value = node->outputs[k];

        if (!engine->tape->values[value].left && !engine->values[value].is_kept)
            engine_drop(engine, value);
    }
}

static enum assay_status run_again(struct engine *engine, size_t at,
                                   struct error *err)
{
    int64_t began_ns = clock_monotonic_ns();
    enum assay_status st = engine_run_node(engine, at, true, err);

    if (engine->tape->nodes[at].is_chosen)
        engine->tape->recomputed.ns += clock_monotonic_ns() - began_ns;
    return st;
}

enum assay_status restore_value(struct engine *engine, uint32_t value,
                                struct error *err)
{
    size_t last = graph_value(engine->graph, value)->producer;
    size_t first = mark_sources(engine, last);
    bool *is_marked = engine->tape->is_marked;
    enum assay_status st = ASSAY_OK;

    for (size_t i = first; i <= last; i++) {
        if (is_marked[i] && !st)
            st = run_again(engine, i, err);
    }
    for (size_t i = first; i <= last; i++) {
        if (is_marked[i])
            release_passing(engine, graph_node(engine->graph, i));
        is_marked[i] = false;
    }
    return st;
}
