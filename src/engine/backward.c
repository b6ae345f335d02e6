/* engine/backward.c - see engine.h: the tape is walked in reverse. */
#include "base/mem.h"
#include "engine/tape.h"

/* ---- gradients of values --------------------------------------------------
 */

/* sum += dx, both dense and in one place; in memory of its own where a view
 * shares it. */
static enum assay_status add_dense(struct engine *engine, enum place place,
                                   struct tensor *sum, const struct tensor *dx,
                                   struct error *err)
{
    struct tensor own;
    enum assay_status st = ASSAY_OK;

    if (buffer_references(sum->buffer) > 1) {
        st = tensor_copy(engine->pools[place], sum, &own, err);
        if (st)
            return st;
        tensor_release(sum);
        *sum = own;
    }
    return engine_math(engine, place)
        ->add(engine->backend, &engine->context, sum, dx, err);
}

static enum assay_status accumulate(struct engine *engine, struct tensor *sum,
                                    struct tensor *dx, struct error *err)
{
    struct backend *backend = engine->backend;
    enum place place = tensor_is_on_host(sum) && tensor_is_on_host(dx)
                           ? PLACE_HOST
                           : PLACE_DEVICE;
    enum assay_status st = engine_move(engine, sum, place, err);

    if (!st)
        st = engine_move(engine, dx, place, err);
    if (st)
        return st;
    engine->context.pool = engine->pools[place];
    if (backend->class->accumulate && engine_is_in(engine, sum, PLACE_DEVICE))
        return backend->class->accumulate(backend, &engine->context, sum, dx,
                                          err);
    st = engine_make_dense(engine, sum, err);
    if (!st)
        st = engine_make_dense(engine, dx, err);
    return st ? st : add_dense(engine, place, sum, dx, err);
}

/* Takes a gradient over, also on failure. */
static enum assay_status take_gradient(struct engine *engine, uint32_t value,
                                       struct tensor dx, struct error *err)
{
    struct tensor *gradient = &engine->tape->values[value].gradient;
    bool is_parameter =
        graph_value(engine->graph, value)->producer == GRAPH_NONE;
    enum assay_status st = ASSAY_OK;

    if (is_parameter)
        st = engine_make_dense(engine, &dx, err);
    if (!st && is_parameter)
        st = engine_move(engine, &dx, PLACE_DEVICE, err);
    if (st || gradient->buffer) {
        if (!st)
            st = accumulate(engine, gradient, &dx, err);
        tensor_release(&dx);
    } else {
        *gradient = dx;
    }
    if (is_parameter && gradient->buffer)
        buffer_set_owner(gradient->buffer, OWNER_GRADIENTS);
    return st;
}

void engine_scale_losses(struct engine *engine, double factor)
{
    engine->loss_scale = factor;
}

double engine_loss_scale(const struct engine *engine)
{
    return engine->loss_scale > 0 ? engine->loss_scale : 1;
}

/* Every loss begins with a gradient of 1, times their scale. */
static enum assay_status seed_losses(struct engine *engine, struct error *err)
{
    const struct graph *graph = engine->graph;
    struct shape scalar = {.rank = 0};
    float scale = (float)engine_loss_scale(engine);
    bool has_loss = false;

    for (size_t i = 0; i < graph_output_count(graph); i++) {
        uint32_t value = graph_output_at(graph, i, NULL);
        struct tensor one;
        enum assay_status st;

        if (!engine->tape->values[value].is_loss)
            continue;
        has_loss = true;
        st = tensor_new(engine_pool(engine), DTYPE_F32, &scalar, &one, err);
        if (!st)
            st =
                backend_math(engine->backend)
                    ->fill(engine->backend, &engine->context, &one, scale, err);
        if (!st)
            st = take_gradient(engine, value, one, err);
        if (st)
            return st;
    }
    return has_loss ? ASSAY_OK
                    : error_set(err, ASSAY_BAD_USAGE,
                                "model '%.80s' has no output that is a loss "
                                "and depends on a parameter",
                                graph_name(graph));
}

/* ---- one node --------------------------------------------------------------
 */

/* What one backward step is made from: shapes of all, data of some. */
struct step {
    const struct node *node;
    size_t at;
    enum place place; /* where its kernel runs */
    struct tensor inputs[ENGINE_MAX_TRAINED], outputs[ENGINE_MAX_TRAINED];
    struct tensor dy[ENGINE_MAX_TRAINED], dx[ENGINE_MAX_TRAINED];
    struct tensor sums[ENGINE_MAX_TRAINED];
    uint64_t summed; /* bit i: dx[i] has what sums[i] was */
    const struct tensor *input_list[ENGINE_MAX_TRAINED];
    const struct tensor *dy_list[ENGINE_MAX_TRAINED];
    struct op_backward pass;
};

static bool has_kernel(const struct engine *engine, const struct step *step)
{
    const struct backend *backend = engine->backend;

    return !step->node->op->is_view && backend->class->can_backward &&
           backend->class->can_backward(backend, step->node);
}

/* A share of a value's data if the kernel reads it. */
static enum assay_status bring(struct engine *engine, const struct step *step,
                               uint32_t value, bool is_read, enum place place,
                               struct tensor *out, struct error *err)
{
    const struct tensor *there;
    enum assay_status st = ASSAY_OK;

    *out = engine->tape->values[value].form;
    if (!is_read)
        return ASSAY_OK;
    if (!engine_value(engine, value)->buffer)
        st = restore_value(engine, value, step->at, err);
    if (!st)
        st =
            engine_bring(engine, value, place, (uint32_t)step->at, &there, err);
    if (!st)
        *out = tensor_share(there);
    return st;
}

/* Takes the gradients of the outputs, and where they are decides for views. */
static void step_take_dy(struct engine *engine, struct step *step)
{
    const struct node *node = step->node;
    bool is_far = engine_is_far(engine);

    for (size_t i = 0; i < node->n_outputs; i++) {
        struct tensor *gradient =
            &engine->tape->values[node->outputs[i]].gradient;

        if (!gradient->buffer)
            continue;
        step->dy[i] = *gradient;
        *gradient = (struct tensor){0};
        step->dy_list[i] = &step->dy[i];
    }
    step->place = PLACE_DEVICE;
    if (is_far && node->op->is_view)
        step->place =
            tensor_is_on_host(&step->dy[0]) ? PLACE_HOST : PLACE_DEVICE;
    else if (is_far && !has_kernel(engine, step))
        step->place = PLACE_HOST;
}

static enum assay_status step_bring_inputs(struct engine *engine,
                                           struct step *step, struct error *err)
{
    const struct node *node = step->node;
    const struct op_reads *reads = &engine->tape->nodes[step->at].reads;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < node->n_inputs; i++) {
        bool is_number = node->op->host_inputs >> i & 1;

        if (node->inputs[i] == GRAPH_NONE)
            continue;
        st = bring(engine, step, node->inputs[i], reads->inputs >> i & 1,
                   is_number ? PLACE_HOST : step->place, &step->inputs[i], err);
        step->input_list[i] = &step->inputs[i];
    }
    return st;
}

static enum assay_status step_fill(struct engine *engine, struct step *step,
                                   struct error *err)
{
    const struct node *node = step->node;
    struct tape_node *entry = &engine->tape->nodes[step->at];
    enum assay_status st;

    step_take_dy(engine, step);
    st = step_bring_inputs(engine, step, err);
    for (size_t i = 0; !st && i < node->n_outputs; i++) {
        st =
            bring(engine, step, node->outputs[i], entry->reads.outputs >> i & 1,
                  step->place, &step->outputs[i], err);
        if (!st && step->dy_list[i])
            st = engine_move(engine, &step->dy[i], step->place, err);
    }
    if (!st && entry->saved.buffer)
        st = engine_move(engine, &entry->saved, step->place, err);
    step->pass = (struct op_backward){.inputs = step->input_list,
                                      .outputs = step->outputs,
                                      .saved = &entry->saved,
                                      .dy = step->dy_list,
                                      .dx = step->dx,
                                      .wanted = entry->wanted};
    return st;
}

static void step_release(struct step *step)
{
    for (size_t i = 0; i < step->node->n_inputs; i++) {
        tensor_release(&step->inputs[i]);
        tensor_release(&step->dx[i]);
    }
    for (size_t i = 0; i < step->node->n_outputs; i++) {
        tensor_release(&step->outputs[i]);
        tensor_release(&step->dy[i]);
    }
}

/* The same data under the shape it had before. */
static enum assay_status pass_view(struct engine *engine, struct step *step,
                                   struct error *err)
{
    enum assay_status st;

    if (shape_equal(&step->dy[0].shape, &step->inputs[0].shape)) {
        step->dx[0] = tensor_share(&step->dy[0]);
        return ASSAY_OK;
    }
    st = engine_make_dense(engine, &step->dy[0], err);
    if (!st)
        step->dx[0] = tensor_reshape(&step->dy[0], &step->inputs[0].shape);
    return st;
}

static enum assay_status make_dx(struct engine *engine, struct step *step,
                                 struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < step->node->n_inputs; i++) {
        if (!op_wants(&step->pass, i))
            continue;
        st = tensor_new(engine->context.pool, DTYPE_F32, &step->inputs[i].shape,
                        &step->dx[i], err);
        if (!st)
            st = tensor_clear(&step->dx[i], err);
    }
    return st;
}

static enum assay_status backward_run_portable(struct engine *engine,
                                               struct step *step,
                                               struct error *err)
{
    enum assay_status st = make_dx(engine, step, err);

    for (size_t i = 0; !st && i < step->node->n_inputs; i++)
        st = engine_make_dense(engine, &step->inputs[i], err);
    for (size_t i = 0; !st && i < step->node->n_outputs; i++) {
        st = engine_make_dense(engine, &step->outputs[i], err);
        if (!st)
            st = engine_make_dense(engine, &step->dy[i], err);
    }
    return st ? st
              : step->node->op->backward(&engine->context, step->node,
                                         &step->pass, err);
}

/* Lends the kernel what the inputs have of other nodes. */
static void step_lend_sums(struct engine *engine, struct step *step)
{
    for (size_t i = 0; i < step->node->n_inputs; i++) {
        struct tensor *gradient;

        if (!op_wants(&step->pass, i))
            continue;
        gradient = &engine->tape->values[step->node->inputs[i]].gradient;
        if (!gradient->buffer || !engine_is_in(engine, gradient, step->place))
            continue;
        step->sums[i] = *gradient;
        *gradient = (struct tensor){0};
        step->summed |= UINT64_C(1) << i;
    }
    step->pass.sums = step->sums;
}

/* Those that were not added to are gradients as before. */
static void step_return_sums(struct engine *engine, struct step *step)
{
    for (size_t i = 0; i < step->node->n_inputs; i++) {
        if (!step->sums[i].buffer)
            continue;
        engine->tape->values[step->node->inputs[i]].gradient = step->sums[i];
        step->sums[i] = (struct tensor){0};
        step->summed &= ~(UINT64_C(1) << i);
    }
}

static enum assay_status run_kernel(struct engine *engine, struct step *step,
                                    struct error *err)
{
    struct backend *backend = engine->backend;
    enum assay_status st;

    if (step->node->op->is_view)
        return pass_view(engine, step, err);
    if (!has_kernel(engine, step))
        return backward_run_portable(engine, step, err);
    step_lend_sums(engine, step);
    st = backend->class->backward(backend, &engine->context, step->node,
                                  step->at, &step->pass, err);
    step_return_sums(engine, step);
    return st;
}

static void count_bytes(const struct step *step, struct cost *cost)
{
    const struct node *node = step->node;

    for (size_t i = 0; i < node->n_outputs; i++) {
        if (step->dy_list[i])
            cost->read_bytes += tensor_bytes(&step->dy[i]);
        if (step->outputs[i].buffer)
            cost->read_bytes += tensor_bytes(&step->outputs[i]);
    }
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (step->inputs[i].buffer)
            cost->read_bytes += tensor_bytes(&step->inputs[i]);
        if (op_wants(&step->pass, i))
            cost->write_bytes += tensor_bytes(&step->dx[i]);
    }
    cost->done_bytes = cost->read_bytes + cost->write_bytes;
    if (node->op->is_view && step->dx[0].buffer == step->dy[0].buffer)
        cost->done_bytes = 0;
}

/* As often as the first two inputs ask for it, what the forward pass cost. */
static void backward_count_cost(const struct engine *engine,
                                const struct step *step)
{
    const struct node *node = step->node;
    const struct backend *backend = engine->backend;
    const struct cost *forward = &engine->costs[step->at];
    struct cost *cost = &engine->tape->nodes[step->at].cost;
    uint64_t times = (step->pass.wanted & 1) + (step->pass.wanted >> 1 & 1);

    *cost = (struct cost){0};
    count_bytes(step, cost);
    if (node->op->backward_cost) {
        node->op->backward_cost(node, &step->pass, cost);
    } else {
        cost->macs = times * forward->macs;
        cost->flops = times * forward->flops;
    }
    cost->done_flops = 2 * cost->macs + cost->flops;
    if (backend->class->executed_backward && has_kernel(engine, step))
        backend->class->executed_backward(backend, node, step->at, &step->pass,
                                          cost);
}

/* A value that several nodes read: its gradient is a sum, of a pass of its own
 * or of the kernel that made dx. */
static void count_sum(const struct tensor *dx, bool is_summed,
                      struct cost *cost)
{
    cost->flops += tensor_elements(dx);
    cost->done_flops += tensor_elements(dx);
    cost->done_bytes += (is_summed ? 1 : 3) * tensor_bytes(dx);
}

static enum assay_status hand_on(struct engine *engine, struct step *step,
                                 struct error *err)
{
    struct tape *tape = engine->tape;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < step->node->n_inputs; i++) {
        bool is_summed = step->summed >> i & 1;

        if (!op_wants(&step->pass, i) || !step->dx[i].buffer)
            continue;
        if (is_summed || tape->values[step->node->inputs[i]].gradient.buffer)
            count_sum(&step->dx[i], is_summed, &tape->nodes[step->at].cost);
        st = take_gradient(engine, step->node->inputs[i], step->dx[i], err);
        step->dx[i] = (struct tensor){0};
    }
    return st;
}

static enum assay_status run_step(struct engine *engine, size_t at,
                                  struct error *err)
{
    struct step step = {.node = graph_node(engine->graph, at), .at = at};
    char text[ENGINE_NODE_TEXT];
    enum assay_status st = step_fill(engine, &step, err);

    engine->context.dying = 0;
    engine->context.saved = NULL;
    engine->context.is_again = false;
    engine->context.tag = engine_is_far(engine) ? assay_scope_here() : 0;
    engine->context.pool = engine->pools[step.place];
    engine_set_owner(engine, OWNER_MODULE + 1 + step.node->scope);
    if (!st)
        st = run_kernel(engine, &step, err);
    if (!st) {
        backward_count_cost(engine, &step);
        st = engine_watch(engine, step.node, step.dx, step.node->n_inputs,
                          ", in the backward pass", err);
    }
    if (!st)
        st = hand_on(engine, &step, err);
    if (!st)
        engine_report_cost(&engine->tape->nodes[at].cost);
    step_release(&step);
    if (st)
        error_context(err, "%s",
                      engine_node_text(engine, step.node, text, sizeof text));
    return st;
}

/* ---- the pass ------------------------------------------------------------ */

static void let_go(struct engine *engine, uint32_t value)
{
    struct tape_value *entry = &engine->tape->values[value];

    if (--entry->left == 0 && !engine->values[value].is_kept)
        engine_drop(engine, value);
}

/* The node is behind: what was kept for it may go. */
static void pass_by(struct engine *engine, size_t at)
{
    const struct node *node = graph_node(engine->graph, at);
    struct tape_node *entry = &engine->tape->nodes[at];

    for (size_t i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] == GRAPH_NONE)
            continue;
        if (entry->reads.inputs >> i & 1)
            let_go(engine, node->inputs[i]);
        if (entry->holds >> i & 1)
            let_go(engine, node->inputs[i]);
    }
    for (size_t i = 0; i < node->n_outputs; i++) {
        if (entry->reads.outputs >> i & 1)
            let_go(engine, node->outputs[i]);
        tensor_release(&engine->tape->values[node->outputs[i]].gradient);
    }
    tensor_release(&entry->saved);
}

static bool has_gradient(const struct engine *engine, const struct node *node)
{
    for (size_t i = 0; i < node->n_outputs; i++) {
        if (engine->tape->values[node->outputs[i]].gradient.buffer)
            return true;
    }
    return false;
}

static enum assay_status walk_back(struct engine *engine, struct error *err)
{
    struct scope_walk walk = scope_walk_start(&engine->backward);
    enum assay_status st = ASSAY_OK;

    for (size_t i = engine->tape->n_nodes; !st && i-- > 0;) {
        const struct node *node = graph_node(engine->graph, i);

        engine->tape->nodes[i].cost = (struct cost){0};
        if (engine->tape->nodes[i].wanted && has_gradient(engine, node)) {
            scope_walk_enter(&walk, node);
            st = run_step(engine, i, err);
            scope_walk_leave(&walk, node);
        }
        pass_by(engine, i);
    }
    scope_walk_finish(&walk);
    return st;
}

enum assay_status engine_backward(struct engine *engine, struct error *err)
{
    enum assay_status st;
    bool is_thrifty;
    uint32_t owner;

    if (!engine->tape || !engine->tape->has_run)
        return error_set(err, ASSAY_BAD_USAGE,
                         "a backward pass needs a forward pass of training "
                         "before it");
    engine->tape->has_run = false;
    owner = engine_set_owner(engine, OWNER_OTHER);
    is_thrifty = pool_set_thrifty(engine_pool(engine), true);
    st = seed_losses(engine, err);
    if (!st)
        st = walk_back(engine, err);
    pool_set_thrifty(engine_pool(engine), is_thrifty);
    engine_set_owner(engine, owner);
    if (!st && engine->backend->class->pass_over)
        engine->backend->class->pass_over(engine->backend);
    return st;
}

const struct tensor *engine_gradient(const struct engine *engine,
                                     uint32_t value)
{
    const struct tape *tape = engine->tape;

    return tape && value < tape->n_values && tape->values[value].gradient.buffer
               ? &tape->values[value].gradient
               : NULL;
}

const struct cost *engine_backward_cost(const struct engine *engine,
                                        size_t node)
{
    return &engine->tape->nodes[node].cost;
}

size_t engine_kept_bytes(const struct engine *engine, size_t node)
{
    return engine->tape ? engine->tape->nodes[node].kept_bytes : 0;
}

struct engine_recomputed engine_recomputed(const struct engine *engine)
{
    return engine->tape->recomputed;
}
