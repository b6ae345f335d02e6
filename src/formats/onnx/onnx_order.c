/* formats/onnx/onnx_order.c - see onnx_frame_internal.h: sorts nodes after
 * those they read from.
 *
 * ONNX requires that order, but some files are not in it. A file with a cycle
 * is refused. */
#include "formats/onnx/onnx_frame_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <string.h>

enum state { WAITING, ON_PATH, DONE };

struct order {
    const struct onnx_node *nodes;
    size_t n;
    struct map makers; /* from a name to the node that makes it */
    uint32_t *edges;   /* the makers that each node reads from, in a row */
    size_t n_edges, edges_capacity;
    size_t *next, *end; /* by node: its next edge to follow, and their end */
    unsigned char *states;
    uint32_t *path;  /* each node waits for the next */
    uint32_t *order; /* the result */
    size_t n_ordered;
};

static const char *any_name(const struct onnx_node *node)
{
    return node->name[0] ? node->name : "without a name";
}

static enum assay_status refuse_second(const struct order *order, size_t first,
                                       size_t second, const char *name,
                                       struct error *err)
{
    const struct onnx_node *a = &order->nodes[first],
                           *b = &order->nodes[second];

    return error_set(err, ASSAY_BAD_INPUT,
                     "'%.40s' is made by node %zu, %.40s (%.20s), and by node "
                     "%zu, %.40s (%.20s); only one node may make a value",
                     name, first, any_name(a), a->op_type, second, any_name(b),
                     b->op_type);
}

static enum assay_status onnx_order_find_makers(struct order *order,
                                                struct error *err)
{
    for (size_t i = 0; i < order->n; i++) {
        for (size_t k = 0; k < order->nodes[i].n_outputs; k++) {
            const char *name = order->nodes[i].outputs[k];
            uint64_t first;

            if (!name[0])
                continue;
            if (map_find_text(&order->makers, name, &first))
                return refuse_second(order, (size_t)first, i, name, err);
            if (map_put_text(&order->makers, name, i))
                return error_nomem(err, strlen(name),
                                   "the order of a model's nodes");
        }
    }
    return ASSAY_OK;
}

static enum assay_status onnx_order_add_read(struct order *order,
                                             const char *name)
{
    uint32_t *moved;
    uint64_t maker;

    if (!name[0] || !map_find_text(&order->makers, name, &maker))
        return ASSAY_OK;
    moved = vec_reserve(order->edges, &order->edges_capacity,
                        order->n_edges + 1, sizeof *order->edges);
    if (!moved)
        return ASSAY_NOMEM;
    order->edges = moved;
    order->edges[order->n_edges++] = (uint32_t)maker;
    return ASSAY_OK;
}

/* A node also reads what the graphs inside it read. Names of their own may be
 * the same as those of the node's outputs; it must not wait for itself. */
static enum assay_status add_body_reads(struct order *order, size_t at,
                                        const struct onnx_node *node, int depth)
{
    enum assay_status st = ASSAY_OK;

    for (size_t a = 0; a < node->n_attributes; a++) {
        const struct onnx_graph *body = node->attributes[a].g;
        size_t before = order->n_edges, kept = before;

        if (!body || depth == ONNX_MAX_DEPTH)
            continue;
        for (size_t i = 0; !st && i < body->n_nodes; i++) {
            for (size_t k = 0; !st && k < body->nodes[i].n_inputs; k++)
                st = onnx_order_add_read(order, body->nodes[i].inputs[k]);
            if (!st)
                st = add_body_reads(order, at, &body->nodes[i], depth + 1);
        }
        for (size_t i = 0; !st && i < body->n_outputs; i++)
            st = onnx_order_add_read(order, body->outputs[i].name);
        for (size_t i = before; i < order->n_edges; i++) {
            if (order->edges[i] != at)
                order->edges[kept++] = order->edges[i];
        }
        order->n_edges = kept;
    }
    return st;
}

static enum assay_status onnx_order_find_edges(struct order *order)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < order->n; i++) {
        const struct onnx_node *node = &order->nodes[i];

        order->next[i] = order->n_edges;
        for (size_t k = 0; !st && k < node->n_inputs; k++)
            st = onnx_order_add_read(order, node->inputs[k]);
        if (!st)
            st = add_body_reads(order, i, node, 0);
        order->end[i] = order->n_edges;
    }
    return st;
}

static enum assay_status refuse_cycle(const struct order *order, uint32_t at,
                                      struct error *err)
{
    const struct onnx_node *node = &order->nodes[at];

    return error_set(err, ASSAY_BAD_INPUT,
                     "the graph has a cycle through node %u, %.100s (%.40s)",
                     at, any_name(node), node->op_type);
}

/* Orders a node after all that it reads from, depth first. */
static enum assay_status place_node(struct order *order, uint32_t start,
                                    struct error *err)
{
    size_t depth = 0;

    if (order->states[start] == DONE)
        return ASSAY_OK;
    order->path[depth++] = start;
    order->states[start] = ON_PATH;
    while (depth) {
        uint32_t at = order->path[depth - 1], maker;

        if (order->next[at] == order->end[at]) {
            order->states[at] = DONE;
            order->order[order->n_ordered++] = at;
            depth--;
            continue;
        }
        maker = order->edges[order->next[at]++];
        if (order->states[maker] == ON_PATH)
            return refuse_cycle(order, maker, err);
        if (order->states[maker] == WAITING) {
            order->states[maker] = ON_PATH;
            order->path[depth++] = maker;
        }
    }
    return ASSAY_OK;
}

static enum assay_status onnx_order_sort(struct order *order, struct error *err)
{
    enum assay_status st = onnx_order_find_makers(order, err);

    if (!st && onnx_order_find_edges(order))
        st = error_nomem(err, order->n_edges * sizeof *order->edges,
                         "the order of a model's nodes");
    for (size_t i = 0; !st && i < order->n; i++)
        st = place_node(order, (uint32_t)i, err);
    return st;
}

enum assay_status onnx_nodes_sort(const struct onnx_node *nodes, size_t n,
                                  uint32_t **out, struct error *err)
{
    struct order order = {.nodes = nodes, .n = n};
    enum assay_status st;

    *out = NULL;
    order.next = mem_array(n, sizeof *order.next);
    order.end = mem_array(n, sizeof *order.end);
    order.states = mem_array(n, sizeof *order.states);
    order.path = mem_array(n, sizeof *order.path);
    order.order = mem_array(n, sizeof *order.order);
    st = order.next && order.end && order.states && order.path && order.order
             ? onnx_order_sort(&order, err)
             : error_nomem(err, n * sizeof *order.order,
                           "the order of a model's nodes");
    map_release(&order.makers);
    mem_free(order.edges);
    mem_free(order.next);
    mem_free(order.end);
    mem_free(order.states);
    mem_free(order.path);
    if (st)
        mem_free(order.order);
    else
        *out = order.order;
    return st;
}
