/* detect/annotate.c - see annotate.h. */
#include "detect/annotate.h"

#include "base/mem.h"
#include "base/units.h"
#include "detect/memory_ledger.h"
#include "engine/scope_walk.h"
#include "run/run.h"
#include "store/store.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The scope of a run for every scope of the graph. */
struct places {
    struct run *run;
    uint32_t model;
    uint32_t *scopes;
    struct scope_work *work; /* one a scope of the run */
    size_t n_work;
};

static enum assay_status
find_model(struct places *places, const struct graph *graph, struct error *err)
{
    return run_scope_add(places->run, RUN_ROOT, "model", graph_class(graph),
                         &places->model, err);
}

/* Modules that were fused away never opened a span: they get their place in
 * the tree here. */
static enum assay_status place_scopes(struct places *places,
                                      const struct graph *graph,
                                      struct error *err)
{
    size_t n = graph_scope_count(graph);
    enum assay_status st = find_model(places, graph, err);

    places->scopes = mem_array(n, sizeof *places->scopes);
    if (!places->scopes)
        return error_nomem(err, n * sizeof *places->scopes, "a run's modules");
    for (uint32_t i = 0; !st && i < n; i++) {
        const struct graph_scope *scope = graph_scope(graph, i);
        uint32_t parent = scope->parent == GRAPH_NONE
                              ? places->model
                              : places->scopes[scope->parent];

        st = run_scope_add(places->run, parent, scope->name, scope->class_name,
                           &places->scopes[i], err);
    }
    return st;
}

static uint32_t place_of(const struct places *places, uint32_t scope)
{
    return scope == GRAPH_NONE ? places->model : places->scopes[scope];
}

/* Where a node's work is shown: at its own span where it has one. */
static enum assay_status node_place(const struct places *places,
                                    const struct node *node, uint32_t *place,
                                    struct error *err)
{
    uint32_t module = place_of(places, node->scope), found = RUN_NONE;
    enum assay_status st =
        run_scope_find(places->run, module, scope_walk_op_name(node),
                       node->op->name, &found, err);

    *place = module;
    if (!st && found != RUN_NONE)
        *place = found;
    return st;
}

static enum assay_status add_work(struct places *places,
                                  const struct session *session,
                                  struct error *err)
{
    double runs = session->n_measured ? (double)session->n_measured : 1;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < graph_node_count(session->graph); i++) {
        const struct node *node = graph_node(session->graph, i);
        const struct cost *cost = &session->work[i];
        struct scope_work *work;
        uint32_t place;

        st = node_place(places, node, &place, err);
        if (st)
            break;
        work = &places->work[place];
        work->macs += (double)cost->macs / runs;
        work->flops += (double)cost->flops / runs;
        work->read_bytes += (double)cost->read_bytes / runs;
        work->write_bytes += (double)cost->write_bytes / runs;
        work->done_flops += (double)cost->done_flops / runs;
        work->done_bytes += (double)cost->done_bytes / runs;
        for (size_t k = 0; k < node->n_stands_for; k++)
            places->work[place_of(places, node->stands_for[k])].done_by =
                place_of(places, node->scope);
    }
    return st;
}

static void add_parameters(struct places *places, const struct graph *graph)
{
    for (uint32_t i = 0; i < graph_value_count(graph); i++) {
        const struct value *value = graph_value(graph, i);
        size_t n;

        if (value->kind == VALUE_PARAMETER && value->scope != GRAPH_NONE &&
            shape_elements(&value->shape, &n))
            places->work[place_of(places, value->scope)].parameters +=
                (double)n;
    }
}

static enum assay_status store_work(struct places *places,
                                    const struct session *session,
                                    struct error *err)
{
    enum assay_status st = ASSAY_OK;

    places->n_work = run_scope_count(places->run);
    places->work = mem_array(places->n_work, sizeof *places->work);
    if (!places->work)
        return error_nomem(err, places->n_work * sizeof *places->work,
                           "the work of a run's modules");
    for (size_t i = 0; i < places->n_work; i++)
        places->work[i].done_by = RUN_NONE;
    st = add_work(places, session, err);
    add_parameters(places, session->graph);
    for (uint32_t i = 0; !st && i < places->n_work; i++) {
        const struct scope_work *work = &places->work[i];

        if (work->macs > 0 || work->flops > 0 || work->read_bytes > 0 ||
            work->parameters > 0 || work->done_by != RUN_NONE)
            st = run_work_set(places->run, i, work, err);
    }
    return st;
}

static enum assay_status
state_library(struct run *run, const struct session *session, struct error *err)
{
    const struct backend *backend = engine_backend(session->engine);
    char text[64];

    if (!backend->class->library)
        return ASSAY_OK;
    backend->class->library(text, sizeof text);
    return run_fact_set(run, "machine.library", text, err);
}

static enum assay_status state_model(struct run *run,
                                     const struct detect_options *options,
                                     const struct session *session,
                                     struct error *err)
{
    enum assay_status st;

    st = run_fact_set(run, "model.name", graph_name(session->graph), err);
    if (!st)
        st = run_fact_printf(run, err, "model.parameters", "%" PRIu64,
                             session->parameters);
    if (!st)
        st = run_fact_printf(run, err, "model.parameter_bytes", "%" PRIu64,
                             session->parameter_bytes);
    if (!st)
        st = run_fact_set(run, "model.precision", "fp32", err);
    if (!st && options->weights)
        st = run_fact_set(run, "model.weights", options->weights, err);
    else if (!st)
        st = run_fact_printf(run, err, "model.weights",
                             "random (seed %" PRIu64 ")", options->seed);
    if (!st)
        st = state_library(run, session, err);
    if (!st)
        st = run_fact_printf(run, err, "settings.threads", "%d",
                             options->n_threads);
    if (!st)
        st = run_fact_set(run, "settings.mode",
                          options->is_plain ? "plain" : "optimised", err);
    if (!st && options->build.n_images > 1)
        st = run_fact_printf(run, err, "settings.batch", "%" PRId64 " images",
                             options->build.n_images);
    return st;
}

static enum assay_status
state_machine(struct run *run, const struct machine *machine, struct error *err)
{
    return machine ? machine_set_facts(machine, run, err) : ASSAY_OK;
}

static enum assay_status
state_memory(struct run *run, const struct session *session, struct error *err)
{
    struct session_memory memory = session_memory(session);
    enum assay_status st;

    st = run_fact_printf(run, err, "memory.weights_bytes", "%zu",
                         memory.weights_bytes);
    if (!st && memory.mapped_bytes)
        st = run_fact_printf(run, err, "memory.mapped_bytes", "%zu",
                             memory.mapped_bytes);
    if (!st)
        st = run_fact_printf(run, err, "memory.scratch_bytes", "%zu",
                             memory.scratch_bytes);
    return st;
}

/* "800", "1066..1200" */
static const char *side_text(char text[UNITS_MAX], int64_t least, int64_t most)
{
    if (least == most)
        snprintf(text, UNITS_MAX, "%" PRId64, most);
    else
        snprintf(text, UNITS_MAX, "%" PRId64 "..%" PRId64, least, most);
    return text;
}

static enum assay_status state_input(struct run *run,
                                     const struct annotation *annotation,
                                     struct error *err)
{
    const struct intake *intake = annotation->intake;
    const struct intake_sizes *to = &intake->resized;
    bool is_one_size = to->least_width == to->most_width &&
                       to->least_height == to->most_height;
    char width[UNITS_MAX], height[UNITS_MAX];
    enum assay_status st =
        run_fact_printf(run, err, "input.photographs", "%zu", intake->n);

    if (!st && intake->n_skipped)
        st = run_fact_printf(run, err, "input.skipped", "%zu",
                             intake->n_skipped);
    if (!st)
        st = run_fact_printf(
            run, err, "input.resized", is_one_size ? "%sx%s" : "%s x %s",
            side_text(width, to->least_width, to->most_width),
            side_text(height, to->least_height, to->most_height));
    if (!st)
        st = run_fact_printf(run, err, "input.note", "shorter side %" PRId64,
                             annotation->options->build.min_size);
    return st;
}

/* How far photographs differ, each by the median of its own runs. */
static enum assay_status state_spread(struct run *run,
                                      const struct annotation *annotation,
                                      struct error *err)
{
    struct photo_median fastest, slowest;
    char from[UNITS_MAX], to[UNITS_MAX];
    const char *path, *slash;
    uint64_t runs;
    enum assay_status st;

    if (!photo_times_spread(annotation->times, &fastest, &slowest, &runs))
        return ASSAY_OK;
    path = annotation->intake->paths[slowest.photo];
    slash = strrchr(path, '/');
    units_time(from, fastest.median_ns);
    units_time(to, slowest.median_ns);
    st = run_fact_printf(
        run, err, "photos.spread",
        "medians from %s to %s over %zu photographs, %" PRIu64 " %s each", from,
        to, annotation->intake->n, runs, runs == 1 ? "run" : "runs");
    if (!st)
        st = run_fact_printf(run, err, "content.slowest",
                             "%s %s, %" PRId64 " detections",
                             slash ? slash + 1 : path, to, slowest.detections);
    return st;
}

/* "12 (1..97)": the mean, and from where to where. */
static enum assay_status state_range(struct run *run, const char *key,
                                     double mean, int64_t least, int64_t most,
                                     struct error *err)
{
    if (least == most)
        return run_fact_printf(run, err, key, "%" PRId64, most);
    return run_fact_printf(run, err, key, "%.0f (%" PRId64 "..%" PRId64 ")",
                           mean, least, most);
}

static enum assay_status state_content(struct run *run,
                                       const struct findings *findings,
                                       struct error *err)
{
    double images = findings->n_images ? (double)findings->n_images : 1;
    enum assay_status st = ASSAY_OK;

    if (findings->proposals)
        st = state_range(
            run, "content.proposals", (double)findings->proposals / images,
            findings->least_proposals, findings->most_proposals, err);
    if (!st)
        st = state_range(run, "content.detections",
                         (double)findings->detections / images, findings->least,
                         findings->most, err);
    return st;
}

/* Why there are as many iterations as there are; nothing where the user said
 * how many. */
static enum assay_status
state_pacing(struct run *run, const struct pacing *pacing, struct error *err)
{
    double reached = pacing_precision(pacing);
    enum assay_status st;

    if (pacing->goal <= 0)
        return ASSAY_OK;
    st = run_fact_printf(run, err, "runs.precision_goal", "%g", pacing->goal);
    if (st)
        return st;
    if (pacing->end == PACING_PRECISE)
        return run_fact_printf(run, err, "runs.stopped",
                               "when the 95 %% interval of the median fell "
                               "below %g %%",
                               pacing->goal * 100);
    if (isnan(reached))
        return run_fact_printf(run, err, "runs.stopped",
                               "by the time limit, with too few iterations for "
                               "an interval of the median");
    return run_fact_printf(run, err, "runs.stopped",
                           "by the time limit, with the 95 %% interval of the "
                           "median at %.1f %%",
                           reached * 100);
}

static enum assay_status state_cost(struct run *run, const struct bare *bare,
                                    struct error *err)
{
    struct bare_cost cost;
    enum assay_status st;

    if (!bare_cost(bare, &cost))
        return ASSAY_OK;
    st = run_fact_printf(run, err, "recording.cost_share", "%.5f", cost.share);
    if (!st)
        st = run_fact_printf(run, err, "recording.cost_low", "%.5f", cost.low);
    if (!st)
        st =
            run_fact_printf(run, err, "recording.cost_high", "%.5f", cost.high);
    if (!st)
        st = run_fact_printf(run, err, "recording.pairs", "%zu", bare->n);
    return st;
}

enum assay_status annotate_run(const struct annotation *annotation,
                               struct error *err)
{
    const struct session *session = annotation->session;
    struct places places = {0};
    enum assay_status st = store_load(annotation->recording, &places.run, err);

    if (!st)
        st = place_scopes(&places, session->graph, err);
    if (!st)
        st = store_work(&places, session, err);
    if (!st)
        st = state_model(places.run, annotation->options, session, err);
    if (!st)
        st = state_machine(places.run, annotation->machine, err);
    if (!st)
        st = state_memory(places.run, session, err);
    if (!st)
        st = memory_ledger(
            places.run,
            &(struct memory_account){.session = session,
                                     .process = annotation->process,
                                     .picture_bytes = annotation->picture_bytes,
                                     .model = places.model,
                                     .scopes = places.scopes},
            err);
    if (!st)
        st = state_input(places.run, annotation, err);
    if (!st)
        st = state_spread(places.run, annotation, err);
    if (!st)
        st = state_content(places.run, annotation->findings, err);
    if (!st)
        st = observer_hand_over(annotation->observer, places.run, err);
    if (!st)
        st = state_pacing(places.run, annotation->pacing, err);
    if (!st)
        st = state_cost(places.run, annotation->bare, err);
    if (!st)
        st = store_save(places.run, annotation->options->run_path, err);
    mem_free(places.scopes);
    mem_free(places.work);
    run_free(places.run);
    return st;
}
