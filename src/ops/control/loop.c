/* ops/control/loop.c - Loop and Scan: run a graph repeatedly, see control.h. */
#include "ops/control/control.h"

#include "base/mem.h"
#include "base/vec.h"
#include "ops/int_list_internal.h"
#include "ops/ops.h"

#include <string.h>

enum { max_values = 64 }; /* inputs or outputs of a body */

/* The values that each iteration makes of one output. */
struct kept_pieces {
    struct tensor *items;
    size_t n, capacity;
};

/* A body at work. */
struct loop {
    const struct op_context *context;
    size_t n_states, n_kept;
    struct tensor *in_states;  /* among the inputs */
    struct tensor *out_states; /* among the outputs; the kept values follow */
    struct tensor inputs[max_values], outputs[max_values];
    struct kept_pieces kept[max_values];
};

/* Takes the piece over, also on failure. All must have one type and shape. */
static enum assay_status kept_pieces_add(struct kept_pieces *pieces,
                                         struct tensor piece, struct error *err)
{
    struct tensor *moved = vec_reserve(pieces->items, &pieces->capacity,
                                       pieces->n + 1, sizeof *pieces->items);
    enum assay_status st = ASSAY_OK;
    char a[64], b[64];

    if (!moved)
        st = error_nomem(err, sizeof *moved, "the results of a loop");
    else
        pieces->items = moved;
    if (!st && pieces->n &&
        (moved->dtype != piece.dtype ||
         !shape_equal(&moved->shape, &piece.shape)))
        st = error_set(err, ASSAY_BAD_INPUT,
                       "an iteration makes %s where the first made %s",
                       shape_text(&piece.shape, a, sizeof a),
                       shape_text(&moved->shape, b, sizeof b));
    if (st)
        tensor_release(&piece);
    else
        pieces->items[pieces->n++] = piece;
    return st;
}

/* Bytes of a tensor from an axis to the end. */
static size_t bytes_from(const struct tensor *tensor, int axis)
{
    return (size_t)shape_span(&tensor->shape, axis, tensor->shape.rank) *
           dtype_bytes(tensor->dtype);
}

/* Stacks all pieces along a new axis, the last one first if is_reverse. */
static enum assay_status kept_pieces_stack(const struct kept_pieces *pieces,
                                           int64_t new_axis, bool is_reverse,
                                           struct pool *pool,
                                           struct tensor *out,
                                           struct error *err)
{
    struct tensor none = {.dtype = DTYPE_F32};
    const struct tensor *piece = pieces->n ? &pieces->items[0] : &none;
    struct shape shape = piece->shape;
    size_t run, n_runs;
    char *to;
    int axis;
    enum assay_status st = rank_check((size_t)shape.rank + 1, err);

    if (!st)
        st = axis_resolve(new_axis, shape.rank + 1, &axis, err);
    if (st)
        return st;
    memmove(&shape.dims[axis + 1], &shape.dims[axis],
            (size_t)(shape.rank - axis) * sizeof shape.dims[0]);
    shape.dims[axis] = (int64_t)pieces->n;
    shape.rank++;
    st = tensor_new(pool, piece->dtype, &shape, out, err);
    if (st)
        return st;
    run = bytes_from(piece, axis);
    n_runs = (size_t)shape_span(&piece->shape, 0, axis);
    to = tensor_data(out);
    for (size_t r = 0; r < n_runs; r++) {
        for (size_t i = 0; i < pieces->n; i++) {
            size_t at = is_reverse ? pieces->n - 1 - i : i;

            memcpy(to, (char *)tensor_data(&pieces->items[at]) + r * run, run);
            to += run;
        }
    }
    return ASSAY_OK;
}

/* Runs the body once. Its states become the inputs of the next iteration, and
 * its other outputs are kept. */
static enum assay_status loop_iterate(struct loop *loop, struct error *err)
{
    enum assay_status st = loop->context->run_body(
        loop->context->runner, 0, loop->inputs, loop->outputs, err);

    if (st)
        return st;
    for (size_t i = 0; i < loop->n_states; i++) {
        tensor_release(&loop->in_states[i]);
        loop->in_states[i] = loop->out_states[i];
        loop->out_states[i].buffer = NULL;
    }
    for (size_t i = 0; i < loop->n_kept; i++) {
        struct tensor *piece = &loop->out_states[loop->n_states + i];

        if (!st)
            st = kept_pieces_add(&loop->kept[i], *piece, err);
        else
            tensor_release(piece);
        piece->buffer = NULL;
    }
    return st;
}

static void loop_release(struct loop *loop)
{
    for (size_t i = 0; i < max_values; i++) {
        tensor_release(&loop->inputs[i]);
        tensor_release(&loop->outputs[i]);
        for (size_t k = 0; k < loop->kept[i].n; k++)
            tensor_release(&loop->kept[i].items[k]);
        mem_free(loop->kept[i].items);
    }
}

/* ---- Loop --------------------------------------------------------------- */

/* Body: number, condition, states, captured -> condition, states, kept. The
 * condition is carried over like a state. */
enum { LOOP_NUMBER, LOOP_CONDITION, LOOP_STATES };

static enum assay_status loop_new_scalar(struct loop *loop, enum dtype dtype,
                                         struct tensor *out, struct error *err)
{
    struct shape shape = shape_of(0);

    return tensor_new(loop->context->pool, dtype, &shape, out, err);
}

static bool condition_of(const struct tensor *tensor)
{
    return tensor->dtype == DTYPE_BOOL && tensor_elements(tensor) == 1 &&
           *(const uint8_t *)tensor_data(tensor);
}

static enum assay_status loop_run(struct loop *loop, const struct node *node,
                                  const struct tensor *const *inputs,
                                  int64_t most, struct error *err)
{
    struct tensor *number = &loop->inputs[LOOP_NUMBER];
    struct tensor *condition = &loop->inputs[LOOP_CONDITION];
    enum assay_status st = loop_new_scalar(loop, DTYPE_BOOL, condition, err);

    if (st)
        return st;
    *(uint8_t *)tensor_data(condition) =
        !inputs[LOOP_CONDITION] || condition_of(inputs[LOOP_CONDITION]);
    for (size_t i = LOOP_STATES; i < node->n_inputs; i++)
        loop->inputs[i] = tensor_share(inputs[i]);
    for (int64_t i = 0; !st && i < most && condition_of(condition); i++) {
        tensor_release(number);
        st = loop_new_scalar(loop, DTYPE_I64, number, err);
        if (st)
            break;
        *tensor_i64(number) = i;
        st = loop_iterate(loop, err);
    }
    return st;
}

static enum assay_status loop_forward(const struct op_context *context,
                                      const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    size_t n_states = ((const struct loop_attrs *)node->attrs)->n_states;
    struct loop loop = {.context = context,
                        .n_states = n_states + 1,
                        .n_kept = node->n_outputs - n_states};
    int64_t most;
    enum assay_status st = int_read(inputs[0], INT64_MAX, &most, err);

    loop.in_states = loop.inputs + LOOP_CONDITION;
    loop.out_states = loop.outputs;
    if (!st)
        st = loop_run(&loop, node, inputs, most, err);
    for (size_t i = 0; !st && i < n_states; i++)
        outputs[i] = tensor_share(&loop.inputs[LOOP_STATES + i]);
    for (size_t i = 0; !st && i < loop.n_kept; i++)
        st = kept_pieces_stack(&loop.kept[i], 0, false, context->pool,
                               &outputs[n_states + i], err);
    loop_release(&loop);
    return st;
}

const struct op_class op_loop = {
    .name = "Loop",
    .attrs_bytes = sizeof(struct loop_attrs),
    OP_TAKES(2, max_values),
    OP_MAKES(1, max_values - 1),
    .host_inputs = OP_INPUT(0) | OP_INPUT(LOOP_CONDITION),
    .passes_inputs = true,
    .forward = loop_forward,
};

/* ---- Scan --------------------------------------------------------------- */

/* The axes of the scanned tensors, counted from 0, and their common length. */
struct scan_axes {
    int axes[SHAPE_MAX_RANK];
    int64_t length;
};

static enum assay_status scan_find_axes(const struct scan_attrs *attrs,
                                        const struct tensor *const *inputs,
                                        struct scan_axes *scan,
                                        struct error *err)
{
    scan->length = -1;
    for (size_t i = 0; i < attrs->n_scanned; i++) {
        const struct shape *shape = &inputs[attrs->n_states + i]->shape;
        enum assay_status st =
            axis_resolve(attrs->axes[i], shape->rank, &scan->axes[i], err);

        if (st)
            return st;
        if (scan->length >= 0 && shape->dims[scan->axes[i]] != scan->length)
            return error_set(
                err, ASSAY_BAD_INPUT, "its inputs have %lld and %lld slices",
                (long long)scan->length, (long long)shape->dims[scan->axes[i]]);
        scan->length = shape->dims[scan->axes[i]];
    }
    return ASSAY_OK;
}

/* Slice i of a tensor along an axis, without that axis. */
static enum assay_status scan_slice(const struct tensor *from, int axis,
                                    int64_t i, struct pool *pool,
                                    struct tensor *out, struct error *err)
{
    struct shape shape = from->shape;
    size_t run = bytes_from(from, axis + 1);
    size_t n_runs = (size_t)shape_span(&from->shape, 0, axis);
    size_t stride = run * (size_t)from->shape.dims[axis];
    enum assay_status st;

    shape.rank--;
    memmove(&shape.dims[axis], &shape.dims[axis + 1],
            (size_t)(shape.rank - axis) * sizeof shape.dims[0]);
    st = tensor_new(pool, from->dtype, &shape, out, err);
    for (size_t r = 0; !st && r < n_runs; r++)
        memcpy((char *)tensor_data(out) + r * run,
               (char *)tensor_data(from) + r * stride + (size_t)i * run, run);
    return st;
}

static enum assay_status scan_run(struct loop *loop,
                                  const struct scan_attrs *attrs,
                                  const struct scan_axes *scan,
                                  const struct tensor *const *inputs,
                                  struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (int64_t at = 0; !st && at < scan->length; at++) {
        for (size_t i = 0; !st && i < attrs->n_scanned; i++) {
            struct tensor *slice = &loop->inputs[attrs->n_states + i];

            tensor_release(slice);
            st = scan_slice(inputs[attrs->n_states + i], scan->axes[i],
                            attrs->is_reverse[i] ? scan->length - 1 - at : at,
                            loop->context->pool, slice, err);
        }
        if (!st)
            st = loop_iterate(loop, err);
    }
    return st;
}

/* Body: states, slices, captured -> states, kept. */
static enum assay_status scan_forward(const struct op_context *context,
                                      const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    const struct scan_attrs *attrs = node->attrs;
    size_t n_states = attrs->n_states, n_own = n_states + attrs->n_scanned;
    struct loop loop = {.context = context,
                        .n_states = n_states,
                        .n_kept = node->n_outputs - n_states};
    struct scan_axes scan;
    enum assay_status st = scan_find_axes(attrs, inputs, &scan, err);

    loop.in_states = loop.inputs;
    loop.out_states = loop.outputs;
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (i < n_states || i >= n_own)
            loop.inputs[i] = tensor_share(inputs[i]);
    }
    if (!st)
        st = scan_run(&loop, attrs, &scan, inputs, err);
    for (size_t i = 0; !st && i < n_states; i++)
        outputs[i] = tensor_share(&loop.inputs[i]);
    for (size_t i = 0; !st && i < loop.n_kept; i++) {
        bool is_listed = i < SHAPE_MAX_RANK;

        st =
            kept_pieces_stack(&loop.kept[i], is_listed ? attrs->out_axes[i] : 0,
                              is_listed && attrs->is_out_reverse[i],
                              context->pool, &outputs[n_states + i], err);
    }
    loop_release(&loop);
    return st;
}

const struct op_class op_scan = {
    .name = "Scan",
    .attrs_bytes = sizeof(struct scan_attrs),
    OP_TAKES(1, max_values),
    OP_MAKES(1, max_values),
    .forward = scan_forward,
};
