/* engine/scope_walk.c - see scope_walk.h. */
#include "engine/scope_walk.h"

#include "base/mem.h"
#include "record/record.h"

enum assay_status scope_walk_groups(const struct graph *graph,
                                    enum engine_detail detail, bool **is_group,
                                    struct error *err)
{
    size_t n = graph_scope_count(graph);
    bool *groups = mem_array(n, sizeof *groups);

    *is_group = groups;
    if (!groups)
        return error_nomem(err, n * sizeof *groups, "a graph's modules");
    for (uint32_t i = 0; i < n; i++) {
        const struct graph_scope *module = graph_scope(graph, i);

        groups[i] |= module->is_container;
        if (detail == ENGINE_LEAVES && module->parent != GRAPH_NONE)
            groups[module->parent] = true;
    }
    return ASSAY_OK;
}

struct scope_walk scope_walk_start(const struct graph *graph,
                                   enum engine_detail detail,
                                   const bool *is_group)
{
    return (struct scope_walk){
        .graph = graph, .detail = detail, .is_group = is_group};
}

/* The scopes a node is in, outermost first. */
static size_t scope_chain(const struct graph *graph, uint32_t scope,
                          uint32_t chain[SCOPE_WALK_MAX])
{
    uint32_t up[SCOPE_WALK_MAX];
    size_t n = 0;

    for (; scope != GRAPH_NONE && n < SCOPE_WALK_MAX;
         scope = graph_scope(graph, scope)->parent)
        up[n++] = scope;
    for (size_t i = 0; i < n; i++)
        chain[i] = up[n - 1 - i];
    return n;
}

static void open_scope(struct scope_walk *walk, uint32_t scope)
{
    const struct graph_scope *module = graph_scope(walk->graph, scope);

    if (walk->is_group[scope])
        record_group_begin(module->name, module->class_name);
    else
        assay_begin_class(module->name, module->class_name);
    walk->open[walk->n_open++] = scope;
}

static void close_scope(struct scope_walk *walk)
{
    if (walk->is_group[walk->open[--walk->n_open]])
        record_group_end();
    else
        assay_end();
}

const char *scope_walk_op_name(const struct node *node)
{
    return node->name[0] ? node->name : node->op->name;
}

/* With ENGINE_LEAVES, what is in no leaf would be nobody's. */
static bool has_span(const struct scope_walk *walk, const struct node *node)
{
    switch (walk->detail) {
    case ENGINE_LEAVES:
        return node->scope == GRAPH_NONE || walk->is_group[node->scope];
    case ENGINE_MODULES:
        return node->op->is_loss;
    case ENGINE_OPS:
        return node->name[0] || node->op->is_loss;
    }
    return false;
}

void scope_walk_move(struct scope_walk *walk, uint32_t scope)
{
    uint32_t chain[SCOPE_WALK_MAX];
    size_t n = scope_chain(walk->graph, scope, chain), common = 0;

    while (common < n && common < walk->n_open &&
           walk->open[common] == chain[common])
        common++;
    while (walk->n_open > common)
        close_scope(walk);
    while (walk->n_open < n)
        open_scope(walk, chain[walk->n_open]);
}

void scope_walk_enter(struct scope_walk *walk, const struct node *node)
{
    scope_walk_move(walk, node->scope);
    if (has_span(walk, node))
        assay_begin_class(scope_walk_op_name(node), node->op->name);
}

void scope_walk_leave(struct scope_walk *walk, const struct node *node)
{
    if (has_span(walk, node))
        assay_end();
}

void scope_walk_finish(struct scope_walk *walk)
{
    while (walk->n_open)
        close_scope(walk);
}
