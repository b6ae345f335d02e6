/* detect/annotate.c - see annotate.h. */
#include "detect/annotate.h"

#include "base/mem.h"
#include "detect/memory_ledger.h"
#include "detect/places.h"
#include "run/run.h"

struct model_work {
    struct places places;
    struct scope_work *work; /* one a scope of the run */
    size_t n;
};

static enum assay_status add_work(struct model_work *model,
                                  const struct session *session,
                                  struct error *err)
{
    double runs = session->n_measured ? (double)session->n_measured : 1;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < graph_node_count(session->graph); i++) {
        const struct node *node = graph_node(session->graph, i);
        uint32_t place;

        st = places_of_node(&model->places, node, &place, err);
        if (st)
            break;
        places_add_cost(&model->work[place], &session->work[i], runs);
        for (size_t k = 0; k < node->n_stands_for; k++)
            model->work[places_of(&model->places, node->stands_for[k])]
                .done_by = places_of(&model->places, node->scope);
    }
    return st;
}

static void add_parameters(struct model_work *model, const struct graph *graph)
{
    for (uint32_t i = 0; i < graph_value_count(graph); i++) {
        const struct value *value = graph_value(graph, i);
        size_t n;

        if (value->kind == VALUE_PARAMETER && value->scope != GRAPH_NONE &&
            shape_elements(&value->shape, &n))
            model->work[places_of(&model->places, value->scope)].parameters +=
                (double)n;
    }
}

static enum assay_status store_work(struct model_work *model,
                                    const struct session *session,
                                    struct error *err)
{
    struct run *run = model->places.run;
    enum assay_status st = ASSAY_OK;

    model->n = run_scope_count(run);
    model->work = mem_array(model->n, sizeof *model->work);
    if (!model->work)
        return error_nomem(err, model->n * sizeof *model->work,
                           "the work of a run's modules");
    for (size_t i = 0; i < model->n; i++)
        model->work[i].done_by = RUN_NONE;
    st = add_work(model, session, err);
    add_parameters(model, session->graph);
    for (uint32_t i = 0; !st && i < model->n; i++) {
        const struct scope_work *work = &model->work[i];

        if (work->macs > 0 || work->flops > 0 || work->read_bytes > 0 ||
            work->parameters > 0 || work->done_by != RUN_NONE)
            st = run_work_set(run, i, work, err);
    }
    return st;
}

enum assay_status annotate_run(const struct annotation *annotation,
                               struct error *err)
{
    const struct detect_options *options = annotation->options;
    const struct session *session = annotation->session;
    struct model_work model = {0};
    struct run *run = annotation->recorded->run;
    enum assay_status st =
        places_add(&model.places, run, session->graph, "model", err);

    if (!st)
        st = store_work(&model, session, err);
    if (!st)
        st = run_facts_state(run, annotation, err);
    if (!st)
        st = memory_ledger(
            run,
            &(struct memory_account){.pool = session->pool,
                                     .graph = session->graph,
                                     .process = annotation->process,
                                     .picture_bytes = annotation->picture_bytes,
                                     .model = model.places.model,
                                     .scopes = model.places.scopes},
            err);
    if (!st)
        st = observer_hand_over(annotation->observer, run, err);
    if (!st && options->facts.state)
        st = options->facts.state(options->facts.context, run, err);
    if (!st)
        st = run_seal(run, err);
    if (!st)
        st = recorded_save(annotation->recorded, err);
    places_release(&model.places);
    mem_free(model.work);
    return st;
}
