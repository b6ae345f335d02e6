/* ops/channels.c - see channels.h: atoms, and the values that have them. */
#include "ops/channels.h"

#include "base/mem.h"
#include "base/vec.h"

#include <string.h>

void channels_release(struct channels *channels)
{
    arena_release(&channels->arena);
    mem_free(channels->parents);
    mem_free(channels->values);
    mem_free(channels->layers);
    *channels = (struct channels){0};
}

/* ---- atoms -------------------------------------------------------------- */

uint32_t channels_root(const struct channels *channels, uint32_t atom)
{
    while (channels->parents[atom] != atom)
        atom = channels->parents[atom];
    return atom;
}

/* The same, and shortens the path for the next call. */
static uint32_t channels_find_root(struct channels *channels, uint32_t atom)
{
    uint32_t *parents = channels->parents;

    while (parents[atom] != atom) {
        parents[atom] = parents[parents[atom]];
        atom = parents[atom];
    }
    return atom;
}

/* The smaller atom becomes the root, so that atom 0 stays one. */
void channels_join(struct channels *channels, uint32_t a, uint32_t b)
{
    a = channels_find_root(channels, a);
    b = channels_find_root(channels, b);
    if (a < b)
        channels->parents[b] = a;
    else
        channels->parents[a] = b;
}

void channels_fix(struct channels *channels, struct labels labels)
{
    for (size_t i = 0; i < labels.n; i++)
        channels_join(channels, labels.atoms[i], CHANNEL_FIXED);
}

/* Joins a and b index by index; fixes both if their sizes differ. */
static void channels_join_all(struct channels *channels, struct labels a,
                              struct labels b)
{
    if (a.n != b.n) {
        channels_fix(channels, a);
        channels_fix(channels, b);
        return;
    }
    if (a.atoms == b.atoms)
        return;
    for (size_t i = 0; i < a.n; i++)
        channels_join(channels, a.atoms[i], b.atoms[i]);
}

uint32_t *channels_room(struct channels *channels, size_t n)
{
    uint32_t *atoms =
        arena_alloc(&channels->arena, (n ? n : 1) * sizeof *atoms);

    if (!atoms)
        channels->is_out_of_memory = true;
    for (size_t i = 0; atoms && i < n; i++)
        atoms[i] = CHANNEL_FIXED;
    return atoms;
}

struct labels channels_new(struct channels *channels, size_t n)
{
    uint32_t *atoms = channels_room(channels, n);
    uint32_t *moved =
        vec_reserve(channels->parents, &channels->atoms_capacity,
                    channels->n_atoms + n, sizeof *channels->parents);

    if (moved)
        channels->parents = moved;
    if (!moved || !atoms) {
        channels->is_out_of_memory = true;
        return (struct labels){0};
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t atom = (uint32_t)channels->n_atoms++;

        /* A dimension of 1 is broadcast: it stays. */
        channels->parents[atom] = n == 1 ? CHANNEL_FIXED : atom;
        atoms[i] = atom;
    }
    return (struct labels){.n = n, .atoms = atoms};
}

/* ---- values ------------------------------------------------------------- */

struct labels channels_of(const struct channels *channels, uint32_t value,
                          int axis)
{
    if (value == GRAPH_NONE || axis < 0 || axis >= SHAPE_MAX_RANK)
        return (struct labels){0};
    return channels->values[value][axis];
}

const struct shape *channels_shape(const struct channels *channels,
                                   uint32_t value)
{
    if (value == GRAPH_NONE || !channels->survey->is_known[value])
        return NULL;
    return &channels->survey->values[value].shape;
}

const struct tensor *channels_numbers(const struct channels *channels,
                                      uint32_t value)
{
    const struct tensor *tensor;

    if (value == GRAPH_NONE || !channels->survey->is_known[value])
        return NULL;
    tensor = &channels->survey->values[value];
    return tensor->buffer && tensor->dtype == DTYPE_I64 ? tensor : NULL;
}

bool channels_is_leaf(const struct channels *channels, uint32_t value)
{
    enum value_kind kind;

    if (value == GRAPH_NONE)
        return false;
    kind = graph_value(channels->graph, value)->kind;
    return kind != VALUE_INPUT && kind != VALUE_COMPUTED;
}

bool channels_is_weight(const struct channels *channels, uint32_t value)
{
    return channels_is_leaf(channels, value) ||
           (channels_shape(channels, value) &&
            channels_of(channels, value, 0).n &&
            channels_of(channels, value, 1).n);
}

void channels_set(struct channels *channels, uint32_t value, int axis,
                  struct labels labels)
{
    channels->values[value][axis] = labels;
}

static struct labels channels_all_fixed(struct channels *channels, size_t n)
{
    uint32_t *atoms = channels_room(channels, n);

    return (struct labels){.n = atoms ? n : 0, .atoms = atoms};
}

void channels_fix_value(struct channels *channels, uint32_t value)
{
    const struct shape *shape = channels_shape(channels, value);

    if (value == GRAPH_NONE)
        return;
    for (int i = 0; i < SHAPE_MAX_RANK; i++) {
        struct labels labels = channels_of(channels, value, i);

        channels_fix(channels, labels);
        if (!labels.n && channels_is_leaf(channels, value) && i < shape->rank)
            channels_set(channels, value, i,
                         channels_all_fixed(channels, (size_t)shape->dims[i]));
    }
}

void channels_match(struct channels *channels, uint32_t value, int axis,
                    struct labels labels)
{
    struct labels own = channels_of(channels, value, axis);
    const struct shape *shape = channels_shape(channels, value);

    if (value == GRAPH_NONE)
        return;
    if (own.n) {
        if (labels.n)
            channels_join_all(channels, own, labels);
        else
            channels_fix(channels, own);
    } else if (channels_is_leaf(channels, value) && axis < shape->rank) {
        size_t n = (size_t)shape->dims[axis];

        if (labels.n && labels.n != n)
            channels_fix(channels, labels);
        channels_set(channels, value, axis,
                     labels.n == n ? labels : channels_all_fixed(channels, n));
    } else {
        channels_fix(channels, labels);
    }
}

/* Adds a layer, unless its weight was read before. */
static void channels_note_layer(struct channels *channels, uint32_t weight,
                                int axis)
{
    struct channel_layer *moved;

    for (size_t i = 0; i < channels->n_layers; i++) {
        if (channels->layers[i].weight == weight)
            return;
    }
    moved = vec_reserve(channels->layers, &channels->layers_capacity,
                        channels->n_layers + 1, sizeof *moved);

    if (!moved) {
        channels->is_out_of_memory = true;
        return;
    }
    channels->layers = moved;
    channels->layers[channels->n_layers++] = (struct channel_layer){
        .weight = weight, .axis = axis, .node = channels->node};
}

struct labels channels_filters(struct channels *channels, uint32_t weight,
                               int axis)
{
    struct labels own = channels_of(channels, weight, axis);
    const struct shape *shape = channels_shape(channels, weight);

    if (!own.n) {
        own = channels_new(channels, (size_t)shape->dims[axis]);
        channels_set(channels, weight, axis, own);
    }
    channels_note_layer(channels, weight, axis);
    return own;
}

void channels_pass(struct channels *channels, uint32_t from, uint32_t to)
{
    for (int i = 0; i < SHAPE_MAX_RANK; i++)
        channels_set(channels, to, i, channels_of(channels, from, i));
}

void channels_fix_inputs(struct channels *channels, const struct node *node)
{
    for (size_t i = 0; i < node->n_inputs; i++)
        channels_fix_value(channels, node->inputs[i]);
}

const struct shape *channels_all_shapes(struct channels *channels,
                                        const struct node *node)
{
    const struct shape *y = channels_shape(channels, node->outputs[0]);
    bool is_known = y != NULL;

    for (size_t i = 0; i < node->n_inputs; i++)
        is_known &= channels_shape(channels, node->inputs[i]) != NULL;
    if (!is_known)
        channels_fix_inputs(channels, node);
    return is_known ? y : NULL;
}

bool channels_shapes(struct channels *channels, const struct node *node,
                     const struct shape **x, const struct shape **y)
{
    *x = channels_shape(channels, node->inputs[0]);
    *y = channels_shape(channels, node->outputs[0]);
    if (*x && *y)
        return true;
    channels_fix_inputs(channels, node);
    return false;
}
