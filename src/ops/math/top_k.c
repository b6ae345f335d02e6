/* ops/math/top_k.c - see top_k.h. */
#include "ops/math/top_k.h"

#include "base/mem.h"
#include "ops/attr_fields.h"
#include "ops/int_list_internal.h"
#include "ops/math/score_rank_internal.h"
#include "ops/onnx_sink.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "ops/widen_internal.h"

#include <stdlib.h>

static enum assay_status top_k_infer(const struct node *node,
                                     const struct tensor *const *inputs,
                                     struct tensor *outputs, struct error *err)
{
    const struct top_k_attrs *attrs = node->attrs;
    struct shape y = inputs[0]->shape;
    int64_t k;
    int axis;
    enum assay_status st = axis_resolve(attrs->axis, y.rank, &axis, err);

    if (!st)
        st = int_read(inputs[1], 0, &k, err);
    if (!st && (k < 0 || k > y.dims[axis] || y.dims[axis] > UINT32_MAX))
        st = error_set(err, ASSAY_BAD_INPUT,
                       "cannot take the top %lld of %lld elements",
                       (long long)k, (long long)y.dims[axis]);
    if (st)
        return st;
    y.dims[axis] = k;
    rule_set(&outputs[0], inputs[0]->dtype, &y);
    rule_set(&outputs[1], DTYPE_I64, &y);
    return ASSAY_OK;
}

struct entry {
    uint64_t key;
    uint32_t index;
};

static int top_k_compare(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* The line being sorted. */
struct line {
    int64_t n, step; /* elements; how far apart they are in x */
    int64_t k;       /* that are needed */
    struct entry *entries;
    uint64_t *ranks, *scratch;
};

static void sort_line(const struct tensor *x, bool is_smallest, int64_t first,
                      const struct line *line)
{
    for (int64_t i = 0; i < line->n; i++) {
        uint64_t key = sort_key(x, (size_t)(first + i * line->step));

        line->entries[i] = (struct entry){.key = is_smallest ? key : ~key,
                                          .index = (uint32_t)i};
    }
    qsort(line->entries, (size_t)line->n, sizeof *line->entries, top_k_compare);
}

/* Faster, for float32: scores of detections are many. */
static void rank_line(const float *x, bool is_smallest, const struct line *line)
{
    size_t n;

    for (int64_t i = 0; i < line->n; i++) {
        float score = x[i * line->step];

        line->ranks[i] = rank_of(is_smallest ? -score : score, (uint32_t)i);
    }
    n = rank_select(line->ranks, (size_t)line->n, (size_t)line->k);
    rank_sort(line->ranks, line->scratch, n);
    for (int64_t i = 0; i < line->k; i++)
        line->entries[i].index = rank_index(line->ranks[i]);
}

static void top_k_write_line(const struct tensor *x, int64_t first,
                             const struct line *line, int64_t to,
                             struct tensor *outputs)
{
    size_t bytes = dtype_bytes(x->dtype);
    const char *from = tensor_data(x);
    char *values = tensor_data(&outputs[0]);

    for (int64_t i = 0; i < line->k; i++) {
        int64_t index = line->entries[i].index, at = to + i * line->step;

        memcpy(values + (size_t)at * bytes,
               from + (size_t)(first + index * line->step) * bytes, bytes);
        tensor_i64(&outputs[1])[at] = index;
    }
}

static void sort_lines(const struct node *node, const struct tensor *x,
                       int axis, const struct line *line,
                       struct tensor *outputs)
{
    const struct top_k_attrs *attrs = node->attrs;
    int64_t n = shape_span(&x->shape, 0, axis) * line->step;

    for (int64_t i = 0; i < n; i++) {
        int64_t outer = i / line->step, inner = i % line->step;
        int64_t first = outer * line->n * line->step + inner;

        if (x->dtype == DTYPE_F32)
            rank_line(tensor_f32(x) + first, attrs->is_smallest, line);
        else
            sort_line(x, attrs->is_smallest, first, line);
        top_k_write_line(x, first, line, outer * line->k * line->step + inner,
                         outputs);
    }
}

static enum assay_status top_k_kernel(const struct op_context *context,
                                      const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    const struct top_k_attrs *attrs = node->attrs;
    const struct tensor *x = inputs[0];
    struct line line;
    size_t n;
    int axis;
    enum assay_status st = axis_resolve(attrs->axis, x->shape.rank, &axis, err);

    (void)context;
    if (st)
        return st;
    n = (size_t)x->shape.dims[axis];
    line = (struct line){.n = (int64_t)n,
                         .step = shape_span(&x->shape, axis + 1, x->shape.rank),
                         .k = outputs[0].shape.dims[axis],
                         .entries = mem_array(n, sizeof *line.entries),
                         .ranks = mem_array(n, sizeof *line.ranks),
                         .scratch = mem_array(n, sizeof *line.scratch)};
    if (!line.entries || !line.ranks || !line.scratch)
        st = error_nomem(err, n * sizeof *line.entries, "a sort");
    else
        sort_lines(node, x, axis, &line, outputs);
    mem_free(line.entries);
    mem_free(line.ranks);
    mem_free(line.scratch);
    return st;
}

WIDEN_FORWARD(top_k_forward, top_k_kernel)

static void top_k_to_onnx(struct onnx_sink *to)
{
    const struct top_k_attrs *attrs = to->node->attrs;

    onnx_attr_int(to, "axis", attrs->axis);
    onnx_attr_int(to, "largest", !attrs->is_smallest);
    onnx_put_node(to, "TopK", 2);
}

ATTR_FIELDS(top_k, FIELD_AXIS(top_k_attrs, axis),
            FIELD_FLAG(top_k_attrs, is_smallest));

const struct op_class op_top_k = {
    .name = "TopK",
    OP_ATTRS(top_k),
    OP_TAKES(2, 2),
    OP_MAKES(2, 2),
    .infer = top_k_infer,
    .host_inputs = OP_INPUT(1),
    .forward = top_k_forward,
    .to_onnx = top_k_to_onnx,
};
