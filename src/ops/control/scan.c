/* ops/control/scan.c - a graph for each slice of its inputs, see control.h. */
#include "ops/control/control.h"

#include "ops/control/kept_pieces_internal.h"
#include "ops/int_list_internal.h"
#include "ops/ops.h"

enum { max_values = 64 }; /* inputs or outputs of a body */

struct scan {
    const struct op_context *context;
    const struct node *node;
    const struct scan_attrs *attrs;
    int axes[SHAPE_MAX_RANK]; /* of the tensors, from 0 on */
    int64_t length;           /* slices */
    size_t n_kept;
    struct tensor inputs[max_values];  /* states, slices, captured */
    struct tensor outputs[max_values]; /* states, kept */
    struct kept_pieces kept[max_values];
};

static enum assay_status find_length(struct scan *scan,
                                     const struct tensor *const *inputs,
                                     struct error *err)
{
    scan->length = -1;
    for (size_t i = 0; i < scan->attrs->n_scanned; i++) {
        const struct shape *shape = &inputs[scan->attrs->n_states + i]->shape;
        enum assay_status st = axis_resolve(scan->attrs->axes[i], shape->rank,
                                            &scan->axes[i], err);

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

static void scan_start(struct scan *scan, const struct tensor *const *inputs)
{
    size_t n_states = scan->attrs->n_states;
    size_t n_own = n_states + scan->attrs->n_scanned;

    for (size_t i = 0; i < n_states; i++)
        scan->inputs[i] = tensor_share(inputs[i]);
    for (size_t i = n_own; i < scan->node->n_inputs; i++)
        scan->inputs[i] = tensor_share(inputs[i]);
}

static enum assay_status take_slices(struct scan *scan,
                                     const struct tensor *const *inputs,
                                     int64_t at, struct error *err)
{
    const struct scan_attrs *attrs = scan->attrs;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < attrs->n_scanned; i++) {
        struct tensor *slice = &scan->inputs[attrs->n_states + i];

        tensor_release(slice);
        st = take_slice(inputs[attrs->n_states + i], scan->axes[i],
                        attrs->is_reverse[i] ? scan->length - 1 - at : at,
                        scan->context->pool, slice, err);
    }
    return st;
}

static enum assay_status scan_carry_over(struct scan *scan, struct error *err)
{
    size_t n_states = scan->attrs->n_states;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; i < n_states; i++) {
        tensor_release(&scan->inputs[i]);
        scan->inputs[i] = scan->outputs[i];
        scan->outputs[i].buffer = NULL;
    }
    for (size_t i = 0; i < scan->n_kept; i++) {
        struct tensor *piece = &scan->outputs[n_states + i];

        if (!st)
            st = kept_pieces_add(&scan->kept[i], *piece, err);
        else
            tensor_release(piece);
        piece->buffer = NULL;
    }
    return st;
}

static enum assay_status scan_finish(struct scan *scan, struct tensor *outputs,
                                     struct error *err)
{
    const struct scan_attrs *attrs = scan->attrs;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; i < attrs->n_states; i++)
        outputs[i] = tensor_share(&scan->inputs[i]);
    for (size_t i = 0; !st && i < scan->n_kept; i++) {
        bool is_listed = i < SHAPE_MAX_RANK;

        st = kept_pieces_stack(
            &scan->kept[i], is_listed ? attrs->out_axes[i] : 0,
            is_listed && attrs->is_out_reverse[i], scan->context->pool,
            &outputs[attrs->n_states + i], err);
    }
    return st;
}

static enum assay_status scan_forward(const struct op_context *context,
                                      const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    const struct scan_attrs *attrs = node->attrs;
    struct scan scan = {.context = context,
                        .node = node,
                        .attrs = attrs,
                        .n_kept = node->n_outputs - attrs->n_states};
    enum assay_status st = find_length(&scan, inputs, err);

    if (!st)
        scan_start(&scan, inputs);
    for (int64_t i = 0; !st && i < scan.length; i++) {
        st = take_slices(&scan, inputs, i, err);
        if (!st)
            st = context->run_body(context->runner, 0, scan.inputs,
                                   scan.outputs, err);
        if (!st)
            st = scan_carry_over(&scan, err);
    }
    if (!st)
        st = scan_finish(&scan, outputs, err);
    for (size_t i = 0; i < max_values; i++) {
        tensor_release(&scan.inputs[i]);
        tensor_release(&scan.outputs[i]);
        kept_pieces_release(&scan.kept[i]);
    }
    return st;
}

const struct op_class op_scan = {
    .name = "Scan",
    .attrs_bytes = sizeof(struct scan_attrs),
    .min_inputs = 1,
    .max_inputs = max_values,
    .min_outputs = 1,
    .max_outputs = max_values,
    .forward = scan_forward,
};
