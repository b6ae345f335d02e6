/* engine/rooms.c - see engine_internal.h: a recorded pass has the same shapes
 * every time. Lists whose length is data are as long as they can be in it, and
 * are cut to what there is when they are handed over. */
#include "engine/engine_internal.h"

static struct backend_rows rows_of(const struct engine *engine,
                                   const struct node *node, size_t output)
{
    const struct backend_class *class = engine->backend->class;

    if (!class->rows)
        return (struct backend_rows){.kind = ROWS_FIXED};
    return class->rows(engine->backend, node, output);
}

static bool rows_read_list(const struct node *node,
                           const struct value_rows *rows)
{
    for (size_t i = 0; i < node->n_inputs; i++) {
        uint32_t value = node->inputs[i];

        if (value != GRAPH_NONE &&
            (rows[value].is_list || rows[value].is_unknown))
            return true;
    }
    return false;
}

bool engine_rows_find(const struct engine *engine, struct value_rows *rows)
{
    const struct graph *graph = engine->graph;
    bool has_list = false;

    for (size_t i = 0; i < graph_node_count(graph); i++) {
        const struct node *node = graph_node(graph, i);
        bool reads_list = rows_read_list(node, rows);

        for (size_t k = 0; k < node->n_outputs; k++) {
            struct backend_rows known = rows_of(engine, node, k);
            struct value_rows *made = &rows[node->outputs[k]];

            if (known.kind == ROWS_COUNTED) {
                made->is_list = has_list = true;
                made->counts = known.counts;
                made->image = known.image;
            } else {
                made->is_unknown = known.kind == ROWS_AS_INPUTS && reads_list;
            }
        }
    }
    return has_list;
}

enum assay_status engine_rows_cut(const struct value_rows *rows,
                                  const struct tensor *counts,
                                  const struct tensor *list, struct tensor *out,
                                  struct error *err)
{
    const int64_t *numbers = tensor_data(counts);
    int64_t n = 0;

    if (counts->dtype != DTYPE_I64 || list->shape.rank < 1)
        return error_set(err, ASSAY_BAD_INPUT, "nothing counts a list");
    for (size_t i = 0; i < tensor_elements(counts); i++) {
        if (rows->image < 0 || (size_t)rows->image == i)
            n += numbers[i];
    }
    if (n < 0 || n > list->shape.dims[0])
        return error_set(err, ASSAY_BAD_INPUT,
                         "a list has room for %lld rows, not for %lld",
                         (long long)list->shape.dims[0], (long long)n);
    *out = *list;
    out->shape.dims[0] = n;
    return ASSAY_OK;
}
