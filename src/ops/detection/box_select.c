/* ops/detection/box_select.c - see box_select.h. */
#include "ops/detection/box_select.h"

#include "base/mem.h"
#include "base/vec.h"
#include "ops/attr_fields.h"
#include "ops/detection/nms.h"
#include "ops/int_list_internal.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <math.h>
#include <string.h>

enum box_select_input {
    SELECT_BOXES,
    SELECT_SCORES,
    SELECT_MOST,
    SELECT_OVERLAP,
    SELECT_SCORE
};

/* The limits, and memory for one class. */
struct selection {
    int64_t most;
    float overlap, score;
    struct box *boxes; /* candidates */
    float *scores;
    int64_t *groups, *places; /* all 0; the index of each candidate */
    uint32_t *kept;
    int64_t *found; /* triples */
    size_t n_found, found_capacity;
};

static enum assay_status read_limit(const struct tensor *tensor, float *limit,
                                    struct error *err)
{
    if (!tensor)
        return ASSAY_OK;
    if (tensor->dtype != DTYPE_F32 || tensor_elements(tensor) != 1)
        return error_set(err, ASSAY_BAD_INPUT, "a limit must be one float32");
    *limit = *tensor_f32(tensor);
    return ASSAY_OK;
}

static enum assay_status
box_select_check_inputs(const struct tensor *const *inputs, struct error *err)
{
    const struct shape *boxes = &inputs[SELECT_BOXES]->shape;
    const struct shape *scores = &inputs[SELECT_SCORES]->shape;
    enum assay_status st = rule_dtype(inputs, SELECT_BOXES, DTYPE_F32, err);

    if (!st)
        st = rule_dtype(inputs, SELECT_SCORES, DTYPE_F32, err);
    if (st)
        return st;
    if (boxes->rank == 3 && scores->rank == 3 && boxes->dims[2] == 4 &&
        boxes->dims[0] == scores->dims[0] && boxes->dims[1] == scores->dims[2])
        return ASSAY_OK;
    return rule_misfit("boxes", boxes, "scores", scores, err);
}

static enum assay_status box_select_begin(const struct node *node,
                                          const struct tensor *const *inputs,
                                          struct selection *selection,
                                          struct error *err)
{
    size_t n = (size_t)inputs[SELECT_BOXES]->shape.dims[1];
    enum assay_status st =
        int_read(op_input(node, inputs, SELECT_MOST), 0, &selection->most, err);

    selection->score = -INFINITY;
    if (!st)
        st = read_limit(op_input(node, inputs, SELECT_OVERLAP),
                        &selection->overlap, err);
    if (!st)
        st = read_limit(op_input(node, inputs, SELECT_SCORE), &selection->score,
                        err);
    if (st)
        return st;
    selection->boxes = mem_array(n, sizeof *selection->boxes);
    selection->scores = mem_array(n, sizeof *selection->scores);
    selection->groups = mem_array(n, sizeof *selection->groups);
    selection->places = mem_array(n, sizeof *selection->places);
    selection->kept = mem_array(n, sizeof *selection->kept);
    if (!selection->boxes || !selection->scores || !selection->groups ||
        !selection->places || !selection->kept)
        return error_nomem(err, n * sizeof *selection->boxes, "boxes");
    return ASSAY_OK;
}

static void box_select_release(struct selection *selection)
{
    mem_free(selection->boxes);
    mem_free(selection->scores);
    mem_free(selection->groups);
    mem_free(selection->places);
    mem_free(selection->kept);
    mem_free(selection->found);
}

/* Corners may be in any order. */
static struct box box_select_read_box(const float *at, bool is_centred)
{
    if (is_centred)
        return (struct box){at[0] - at[2] / 2, at[1] - at[3] / 2,
                            at[0] + at[2] / 2, at[1] + at[3] / 2};
    return (struct box){fminf(at[1], at[3]), fminf(at[0], at[2]),
                        fmaxf(at[1], at[3]), fmaxf(at[0], at[2])};
}

static enum assay_status note_kept(struct selection *selection, size_t n,
                                   int64_t image, int64_t class_id,
                                   struct error *err)
{
    int64_t *moved =
        vec_reserve(selection->found, &selection->found_capacity,
                    selection->n_found + 3 * n, sizeof *selection->found);

    if (!moved)
        return error_nomem(err, n * sizeof *selection->found, "boxes");
    selection->found = moved;
    for (size_t i = 0; i < n; i++) {
        moved[selection->n_found++] = image;
        moved[selection->n_found++] = class_id;
        moved[selection->n_found++] = selection->places[selection->kept[i]];
    }
    return ASSAY_OK;
}

static enum assay_status
select_class(const struct op_context *context, const struct node *node,
             const struct tensor *const *inputs, int64_t image,
             int64_t class_id, struct selection *selection, struct error *err)
{
    const struct box_select_attrs *attrs = node->attrs;
    const struct shape *shape = &inputs[SELECT_SCORES]->shape;
    int64_t n = shape->dims[2];
    const float *boxes = tensor_f32(inputs[SELECT_BOXES]) + image * n * 4;
    const float *scores = tensor_f32(inputs[SELECT_SCORES]) +
                          (image * shape->dims[1] + class_id) * n;
    struct nms_input candidates = {.boxes = selection->boxes,
                                   .scores = selection->scores,
                                   .groups = selection->groups,
                                   .n_groups = 1,
                                   .iou = selection->overlap};
    size_t n_kept;
    enum assay_status st;

    for (int64_t i = 0; i < n; i++) {
        if (!(scores[i] > selection->score))
            continue;
        selection->boxes[candidates.n] =
            box_select_read_box(boxes + 4 * i, attrs->is_centred);
        selection->scores[candidates.n] = scores[i];
        selection->places[candidates.n++] = i;
    }
    st = nms_run(context, &candidates, selection->kept, &n_kept, err);
    if (st)
        return st;
    if ((int64_t)n_kept > selection->most)
        n_kept = selection->most > 0 ? (size_t)selection->most : 0;
    return note_kept(selection, n_kept, image, class_id, err);
}

static enum assay_status box_select_forward(const struct op_context *context,
                                            const struct node *node,
                                            const struct tensor *const *inputs,
                                            struct tensor *outputs,
                                            struct error *err)
{
    const struct shape *scores = &inputs[SELECT_SCORES]->shape;
    struct selection selection = {0};
    enum assay_status st = box_select_check_inputs(inputs, err);

    if (!st)
        st = box_select_begin(node, inputs, &selection, err);
    for (int64_t i = 0; !st && i < scores->dims[0]; i++) {
        for (int64_t c = 0; !st && c < scores->dims[1]; c++)
            st = select_class(context, node, inputs, i, c, &selection, err);
    }
    if (!st)
        st = rows_new(context->pool, DTYPE_I64, selection.n_found / 3, 3,
                      &outputs[0], err);
    if (!st && selection.n_found)
        memcpy(tensor_data(&outputs[0]), selection.found,
               selection.n_found * sizeof *selection.found);
    box_select_release(&selection);
    return st;
}

ATTR_FIELDS(box_select, FIELD_FLAG(box_select_attrs, is_centred));

const struct op_class op_box_select = {
    .name = "NonMaxSuppression",
    OP_ATTRS(box_select),
    OP_TAKES(2, 5),
    OP_MAKES(1, 1),
    .forward = box_select_forward,
};
