/* ops/detection/box_detections.c - see box_detections.h. */
#include "ops/detection/box_detections.h"

#include "ops/attr_fields.h"
#include "ops/detection/nms.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <math.h>
#include <string.h>

struct detections {
    const struct node *node;
    const struct tensor *const *inputs;
    int64_t n_classes;
    struct buffer *scores_memory, *memory;
    float *scores; /* [r,c]: the softmax of the logits */
    /* Candidates of one image, and those kept of all images. */
    struct box *boxes, *kept_boxes;
    float *candidate_scores, *kept_scores;
    int64_t *labels, *kept_labels;
    uint32_t *kept;
    size_t n, n_kept;
};

static void detections_softmax(const float *logits, float *scores, int64_t n)
{
    float most = logits[0], sum = 0;

    for (int64_t i = 1; i < n; i++)
        most = logits[i] > most ? logits[i] : most;
    for (int64_t i = 0; i < n; i++) {
        scores[i] = expf(logits[i] - most);
        sum += scores[i];
    }
    for (int64_t i = 0; i < n; i++)
        scores[i] /= sum;
}

static enum assay_status
detections_make_scores(const struct op_context *context,
                       struct detections *detections, struct error *err)
{
    const struct tensor *logits = detections->inputs[BOX_DETECTIONS_LOGITS];
    int64_t n_classes = detections->n_classes;
    enum assay_status st =
        pool_take_scratch(context->pool, tensor_bytes(logits), "scores",
                          &detections->scores_memory, err);

    if (st)
        return st;
    detections->scores = buffer_data(detections->scores_memory);
#pragma omp parallel for num_threads(op_threads(context))
    for (int64_t i = 0; i < logits->shape.dims[0]; i++)
        detections_softmax(tensor_f32(logits) + i * n_classes,
                           detections->scores + i * n_classes, n_classes);
    return ASSAY_OK;
}

/* How many scores of objects are above the threshold. */
static size_t
box_detections_count_candidates(const struct detections *detections)
{
    const struct box_detections_attrs *attrs = detections->node->attrs;
    int64_t rows = detections->inputs[BOX_DETECTIONS_LOGITS]->shape.dims[0];
    const float *score = detections->scores;
    size_t n = 0;

    for (int64_t i = 0; i < rows; i++, score += detections->n_classes) {
        for (int64_t c = 1; c < detections->n_classes; c++)
            n += score[c] > attrs->score;
    }
    return n;
}

static enum assay_status
box_detections_take_memory(struct detections *detections, struct pool *pool,
                           struct error *err)
{
    size_t n = box_detections_count_candidates(detections);
    size_t each = 2 * (sizeof(struct box) + sizeof(float) + sizeof(int64_t)) +
                  sizeof(uint32_t);
    enum assay_status st = pool_take_scratch(
        pool, n * each, "comparing detections", &detections->memory, err);

    if (st)
        return st;
    detections->labels = buffer_data(detections->memory);
    detections->kept_labels = detections->labels + n;
    detections->boxes = (struct box *)(void *)(detections->kept_labels + n);
    detections->kept_boxes = detections->boxes + n;
    detections->candidate_scores =
        (float *)(void *)(detections->kept_boxes + n);
    detections->kept_scores = detections->candidate_scores + n;
    detections->kept = (uint32_t *)(void *)(detections->kept_scores + n);
    return ASSAY_OK;
}

/* Adds the classes of one proposal that score enough, each with its box. */
static void detections_add_proposal(struct detections *detections, int64_t row,
                                    const int64_t *size)
{
    const struct tensor *const *inputs = detections->inputs;
    const struct box_detections_attrs *attrs = detections->node->attrs;
    const float *scores = detections->scores + row * detections->n_classes;
    const float *deltas = tensor_f32(inputs[BOX_DETECTIONS_DELTAS]) +
                          row * detections->n_classes * 4;
    struct box proposal = tensor_boxes(inputs[BOX_DETECTIONS_PROPOSALS])[row];

    for (int64_t c = 1; c < detections->n_classes; c++) {
        struct box box;

        if (!(scores[c] > attrs->score))
            continue;
        box = box_clip(box_decode(proposal, deltas + 4 * c, attrs->weights),
                       size[0], size[1]);
        if (!box_is_at_least(box, attrs->min_size))
            continue;
        detections->boxes[detections->n] = box;
        detections->candidate_scores[detections->n] = scores[c];
        detections->labels[detections->n++] = c;
    }
}

static enum assay_status
box_detections_keep_best(const struct op_context *context,
                         struct detections *detections, int64_t *count,
                         struct error *err)
{
    const struct box_detections_attrs *attrs = detections->node->attrs;
    struct nms_input input = {.boxes = detections->boxes,
                              .scores = detections->candidate_scores,
                              .groups = detections->labels,
                              .n = detections->n,
                              .n_groups = (size_t)detections->n_classes,
                              .iou = attrs->iou};
    size_t n;
    enum assay_status st = nms_run(context, &input, detections->kept, &n, err);

    if (st)
        return st;
    if (n > (size_t)attrs->keep)
        n = (size_t)attrs->keep;
    for (size_t i = 0; i < n; i++) {
        size_t to = detections->n_kept++;
        uint32_t from = detections->kept[i];

        detections->kept_boxes[to] = detections->boxes[from];
        detections->kept_scores[to] = detections->candidate_scores[from];
        detections->kept_labels[to] = detections->labels[from];
    }
    *count = (int64_t)n;
    return ASSAY_OK;
}

static enum assay_status
box_detections_write_outputs(const struct detections *detections,
                             struct pool *pool, struct tensor *outputs,
                             struct error *err)
{
    const struct {
        size_t output;
        enum dtype dtype;
        int64_t width;
        const void *from;
    } made[] = {{BOX_DETECTIONS_BOXES, DTYPE_F32, 4, detections->kept_boxes},
                {BOX_DETECTIONS_SCORES, DTYPE_F32, 0, detections->kept_scores},
                {BOX_DETECTIONS_LABELS, DTYPE_I64, 0, detections->kept_labels}};
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < sizeof made / sizeof *made; i++) {
        struct tensor *to = &outputs[made[i].output];

        st = rows_new(pool, made[i].dtype, detections->n_kept, made[i].width,
                      to, err);
        if (!st)
            memcpy(tensor_data(to), made[i].from, tensor_bytes(to));
    }
    return st;
}

static enum assay_status
box_detections_check(const struct node *node,
                     const struct tensor *const *inputs, struct error *err)
{
    const struct box_detections_attrs *attrs = node->attrs;
    const struct shape *logits = &inputs[BOX_DETECTIONS_LOGITS]->shape;
    const struct shape *deltas = &inputs[BOX_DETECTIONS_DELTAS]->shape;
    const struct tensor *counts = inputs[BOX_DETECTIONS_COUNTS];
    enum assay_status st = rule_rank(inputs, BOX_DETECTIONS_LOGITS, 2, err);
    char text[64], deltas_text[64];

    if (!st)
        st = rule_rank(inputs, BOX_DETECTIONS_DELTAS, 2, err);
    if (!st)
        st = boxes_check_list(inputs[BOX_DETECTIONS_PROPOSALS], err);
    if (!st)
        st = boxes_check_counts(counts, logits->dims[0], err);
    if (!st)
        st = boxes_check_sizes(inputs[BOX_DETECTIONS_SIZES],
                               counts->shape.dims[0], err);
    if (!st &&
        (deltas->dims[0] != logits->dims[0] ||
         deltas->dims[1] != 4 * logits->dims[1] || logits->dims[1] < 1 ||
         inputs[BOX_DETECTIONS_PROPOSALS]->shape.dims[0] != logits->dims[0] ||
         attrs->keep < 0))
        st = error_set(
            err, ASSAY_BAD_INPUT,
            "logits %s and deltas %s do not fit %lld proposals",
            shape_text(logits, text, sizeof text),
            shape_text(deltas, deltas_text, sizeof deltas_text),
            (long long)inputs[BOX_DETECTIONS_PROPOSALS]->shape.dims[0]);
    return st;
}

static enum assay_status detections_run(const struct op_context *context,
                                        struct detections *detections,
                                        struct tensor *outputs,
                                        struct error *err)
{
    const struct tensor *counts = detections->inputs[BOX_DETECTIONS_COUNTS];
    const int64_t *sizes = tensor_i64(detections->inputs[BOX_DETECTIONS_SIZES]);
    enum assay_status st = tensor_new(context->pool, DTYPE_I64, &counts->shape,
                                      &outputs[BOX_DETECTIONS_KEPT], err);
    int64_t row = 0;

    for (int64_t image = 0; !st && image < counts->shape.dims[0]; image++) {
        int64_t end = row + tensor_i64(counts)[image];

        detections->n = 0;
        for (; row < end; row++)
            detections_add_proposal(detections, row, sizes + 2 * image);
        st = box_detections_keep_best(
            context, detections,
            tensor_i64(&outputs[BOX_DETECTIONS_KEPT]) + image, err);
    }
    if (!st)
        st = box_detections_write_outputs(detections, context->pool, outputs,
                                          err);
    return st;
}

static enum assay_status
box_detections_forward(const struct op_context *context,
                       const struct node *node,
                       const struct tensor *const *inputs,
                       struct tensor *outputs, struct error *err)
{
    struct detections detections = {.node = node, .inputs = inputs};
    enum assay_status st = box_detections_check(node, inputs, err);

    if (st)
        return st;
    detections.n_classes = inputs[BOX_DETECTIONS_LOGITS]->shape.dims[1];
    st = detections_make_scores(context, &detections, err);
    if (!st)
        st = box_detections_take_memory(&detections, context->pool, err);
    if (!st)
        st = detections_run(context, &detections, outputs, err);
    buffer_release(detections.scores_memory);
    buffer_release(detections.memory);
    return st;
}

/* At least the deltas of the detections are read; how many others is not known
 * before. */
static void box_detections_count_cost(const struct node *node,
                                      const struct tensor *const *inputs,
                                      const struct tensor *outputs,
                                      struct cost *cost)
{
    (void)node;
    cost_touches(cost, inputs[BOX_DETECTIONS_DELTAS],
                 tensor_bytes(&outputs[BOX_DETECTIONS_BOXES]));
}

ATTR_FIELDS(box_detections, FIELD_FLOAT(box_detections_attrs, weights),
            FIELD_FLOAT(box_detections_attrs, score),
            FIELD_FLOAT(box_detections_attrs, min_size),
            FIELD_FLOAT(box_detections_attrs, iou),
            FIELD_AMOUNT(box_detections_attrs, keep));

const struct op_class op_box_detections = {
    .name = "BoxDetections",
    OP_ATTRS(box_detections),
    OP_TAKES(BOX_DETECTIONS_INPUTS, BOX_DETECTIONS_INPUTS),
    OP_MAKES(BOX_DETECTIONS_OUTPUTS, BOX_DETECTIONS_OUTPUTS),
    .forward = box_detections_forward,
    .cost = box_detections_count_cost,
};
