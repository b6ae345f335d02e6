/* Any bytes as a network description become a graph that can be surveyed and
 * written again, or are refused with a message, and nothing leaks. */
#include "base/mem.h"
#include "formats/net/net.h"
#include "fuzz.h"

enum { max_inputs = 8 };

static void look_at(const struct graph *graph)
{
    struct shape shapes[max_inputs];
    struct survey survey = {0};
    struct net_notes notes = {0};
    struct str text = {0};
    struct sink sink = sink_to_str(&text);

    if (graph_input_count(graph) > max_inputs)
        return;
    for (size_t i = 0; i < graph_input_count(graph); i++) {
        const struct shape *shape = graph_input_shape(graph, i);

        shapes[i] = shape ? *shape : (struct shape){0};
        for (int d = 0; d < shapes[i].rank; d++) {
            if (shapes[i].dims[d] < 0)
                shapes[i].dims[d] = 2;
        }
    }
    if (survey_graph(&survey, graph, shapes, NULL) == ASSAY_OK)
        notes.survey = &survey;
    if (net_write(graph, NULL, &notes, &sink, NULL))
        __builtin_trap();
    survey_release(&survey);
    str_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    long before = mem_live();
    struct error err = {0};
    struct graph *graph;
    struct pool *pool;

    if (pool_new(&pool, &err))
        return 0;
    if (net_read((const char *)data, n, pool, &graph, &err) == ASSAY_OK)
        look_at(graph);
    else if (graph || !err.text[0])
        __builtin_trap();
    graph_free(graph);
    pool_free(pool);
    if (mem_live() != before)
        __builtin_trap();
    return 0;
}
