/* engine/rooms.c - see engine_internal.h: a pass that may be recorded has the
 * same shapes every time. Lists whose length is data are as long as they can be
 * in it, and are cut to what there is when they are handed over. Launched one
 * by one it is the same pass: kernels for other shapes would round otherwise.
 */
#include "engine/engine_internal.h"

#include "base/mem.h"

struct backend_rows engine_rows_of(const struct engine *engine,
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
            struct backend_rows known = engine_rows_of(engine, node, k);
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

/* ---- passes -------------------------------------------------------------- */

/* Whether somebody wants to see the value after the pass. */
static bool engine_hands_out(const struct engine *engine, uint32_t value)
{
    for (size_t i = 0; i < graph_output_count(engine->graph); i++) {
        if (graph_output_at(engine->graph, i, NULL) == value)
            return true;
    }
    return engine->values[value].is_kept;
}

bool engine_wants(const struct engine *engine, uint32_t value)
{
    return engine_hands_out(engine, value) ||
           (engine->rows && engine->rows[value].counts_others);
}

/* Marks what counts the lists that are handed out. False: nothing counts one of
 * them. */
static bool rooms_mark(const struct engine *engine, struct value_rows *rows)
{
    for (uint32_t i = 0; i < graph_value_count(engine->graph); i++) {
        if (!engine_hands_out(engine, i))
            continue;
        if (rows[i].is_unknown)
            return false;
        if (rows[i].is_list)
            rows[rows[i].counts].counts_others = true;
    }
    return true;
}

/* Without memory for it lists have no room, which takes longer. */
static void rooms_find(struct engine *engine)
{
    size_t n = graph_value_count(engine->graph);

    engine->knows_rows = true;
    if (!engine->may_replay || engine->has_lost_rooms ||
        !engine->backend->class->keep_rooms)
        return;
    engine->rows = mem_array(n, sizeof *engine->rows);
    if (engine->rows && engine_rows_find(engine, engine->rows) &&
        rooms_mark(engine, engine->rows))
        return;
    mem_free(engine->rows);
    engine->rows = NULL;
}

void engine_rooms_forget(struct engine *engine)
{
    mem_free(engine->rows);
    engine->rows = NULL;
    engine->knows_rows = false;
}

void engine_rooms_keep(struct engine *engine)
{
    if (!engine->knows_rows)
        rooms_find(engine);
    if (engine->rows)
        engine->backend->class->keep_rooms(engine->backend, true);
}

void engine_rooms_end(struct engine *engine)
{
    if (engine->rows)
        engine->backend->class->keep_rooms(engine->backend, false);
}

enum assay_status engine_rooms_check(struct engine *engine,
                                     const struct node *node, enum place place,
                                     struct error *err)
{
    if (!engine->rows || place == PLACE_DEVICE ||
        !rows_read_list(node, engine->rows))
        return ASSAY_OK;
    engine->has_lost_rooms = true;
    return error_set(err, ASSAY_UNSUPPORTED,
                     "the host cannot read a list with its room");
}

bool engine_rooms_lost(struct engine *engine, struct error *err)
{
    if (!engine->rows || !engine->has_lost_rooms)
        return false;
    engine_rooms_end(engine);
    engine_rooms_forget(engine);
    if (err)
        *err = (struct error){0};
    return true;
}

enum assay_status engine_rooms_cut(struct engine *engine, struct error *err)
{
    size_t n = engine->rows ? graph_value_count(engine->graph) : 0;
    enum assay_status st = ASSAY_OK;

    for (uint32_t i = 0; !st && i < n; i++) {
        const struct value_rows *rows = &engine->rows[i];
        struct engine_value *entry = &engine->values[i];
        const struct tensor *counts;
        struct tensor cut;

        if (!rows->is_list || !entry->made.buffer ||
            !engine_hands_out(engine, i))
            continue;
        st = engine_make_dense(engine, &entry->made, err);
        if (!st)
            st = engine_bring(engine, rows->counts, PLACE_HOST, GRAPH_NONE,
                              &counts, err);
        if (!st)
            st = engine_rows_cut(rows, counts, &entry->made, &cut, err);
        if (!st)
            entry->made.shape = cut.shape;
        if (!st && entry->copy.buffer)
            entry->copy.shape = cut.shape;
    }
    return st;
}
