/* formats/onnx/onnx_map_control.c - ops with graphs inside: If, Loop, Scan. */
#include "formats/onnx/onnx_import_internal.h"
#include "ops/control/control.h"
#include "ops/ops.h"

#include <string.h>

enum { max_inputs = 64 };

/* The inputs of a node with bodies: its own, and those that the bodies read. */
struct input_list {
    uint32_t values[max_inputs];
    size_t n;
};

static void onnx_control_append(struct onnx_call *call, struct input_list *list,
                                const uint32_t *values, size_t n)
{
    if (n > max_inputs - list->n) {
        onnx_fail(call, ASSAY_UNSUPPORTED,
                  "it and its graphs read %zu values; at most %d are supported",
                  list->n + n, max_inputs);
        return;
    }
    if (n)
        memcpy(list->values + list->n, values, n * sizeof *values);
    list->n += n;
}

/* Adds the node, which takes the bodies. */
static void onnx_control_emit(struct onnx_call *call, const struct op_class *op,
                              const void *attrs,
                              const struct input_list *inputs,
                              struct onnx_body *bodies, size_t n_bodies)
{
    struct graph *graphs[2] = {NULL};

    for (size_t i = 0; i < n_bodies; i++)
        graphs[i] = bodies[i].graph;
    onnx_emit_bodies(call, op, attrs, inputs->values, inputs->n, graphs,
                     n_bodies);
    for (size_t i = 0; i < n_bodies; i++) {
        if (!call->st)
            bodies[i].graph = NULL;
        onnx_body_release(&bodies[i]);
    }
}

/* Checks the number of a body's own inputs and outputs. */
static void check_body(struct onnx_call *call, const struct onnx_body *body,
                       size_t n_inputs, size_t n_outputs)
{
    size_t n_own;

    if (call->st)
        return;
    n_own = graph_input_count(body->graph) - body->n_captured;
    if (n_own != n_inputs || graph_output_count(body->graph) != n_outputs)
        onnx_fail(call, ASSAY_BAD_INPUT,
                  "its graph has %zu inputs and %zu outputs instead of %zu "
                  "and %zu",
                  n_own, graph_output_count(body->graph), n_inputs, n_outputs);
}

static void import_if(struct onnx_call *call)
{
    struct onnx_body bodies[2] = {{0}};
    struct input_list inputs = {0};
    struct if_attrs attrs;

    onnx_import_body(call, "then_branch", &bodies[0]);
    if (!call->st)
        onnx_import_body(call, "else_branch", &bodies[1]);
    check_body(call, &bodies[0], 0, call->n_outputs);
    check_body(call, &bodies[1], 0, call->n_outputs);
    onnx_control_append(call, &inputs, call->inputs, 1);
    onnx_control_append(call, &inputs, bodies[0].captured,
                        bodies[0].n_captured);
    onnx_control_append(call, &inputs, bodies[1].captured,
                        bodies[1].n_captured);
    attrs.n_then = bodies[0].n_captured;
    onnx_control_emit(call, &op_if, &attrs, &inputs, bodies, 2);
}

static void import_loop(struct onnx_call *call)
{
    uint32_t head[2] = {onnx_input(call, 0), onnx_input(call, 1)};
    struct input_list inputs = {0};
    struct onnx_body body = {0};
    struct loop_attrs attrs = {.n_states =
                                   call->n_inputs > 2 ? call->n_inputs - 2 : 0};

    for (size_t i = 0; i < attrs.n_states; i++) {
        if (onnx_input(call, 2 + i) == GRAPH_NONE)
            onnx_fail(call, ASSAY_BAD_INPUT, "its input %zu is left out",
                      2 + i);
    }
    if (call->n_outputs < attrs.n_states)
        onnx_fail(call, ASSAY_BAD_INPUT, "it has %zu states and %zu outputs",
                  attrs.n_states, call->n_outputs);
    if (!call->st)
        onnx_import_body(call, "body", &body);
    check_body(call, &body, 2 + attrs.n_states, 1 + call->n_outputs);
    onnx_control_append(call, &inputs, head, 2);
    onnx_control_append(call, &inputs, call->inputs + 2, attrs.n_states);
    onnx_control_append(call, &inputs, body.captured, body.n_captured);
    onnx_control_emit(call, &op_loop, &attrs, &inputs, &body, 1);
}

/* Reads the axes and directions of the scanned values. */
static void read_scan_lists(struct onnx_call *call, const char *axes_name,
                            const char *directions_name, int64_t *axes,
                            bool *is_reverse)
{
    const int64_t *found;
    size_t n = onnx_ints(call, axes_name, &found);

    if (n > SHAPE_MAX_RANK)
        onnx_fail(call, ASSAY_UNSUPPORTED, "%s has %zu numbers", axes_name, n);
    for (size_t i = 0; !call->st && i < n; i++)
        axes[i] = found[i];
    n = onnx_ints(call, directions_name, &found);
    if (n > SHAPE_MAX_RANK)
        onnx_fail(call, ASSAY_UNSUPPORTED, "%s has %zu numbers",
                  directions_name, n);
    for (size_t i = 0; !call->st && i < n; i++)
        is_reverse[i] = found[i] == 1;
}

static void import_scan(struct onnx_call *call)
{
    int64_t n_scanned = onnx_int(call, "num_scan_inputs", 0);
    struct input_list inputs = {0};
    struct onnx_body body = {0};
    struct scan_attrs attrs = {0};

    if (n_scanned < 1 || (uint64_t)n_scanned > call->n_inputs ||
        n_scanned > SHAPE_MAX_RANK ||
        call->n_outputs + (size_t)n_scanned < call->n_inputs) {
        onnx_fail(call, ASSAY_BAD_INPUT,
                  "num_scan_inputs is %lld with %zu inputs and %zu outputs",
                  (long long)n_scanned, call->n_inputs, call->n_outputs);
        return;
    }
    attrs.n_scanned = (size_t)n_scanned;
    attrs.n_states = call->n_inputs - attrs.n_scanned;
    read_scan_lists(call, "scan_input_axes", "scan_input_directions",
                    attrs.axes, attrs.is_reverse);
    read_scan_lists(call, "scan_output_axes", "scan_output_directions",
                    attrs.out_axes, attrs.is_out_reverse);
    if (!call->st)
        onnx_import_body(call, "body", &body);
    check_body(call, &body, call->n_inputs, call->n_outputs);
    onnx_control_append(call, &inputs, call->inputs, call->n_inputs);
    onnx_control_append(call, &inputs, body.captured, body.n_captured);
    onnx_control_emit(call, &op_scan, &attrs, &inputs, &body, 1);
}

const struct onnx_op onnx_control_ops[] = {
    {"If", 1, ONNX_NOW, 1, 1, import_if},
    {"Loop", 1, ONNX_NOW, 0, ONNX_ANY, import_loop},
    {"Scan", 9, ONNX_NOW, 1, ONNX_ANY, import_scan},
    {0},
};
