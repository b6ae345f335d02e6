/* detect/annotate.c - see annotate.h. */
#include "detect/annotate.h"

#include "base/mem.h"
#include "detect/memory_ledger.h"
#include "engine/scope_walk.h"
#include "run/run.h"
#include "store/store.h"

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
        st = run_facts_state(places.run, annotation, err);
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
        st = observer_hand_over(annotation->observer, places.run, err);
    if (!st)
        st = store_save(places.run, annotation->options->run_path, err);
    mem_free(places.scopes);
    mem_free(places.work);
    run_free(places.run);
    return st;
}
