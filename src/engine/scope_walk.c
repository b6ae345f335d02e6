/* engine/scope_walk.c - see scope_walk.h. */
#include "engine/scope_walk.h"

#include "base/mem.h"
#include "record/record.h"

/* ---- where modules are ----------------------------------------------------
 */

enum assay_status module_scopes_init(struct module_scopes *modules,
                                     const struct graph *graph,
                                     enum engine_detail detail,
                                     struct error *err)
{
    size_t n = graph_scope_count(graph);

    *modules = (struct module_scopes){
        .graph = graph,
        .detail = detail,
        .is_group = mem_array(n, sizeof *modules->is_group),
        .there = mem_array(n, sizeof *modules->there),
        .is_there = mem_array(n, sizeof *modules->is_there),
        .order = mem_array(n, sizeof *modules->order)};
    if (!modules->is_group || !modules->there || !modules->is_there ||
        !modules->order)
        return error_nomem(err, n * sizeof *modules->there,
                           "a graph's modules");
    for (uint32_t i = 0; i < n; i++) {
        const struct graph_scope *module = graph_scope(graph, i);

        modules->is_group[i] |= module->is_container;
        if (detail == ENGINE_LEAVES && module->parent != GRAPH_NONE)
            modules->is_group[module->parent] = true;
    }
    return ASSAY_OK;
}

void module_scopes_release(struct module_scopes *modules)
{
    mem_free(modules->is_group);
    mem_free(modules->there);
    mem_free(modules->is_there);
    mem_free(modules->order);
    *modules = (struct module_scopes){0};
}

assay_scope_t module_scope(const struct module_scopes *modules, uint32_t scope)
{
    return scope == GRAPH_NONE ? modules->model : modules->there[scope];
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

static void module_scopes_add(struct module_scopes *modules, uint32_t scope)
{
    const struct graph_scope *module = graph_scope(modules->graph, scope);
    assay_scope_t parent = module_scope(modules, module->parent);

    modules->is_there[scope] = true;
    modules->there[scope] =
        modules->is_group[scope]
            ? record_group(parent, module->name, module->class_name)
            : assay_scope(parent, module->name, module->class_name);
}

/* With the modules that it is in, outermost first. */
static void module_scopes_add_chain(struct module_scopes *modules,
                                    uint32_t scope)
{
    uint32_t chain[SCOPE_WALK_MAX];
    size_t n = scope_chain(modules->graph, scope, chain);

    if (n == SCOPE_WALK_MAX)
        return; /* those around it come in their own turn */
    for (size_t i = 0; i < n; i++) {
        if (modules->is_there[chain[i]])
            continue;
        module_scopes_add(modules, chain[i]);
        modules->order[modules->n_order++] = chain[i];
    }
}

/* In the order in which the model runs them, each followed by those that were
 * fused into it; then those that nothing runs. */
static void module_scopes_find(struct module_scopes *modules)
{
    const struct graph *graph = modules->graph;
    assay_scope_t model = assay_scope_here();
    size_t n = graph_scope_count(graph);

    if (modules->is_found && modules->model == model)
        return;
    modules->is_found = true;
    modules->model = model;
    modules->n_order = 0;
    for (size_t i = 0; i < n; i++)
        modules->is_there[i] = false;
    for (size_t i = 0; i < graph_node_count(graph); i++) {
        const struct node *node = graph_node(graph, i);

        module_scopes_add_chain(modules, node->scope);
        for (size_t k = 0; k < node->n_stands_for; k++)
            module_scopes_add_chain(modules, node->stands_for[k]);
    }
    /* Scopes come after those that they are in. */
    for (uint32_t i = 0; i < n; i++) {
        if (!modules->is_there[i])
            module_scopes_add(modules, i);
    }
}

/* ---- walking --------------------------------------------------------------
 */

struct scope_walk scope_walk_start(struct module_scopes *modules)
{
    if (assay_is_recording())
        module_scopes_find(modules);
    return (struct scope_walk){.modules = modules};
}

static void open_scope(struct scope_walk *walk, uint32_t scope)
{
    if (walk->modules->is_group[scope])
        record_group_begin(walk->modules->there[scope]);
    else
        assay_begin_scope(walk->modules->there[scope]);
    walk->open[walk->n_open++] = scope;
}

static void close_scope(struct scope_walk *walk)
{
    if (walk->modules->is_group[walk->open[--walk->n_open]])
        record_group_end();
    else
        assay_end();
}

/* With ENGINE_LEAVES, what is in no leaf would be nobody's. */
static bool has_span(const struct scope_walk *walk, const struct node *node)
{
    switch (walk->modules->detail) {
    case ENGINE_LEAVES:
        return node->scope == GRAPH_NONE ||
               walk->modules->is_group[node->scope];
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
    size_t n = scope_chain(walk->modules->graph, scope, chain), common = 0;

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
        assay_begin_class(node->name[0] ? node->name : node->op->name,
                          node->op->name);
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
