/* graph/survey.c - see survey.h. */
#include "graph/survey.h"

#include "base/mem.h"

#include <string.h>

enum { max_elements = 4096 }; /* larger outputs are not computed */

void survey_release(struct survey *survey)
{
    for (size_t i = 0; survey->values && i < survey->n_values; i++)
        tensor_release(&survey->values[i]);
    pool_free(survey->pool);
    mem_free(survey->values);
    mem_free(survey->is_known);
    mem_free(survey->costs);
    *survey = (struct survey){0};
}

static enum assay_status survey_make_tables(struct survey *survey,
                                            const struct graph *graph,
                                            struct error *err)
{
    enum assay_status st = pool_new(&survey->pool, err);

    if (st)
        return st;
    survey->n_values = graph_value_count(graph);
    survey->values = mem_array(survey->n_values, sizeof *survey->values);
    survey->is_known = mem_array(survey->n_values, sizeof *survey->is_known);
    survey->costs = mem_array(graph_node_count(graph), sizeof *survey->costs);
    if (survey->values && survey->is_known && survey->costs)
        return ASSAY_OK;
    return error_nomem(err, survey->n_values * sizeof *survey->values,
                       "the shapes of a graph");
}

/* Takes over parameters and constants, with their data. */
static void survey_take_given(struct survey *survey, const struct graph *graph)
{
    for (uint32_t i = 0; i < survey->n_values; i++) {
        const struct value *value = graph_value(graph, i);

        if (value->kind == VALUE_INPUT || value->kind == VALUE_COMPUTED)
            continue;
        survey->values[i] = tensor_share(&value->data);
        survey->values[i].dtype = value->dtype;
        survey->values[i].shape = value->shape;
        survey->is_known[i] = true;
    }
}

static void survey_take_inputs(struct survey *survey, const struct graph *graph,
                               const struct shape *inputs)
{
    for (size_t i = 0; i < graph_input_count(graph); i++) {
        uint32_t id = graph_input_at(graph, i);

        survey->values[id] = (struct tensor){
            .dtype = graph_value(graph, id)->dtype, .shape = inputs[i]};
        survey->is_known[id] = true;
    }
}

/* False if one of the inputs is not known. */
static bool survey_list_inputs(const struct survey *survey,
                               const struct node *node,
                               const struct tensor **list)
{
    if (node->n_inputs > OP_MAX_VALUES || node->n_outputs > OP_MAX_VALUES)
        return false;
    for (size_t i = 0; i < node->n_inputs; i++) {
        uint32_t id = node->inputs[i];

        list[i] = NULL;
        if (id != GRAPH_NONE && !survey->is_known[id])
            return false;
        if (id != GRAPH_NONE)
            list[i] = &survey->values[id];
    }
    return true;
}

static enum assay_status survey_check_outputs(const struct tensor *outputs,
                                              size_t n, struct error *err)
{
    char text[64];
    size_t elements;

    for (size_t i = 0; i < n; i++) {
        if (!shape_elements(&outputs[i].shape, &elements))
            return error_set(err, ASSAY_BAD_INPUT,
                             "an output of %s is not possible",
                             shape_text(&outputs[i].shape, text, sizeof text));
    }
    return ASSAY_OK;
}

static void survey_count_cost(const struct node *node,
                              const struct tensor *const *inputs,
                              const struct tensor *outputs, struct cost *cost)
{
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (inputs[i])
            cost->read_bytes += tensor_bytes(inputs[i]);
    }
    for (size_t i = 0; i < node->n_outputs; i++)
        cost->write_bytes += tensor_bytes(&outputs[i]);
    if (node->op->cost)
        node->op->cost(node, inputs, outputs, cost);
}

static void survey_name_node(const struct graph *graph, const struct node *node,
                             struct error *err)
{
    const char *path = node->scope == GRAPH_NONE
                           ? graph_name(graph)
                           : graph_scope(graph, node->scope)->path;

    error_context(err, "%s%s%s (%s)", path, node->name[0] ? "." : "",
                  node->name, node->op->name);
}

/* Whether a node's outputs can be computed now: all inputs are known, and the
 * outputs are small. */
static bool survey_can_compute(const struct node *node,
                               const struct tensor *const *inputs,
                               const struct tensor *outputs)
{
    size_t n_data = 0, n = 0;

    if (node->n_bodies || !node->op->forward)
        return false;
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (inputs[i] && !inputs[i]->buffer && !node->op->reads_shapes)
            return false;
        if (inputs[i] && node->op->is_f32 && inputs[i]->dtype != DTYPE_F32)
            return false;
        n_data += inputs[i] != NULL;
    }
    for (size_t i = 0; i < node->n_outputs; i++)
        n += tensor_elements(&outputs[i]);
    return n_data && n <= max_elements;
}

/* A kernel that fails leaves the data unknown. */
static enum assay_status survey_compute(struct survey *survey,
                                        const struct node *node,
                                        const struct tensor *const *inputs,
                                        struct tensor *outputs,
                                        struct error *err)
{
    struct op_context context = {.pool = survey->pool, .n_threads = 1};
    struct tensor made[OP_MAX_VALUES];
    bool is_made;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; i < node->n_outputs; i++)
        made[i] = (struct tensor){0};
    for (size_t i = 0; !st && i < node->n_outputs; i++) {
        if (node->op->is_view)
            made[i] = outputs[i];
        else
            st = tensor_new(survey->pool, outputs[i].dtype, &outputs[i].shape,
                            &made[i], err);
    }
    is_made = !st && !node->op->forward(&context, node, inputs, made, NULL);
    for (size_t i = 0; i < node->n_outputs; i++) {
        if (is_made)
            outputs[i] = made[i];
        else
            tensor_release(&made[i]);
    }
    return st;
}

static void survey_keep_outputs(struct survey *survey, const struct node *node,
                                const struct tensor *outputs)
{
    for (size_t i = 0; i < node->n_outputs; i++) {
        survey->values[node->outputs[i]] = outputs[i];
        survey->is_known[node->outputs[i]] = true;
    }
}

static enum assay_status survey_node(struct survey *survey,
                                     const struct graph *graph, size_t at,
                                     struct error *err)
{
    const struct node *node = graph_node(graph, at);
    const struct tensor *inputs[OP_MAX_VALUES];
    struct tensor outputs[OP_MAX_VALUES];
    struct error of_node = {0};
    enum assay_status st = ASSAY_UNSUPPORTED;

    for (size_t i = 0; i < node->n_outputs && i < OP_MAX_VALUES; i++)
        outputs[i] = (struct tensor){0};
    if (node->op->infer && survey_list_inputs(survey, node, inputs))
        st = node_infer(node, inputs, outputs, &of_node);
    if (st == ASSAY_UNSUPPORTED) { /* depends on unknown data */
        survey->n_unknown++;
        return ASSAY_OK;
    }
    if (!st)
        st = survey_check_outputs(outputs, node->n_outputs, &of_node);
    if (st) {
        survey_name_node(graph, node, &of_node);
        return error_set(err, st, "%s", of_node.text);
    }
    survey_count_cost(node, inputs, outputs, &survey->costs[at]);
    if (survey_can_compute(node, inputs, outputs))
        st = survey_compute(survey, node, inputs, outputs, err);
    if (!st)
        survey_keep_outputs(survey, node, outputs);
    return st;
}

enum assay_status survey_graph(struct survey *survey, const struct graph *graph,
                               const struct shape *inputs, struct error *err)
{
    enum assay_status st = survey_make_tables(survey, graph, err);

    if (!st) {
        survey_take_given(survey, graph);
        survey_take_inputs(survey, graph, inputs);
    }
    for (size_t i = 0; !st && i < graph_node_count(graph); i++)
        st = survey_node(survey, graph, i, err);
    if (st)
        survey_release(survey);
    return st;
}

const struct shape *survey_output_shape(const struct survey *survey,
                                        const struct graph *graph, size_t i)
{
    uint32_t value;

    if (i >= graph_output_count(graph))
        return NULL;
    value = graph_output_at(graph, i, NULL);
    return survey->is_known[value] ? &survey->values[value].shape : NULL;
}
