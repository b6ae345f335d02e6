/* Any bytes as an ONNX file become a graph that runs or are refused with a
 * message, and nothing leaks. */
#include "base/mem.h"
#include "base/str.h"
#include "engine/engine.h"
#include "formats/onnx/onnx.h"
#include "fuzz.h"
#include "graph/survey.h"

#include <stdlib.h>
#include <string.h>

enum { max_inputs = 8 }; /* and outputs, of what is run */

/* Whether the model can run on small inputs and ends. */
static bool is_small(const struct graph *graph)
{
    for (size_t i = 0; i < graph_input_count(graph); i++) {
        const struct shape *shape = graph_input_shape(graph, i);
        size_t n;

        if (!shape || !shape_elements(shape, &n) || n > 1 << 12)
            return false;
    }
    for (size_t i = 0; i < graph_node_count(graph); i++) {
        if (graph_node(graph, i)->n_bodies)
            return false;
    }
    return graph_input_count(graph) <= max_inputs &&
           graph_output_count(graph) <= max_inputs;
}

/* Whether its known sizes and costs are small: a few bytes can ask for
 * gigabytes, which is not a finding. */
static bool is_cheap(const struct graph *graph)
{
    enum { most_bytes = 1 << 24, most_steps = 1 << 26 };
    struct shape shapes[max_inputs];
    struct survey survey = {0};
    struct error err = {0};
    bool is_cheap = true;

    for (size_t i = 0; i < graph_input_count(graph); i++)
        shapes[i] = *graph_input_shape(graph, i);
    if (survey_graph(&survey, graph, shapes, &err) == ASSAY_OK) {
        for (size_t i = 0; i < graph_value_count(graph); i++)
            is_cheap &= !survey.is_known[i] ||
                        tensor_bytes(&survey.values[i]) < most_bytes;
        for (size_t i = 0; i < graph_node_count(graph); i++)
            is_cheap &= survey.costs[i].macs < most_steps &&
                        survey.costs[i].flops < most_steps;
    }
    survey_release(&survey);
    return is_cheap;
}

/* It runs or reports why not. */
static void run(const struct graph *graph, struct pool *pool)
{
    struct tensor inputs[max_inputs] = {{0}}, outputs[max_inputs] = {{0}};
    struct engine_options options = {.backend_options = {.n_threads = 1}};
    struct engine *engine = NULL;
    struct error err = {0};

    for (size_t i = 0; i < graph_input_count(graph); i++) {
        if (tensor_new(pool,
                       graph_value(graph, graph_input_at(graph, i))->dtype,
                       graph_input_shape(graph, i), &inputs[i], NULL))
            abort();
        memset(tensor_data(&inputs[i]), 1, tensor_bytes(&inputs[i]));
    }
    if (engine_new(graph, pool, &options, &engine, &err) == ASSAY_OK &&
        engine_run(engine, inputs, outputs, &err) && !err.text[0])
        abort();
    for (size_t i = 0; i < max_inputs; i++) {
        tensor_release(&inputs[i]);
        tensor_release(&outputs[i]);
    }
    engine_free(engine);
}

/* The same bytes as the values of a test vector. */
static void read_vector(struct buffer *file, struct pool *pool, bool is_list)
{
    struct tensor tensor;
    struct str name = {0};
    struct error err = {0};

    if (onnx_load_vector_buffer(file, is_list, pool, &tensor, &name, &err) ==
        ASSAY_OK)
        tensor_release(&tensor);
    else if (tensor.buffer || !err.text[0])
        abort();
    str_release(&name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct model_file_options options = {.max_folded_bytes = 1 << 16};
    long before = mem_live();
    void *copy = mem_alloc(n); /* of its exact size, for the sanitizer */
    struct graph *graph = NULL;
    struct error err = {0};
    struct buffer *file;
    struct pool *pool;

    if (!copy || pool_new(&pool, NULL) ||
        buffer_wrap(copy, n, mem_free, copy, &file, NULL))
        abort();
    if (n)
        memcpy(copy, data, n);
    if (onnx_load_buffer(file, &options, pool, &graph, &err) == ASSAY_OK) {
        if (graph_check(graph, &err))
            abort();
        if (is_small(graph) && is_cheap(graph))
            run(graph, pool);
    } else if (graph || !err.text[0]) {
        abort();
    }
    graph_free(graph);
    read_vector(file, pool, false);
    read_vector(file, pool, true);
    buffer_release(file);
    pool_free(pool);
    if (mem_live() != before)
        abort();
    return 0;
}
