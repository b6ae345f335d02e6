/* train/train_annotate.c - see trainer_internal.h: arithmetic, memory and
 * settings go into the run file of a training. */
#include "train/trainer_internal.h"

#include "base/mem.h"
#include "detect/memory_ledger.h"
#include "detect/places.h"

#include <inttypes.h>

/* The three subtrees of a step. */
enum pass { PASS_FORWARD, PASS_BACKWARD, PASS_OPTIMIZER, N_PASSES };

struct annotation_work {
    struct places places[N_PASSES];
    struct scope_work *work; /* one a scope of the run */
    size_t n;
};

/* ---- arithmetic --------------------------------------------------------- */

static enum assay_status add_node(struct annotation_work *all,
                                  const struct trainer *trainer, size_t i,
                                  struct error *err)
{
    const struct node *node = graph_node(trainer->options.graph, i);
    const struct step_work *work = &trainer->work[i];
    const struct cost *const costs[] = {
        [PASS_FORWARD] = &work->forward,
        [PASS_BACKWARD] = &work->backward,
    };
    enum assay_status st = ASSAY_OK;

    for (int pass = PASS_FORWARD; !st && pass <= PASS_BACKWARD; pass++) {
        uint32_t place = RUN_NONE;

        st = places_of_node(&all->places[pass], node, &place, err);
        if (!st && place != RUN_NONE)
            places_add_cost(&all->work[place], costs[pass],
                            (double)trainer->n_measured);
        if (!st && place != RUN_NONE && pass == PASS_FORWARD)
            all->work[place].kept_bytes += (double)work->kept_bytes;
    }
    return st;
}

/* Each element of a parameter, of its gradient and of what is remembered of it
 * is read, and all but the gradient are written. */
static struct cost optimizer_cost(const struct trainer *trainer, uint32_t value)
{
    enum { sgd_flops = 4, momentum_flops = 2, adamw_flops = 14 };
    const struct tensor *data =
        &graph_value(trainer->options.graph, value)->data;
    uint64_t n = tensor_elements(data), states = 0;
    struct cost cost = {0};

    while (optimizer_state_name(trainer->optimizer, states))
        states++;
    cost.flops = trainer->options.optimizer.kind == OPTIMIZER_ADAMW
                     ? adamw_flops * n
                     : (sgd_flops + momentum_flops * states) * n;
    cost.read_bytes = (2 + states) * tensor_bytes(data);
    cost.write_bytes = (1 + states) * tensor_bytes(data);
    cost.done_flops = cost.flops;
    cost.done_bytes = cost.read_bytes + cost.write_bytes;
    return cost;
}

static void add_parameters(struct annotation_work *all,
                           const struct trainer *trainer)
{
    const struct graph *graph = trainer->options.graph;

    for (uint32_t i = 0; i < graph_value_count(graph); i++) {
        const struct value *value = graph_value(graph, i);
        uint32_t forward, optimizer;
        struct cost cost;

        if (value->kind != VALUE_PARAMETER || value->scope == GRAPH_NONE)
            continue;
        forward = places_of(&all->places[PASS_FORWARD], value->scope);
        all->work[forward].parameters += (double)tensor_elements(&value->data);
        optimizer = places_of(&all->places[PASS_OPTIMIZER], value->scope);
        if (optimizer == RUN_NONE || !optimizer_steps(trainer->optimizer, i))
            continue;
        cost = optimizer_cost(trainer, i);
        places_add_cost(&all->work[optimizer], &cost, 1);
    }
}

static enum assay_status find_places(struct annotation_work *all,
                                     struct run *run, const struct graph *graph,
                                     struct error *err)
{
    enum assay_status st =
        places_add(&all->places[PASS_FORWARD], run, graph, "forward", err);

    if (!st)
        st = places_find(&all->places[PASS_BACKWARD], run, graph, "backward",
                         err);
    if (!st)
        st = places_find(&all->places[PASS_OPTIMIZER], run, graph, "optimizer",
                         err);
    return st;
}

static enum assay_status store_work(struct annotation_work *all,
                                    struct run *run,
                                    const struct trainer *trainer,
                                    struct error *err)
{
    size_t n_nodes = graph_node_count(trainer->options.graph);
    enum assay_status st = ASSAY_OK;

    all->n = run_scope_count(run);
    all->work = mem_array(all->n, sizeof *all->work);
    if (!all->work)
        return error_nomem(err, all->n * sizeof *all->work,
                           "the work of a run's modules");
    for (size_t i = 0; i < all->n; i++)
        all->work[i].done_by = RUN_NONE;
    for (size_t i = 0; !st && i < n_nodes; i++)
        st = add_node(all, trainer, i, err);
    add_parameters(all, trainer);
    for (uint32_t i = 0; !st && i < all->n; i++) {
        const struct scope_work *work = &all->work[i];

        if (work->macs > 0 || work->flops > 0 || work->read_bytes > 0 ||
            work->parameters > 0)
            st = run_work_set(run, i, work, err);
    }
    return st;
}

/* ---- memory ------------------------------------------------------------- */

/* Of each module: what it kept for the backward pass of the last step. */
static enum assay_status count_kept(const struct trainer *trainer,
                                    size_t **kept, struct error *err)
{
    const struct graph *graph = trainer->options.graph;
    size_t n = graph_scope_count(graph) + 1;

    *kept = mem_array(n, sizeof **kept);
    if (!*kept)
        return error_nomem(err, n * sizeof **kept, "the modules of a model");
    for (size_t i = 0; i < graph_node_count(graph); i++) {
        uint32_t scope = graph_node(graph, i)->scope;

        /* GRAPH_NONE, the model itself, is the first. */
        (*kept)[scope + 1u] += trainer->work[i].kept_bytes;
    }
    return ASSAY_OK;
}

static enum assay_status peak_of(const struct run *run, uint32_t scope,
                                 int64_t *bytes, struct error *err)
{
    struct scope_stats stats = scope_stats_unknown();
    enum assay_status st = run_scope_stats(run, scope, RUN_ANY, &stats, err);

    *bytes = stats.is_outside ? RUN_UNKNOWN : stats.peak_bytes;
    return st;
}

/* The recorder's peak may be one of the warm-up, in which kernels are compared.
 * In a measured step it was in the innermost module that saw as much as the
 * whole step did. */
static enum assay_status find_peak(struct run *run, struct error *err)
{
    uint32_t at = RUN_ROOT, n = (uint32_t)run_scope_count(run);
    int64_t most = RUN_UNKNOWN, bytes;
    enum assay_status st = peak_of(run, at, &most, err);

    /* Scopes come behind those that they are in. */
    for (uint32_t i = 1; !st && most != RUN_UNKNOWN && i < n; i++) {
        if (run_scope(run, i)->parent != at)
            continue;
        st = peak_of(run, i, &bytes, err);
        if (!st && bytes == most)
            at = i;
    }
    run_memory(run)->peak_scope = at;
    return st;
}

static enum assay_status add_memory(struct run *run,
                                    const struct annotation_work *all,
                                    const struct trainer *trainer,
                                    struct error *err)
{
    const struct trainer_options *options = &trainer->options;
    const struct places *forward = &all->places[PASS_FORWARD];
    size_t *kept = NULL;
    enum assay_status st = count_kept(trainer, &kept, err);

    if (!st)
        st = memory_ledger(run,
                           &(struct memory_account){
                               .pool = options->pool,
                               .graph = options->graph,
                               .process = process_memory_read(
                                   NULL, pool_usage(options->pool).held_bytes),
                               .model = forward->model,
                               .scopes = forward->scopes,
                               .kept = kept},
                           err);
    mem_free(kept);
    return st;
}

/* ---- facts -------------------------------------------------------------- */

static uint64_t trained_parameters(const struct graph *graph)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < graph_value_count(graph); i++) {
        const struct value *value = graph_value(graph, i);

        if (value->kind == VALUE_PARAMETER && !value->is_frozen)
            sum += tensor_elements(&value->data);
    }
    return sum;
}

static enum assay_status
state_model(struct run *run, const struct trainer *trainer, struct error *err)
{
    const struct graph *graph = trainer->options.graph;
    const struct backend *backend = engine_backend(trainer->engine);
    char library[64];
    enum assay_status st;

    st = run_fact_set(run, "model.name", graph_name(graph), err);
    if (!st)
        st = run_fact_printf(run, err, "model.parameters", "%" PRIu64,
                             graph_parameter_elements(graph));
    if (!st)
        st = run_fact_printf(run, err, "model.trained_parameters", "%" PRIu64,
                             trained_parameters(graph));
    if (!st)
        st = run_fact_printf(run, err, "model.parameter_bytes", "%" PRIu64,
                             graph_parameter_bytes(graph));
    if (!st)
        st = run_fact_set(run, "model.precision", "fp32", err);
    if (st || !backend->class->library)
        return st;
    backend->class->library(library, sizeof library);
    return run_fact_set(run, "machine.library", library, err);
}

static enum assay_status state_training(struct run *run,
                                        const struct trainer *trainer,
                                        struct error *err)
{
    const struct trainer_options *options = &trainer->options;
    double steps = (double)trainer->n_measured;
    enum assay_status st;

    st =
        run_fact_printf(run, err, "settings.threads", "%d", options->n_threads);
    if (!st)
        st = run_fact_set(run, "settings.mode", "training", err);
    if (!st)
        st = run_fact_printf(run, err, "training.batch_images", "%g",
                             (double)trainer->n_measured_images / steps);
    if (!st)
        st = run_fact_printf(run, err, "training.images_per_s", "%.6g",
                             (double)trainer->n_measured_images * 1e9 /
                                 (double)trainer->measured_ns);
    if (!st)
        st = run_fact_printf(run, err, "training.first_step", "%" PRIu64,
                             trainer->position.step - trainer->n_run + 1);
    if (!st)
        st = run_fact_printf(run, err, "training.last_step", "%" PRIu64,
                             trainer->position.step);
    if (!st)
        st = run_fact_set(run, "training.optimizer",
                          optimizer_kind_name(options->optimizer.kind), err);
    if (!st)
        st = run_fact_printf(run, err, "training.seed", "%" PRIu64,
                             options->seed);
    return st;
}

static enum assay_status
state_facts(struct run *run, const struct trainer *trainer, struct error *err)
{
    const struct trainer_options *options = &trainer->options;
    enum assay_status st = state_model(run, trainer, err);

    if (!st)
        st = state_training(run, trainer, err);
    if (!st && options->machine)
        st = machine_set_facts(options->machine, run, err);
    if (!st && options->facts.state)
        st = options->facts.state(options->facts.context, run, err);
    return st;
}

/* ---- the whole ---------------------------------------------------------- */

static enum assay_status
copy_series(struct run *run, const struct trainer *trainer, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (uint32_t i = 0; !st && i < run_series_count(trainer->series); i++)
        st = run_series_copy(run, run_series(trainer->series, i), 0, UINT64_MAX,
                             err);
    return st;
}

enum assay_status train_annotate(struct trainer *trainer,
                                 struct recorded *recorded, struct error *err)
{
    struct annotation_work all = {0};
    struct run *run = recorded->run;
    enum assay_status st = find_peak(run, err);

    if (!st)
        st = find_places(&all, run, trainer->options.graph, err);
    if (!st)
        st = store_work(&all, run, trainer, err);
    if (!st)
        st = state_facts(run, trainer, err);
    if (!st)
        st = add_memory(run, &all, trainer, err);
    if (!st)
        st = copy_series(run, trainer, err);
    if (!st)
        st = run_seal(run, err);
    if (!st)
        st = recorded_save(recorded, err);
    for (int i = 0; i < N_PASSES; i++)
        places_release(&all.places[i]);
    mem_free(all.work);
    return st;
}
