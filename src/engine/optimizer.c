/* engine/optimizer.c - see optimizer.h. */
#include "engine/optimizer.h"

#include "base/mem.h"
#include "engine/engine_internal.h"

#include <assert.h>
#include <math.h>

/* What is remembered of one parameter. */
struct memory {
    struct tensor states[OPTIMIZER_MAX_STATES];
    uint64_t steps;
};

struct optimizer {
    struct engine *engine;
    const struct graph *graph;
    struct optimizer_options options;
    struct module_scopes modules; /* in the recorded tree */
    struct memory *memories;      /* one per value of the graph */
    double factor;                /* see optimizer_shrink_gradients() */
};

static const struct {
    const char *name;
    const char *states[OPTIMIZER_MAX_STATES + 1];
} kinds[] = {
    [OPTIMIZER_SGD] = {"sgd", {"momentum_buffer"}},
    [OPTIMIZER_ADAMW] = {"adamw", {"exp_avg", "exp_avg_sq"}},
};

const char *optimizer_kind_name(enum optimizer_kind kind)
{
    return kinds[kind].name;
}

struct optimizer_options optimizer_defaults(enum optimizer_kind kind)
{
    return (struct optimizer_options){
        .kind = kind,
        .weight_decay = kind == OPTIMIZER_ADAMW ? 0.01 : 0,
        .beta1 = 0.9,
        .beta2 = 0.999,
        .eps = 1e-8,
    };
}

static bool optimizer_is_trained(const struct value *value)
{
    return value->kind == VALUE_PARAMETER && !value->is_frozen;
}

static enum assay_status check_parameters(const struct graph *graph,
                                          struct error *err)
{
    for (uint32_t i = 0; i < graph_value_count(graph); i++) {
        const struct value *value = graph_value(graph, i);

        if (!optimizer_is_trained(value))
            continue;
        if (value->dtype != DTYPE_F32 || value->data.layout)
            return error_set(err, ASSAY_UNSUPPORTED,
                             "%s is %s; float32 is trained, freeze it or "
                             "convert it",
                             value->name, dtype_name(value->dtype));
        if (!value->data.buffer)
            return error_set(err, ASSAY_BAD_USAGE,
                             "%s has no data yet to be trained", value->name);
    }
    return ASSAY_OK;
}

static enum assay_status check_options(const struct optimizer_options *options,
                                       struct error *err)
{
    if (options->is_nesterov && options->momentum <= 0)
        return error_set(err, ASSAY_BAD_USAGE,
                         "nesterov needs a momentum above 0; set one or leave "
                         "nesterov out");
    return ASSAY_OK;
}

enum assay_status optimizer_new(struct engine *engine,
                                const struct optimizer_options *options,
                                struct optimizer **out, struct error *err)
{
    const struct graph *graph = engine->graph;
    size_t n = graph_value_count(graph);
    struct optimizer *optimizer = NULL;
    enum assay_status st = check_options(options, err);

    *out = NULL;
    if (!st)
        st = check_parameters(graph, err);
    if (st)
        return st;
    optimizer = mem_zalloc(sizeof *optimizer);
    if (!optimizer)
        return error_nomem(err, sizeof *optimizer, "an optimizer");
    *optimizer = (struct optimizer){
        .engine = engine,
        .graph = graph,
        .options = *options,
        .factor = 1,
        .memories = mem_array(n, sizeof *optimizer->memories),
    };
    st = optimizer->memories ? module_scopes_init(&optimizer->modules, graph,
                                                  engine->forward.detail, err)
                             : error_nomem(err, n * sizeof *optimizer->memories,
                                           "an optimizer");
    if (st) {
        optimizer_free(optimizer);
        return st;
    }
    *out = optimizer;
    return ASSAY_OK;
}

static void optimizer_forget(struct memory *memory)
{
    for (size_t i = 0; i < OPTIMIZER_MAX_STATES; i++)
        tensor_release(&memory->states[i]);
}

void optimizer_free(struct optimizer *optimizer)
{
    if (!optimizer)
        return;
    for (size_t i = 0;
         optimizer->memories && i < graph_value_count(optimizer->graph); i++)
        optimizer_forget(&optimizer->memories[i]);
    module_scopes_release(&optimizer->modules);
    mem_free(optimizer->memories);
    mem_free(optimizer);
}

/* ---- states ------------------------------------------------------------- */

const char *optimizer_state_name(const struct optimizer *optimizer, size_t i)
{
    const struct optimizer_options *options = &optimizer->options;

    if (options->kind == OPTIMIZER_SGD && options->momentum == 0)
        return NULL;
    return kinds[options->kind].states[i];
}

enum assay_status optimizer_read_state(const struct optimizer *optimizer,
                                       uint32_t value, size_t i,
                                       struct tensor *out, struct error *err)
{
    const struct tensor *state = &optimizer->memories[value].states[i];

    *out = (struct tensor){0};
    return state->buffer ? engine_to_host(optimizer->engine, state, out, err)
                         : ASSAY_OK;
}

uint64_t optimizer_steps(const struct optimizer *optimizer, uint32_t value)
{
    return optimizer->memories[value].steps;
}

/* Gives a parameter the states that its kind has, zero, where it has none. */
static enum assay_status make_states(struct optimizer *optimizer,
                                     uint32_t value, struct error *err)
{
    const struct value *parameter = graph_value(optimizer->graph, value);
    struct memory *memory = &optimizer->memories[value];
    struct pool *pool = engine_pool(optimizer->engine);
    uint32_t owner = pool_set_owner(pool, OWNER_OPTIMIZER);
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && optimizer_state_name(optimizer, i); i++) {
        if (memory->states[i].buffer)
            continue;
        st = tensor_new(pool, DTYPE_F32, &parameter->shape, &memory->states[i],
                        err);
        if (!st)
            st = tensor_clear(&memory->states[i], err);
    }
    pool_set_owner(pool, owner);
    return st;
}

enum assay_status optimizer_restore(struct optimizer *optimizer, uint32_t value,
                                    uint64_t steps,
                                    const struct tensor *const *states,
                                    struct error *err)
{
    const struct value *parameter = graph_value(optimizer->graph, value);
    struct memory *memory = &optimizer->memories[value];
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; optimizer_state_name(optimizer, i); i++) {
        if (states[i]->dtype != DTYPE_F32 ||
            !shape_equal(&states[i]->shape, &parameter->shape))
            return error_set(err, ASSAY_BAD_INPUT,
                             "the %s of %s has not the shape of its parameter",
                             optimizer_state_name(optimizer, i),
                             parameter->name);
    }
    st = make_states(optimizer, value, err);
    for (size_t i = 0; !st && optimizer_state_name(optimizer, i); i++)
        st = tensor_assign(&memory->states[i], states[i], err);
    if (!st)
        memory->steps = steps;
    return st;
}

/* ---- changing ----------------------------------------------------------- */

void optimizer_shrink_gradients(struct optimizer *optimizer, double factor)
{
    optimizer->factor = factor;
}

/* Losses may be scaled, too. */
static float optimizer_unscale(const struct optimizer *optimizer)
{
    return (float)(optimizer->factor / engine_loss_scale(optimizer->engine));
}

static struct sgd_factors sgd_factors_of(const struct optimizer *optimizer,
                                         double learning_rate)
{
    const struct optimizer_options *options = &optimizer->options;

    return (struct sgd_factors){
        .learning_rate = (float)learning_rate,
        .momentum = (float)options->momentum,
        .weight_decay = (float)options->weight_decay,
        .is_nesterov = options->is_nesterov,
        .unscale = optimizer_unscale(optimizer),
    };
}

static enum assay_status change_sgd(const struct optimizer *optimizer,
                                    const struct optimizer_tensors *tensors,
                                    double learning_rate, struct error *err)
{
    const struct sgd_factors factors = sgd_factors_of(optimizer, learning_rate);
    struct engine *engine = optimizer->engine;

    return backend_math(engine->backend)
        ->sgd(engine->backend, &engine->context, &factors, tensors, err);
}

static enum assay_status change_adamw(const struct optimizer *optimizer,
                                      const struct optimizer_tensors *tensors,
                                      uint64_t steps, double learning_rate,
                                      struct error *err)
{
    const struct optimizer_options *options = &optimizer->options;
    double correction1 = 1 - pow(options->beta1, (double)steps);
    double correction2 = 1 - pow(options->beta2, (double)steps);
    const struct adamw_factors factors = {
        .keep = (float)(1 - learning_rate * options->weight_decay),
        .beta1 = (float)options->beta1,
        .beta2 = (float)options->beta2,
        .rest1 = (float)(1 - options->beta1),
        .rest2 = (float)(1 - options->beta2),
        .eps = (float)options->eps,
        .step_size = (float)(learning_rate / correction1),
        .root_correction2 = (float)sqrt(correction2),
        .unscale = optimizer_unscale(optimizer),
    };
    struct engine *engine = optimizer->engine;

    return backend_math(engine->backend)
        ->adamw(engine->backend, &engine->context, &factors, tensors, err);
}

/* What one step of a parameter needs; counts it. */
static enum assay_status begin_change(struct optimizer *optimizer,
                                      uint32_t value,
                                      const struct tensor *gradient,
                                      struct optimizer_tensors *tensors,
                                      struct error *err)
{
    struct memory *memory = &optimizer->memories[value];
    enum assay_status st = make_states(optimizer, value, err);

    *tensors = (struct optimizer_tensors){.gradient = gradient};
    if (!st)
        st = engine_parameter(optimizer->engine, value, &tensors->parameter,
                              err);
    if (st)
        return st;
    assert(!gradient->layout &&
           tensor_elements(gradient) == tensor_elements(tensors->parameter));
    for (size_t i = 0; i < OPTIMIZER_MAX_STATES; i++)
        tensors->states[i] =
            memory->states[i].buffer ? &memory->states[i] : NULL;
    memory->steps++;
    return ASSAY_OK;
}

enum assay_status optimizer_change(struct optimizer *optimizer, uint32_t value,
                                   const struct tensor *gradient,
                                   double learning_rate, struct error *err)
{
    struct optimizer_tensors tensors;
    enum assay_status st =
        begin_change(optimizer, value, gradient, &tensors, err);

    if (st)
        return st;
    return optimizer->options.kind == OPTIMIZER_SGD
               ? change_sgd(optimizer, &tensors, learning_rate, err)
               : change_adamw(optimizer, &tensors,
                              optimizer->memories[value].steps, learning_rate,
                              err);
}

/* NULL: it has none, or is not trained. */
static const struct tensor *gradient_of(const struct optimizer *optimizer,
                                        uint32_t i)
{
    return optimizer_is_trained(graph_value(optimizer->graph, i))
               ? engine_gradient(optimizer->engine, i)
               : NULL;
}

enum assay_status optimizer_gradient_norm(const struct optimizer *optimizer,
                                          double *norm, struct error *err)
{
    struct engine *engine = optimizer->engine;
    size_t n_values = graph_value_count(optimizer->graph), n = 0;
    const struct tensor **list = mem_array(n_values, sizeof *list);
    double sum = 0;
    enum assay_status st;

    if (!list)
        return error_nomem(err, n_values * sizeof *list,
                           "the norm of a gradient");
    for (uint32_t i = 0; i < n_values; i++) {
        list[n] = gradient_of(optimizer, i);
        n += list[n] != NULL;
    }
    st =
        backend_math(engine->backend)
            ->square_sum(engine->backend, &engine->context, list, n, &sum, err);
    mem_free(list);
    *norm = sqrt(sum) / engine_loss_scale(engine);
    return st;
}

/* Each element of a parameter, of its gradient and of what is remembered of it
 * is read, and all but the gradient are written. */
static void report_change(const struct optimizer *optimizer, uint64_t n)
{
    enum { sgd_flops = 4, momentum_flops = 2, adamw_flops = 14 };
    uint64_t states = 0;
    struct cost cost = {0};

    while (optimizer_state_name(optimizer, states))
        states++;
    cost.flops = optimizer->options.kind == OPTIMIZER_ADAMW
                     ? adamw_flops * n
                     : (sgd_flops + momentum_flops * states) * n;
    cost.read_bytes = (2 + states) * n * sizeof(float);
    cost.write_bytes = (1 + states) * n * sizeof(float);
    cost.done_flops = cost.flops;
    cost.done_bytes = cost.read_bytes + cost.write_bytes;
    engine_report_cost(&cost);
}

/* One after the other, with a span for each module. */
static enum assay_status step_each(struct optimizer *optimizer,
                                   double learning_rate, struct error *err)
{
    struct engine *engine = optimizer->engine;
    struct scope_walk walk = scope_walk_start(&optimizer->modules);
    enum assay_status st = ASSAY_OK;

    for (uint32_t i = 0; !st && i < graph_value_count(optimizer->graph); i++) {
        const struct tensor *gradient = gradient_of(optimizer, i);

        if (!gradient)
            continue;
        scope_walk_move(&walk, graph_value(optimizer->graph, i)->scope);
        engine->context.tag = engine_is_far(engine) ? assay_scope_here() : 0;
        st = optimizer_change(optimizer, i, gradient, learning_rate, err);
        if (!st)
            report_change(optimizer, tensor_elements(gradient));
    }
    scope_walk_finish(&walk);
    return st;
}

/* All in few launches, which belong to no module. */
static enum assay_status step_together(struct optimizer *optimizer,
                                       double learning_rate, struct error *err)
{
    struct engine *engine = optimizer->engine;
    const struct sgd_factors factors = sgd_factors_of(optimizer, learning_rate);
    size_t n_values = graph_value_count(optimizer->graph), n = 0;
    struct optimizer_tensors *list = mem_array(n_values, sizeof *list);
    enum assay_status st = ASSAY_OK;
    uint64_t elements = 0;

    if (!list)
        return error_nomem(err, n_values * sizeof *list, "an optimizer");
    for (uint32_t i = 0; !st && i < n_values; i++) {
        const struct tensor *gradient = gradient_of(optimizer, i);

        if (!gradient)
            continue;
        st = begin_change(optimizer, i, gradient, &list[n++], err);
        elements += tensor_elements(gradient);
    }
    engine->context.tag = assay_scope_here();
    if (!st)
        st = backend_math(engine->backend)
                 ->sgd_list(engine->backend, &engine->context, &factors, list,
                            n, err);
    if (!st)
        report_change(optimizer, elements);
    mem_free(list);
    return st;
}

enum assay_status optimizer_step(struct optimizer *optimizer,
                                 double learning_rate, struct error *err)
{
    struct engine *engine = optimizer->engine;
    const struct backend_class *class = engine->backend->class;
    bool is_together = optimizer->options.kind == OPTIMIZER_SGD &&
                       backend_math(engine->backend)->sgd_list;
    enum assay_status st = is_together
                               ? step_together(optimizer, learning_rate, err)
                               : step_each(optimizer, learning_rate, err);

    if (class->parameters_changed)
        class->parameters_changed(engine->backend);
    return st;
}
