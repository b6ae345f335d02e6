/* engine/optimizer.c - see optimizer.h. */
#include "engine/optimizer.h"

#include "base/mem.h"
#include "engine/optimizer_kernels.h"
#include "engine/scope_walk.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* What is remembered of one parameter. */
struct memory {
    struct tensor states[OPTIMIZER_MAX_STATES];
    uint64_t steps;
};

struct optimizer {
    const struct graph *graph;
    struct pool *pool;
    struct op_context context;
    struct optimizer_options options;
    struct memory *memories; /* one a value of the graph */
    bool *is_group;          /* one a scope */
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
        .n_threads = 1,
        .detail = ENGINE_MODULES,
    };
}

static bool is_trained(const struct value *value)
{
    return value->kind == VALUE_PARAMETER && !value->is_frozen;
}

static enum assay_status check_parameters(const struct graph *graph,
                                          struct error *err)
{
    for (uint32_t i = 0; i < graph_value_count(graph); i++) {
        const struct value *value = graph_value(graph, i);

        if (!is_trained(value))
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

enum assay_status optimizer_new(const struct graph *graph, struct pool *pool,
                                const struct optimizer_options *options,
                                struct optimizer **out, struct error *err)
{
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
    optimizer->graph = graph;
    optimizer->pool = pool;
    optimizer->options = *options;
    optimizer->context =
        (struct op_context){.pool = pool, .n_threads = options->n_threads};
    optimizer->memories = mem_array(n, sizeof *optimizer->memories);
    if (!optimizer->memories)
        st = error_nomem(err, n * sizeof *optimizer->memories, "an optimizer");
    if (!st)
        st = scope_walk_groups(graph, options->detail, &optimizer->is_group,
                               err);
    if (st) {
        optimizer_free(optimizer);
        return st;
    }
    *out = optimizer;
    return ASSAY_OK;
}

static void forget(struct memory *memory)
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
        forget(&optimizer->memories[i]);
    mem_free(optimizer->memories);
    mem_free(optimizer->is_group);
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

const struct tensor *optimizer_state(const struct optimizer *optimizer,
                                     uint32_t value, size_t i)
{
    const struct tensor *state = &optimizer->memories[value].states[i];

    return state->buffer ? state : NULL;
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
    uint32_t owner = pool_set_owner(optimizer->pool, OWNER_OPTIMIZER);
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && optimizer_state_name(optimizer, i); i++) {
        if (memory->states[i].buffer)
            continue;
        st = tensor_new(optimizer->pool, DTYPE_F32, &parameter->shape,
                        &memory->states[i], err);
        if (!st)
            memset(tensor_data(&memory->states[i]), 0,
                   tensor_bytes(&memory->states[i]));
    }
    pool_set_owner(optimizer->pool, owner);
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
    if (st)
        return st;
    for (size_t i = 0; optimizer_state_name(optimizer, i); i++)
        memcpy(tensor_data(&memory->states[i]), tensor_data(states[i]),
               tensor_bytes(states[i]));
    memory->steps = steps;
    return ASSAY_OK;
}

/* ---- changing ----------------------------------------------------------- */

static void change_sgd(const struct optimizer *optimizer, struct memory *memory,
                       struct optimizer_arrays arrays, double learning_rate)
{
    const struct optimizer_options *options = &optimizer->options;
    const struct sgd_factors factors = {
        .learning_rate = (float)learning_rate,
        .momentum = (float)options->momentum,
        .weight_decay = (float)options->weight_decay,
        .is_nesterov = options->is_nesterov,
    };

    if (memory->states[0].buffer)
        arrays.first = tensor_f32(&memory->states[0]);
    optimizer_sgd(&factors, &arrays, &optimizer->context);
}

static void change_adamw(const struct optimizer *optimizer,
                         struct memory *memory, struct optimizer_arrays arrays,
                         double learning_rate)
{
    const struct optimizer_options *options = &optimizer->options;
    double steps = (double)memory->steps;
    double correction1 = 1 - pow(options->beta1, steps);
    double correction2 = 1 - pow(options->beta2, steps);
    const struct adamw_factors factors = {
        .keep = (float)(1 - learning_rate * options->weight_decay),
        .beta1 = (float)options->beta1,
        .beta2 = (float)options->beta2,
        .rest1 = (float)(1 - options->beta1),
        .rest2 = (float)(1 - options->beta2),
        .eps = (float)options->eps,
        .step_size = (float)(learning_rate / correction1),
        .root_correction2 = (float)sqrt(correction2),
    };

    arrays.first = tensor_f32(&memory->states[0]);
    arrays.second = tensor_f32(&memory->states[1]);
    optimizer_adamw(&factors, &arrays, &optimizer->context);
}

enum assay_status optimizer_change(struct optimizer *optimizer, uint32_t value,
                                   const struct tensor *gradient,
                                   double learning_rate, struct error *err)
{
    const struct tensor *data = &graph_value(optimizer->graph, value)->data;
    struct memory *memory = &optimizer->memories[value];
    struct optimizer_arrays arrays = {.n = tensor_elements(data)};
    enum assay_status st = make_states(optimizer, value, err);

    assert(!gradient->layout && tensor_elements(gradient) == arrays.n);
    if (st)
        return st;
    arrays.parameter = tensor_f32(data);
    arrays.gradient = tensor_f32(gradient);
    memory->steps++;
    if (optimizer->options.kind == OPTIMIZER_SGD)
        change_sgd(optimizer, memory, arrays, learning_rate);
    else
        change_adamw(optimizer, memory, arrays, learning_rate);
    return ASSAY_OK;
}

static const struct tensor *gradient_of(const struct graph *graph,
                                        const struct engine *engine, uint32_t i)
{
    return is_trained(graph_value(graph, i)) ? engine_gradient(engine, i)
                                             : NULL;
}

double optimizer_gradient_norm(const struct optimizer *optimizer,
                               const struct engine *engine)
{
    const struct graph *graph = optimizer->graph;
    double sum = 0;

    for (uint32_t i = 0; i < graph_value_count(graph); i++) {
        const struct tensor *gradient = gradient_of(graph, engine, i);

        if (gradient)
            sum += optimizer_square_sum(tensor_f32(gradient),
                                        tensor_elements(gradient),
                                        &optimizer->context);
    }
    return sqrt(sum);
}

enum assay_status optimizer_step(struct optimizer *optimizer,
                                 struct engine *engine, double learning_rate,
                                 struct error *err)
{
    const struct graph *graph = optimizer->graph;
    struct scope_walk walk =
        scope_walk_start(graph, optimizer->options.detail, optimizer->is_group);
    enum assay_status st = ASSAY_OK;

    for (uint32_t i = 0; !st && i < graph_value_count(graph); i++) {
        const struct value *value = graph_value(graph, i);
        const struct tensor *gradient = gradient_of(graph, engine, i);

        if (!gradient)
            continue;
        scope_walk_move(&walk, value->scope);
        st = optimizer_change(optimizer, i, gradient, learning_rate, err);
    }
    scope_walk_finish(&walk);
    engine_parameters_changed(engine);
    return st;
}
