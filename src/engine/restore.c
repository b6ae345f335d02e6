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

/* Whether a backward kernel reads the value, or makes another again from it. */
static bool node_reads(const struct engine *engine, size_t at, uint32_t value)
{
    const struct node *node = graph_node(engine->graph, at);
    const struct tape_node *entry = &engine->tape->nodes[at];
    uint64_t inputs = entry->reads.inputs | entry->holds;

    for (size_t i = 0; i < node->n_inputs; i++) {
        if (inputs >> i & 1 && node->inputs[i] == value)
            return true;
    }
    for (size_t i = 0; i < node->n_outputs; i++) {
        if (entry->reads.outputs >> i & 1 && node->outputs[i] == value)
            return true;
    }
    return false;
}

/* By one of the nodes that the backward pass comes to next: some ten residual
 * blocks. */
static bool is_read_soon(const struct engine *engine, uint32_t value, size_t at)
{
    enum { soon = 64 };

    for (size_t i = 0; i <= at && i < soon; i++) {
        if (node_reads(engine, at - i, value))
            return true;
    }
    return false;
}

/* What was made on the way and no backward kernel will read, or not soon: where
 * it is cheap, it is made once more then. */
static void release_passing(struct engine *engine, size_t made, size_t at)
{
    const struct node *node = graph_node(engine->graph, made);
    bool is_cheap = !engine->tape->nodes[made].is_chosen;

    for (size_t k = 0; k < node->n_outputs; k++) {
        uint32_t value = node->outputs[k];
        const struct tape_value *entry = &engine->tape->values[value];

        if (engine->values[value].is_kept)
            continue;
        if (!entry->left ||
            (is_cheap && entry->is_dropped && !is_read_soon(engine, value, at)))
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
                                size_t at, struct error *err)
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
            release_passing(engine, i, at);
        is_marked[i] = false;
    }
    return st;
}
