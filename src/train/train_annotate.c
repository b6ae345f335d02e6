/* train/train_annotate.c - see trainer_internal.h: adds arithmetic, memory and
 * settings to the run file of a training. */
#include "train/trainer_internal.h"

#include "observe/device_name.h"
#include "observe/memory_ledger.h"
#include "observe/model_edges.h"

#include <inttypes.h>

/* ---- memory ------------------------------------------------------------- */

static enum assay_status peak_of(const struct run *run, uint32_t scope,
                                 int64_t *bytes, struct error *err)
{
    struct scope_stats stats = scope_stats_unknown();
    enum assay_status st = run_scope_stats(run, scope, RUN_ANY, &stats, err);

    *bytes = stats.is_outside ? RUN_UNKNOWN : stats.peak_bytes;
    return st;
}

/* The recorder's peak may be from the warm-up, when kernels are compared. In a
 * measured step, the peak was in the innermost module that saw as much as the
 * whole step did. */
static enum assay_status find_peak(struct run *run, struct error *err)
{
    uint32_t at = RUN_ROOT, n = (uint32_t)run_scope_count(run);
    int64_t most = RUN_UNKNOWN, bytes;
    enum assay_status st = peak_of(run, at, &most, err);

    /* Scopes come after those that contain them. */
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

static enum assay_status add_memory(const struct recorded *recorded,
                                    const struct trainer *trainer,
                                    struct error *err)
{
    const struct trainer_options *options = &trainer->options;
    enum assay_status st =
        model_edges(recorded, trainer->engine, options->graph, err);

    if (st)
        return st;
    return memory_ledger(recorded,
                         &(struct memory_account){
                             .engine = trainer->engine,
                             .graph = options->graph,
                             .process = process_memory_read(
                                 NULL, pool_usage(options->pool).held_bytes)},
                         err);
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
train_annotate_state_model(struct run *run, const struct trainer *trainer,
                           struct error *err)
{
    const struct graph *graph = trainer->options.graph;
    const struct backend *backend = engine_backend(trainer->engine);
    enum precision precision = backend->class->precision
                                   ? backend->class->precision(backend)
                                   : PRECISION_FP32;
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
        st = run_fact_set(run, "model.precision", precision_name(precision),
                          err);
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
train_annotate_state_facts(struct run *run, const struct trainer *trainer,
                           struct error *err)
{
    const struct trainer_options *options = &trainer->options;
    enum assay_status st = train_annotate_state_model(run, trainer, err);

    if (!st)
        st = state_training(run, trainer, err);
    if (!st && options->machine)
        st = machine_set_facts(options->machine, run, err);
    if (!st)
        st = device_name_state(run, engine_backend(trainer->engine), err);
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
    struct run *run = recorded->run;
    enum assay_status st = find_peak(run, err);

    if (!st)
        st = train_annotate_state_facts(run, trainer, err);
    if (!st)
        st = add_memory(recorded, trainer, err);
    if (!st)
        st = copy_series(run, trainer, err);
    if (!st)
        st = run_seal(run, err);
    if (!st)
        st = recorded_save(recorded, err);
    return st;
}
