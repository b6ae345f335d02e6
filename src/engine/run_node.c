/* engine/run_node.c - see engine_internal.h: one node, where it runs best. */
#include "engine/engine_internal.h"

#include "engine/tape.h"
#include "tensor/convert.h"

/* ---- where it runs --------------------------------------------------------
 */

/* Whether the backend has a kernel for the node with these inputs. */
static bool engine_has_kernel(const struct engine *engine,
                              const struct node *node,
                              const struct tensor *const *inputs)
{
    const struct backend *backend = engine->backend;

    return node->n_inputs && inputs[0] &&
           backend->class->can_run(backend, node, inputs);
}

/* Arithmetic with shapes: on the host it takes less time than its way to a
 * device, and shapes are needed on the host. */
static bool is_small_talk(const struct node *node,
                          const struct tensor *const *inputs)
{
    enum { few = 1024 };

    for (size_t i = 0; i < node->n_inputs; i++) {
        const struct tensor *x = inputs[i];

        if (x && (!tensor_is_on_host(x) || dtype_is_float(x->dtype) ||
                  tensor_elements(x) > few))
            return false;
    }
    return true;
}

/* The same with inputs as engine_run_f32() would convert them. */
static bool has_f32_kernel(const struct engine *engine, const struct node *node,
                           const struct tensor *const *inputs)
{
    struct tensor wide[OP_MAX_VALUES];
    const struct tensor *list[OP_MAX_VALUES];

    for (size_t i = 0; i < node->n_inputs; i++) {
        list[i] = inputs[i] ? &wide[i] : NULL;
        if (inputs[i])
            wide[i] =
                (struct tensor){.dtype = DTYPE_F32, .shape = inputs[i]->shape};
    }
    return engine_has_kernel(engine, node, list);
}

static enum place find_place(const struct engine *engine,
                             const struct node *node,
                             const struct tensor *const *inputs)
{
    bool has_kernel;

    if (!engine_is_far(engine))
        return PLACE_DEVICE;
    if (node->op->is_view)
        return tensor_is_on_host(inputs[0]) ? PLACE_HOST : PLACE_DEVICE;
    if (node->op->reads_shapes || node->op->passes_inputs ||
        is_small_talk(node, inputs))
        return PLACE_HOST;
    has_kernel = engine_needs_f32(node, inputs)
                     ? has_f32_kernel(engine, node, inputs)
                     : engine_has_kernel(engine, node, inputs);
    return has_kernel ? PLACE_DEVICE : PLACE_HOST;
}

/* ---- kernels --------------------------------------------------------------
 */

static enum assay_status make_outputs(struct engine *engine,
                                      const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    enum assay_status st = node_infer(node, inputs, outputs, err);

    for (size_t i = 0; !st && !node->op->is_view && i < node->n_outputs; i++) {
        struct shape shape = outputs[i].shape;

        st = tensor_new(engine->context.pool, outputs[i].dtype, &shape,
                        &outputs[i], err);
    }
    return st;
}

/* The op's own kernel, on dense inputs. Views touch no data, wherever it is. */
static enum assay_status run_node_run_portable(struct engine *engine,
                                               const struct node *node,
                                               const struct tensor **inputs,
                                               struct tensor *outputs,
                                               struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < node->n_inputs; i++) {
        if (inputs[i] && inputs[i]->layout && !node->op->reads_shapes)
            st = engine_make_dense(engine,
                                   &engine->values[node->inputs[i]].made, err);
    }
    if (!st && node->op->infer)
        st = make_outputs(engine, node, inputs, outputs, err);
    if (!st)
        st = node->op->forward(&engine->context, node, inputs, outputs, err);
    return st;
}

enum assay_status engine_run_kernel(struct engine *engine, size_t at,
                                    enum place place,
                                    const struct tensor **inputs,
                                    struct tensor *outputs, struct error *err)
{
    const struct node *node = graph_node(engine->graph, at);
    struct backend *backend = engine->backend;

    engine->context.pool = engine->pools[place];
    if (place == PLACE_DEVICE && engine_has_kernel(engine, node, inputs))
        return backend->class->forward(backend, &engine->context, node, at,
                                       inputs, outputs, err);
    return run_node_run_portable(engine, node, inputs, outputs, err);
}

/* ---- what it costs --------------------------------------------------------
 */

static void run_node_count_cost(const struct engine *engine, size_t at,
                                enum place place,
                                const struct tensor *const *inputs,
                                const struct tensor *outputs)
{
    const struct node *node = graph_node(engine->graph, at);
    const struct backend *backend = engine->backend;
    struct cost *cost = &engine->costs[at];

    *cost = (struct cost){0};
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (inputs[i])
            cost->read_bytes += tensor_bytes(inputs[i]);
    }
    for (size_t i = 0; i < node->n_outputs; i++)
        cost->write_bytes += tensor_bytes(&outputs[i]);
    cost->done_bytes = cost->read_bytes + cost->write_bytes;
    if (node->op->is_view && outputs[0].buffer == inputs[0]->buffer)
        cost->done_bytes = 0;
    if (node->op->cost)
        node->op->cost(node, inputs, outputs, cost);
    cost->done_flops = 2 * cost->macs + cost->flops;
    if (backend->class->executed && place == PLACE_DEVICE &&
        engine_has_kernel(engine, node, inputs))
        backend->class->executed(backend, node, at, inputs, outputs, cost);
}

/* ---- values that come and go ----------------------------------------------
 */

bool engine_is_over(const struct engine *engine, uint32_t value)
{
    return !engine->values[value].is_kept &&
           !(engine->rows && engine->rows[value].counts_others) &&
           !tape_keeps(engine->tape, value);
}

static void release_unneeded(struct engine *engine, uint32_t value)
{
    if (value != GRAPH_NONE && --engine->values[value].left == 0 &&
        engine_is_over(engine, value))
        engine_drop(engine, value);
}

/* Whether the node that runs now is the last that reads the value. */
static bool is_last_read(const struct engine *engine, uint32_t value,
                         bool is_again)
{
    const struct engine_value *entry = &engine->values[value];

    if (is_again)
        return entry->uses == 1 && !entry->is_kept &&
               !engine->tape->values[value].left;
    return entry->left == 1 && engine_is_over(engine, value);
}

/* Which of the first 64 inputs the node is the last to read. */
static uint64_t find_dying(const struct engine *engine, const struct node *node,
                           bool is_again)
{
    uint64_t dying = 0;

    for (size_t i = 0; i < node->n_inputs && i < 64; i++) {
        uint32_t value = node->inputs[i];

        if (value != GRAPH_NONE && engine->values[value].made.buffer &&
            is_last_read(engine, value, is_again))
            dying |= OP_INPUT(i);
    }
    return dying;
}

/* A module owns what it makes, also where it makes it in the memory of an
 * input that nobody needs any more. */
static void own_outputs(const struct node *node, struct tensor *outputs,
                        uint32_t owner)
{
    for (size_t i = 0; !node->op->is_view && i < node->n_outputs; i++) {
        if (outputs[i].buffer)
            buffer_set_owner(outputs[i].buffer, owner);
    }
}

/* Outputs become values; those that nobody reads go at once. */
static void take_outputs(struct engine *engine, const struct node *node,
                         struct tensor *outputs, bool is_again)
{
    for (size_t i = 0; i < node->n_outputs; i++) {
        uint32_t value = node->outputs[i];

        if (engine->values[value].made.buffer && is_again) {
            tensor_release(&outputs[i]);
            continue;
        }
        engine->values[value].made = outputs[i];
        engine->values[value].is_made_far =
            outputs[i].buffer && !tensor_is_on_host(&outputs[i]);
        if (engine->tape)
            tape_note(engine->tape, value, &outputs[i]);
        if (!is_again && !engine->values[value].left &&
            engine_is_over(engine, value))
            engine_drop(engine, value);
    }
}

/* ---- the whole ------------------------------------------------------------
 */

/* What a kernel is told about this run of its node. */
static void set_context(struct engine *engine, size_t at, bool is_again)
{
    const struct node *node = graph_node(engine->graph, at);
    struct tape *tape = engine->tape;

    engine->context.dying = find_dying(engine, node, is_again);
    engine->context.is_again = is_again;
    engine->context.tag = engine_is_far(engine) ? assay_scope_here() : 0;
    engine_launching(engine, engine->context.tag);
    engine->context.saved =
        tape && tape->nodes[at].wanted ? &tape->nodes[at].saved : NULL;
}

/* Whether the host's backend takes the integers as they are. */
static bool has_integer_kernel(const struct engine *engine,
                               const struct node *node,
                               const struct tensor *const *inputs)
{
    return !engine_is_far(engine) && inputs[0] &&
           !dtype_is_float(inputs[0]->dtype) &&
           engine_has_kernel(engine, node, inputs);
}

static enum assay_status run_in_place(struct engine *engine, size_t at,
                                      enum place place,
                                      const struct tensor **inputs,
                                      struct tensor *outputs, struct error *err)
{
    const struct node *node = graph_node(engine->graph, at);
    char text[ENGINE_NODE_TEXT];
    enum assay_status st;

    engine_bodies_enter(engine, at);
    st = engine_bring_inputs(engine, at, place, inputs, err);
    if (!st)
        st = engine_needs_f32(node, inputs) &&
                     !has_integer_kernel(engine, node, inputs)
                 ? engine_run_f32(engine, at, place, inputs, outputs, err)
                 : engine_run_kernel(engine, at, place, inputs, outputs, err);
    if (!st)
        st = engine_watch(engine, node, outputs, node->n_outputs, "", err);
    if (!st)
        return ASSAY_OK;
    for (size_t i = 0; i < node->n_outputs; i++)
        tensor_release(&outputs[i]);
    error_context(err, "%s", engine_node_text(engine, node, text, sizeof text));
    return st;
}

enum assay_status engine_run_node(struct engine *engine, size_t at,
                                  bool is_again, struct error *err)
{
    const struct node *node = graph_node(engine->graph, at);
    const struct tensor *inputs[OP_MAX_VALUES];
    struct tensor outputs[OP_MAX_VALUES];
    uint32_t owner = OWNER_MODULE + 1 + node->scope; /* GRAPH_NONE: the model */
    enum place place;
    enum assay_status st;

    engine_set_owner(engine, owner);
    for (size_t i = 0; i < node->n_inputs; i++)
        inputs[i] = engine_value(engine, node->inputs[i]);
    for (size_t i = 0; i < node->n_outputs; i++)
        outputs[i] = (struct tensor){0};
    set_context(engine, at, is_again);
    place = find_place(engine, node, inputs);
    st = engine_rooms_check(engine, node, place, err);
    if (!st)
        st = run_in_place(engine, at, place, inputs, outputs, err);
    if (st)
        return st;
    if (!is_again) {
        run_node_count_cost(engine, at, place, inputs, outputs);
        engine_bodies_cost(engine, at, &engine->costs[at]);
        if (assay_is_recording())
            engine_report_node(engine, at, inputs, outputs);
    }
    own_outputs(node, outputs, owner);
    take_outputs(engine, node, outputs, is_again);
    for (size_t i = 0; !is_again && i < node->n_inputs; i++)
        release_unneeded(engine, node->inputs[i]);
    return ASSAY_OK;
}
