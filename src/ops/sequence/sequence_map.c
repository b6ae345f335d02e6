/* ops/sequence/sequence_map.c - runs a graph for each item of a list, see
 * sequence_ops.h. */
#include "base/mem.h"
#include "ops/ops.h"
#include "ops/sequence/packed_list.h"
#include "ops/sequence/sequence_ops.h"

enum { max_values = 64 }; /* inputs or outputs of the body */

/* The lists that go in, and the items that come out. */
struct sequence_map {
    struct packed lists[max_values];
    struct tensor *made; /* n_outputs for each item */
    size_t n_made;
};

static enum assay_status sequence_map_open(const struct node *node,
                                           const struct tensor *const *inputs,
                                           struct sequence_map *map,
                                           struct error *err)
{
    const struct sequence_map_attrs *attrs = node->attrs;
    enum assay_status st = ASSAY_OK;
    size_t n;

    for (size_t i = 0; !st && i < attrs->n_own; i++) {
        if (i == 0 || inputs[i]->dtype == DTYPE_SEQUENCE)
            st = packed_open(inputs[i], &map->lists[i], err);
        if (!st && map->lists[i].items && map->lists[i].n != map->lists[0].n)
            st = error_set(err, ASSAY_BAD_INPUT,
                           "sequences of %zu and %zu items do not fit",
                           map->lists[0].n, map->lists[i].n);
    }
    n = map->lists[0].n * node->n_outputs;
    if (!st && n) {
        map->made = mem_array(n, sizeof *map->made);
        if (!map->made)
            st = error_nomem(err, n * sizeof *map->made, "a sequence");
    }
    return st;
}

static void sequence_map_close(struct sequence_map *map)
{
    for (size_t i = 0; i < max_values; i++)
        packed_close(&map->lists[i]);
    for (size_t i = 0; i < map->n_made; i++)
        tensor_release(&map->made[i]);
    mem_free(map->made);
}

/* Packs every n_outputs-th tensor. */
static enum assay_status sequence_map_pack(const struct op_context *context,
                                           const struct sequence_map *map,
                                           size_t n_outputs, size_t output,
                                           struct tensor *out,
                                           struct error *err)
{
    size_t n = map->lists[0].n;
    struct tensor *items = mem_array(n + 1, sizeof *items);
    enum assay_status st;

    if (!items)
        return error_nomem(err, n * sizeof *items, "a sequence");
    for (size_t i = 0; i < n; i++)
        items[i] = map->made[i * n_outputs + output];
    st = packed_make(context->pool, items, n, out, err);
    mem_free(items);
    return st;
}

static enum assay_status
sequence_map_forward(const struct op_context *context, const struct node *node,
                     const struct tensor *const *inputs, struct tensor *outputs,
                     struct error *err)
{
    struct sequence_map map = {0};
    struct tensor taken[max_values];
    enum assay_status st = sequence_map_open(node, inputs, &map, err);

    for (size_t i = 0; !st && i < map.lists[0].n; i++) {
        for (size_t k = 0; k < node->n_inputs; k++)
            taken[k] = map.lists[k].items ? map.lists[k].items[i] : *inputs[k];
        st = context->run_body(context->runner, 0, taken, map.made + map.n_made,
                               err);
        if (!st)
            map.n_made += node->n_outputs;
    }
    for (size_t i = 0; !st && i < node->n_outputs; i++)
        st = sequence_map_pack(context, &map, node->n_outputs, i, &outputs[i],
                               err);
    sequence_map_close(&map);
    return st;
}

const struct op_class op_sequence_map = {
    .name = "SequenceMap",
    .attrs_bytes = sizeof(struct sequence_map_attrs),
    OP_TAKES(1, max_values),
    OP_MAKES(1, max_values),
    .forward = sequence_map_forward,
};
