/* run/edge.c - which scopes compute with what others computed. */
#include "run/run_internal.h"

#include "base/vec.h"

size_t run_edge_count(const struct run *run)
{
    return run->n_edges;
}

const struct run_edge *run_edge(const struct run *run, size_t i)
{
    return &run->edges[i];
}

/* Those into one scope usually follow each other. */
static bool edge_is_known(const struct run *run, const struct run_edge *edge)
{
    for (size_t i = run->n_edges; i-- > 0 && run->edges[i].to == edge->to;) {
        if (run->edges[i].from == edge->from)
            return true;
    }
    return false;
}

enum assay_status run_edge_add(struct run *run, const struct run_edge *edge,
                               struct error *err)
{
    if ((edge->from != RUN_NONE && edge->from >= run->n_scopes) ||
        (edge->to != RUN_NONE && edge->to >= run->n_scopes))
        return error_set(err, ASSAY_BAD_INPUT,
                         "an edge connects unknown scopes (%u and %u)",
                         edge->from, edge->to);
    if (edge->from == edge->to || edge_is_known(run, edge))
        return ASSAY_OK;
    if (!vec_grow(&run->edges, &run->edges_capacity, run->n_edges + 1,
                  sizeof *run->edges))
        return error_nomem(err, sizeof *edge, "the edges of a model");
    run->edges[run->n_edges++] = *edge;
    return ASSAY_OK;
}

enum assay_status edges_copy(struct run *to, const struct run *from,
                             const uint32_t *scopes, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    if (to->n_edges)
        return ASSAY_OK;
    for (size_t i = 0; !st && i < from->n_edges; i++) {
        struct run_edge edge = from->edges[i];

        if (scopes && edge.from != RUN_NONE)
            edge.from = scopes[edge.from];
        if (scopes && edge.to != RUN_NONE)
            edge.to = scopes[edge.to];
        st = run_edge_add(to, &edge, err);
    }
    return st;
}
