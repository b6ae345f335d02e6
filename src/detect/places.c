/* detect/places.c - see places.h. */
#include "detect/places.h"

#include "base/mem.h"
#include "engine/scope_walk.h"

typedef enum assay_status place_fn(struct run *run, uint32_t parent,
                                   const char *name, const char *class_name,
                                   uint32_t *id, struct error *err);

static enum assay_status find_scope(struct run *run, uint32_t parent,
                                    const char *name, const char *class_name,
                                    uint32_t *id, struct error *err)
{
    *id = RUN_NONE;
    return parent == RUN_NONE
               ? ASSAY_OK
               : run_scope_find(run, parent, name, class_name, id, err);
}

static enum assay_status place_all(struct places *places,
                                   const struct graph *graph, const char *name,
                                   place_fn *place, struct error *err)
{
    size_t n = graph_scope_count(graph);
    enum assay_status st = place(places->run, RUN_ROOT, name,
                                 graph_class(graph), &places->model, err);

    places->scopes = mem_array(n, sizeof *places->scopes);
    if (!places->scopes)
        return error_nomem(err, n * sizeof *places->scopes, "a run's modules");
    for (uint32_t i = 0; !st && i < n; i++) {
        const struct graph_scope *scope = graph_scope(graph, i);

        st = place(places->run, places_of(places, scope->parent), scope->name,
                   scope->class_name, &places->scopes[i], err);
    }
    return st;
}

enum assay_status places_add(struct places *places, struct run *run,
                             const struct graph *graph, const char *name,
                             struct error *err)
{
    *places = (struct places){.run = run};
    return place_all(places, graph, name, run_scope_add, err);
}

enum assay_status places_find(struct places *places, struct run *run,
                              const struct graph *graph, const char *name,
                              struct error *err)
{
    *places = (struct places){.run = run};
    return place_all(places, graph, name, find_scope, err);
}

void places_release(struct places *places)
{
    mem_free(places->scopes);
    *places = (struct places){0};
}

uint32_t places_of(const struct places *places, uint32_t scope)
{
    return scope == GRAPH_NONE ? places->model : places->scopes[scope];
}

enum assay_status places_of_node(const struct places *places,
                                 const struct node *node, uint32_t *place,
                                 struct error *err)
{
    uint32_t module = places_of(places, node->scope), found;
    enum assay_status st =
        find_scope(places->run, module, scope_walk_op_name(node),
                   node->op->name, &found, err);

    *place = !st && found != RUN_NONE ? found : module;
    return st;
}

void places_add_cost(struct scope_work *work, const struct cost *sum,
                     double iterations)
{
    work->macs += (double)sum->macs / iterations;
    work->flops += (double)sum->flops / iterations;
    work->read_bytes += (double)sum->read_bytes / iterations;
    work->write_bytes += (double)sum->write_bytes / iterations;
    work->done_flops += (double)sum->done_flops / iterations;
    work->done_bytes += (double)sum->done_bytes / iterations;
}
