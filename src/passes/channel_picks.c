/* passes/channel_picks.c - see channel_picks.h.
 *
 * Forward through the nodes, every value that only moves maps is written down
 * as a list of their planes. Backward from the outputs, it is found which
 * values are needed, and which of these are maps of such planes: each becomes
 * one PickChannels. What nothing reads any more is swept. */
#include "passes/channel_picks.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/str.h"
#include "graph/survey.h"
#include "ops/movement/concat.h"
#include "ops/movement/gather.h"
#include "ops/movement/slice.h"
#include "ops/movement/transpose.h"
#include "ops/ops.h"
#include "passes/fuse_internal.h"

/* A kernel reads from few maps at a time, and those live until then. */
enum { max_maps = 4 };

struct plane {
    uint32_t map; /* a value [n,c,h,w] */
    uint32_t at;  /* which of its n * c planes */
};

/* What a value consists of. */
struct planes {
    struct plane *of; /* NULL: it is not known, or a map itself */
    size_t n;
    int64_t size;  /* elements of each */
    bool is_moved; /* by more than a view of one map */
};

struct picks {
    struct graph *graph;
    struct pool *pool;
    struct error *err;
    struct survey survey;
    struct arena memory;
    struct planes *values;
    size_t n_values; /* without new ones */
    bool *is_needed;
    uint32_t *made; /* instead of a value; GRAPH_NONE: it stays */
    bool *is_noted; /* nodes whose scopes another one stands for */
};

/* ---- forward: lists of planes -------------------------------------------- */

static const struct shape *picks_shape(const struct picks *pass, uint32_t value)
{
    const struct tensor *known = &pass->survey.values[value];

    return value != GRAPH_NONE && pass->survey.is_known[value] &&
                   known->dtype == DTYPE_F32
               ? &known->shape
               : NULL;
}

static int64_t picks_span(const struct shape *shape, int first, int last)
{
    int64_t n = 1;

    for (int i = first; i < last; i++)
        n *= shape->dims[i];
    return n;
}

/* Makes room for as many planes as the shape has; false where it has none. */
static bool picks_room(struct picks *pass, const struct shape *shape,
                       int64_t size, struct planes *out)
{
    int64_t n = picks_span(shape, 0, shape->rank);

    *out = (struct planes){.size = size};
    if (size < 1 || n < size || n % size)
        return false;
    out->n = (size_t)(n / size);
    out->of = arena_alloc(&pass->memory, out->n * sizeof *out->of);
    return out->of;
}

/* A map consists of its own planes. */
static bool picks_of_map(struct picks *pass, uint32_t value, struct planes *out)
{
    const struct shape *shape = picks_shape(pass, value);

    if (!shape || shape->rank != 4 ||
        !picks_room(pass, shape, picks_span(shape, 2, 4), out))
        return false;
    for (size_t i = 0; i < out->n; i++)
        out->of[i] = (struct plane){value, (uint32_t)i};
    return true;
}

static bool picks_get(struct picks *pass, uint32_t value, struct planes *out)
{
    if (value != GRAPH_NONE && pass->values[value].of) {
        *out = pass->values[value];
        return true;
    }
    return picks_of_map(pass, value, out);
}

/* How many leading dimensions count planes; -1 where planes are cut. */
static int picks_rank(const struct shape *shape, int64_t size)
{
    int rank = shape->rank;

    while (rank > 0 && picks_span(shape, rank, shape->rank) < size)
        rank--;
    return picks_span(shape, rank, shape->rank) == size ? rank : -1;
}

static bool picks_transpose(const struct node *node, const struct shape *x,
                            const struct shape *y, const struct planes *from,
                            const struct planes *to)
{
    const struct transpose_attrs *attrs = node->attrs;
    int rank = picks_rank(x, from->size);
    int64_t strides[SHAPE_MAX_RANK];

    if (rank < 0 || attrs->rank != x->rank)
        return false;
    for (int i = 0; i < x->rank; i++) {
        if (i >= rank && attrs->order[i] != i)
            return false;
        if (i < rank && (attrs->order[i] < 0 || attrs->order[i] >= rank))
            return false;
        strides[i] = picks_span(x, (int)attrs->order[i] + 1, rank);
    }
    for (size_t i = 0; i < to->n; i++) {
        int64_t left = (int64_t)i, at = 0;

        for (int d = rank - 1; d >= 0; d--) {
            at += left % y->dims[d] * strides[d];
            left /= y->dims[d];
        }
        to->of[i] = from->of[at];
    }
    return true;
}

/* The places along an axis that an output has: `n` from `first` on, or those of
 * a list. */
struct places {
    int axis;
    int64_t first, n;
    const int64_t *list;
};

static bool picks_take(const struct shape *x, const struct places *places,
                       const struct planes *from, const struct planes *to)
{
    int rank = picks_rank(x, from->size);
    int64_t size, inner, at = 0;

    if (places->axis < 0 || places->axis >= rank)
        return false;
    size = x->dims[places->axis];
    inner = picks_span(x, places->axis + 1, rank);
    if (picks_span(x, 0, places->axis) * places->n * inner != (int64_t)to->n)
        return false;
    for (int64_t o = 0; o < picks_span(x, 0, places->axis); o++) {
        for (int64_t i = 0; i < places->n; i++) {
            int64_t place = places->list ? places->list[i] : places->first + i;

            place += place < 0 ? size : 0;
            if (place < 0 || place >= size)
                return false;
            for (int64_t k = 0; k < inner; k++)
                to->of[at++] = from->of[(o * size + place) * inner + k];
        }
    }
    return true;
}

static int picks_axis(int64_t axis, int rank)
{
    return (int)(axis < 0 ? axis + rank : axis);
}

/* Integers that are known before the graph runs; NULL otherwise. */
static const int64_t *picks_integers(const struct picks *pass,
                                     const struct node *node, size_t input,
                                     size_t *n)
{
    uint32_t value = input < node->n_inputs ? node->inputs[input] : GRAPH_NONE;
    const struct tensor *list;

    if (value == GRAPH_NONE || !pass->survey.is_known[value])
        return NULL;
    list = &pass->survey.values[value];
    if (!list->buffer || list->dtype != DTYPE_I64 || list->shape.rank > 1)
        return NULL;
    *n = tensor_elements(list);
    return tensor_i64(list);
}

/* Which places a node takes for its output; false for other nodes. */
static bool picks_places(const struct picks *pass, const struct node *node,
                         const struct shape *x, size_t output,
                         struct places *out)
{
    const int64_t *starts, *axes, *steps;
    size_t n = 0, n_axes = 0;

    *out = (struct places){0};
    if (node->op == &op_split) {
        const struct split_attrs *attrs = node->attrs;

        out->axis = picks_axis(attrs->axis, x->rank);
        for (size_t i = 0; i < output; i++)
            out->first += picks_shape(pass, node->outputs[i])->dims[out->axis];
        out->n = picks_shape(pass, node->outputs[output])->dims[out->axis];
        return true;
    }
    if (node->op == &op_gather) {
        const struct gather_attrs *attrs = node->attrs;

        out->axis = picks_axis(attrs->axis, x->rank);
        out->list = picks_integers(pass, node, 1, &n);
        out->n = (int64_t)n;
        return out->list;
    }
    if (node->op != &op_slice)
        return false;
    starts = picks_integers(pass, node, 1, &n);
    axes = picks_integers(pass, node, 3, &n_axes);
    steps = picks_integers(pass, node, 4, &n);
    if (!starts || !axes || n_axes != 1 || n != 1 ||
        (steps ? *steps != 1
               : node->n_inputs > 4 && node->inputs[4] != GRAPH_NONE))
        return false;
    out->axis = picks_axis(*axes, x->rank);
    if (out->axis < 0 || out->axis >= x->rank)
        return false;
    out->first = *starts < 0 ? *starts + x->dims[out->axis] : *starts;
    out->n = picks_shape(pass, node->outputs[0])->dims[out->axis];
    return true;
}

static bool picks_is_view(const struct op_class *op)
{
    return op == &op_reshape || op == &op_flatten || op == &op_flatten_at ||
           op == &op_squeeze || op == &op_unsqueeze || op == &op_identity;
}

/* One output of a node that reads one map. */
static bool picks_move(struct picks *pass, const struct node *node,
                       size_t output, struct planes *out)
{
    const struct shape *x = picks_shape(pass, node->inputs[0]);
    const struct shape *y = picks_shape(pass, node->outputs[output]);
    struct places places;
    struct planes from;

    if (!x || !y || !picks_get(pass, node->inputs[0], &from))
        return false;
    if (picks_is_view(node->op)) {
        *out = from;
        return true;
    }
    if (!picks_room(pass, y, from.size, out))
        return false;
    out->is_moved = true;
    if (node->op == &op_transpose)
        return picks_transpose(node, x, y, &from, out);
    return picks_places(pass, node, x, output, &places) &&
           picks_take(x, &places, &from, out);
}

static size_t picks_count_maps(const struct planes *planes,
                               uint32_t maps[max_maps + 1])
{
    size_t n = 0;

    for (size_t i = 0; n <= max_maps && i < planes->n; i++) {
        size_t k = 0;

        while (k < n && maps[k] != planes->of[i].map)
            k++;
        if (k == n)
            maps[n++] = planes->of[i].map;
    }
    return n;
}

/* The inputs' planes one after another; as_maps: as those of the inputs
 * themselves. */
static bool picks_join(struct picks *pass, const struct node *node,
                       bool as_maps, struct planes *out)
{
    const struct shape *y = picks_shape(pass, node->outputs[0]);
    struct planes from;
    int axis, rank;
    size_t at = 0;

    if (!y || !picks_get(pass, node->inputs[0], &from) ||
        !picks_room(pass, y, from.size, out))
        return false;
    axis = concat_axis(node, y->rank);
    rank = picks_rank(y, from.size);
    if (axis < 0 || axis >= rank)
        return false;
    for (size_t i = 0; i < node->n_inputs; i++) {
        const struct shape *x = picks_shape(pass, node->inputs[i]);
        size_t outer = (size_t)picks_span(y, 0, axis), run;

        if (!x ||
            !(as_maps ? picks_of_map(pass, node->inputs[i], &from)
                      : picks_get(pass, node->inputs[i], &from)) ||
            from.size != out->size)
            return false;
        out->is_moved |=
            from.is_moved || pass->values[node->inputs[i]].is_moved;
        run = from.n / outer;
        for (size_t k = 0; k < from.n; k++)
            out->of[at + k / run * (out->n / outer) + k % run] = from.of[k];
        at += run;
    }
    return true;
}

static void picks_visit(struct picks *pass, size_t at)
{
    const struct node *node = graph_node(pass->graph, at);
    uint32_t maps[max_maps + 1];
    struct planes planes;

    if (node->n_inputs == 0 || node->inputs[0] == GRAPH_NONE)
        return;
    if (node->op == &op_concat) {
        bool is_good = picks_join(pass, node, false, &planes);

        if (is_good && picks_count_maps(&planes, maps) > max_maps)
            is_good = picks_join(pass, node, true, &planes) &&
                      picks_count_maps(&planes, maps) <= max_maps;
        if (is_good)
            pass->values[node->outputs[0]] = planes;
        return;
    }
    if (!picks_is_view(node->op) && node->op != &op_transpose &&
        node->op != &op_split && node->op != &op_slice &&
        node->op != &op_gather)
        return;
    for (size_t i = 0; i < node->n_outputs; i++) {
        if (picks_move(pass, node, i, &planes))
            pass->values[node->outputs[i]] = planes;
    }
}

/* ---- backward: what is needed -------------------------------------------- */

/* Whether a value is a map whose channels are those of other maps, the same for
 * every image. */
static bool picks_is_map(const struct picks *pass, uint32_t value)
{
    const struct planes *planes = &pass->values[value];
    const struct shape *y = picks_shape(pass, value);

    if (!planes->of || !planes->is_moved || y->rank != 4 ||
        picks_span(y, 2, 4) != planes->size)
        return false;
    for (size_t i = 0; i < planes->n; i++) {
        struct plane plane = planes->of[i];
        const struct shape *x = picks_shape(pass, plane.map);
        int64_t image = (int64_t)i / y->dims[1];
        struct plane first = planes->of[(int64_t)i % y->dims[1]];

        if (x->dims[0] != y->dims[0] || x->dims[2] != y->dims[2] ||
            x->dims[3] != y->dims[3] || plane.map != first.map ||
            first.at >= x->dims[1] || plane.at != first.at + image * x->dims[1])
            return false;
    }
    return true;
}

static void picks_need(struct picks *pass, uint32_t value)
{
    if (value != GRAPH_NONE)
        pass->is_needed[value] = true;
}

static void picks_find_needed(struct picks *pass)
{
    const struct graph *graph = pass->graph;

    for (size_t i = 0; i < graph_output_count(graph); i++)
        picks_need(pass, graph_output_at(graph, i, NULL));
    for (size_t at = graph_node_count(graph); at-- > 0;) {
        const struct node *node = graph_node(graph, at);
        bool runs = false;

        for (size_t i = 0; i < node->n_outputs; i++) {
            const struct planes *planes = &pass->values[node->outputs[i]];

            if (!pass->is_needed[node->outputs[i]])
                continue;
            if (!picks_is_map(pass, node->outputs[i])) {
                runs = true;
                continue;
            }
            for (size_t k = 0; k < planes->n; k++)
                picks_need(pass, planes->of[k].map);
        }
        for (size_t i = 0; runs && i < node->n_inputs; i++)
            picks_need(pass, node->inputs[i]);
    }
}

/* ---- new nodes ----------------------------------------------------------- */

static enum assay_status picks_constant(struct picks *pass,
                                        const struct planes *planes,
                                        const uint32_t *maps, int64_t channels,
                                        uint32_t *value)
{
    struct shape shape = shape_of(1, channels);
    struct tensor list;
    struct str name = {0};
    enum assay_status st =
        tensor_new(pass->pool, DTYPE_I64, &shape, &list, pass->err);

    if (st)
        return st;
    for (int64_t i = 0; i < channels; i++) {
        struct plane plane = planes->of[i];
        int64_t at = plane.at;

        for (size_t k = 0; maps[k] != plane.map; k++)
            at += picks_shape(pass, maps[k])->dims[1];
        tensor_i64(&list)[i] = at;
    }
    if (str_printf(&name, "channels %zu", graph_value_count(pass->graph))) {
        tensor_release(&list);
        return error_nomem(pass->err, sizeof name, "the name of a constant");
    }
    st = graph_constant(pass->graph, name.text, list, value, pass->err);
    str_release(&name);
    return st;
}

/* The new node stands for the modules of those that it replaces. */
static enum assay_status picks_note(struct picks *pass, uint32_t value,
                                    size_t to, int depth)
{
    enum { deepest = 64 };
    const struct value *made;
    enum assay_status st = ASSAY_OK;
    struct node node;

    if (value >= pass->n_values) /* none, or replaced before */
        return ASSAY_OK;
    made = graph_value(pass->graph, value);
    if (made->kind != VALUE_COMPUTED || !pass->values[value].of ||
        depth == deepest || pass->is_noted[made->producer])
        return ASSAY_OK;
    node = *graph_node(pass->graph, made->producer);
    pass->is_noted[made->producer] = true;
    st = fuse_note_scope(pass->graph, to, node.scope, pass->err);
    for (size_t i = 0; !st && i < node.n_inputs; i++) {
        uint32_t input = node.inputs[i];

        if (input < pass->n_values && !pass->is_needed[input])
            st = picks_note(pass, input, to, depth + 1);
    }
    return st;
}

/* What replaces a value, or itself. */
static uint32_t picks_made(const struct picks *pass, uint32_t value)
{
    return pass->made[value] == GRAPH_NONE ? value : pass->made[value];
}

static enum assay_status picks_add(struct picks *pass, uint32_t value,
                                   const uint32_t *maps, size_t n_maps)
{
    const struct planes *planes = &pass->values[value];
    const struct node *like =
        graph_node(pass->graph, graph_value(pass->graph, value)->producer);
    struct node_description description = {.op = &op_pick_channels,
                                           .scope = like->scope,
                                           .name = like->name,
                                           .n_inputs = n_maps + 1,
                                           .n_outputs = 1};
    uint32_t inputs[max_maps + 1];
    enum assay_status st = picks_constant(
        pass, planes, maps, picks_shape(pass, value)->dims[1], &inputs[n_maps]);

    for (size_t i = 0; i < n_maps; i++)
        inputs[i] = picks_made(pass, maps[i]);
    description.inputs = inputs;
    if (!st)
        st = graph_node_add(pass->graph, &description, &pass->made[value],
                            pass->err);
    if (!st)
        st = picks_note(pass, value,
                        graph_value(pass->graph, pass->made[value])->producer,
                        0);
    return st;
}

/* Whether it is one of the maps as it was. */
static bool picks_is_same(const struct picks *pass, uint32_t value,
                          const uint32_t *maps, size_t n_maps)
{
    const struct planes *planes = &pass->values[value];

    if (n_maps != 1 ||
        !shape_equal(picks_shape(pass, value), picks_shape(pass, maps[0])))
        return false;
    for (size_t i = 0; i < planes->n; i++) {
        if (planes->of[i].at != i)
            return false;
    }
    return true;
}

static enum assay_status picks_replace(struct picks *pass, uint32_t value)
{
    uint32_t maps[max_maps + 1];
    size_t n_maps = picks_count_maps(&pass->values[value], maps);
    enum assay_status st = ASSAY_OK;

    if (n_maps > max_maps)
        return ASSAY_OK;
    if (picks_is_same(pass, value, maps, n_maps))
        pass->made[value] = picks_made(pass, maps[0]);
    else
        st = picks_add(pass, value, maps, n_maps);
    if (!st)
        graph_replace_uses(pass->graph, value, pass->made[value]);
    return st;
}

static enum assay_status picks_replace_all(struct picks *pass, size_t n_nodes)
{
    enum assay_status st = ASSAY_OK;

    for (size_t at = 0; !st && at < n_nodes; at++) {
        size_t n = graph_node(pass->graph, at)->n_outputs;

        for (size_t i = 0; !st && i < n; i++) {
            uint32_t value = graph_node(pass->graph, at)->outputs[i];

            if (pass->is_needed[value] && picks_is_map(pass, value))
                st = picks_replace(pass, value);
        }
    }
    if (!st)
        st = graph_sort(pass->graph, pass->err);
    graph_sweep(pass->graph);
    return st;
}

/* ---- the pass ------------------------------------------------------------ */

/* Only these make a shuffle; without one there is nothing to gain. */
static bool picks_is_worth_it(const struct graph *graph)
{
    for (size_t i = 0; i < graph_node_count(graph); i++) {
        const struct op_class *op = graph_node(graph, i)->op;

        if (op == &op_transpose || op == &op_split || op == &op_slice)
            return true;
    }
    return false;
}

/* Whether all sizes are known before the graph runs. */
static bool picks_survey(struct picks *pass)
{
    enum { max_inputs = 64 };
    struct shape shapes[max_inputs];
    size_t n = graph_input_count(pass->graph);

    if (n > max_inputs)
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct shape *shape = graph_input_shape(pass->graph, i);

        if (!shape)
            return false;
        shapes[i] = *shape;
        for (int d = 0; d < shape->rank; d++) {
            if (shape->dims[d] < 0)
                return false;
        }
    }
    return !survey_graph(&pass->survey, pass->graph, shapes, NULL);
}

static enum assay_status picks_make_tables(struct picks *pass)
{
    size_t n_values = graph_value_count(pass->graph);

    pass->n_values = n_values;
    pass->values = mem_array(n_values, sizeof *pass->values);
    pass->is_needed = mem_array(n_values, sizeof *pass->is_needed);
    pass->made = mem_array(n_values, sizeof *pass->made);
    pass->is_noted =
        mem_array(graph_node_count(pass->graph), sizeof *pass->is_noted);
    if (!pass->values || !pass->is_needed || !pass->made || !pass->is_noted)
        return error_nomem(pass->err, n_values * sizeof *pass->values,
                           "the values of a model");
    for (size_t i = 0; i < n_values; i++)
        pass->made[i] = GRAPH_NONE;
    return ASSAY_OK;
}

enum assay_status channel_picks_fuse(struct graph *graph, struct pool *pool,
                                     struct error *err)
{
    struct picks pass = {.graph = graph, .pool = pool, .err = err};
    size_t n_nodes = graph_node_count(graph);
    enum assay_status st = ASSAY_OK;

    if (!picks_is_worth_it(graph) || !picks_survey(&pass))
        return ASSAY_OK;
    st = picks_make_tables(&pass);
    for (size_t i = 0; !st && i < n_nodes; i++)
        picks_visit(&pass, i);
    if (!st) {
        picks_find_needed(&pass);
        st = picks_replace_all(&pass, n_nodes);
    }
    survey_release(&pass.survey);
    arena_release(&pass.memory);
    mem_free(pass.values);
    mem_free(pass.is_needed);
    mem_free(pass.made);
    mem_free(pass.is_noted);
    return st;
}
