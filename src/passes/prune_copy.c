/* passes/prune_copy.c - see prune_internal.h: copies a graph without some of
 * its channels. */
#include "passes/prune_internal.h"

#include "base/mem.h"
#include "ops/convolution/conv2d.h"
#include "ops/convolution/conv_nd.h"
#include "ops/movement/slice.h"
#include "ops/ops.h"

#include <string.h>

enum { most_numbers = 64 }; /* of a constant that holds sizes */

struct copy {
    const struct prune_choice *choice;
    const struct graph *from;
    struct graph *to;
    struct pool *pool;
    uint32_t *ids; /* new id of each old value */
    struct error *err;
};

static struct labels labels_of(const struct copy *copy, uint32_t value,
                               int axis)
{
    return channels_of(copy->choice->channels, value, axis);
}

/* How many of the first n indices along a dimension are kept. */
static int64_t kept_before(const struct copy *copy, uint32_t value, int axis,
                           int64_t n)
{
    return prune_kept(copy->choice, labels_of(copy, value, axis), n);
}

/* ---- parameters, buffers, constants ------------------------------------- */

/* Copies the kept rows of a dimension; the data is `outer` times that dimension
 * times `inner` bytes. */
static void prune_copy_rows(const struct copy *copy, struct labels labels,
                            const unsigned char *from, unsigned char *to,
                            size_t outer, size_t inner)
{
    for (size_t i = 0; i < outer; i++) {
        for (size_t k = 0; k < labels.n; k++, from += inner) {
            if (!prune_keeps(copy->choice, labels.atoms[k]))
                continue;
            memcpy(to, from, inner);
            to += inner;
        }
    }
}

/* Replaces the data by a copy with one dimension cut down. */
static enum assay_status cut_axis(const struct copy *copy, struct labels labels,
                                  int axis, struct tensor *data)
{
    struct shape shape = data->shape;
    size_t outer = 1, inner = dtype_bytes(data->dtype);
    struct tensor cut;
    enum assay_status st;

    for (int d = 0; d < axis; d++)
        outer *= (size_t)shape.dims[d];
    for (int d = axis + 1; d < shape.rank; d++)
        inner *= (size_t)shape.dims[d];
    shape.dims[axis] = prune_kept(copy->choice, labels, shape.dims[axis]);
    st = tensor_new(copy->pool, data->dtype, &shape, &cut, copy->err);
    if (st)
        return st;
    prune_copy_rows(copy, labels, tensor_data(data), tensor_data(&cut), outer,
                    inner);
    tensor_release(data);
    *data = cut;
    return ASSAY_OK;
}

static enum assay_status cut_data(const struct copy *copy, uint32_t id,
                                  const struct shape *kept, struct tensor *data)
{
    const struct value *value = graph_value(copy->from, id);
    enum assay_status st = ASSAY_OK;

    *data = tensor_share(&value->data);
    for (int d = 0; !st && data->buffer && d < value->shape.rank; d++) {
        if (kept->dims[d] != value->shape.dims[d])
            st = cut_axis(copy, labels_of(copy, id, d), d, data);
    }
    if (st)
        tensor_release(data);
    return st;
}

/* The name without the path of its scope. */
static const char *own_name(const struct graph *graph,
                            const struct value *value)
{
    if (value->scope == GRAPH_NONE)
        return value->name;
    return value->name + strlen(graph_scope(graph, value->scope)->path) + 1;
}

static enum assay_status copy_parameter(struct copy *copy, uint32_t id,
                                        const struct shape *shape,
                                        struct tensor data)
{
    const struct value *value = graph_value(copy->from, id);
    enum assay_status st = graph_parameter(
        copy->to, value->scope, own_name(copy->from, value), value->kind,
        value->dtype, shape, &copy->ids[id], copy->err);

    if (st) {
        tensor_release(&data);
        return st;
    }
    graph_set_fill(copy->to, copy->ids[id], value->fill, value->fill_scale);
    if (value->is_frozen)
        graph_freeze(copy->to, copy->ids[id]);
    return data.buffer
               ? graph_set_data(copy->to, copy->ids[id], data, copy->err)
               : ASSAY_OK;
}

static enum assay_status prune_copy_value(struct copy *copy, uint32_t id)
{
    const struct value *value = graph_value(copy->from, id);
    struct shape shape = value->shape;
    struct tensor data;
    enum assay_status st;

    for (int d = 0; d < shape.rank; d++)
        shape.dims[d] = kept_before(copy, id, d, shape.dims[d]);
    st = cut_data(copy, id, &shape, &data);
    if (st)
        return st;
    if (value->kind == VALUE_CONSTANT)
        return graph_constant(copy->to, value->name, data, &copy->ids[id],
                              copy->err);
    return copy_parameter(copy, id, &shape, data);
}

static enum assay_status copy_input(struct copy *copy, uint32_t id)
{
    const struct value *value = graph_value(copy->from, id);
    enum assay_status st = graph_input(copy->to, value->name, value->dtype,
                                       &copy->ids[id], copy->err);

    if (!st && value->is_declared)
        graph_declare_input(copy->to, copy->ids[id], &value->shape);
    return st;
}

static enum assay_status copy_values(struct copy *copy)
{
    enum assay_status st = ASSAY_OK;

    for (uint32_t i = 0; !st && i < graph_value_count(copy->from); i++) {
        enum value_kind kind = graph_value(copy->from, i)->kind;

        copy->ids[i] = GRAPH_NONE;
        if (kind == VALUE_INPUT)
            st = copy_input(copy, i);
        else if (kind != VALUE_COMPUTED)
            st = prune_copy_value(copy, i);
    }
    return st;
}

/* ---- constants that hold sizes ------------------------------------------- */

/* Reads an input; false if it is not a constant list of numbers. */
static bool prune_copy_get_numbers(const struct copy *copy,
                                   const struct node *node, size_t input,
                                   int64_t *numbers, size_t *n)
{
    const struct channels *channels = copy->choice->channels;
    const struct tensor *tensor;

    if (input >= node->n_inputs ||
        !channels_is_leaf(channels, node->inputs[input]))
        return false;
    tensor = channels_numbers(channels, node->inputs[input]);
    *n = tensor ? tensor_elements(tensor) : 0;
    if (!tensor || *n > most_numbers)
        return false;
    memcpy(numbers, tensor_i64(tensor), *n * sizeof *numbers);
    return true;
}

/* Makes the node read these numbers instead. */
static enum assay_status set_numbers(struct copy *copy, uint32_t *inputs,
                                     size_t input, const int64_t *numbers,
                                     size_t n)
{
    struct shape shape = shape_of(1, (int64_t)n);
    struct tensor data;
    enum assay_status st =
        tensor_new(copy->pool, DTYPE_I64, &shape, &data, copy->err);

    if (st)
        return st;
    if (n)
        memcpy(tensor_i64(&data), numbers, n * sizeof *numbers);
    return graph_constant(copy->to, "", data, &inputs[input], copy->err);
}

/* Adapts the output sizes that Reshape and Resize read; -1 and 0 keep their
 * meaning. */
static enum assay_status resize_output(struct copy *copy,
                                       const struct node *node,
                                       uint32_t *inputs, size_t input)
{
    int64_t numbers[most_numbers];
    bool is_changed = false;
    size_t n;

    if (!prune_copy_get_numbers(copy, node, input, numbers, &n))
        return ASSAY_OK;
    for (size_t i = 0; i < n && i < SHAPE_MAX_RANK; i++) {
        int64_t kept = numbers[i] > 0 ? kept_before(copy, node->outputs[0],
                                                    (int)i, numbers[i])
                                      : numbers[i];

        is_changed |= kept != numbers[i];
        numbers[i] = kept;
    }
    return is_changed ? set_numbers(copy, inputs, input, numbers, n) : ASSAY_OK;
}

static enum assay_status fit_reshape(struct copy *copy, const struct node *node,
                                     uint32_t *inputs)
{
    return resize_output(copy, node, inputs, 1);
}

static enum assay_status fit_resize(struct copy *copy, const struct node *node,
                                    uint32_t *inputs)
{
    return resize_output(copy, node, inputs, 3);
}

static enum assay_status fit_split(struct copy *copy, const struct node *node,
                                   uint32_t *inputs)
{
    const struct split_attrs *attrs = node->attrs;
    const struct shape *x =
        channels_shape(copy->choice->channels, node->inputs[0]);
    int64_t sizes[most_numbers];
    int axis;
    size_t n;

    if (!x || !prune_copy_get_numbers(copy, node, 1, sizes, &n) ||
        n != node->n_outputs)
        return ASSAY_OK;
    axis = (int)(attrs->axis < 0 ? attrs->axis + x->rank : attrs->axis);
    for (size_t i = 0; i < n; i++)
        sizes[i] = kept_before(copy, node->outputs[i], axis, sizes[i]);
    return set_numbers(copy, inputs, 1, sizes, n);
}

/* An index along a dimension of x after pruning; indices outside stay. */
static int64_t fit_place(const struct copy *copy, uint32_t x, int axis,
                         int64_t size, int64_t place)
{
    int64_t from_front = place < 0 ? place + size : place;

    if (from_front < 0 || from_front >= size || !labels_of(copy, x, axis).n)
        return place;
    return kept_before(copy, x, axis, from_front);
}

static enum assay_status fit_slice(struct copy *copy, const struct node *node,
                                   uint32_t *inputs)
{
    const struct shape *x =
        channels_shape(copy->choice->channels, node->inputs[0]);
    int64_t starts[most_numbers], ends[most_numbers], axes[most_numbers];
    size_t n, n_ends, n_axes = 0;
    enum assay_status st;

    if (!x || !prune_copy_get_numbers(copy, node, 1, starts, &n) ||
        !prune_copy_get_numbers(copy, node, 2, ends, &n_ends) || n != n_ends)
        return ASSAY_OK;
    prune_copy_get_numbers(copy, node, 3, axes, &n_axes);
    for (size_t i = 0; i < n; i++) {
        int64_t axis = n_axes ? axes[i] : (int64_t)i;

        axis += axis < 0 ? x->rank : 0;
        starts[i] = fit_place(copy, node->inputs[0], (int)axis, x->dims[axis],
                              starts[i]);
        ends[i] =
            fit_place(copy, node->inputs[0], (int)axis, x->dims[axis], ends[i]);
    }
    st = set_numbers(copy, inputs, 1, starts, n);
    return st ? st : set_numbers(copy, inputs, 2, ends, n);
}

/* ---- nodes -------------------------------------------------------------- */

/* Ops that read sizes. */
static const struct {
    const struct op_class *op;
    enum assay_status (*fit)(struct copy *copy, const struct node *node,
                             uint32_t *inputs);
} fits[] = {
    {&op_reshape, fit_reshape},
    {&op_resize, fit_resize},
    {&op_split, fit_split},
    {&op_slice, fit_slice},
};

static enum assay_status fit_inputs(struct copy *copy, const struct node *node,
                                    uint32_t *inputs)
{
    for (size_t i = 0; i < sizeof fits / sizeof *fits; i++) {
        if (fits[i].op == node->op)
            return fits[i].fit(copy, node, inputs);
    }
    return ASSAY_OK;
}

/* Sets the number of groups that are left. */
static void fit_groups(const struct copy *copy, const struct node *node,
                       struct node *made)
{
    const struct shape *weight;
    int64_t *groups, in;

    if (node->op == &op_conv2d)
        groups = &((struct conv2d_attrs *)made->attrs)->groups;
    else if (node->op == &op_conv_nd)
        groups = &((struct conv_nd_attrs *)made->attrs)->groups;
    else
        return;
    weight = channels_shape(copy->choice->channels, node->inputs[1]);
    if (!weight || *groups == 1 || !labels_of(copy, node->inputs[0], 1).n)
        return;
    in = kept_before(copy, node->inputs[1], 1, weight->dims[1]);
    *groups = kept_before(copy, node->inputs[0], 1, INT64_MAX) / (in ? in : 1);
}

static enum assay_status prune_copy_add_node(struct copy *copy,
                                             const struct node *node,
                                             uint32_t *inputs,
                                             uint32_t *outputs)
{
    struct node_description description = {.op = node->op,
                                           .attrs = node->attrs,
                                           .scope = node->scope,
                                           .name = node->name,
                                           .inputs = inputs,
                                           .n_inputs = node->n_inputs,
                                           .n_outputs = node->n_outputs};
    size_t at = graph_node_count(copy->to);
    enum assay_status st;

    for (size_t i = 0; i < node->n_inputs; i++)
        inputs[i] = node->inputs[i] == GRAPH_NONE ? GRAPH_NONE
                                                  : copy->ids[node->inputs[i]];
    st = fit_inputs(copy, node, inputs);
    if (!st)
        st = graph_node_add(copy->to, &description, outputs, copy->err);
    if (st)
        return st;
    fit_groups(copy, node, graph_node_edit(copy->to, at));
    for (size_t i = 0; i < node->n_outputs; i++)
        copy->ids[node->outputs[i]] = outputs[i];
    for (size_t i = 0; !st && i < node->n_stands_for; i++)
        st = graph_stand_for(copy->to, at, node->stands_for[i], copy->err);
    return st;
}

static enum assay_status copy_node(struct copy *copy, const struct node *node)
{
    size_t n = node->n_inputs + node->n_outputs;
    uint32_t *ids = mem_array(n, sizeof *ids);
    enum assay_status st;

    if (!ids)
        return error_nomem(copy->err, n * sizeof *ids, "a node");
    st = prune_copy_add_node(copy, node, ids, ids + node->n_inputs);
    mem_free(ids);
    return st;
}

/* ---- the graph ---------------------------------------------------------- */

static enum assay_status prune_copy_outputs(struct copy *copy)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < graph_output_count(copy->from); i++) {
        const char *name;
        uint32_t value = graph_output_at(copy->from, i, &name);

        st = graph_output(copy->to, name, copy->ids[value], copy->err);
    }
    return st;
}

enum assay_status prune_copy(const struct prune_choice *choice,
                             struct pool *pool, struct graph **out,
                             struct error *err)
{
    struct copy copy = {.choice = choice,
                        .from = choice->channels->graph,
                        .pool = pool,
                        .err = err};
    size_t n = graph_value_count(copy.from);
    enum assay_status st = graph_new(&copy.to, err);

    copy.ids = mem_array(n, sizeof *copy.ids);
    if (!st && !copy.ids)
        st = error_nomem(err, n * sizeof *copy.ids, "the values of a model");
    if (!st)
        st = graph_copy_scopes(copy.from, copy.to, err);
    if (!st)
        st = copy_values(&copy);
    for (size_t i = 0; !st && i < graph_node_count(copy.from); i++)
        st = copy_node(&copy, graph_node(copy.from, i));
    if (!st)
        st = prune_copy_outputs(&copy);
    if (st) {
        graph_free(copy.to);
        copy.to = NULL;
    }
    *out = copy.to;
    mem_free(copy.ids);
    return st;
}
