/* tests/session/raw_boxes.c - see raw_boxes.h. */
#include "raw_boxes.h"

#include "ops/detection/box_detections.h"
#include "ops/detection/rpn_decode.h"
#include "ops/detection/rpn_top_k.h"
#include "ops/ops.h"

#include <math.h>
#include <string.h>

/* ---- the values -----------------------------------------------------------
 */

static const struct node *node_of(const struct graph *graph,
                                  const struct op_class *op)
{
    for (size_t i = 0; i < graph_node_count(graph); i++) {
        if (graph_node(graph, i)->op == op)
            return graph_node(graph, i);
    }
    return NULL;
}

typedef enum assay_status raw_visit(struct session *session, void *context,
                                    uint32_t value, struct tensor *to,
                                    struct error *err);

/* Each value with its place in `raw`. */
static enum assay_status raw_each(struct session *session,
                                  struct raw_boxes *raw, raw_visit *visit,
                                  void *context, struct error *err)
{
    const struct node *boxes = node_of(session->graph, &op_box_detections);
    const struct node *best = node_of(session->graph, &op_rpn_top_k);
    const struct node *decode = node_of(session->graph, &op_rpn_decode);
    enum assay_status st;

    if (!boxes || !best || !decode || best->n_inputs > RAW_LEVELS)
        return error_set(err, ASSAY_BAD_INPUT, "this is not a detector");
    raw->n_levels = best->n_inputs;
    memcpy(raw->weights,
           ((const struct box_detections_attrs *)boxes->attrs)->weights,
           sizeof raw->weights);
    st = visit(session, context, boxes->inputs[BOX_DETECTIONS_LOGITS],
               &raw->logits, err);
    if (!st)
        st = visit(session, context, boxes->inputs[BOX_DETECTIONS_DELTAS],
                   &raw->deltas, err);
    if (!st)
        st = visit(session, context, boxes->inputs[BOX_DETECTIONS_PROPOSALS],
                   &raw->proposals, err);
    if (!st)
        st = visit(session, context, best->outputs[RPN_TOP_K_ANCHORS],
                   &raw->anchors, err);
    if (!st)
        st = visit(session, context, decode->outputs[0], &raw->boxes, err);
    for (size_t i = 0; !st && i < raw->n_levels; i++) {
        st = visit(session, context, best->inputs[i], &raw->objectness[i], err);
        if (!st)
            st = visit(session, context, decode->inputs[RPN_DECODE_DELTAS + i],
                       &raw->shifts[i], err);
    }
    return st;
}

static enum assay_status visit_keep(struct session *session, void *context,
                                    uint32_t value, struct tensor *to,
                                    struct error *err)
{
    (void)context, (void)to;
    return engine_keep(session->engine, value, err);
}

enum assay_status raw_boxes_keep(struct session *session, struct error *err)
{
    struct raw_boxes ignored = {.n_levels = 0};

    return raw_each(session, &ignored, visit_keep, NULL, err);
}

static enum assay_status visit_take(struct session *session, void *context,
                                    uint32_t value, struct tensor *to,
                                    struct error *err)
{
    const struct tensor *kept = engine_kept(session->engine, value);

    return kept ? tensor_copy(context, kept, to, err)
                : error_set(err, ASSAY_BAD_INPUT, "a value was not kept");
}

enum assay_status raw_boxes_take(const struct session *session,
                                 struct pool *pool, struct raw_boxes *raw,
                                 struct error *err)
{
    struct session *mutable = (struct session *)(uintptr_t)session;

    return raw_each(mutable, raw, visit_take, pool, err);
}

void raw_boxes_release(struct raw_boxes *raw)
{
    tensor_release(&raw->logits);
    tensor_release(&raw->deltas);
    tensor_release(&raw->proposals);
    tensor_release(&raw->anchors);
    tensor_release(&raw->boxes);
    for (size_t i = 0; i < raw->n_levels; i++) {
        tensor_release(&raw->objectness[i]);
        tensor_release(&raw->shifts[i]);
    }
    *raw = (struct raw_boxes){.n_levels = 0};
}

/* ---- boxes ----------------------------------------------------------------
 */

static float box_area(const float *b)
{
    return (b[2] - b[0]) * (b[3] - b[1]);
}

float box_iou(const float *a, const float *b)
{
    float width = fminf(a[2], b[2]) - fmaxf(a[0], b[0]);
    float height = fminf(a[3], b[3]) - fmaxf(a[1], b[1]);
    float both = fmaxf(width, 0) * fmaxf(height, 0);

    return both / (box_area(a) + box_area(b) - both);
}

/* As torchvision's BoxCoder, without clipping. */
static void box_shift(const float *from, const float *deltas,
                      const float *weights, float *to)
{
    const float most = logf(1000.0F / 16);
    float width = from[2] - from[0], height = from[3] - from[1];
    float x = from[0] + width / 2 + deltas[0] / weights[0] * width;
    float y = from[1] + height / 2 + deltas[1] / weights[1] * height;
    float w = width * expf(fminf(deltas[2] / weights[2], most));
    float h = height * expf(fminf(deltas[3] / weights[3], most));

    to[0] = x - w / 2;
    to[1] = y - h / 2;
    to[2] = x + w / 2;
    to[3] = y + h / 2;
}

/* ---- proposals and anchors ------------------------------------------------
 */

static int64_t raw_rows(const struct tensor *x)
{
    return x->shape.dims[0];
}

static float raw_score(const struct raw_boxes *raw, int64_t row, int64_t label)
{
    int64_t classes = raw->logits.shape.dims[1];
    const float *logits = tensor_f32(&raw->logits) + row * classes;
    float most = logits[0];
    double sum = 0;

    for (int64_t i = 1; i < classes; i++)
        most = fmaxf(most, logits[i]);
    for (int64_t i = 0; i < classes; i++)
        sum += exp((double)(logits[i] - most));
    return (float)(exp((double)(logits[label] - most)) / sum);
}

static void raw_box(const struct raw_boxes *raw, int64_t row, int64_t label,
                    float *to)
{
    const float *deltas =
        tensor_f32(&raw->deltas) + row * raw->deltas.shape.dims[1] + 4 * label;

    box_shift(tensor_f32(&raw->proposals) + 4 * row, deltas, raw->weights, to);
}

/* The proposal whose score a detection has; -1: none. */
static int64_t find_row(const struct raw_boxes *raw, int64_t label, float score)
{
    const float near = 1e-5F;
    float nearest = near;
    int64_t found = -1;

    for (int64_t i = 0; i < raw_rows(&raw->logits); i++) {
        float off = fabsf(raw_score(raw, i, label) - score);

        if (off <= nearest) {
            nearest = off;
            found = i;
        }
    }
    return found;
}

/* The anchor that a proposal is from; -1: none. */
static int64_t find_anchor(const struct raw_boxes *raw, int64_t row)
{
    const float *box = tensor_f32(&raw->proposals) + 4 * row;

    for (int64_t i = 0; i < raw_rows(&raw->boxes); i++) {
        const float *other = tensor_f32(&raw->boxes) + 4 * i;

        if (other[0] == box[0] && other[1] == box[1] && other[2] == box[2] &&
            other[3] == box[3])
            return tensor_i64(&raw->anchors)[i];
    }
    return -1;
}

/* The proposal from an anchor; -1: none. */
static int64_t find_proposal(const struct raw_boxes *raw, int64_t anchor)
{
    for (int64_t i = 0; i < raw_rows(&raw->proposals); i++) {
        if (find_anchor(raw, i) == anchor)
            return i;
    }
    return -1;
}

/* Objectness and box of an anchor, of side 1. */
static bool anchor_at(const struct raw_boxes *raw, int64_t anchor, float *score,
                      float *box)
{
    static const float unit[4] = {0, 0, 1, 1}, weights[4] = {1, 1, 1, 1};
    float deltas[4];

    for (size_t i = 0; i < raw->n_levels; i++) {
        const int64_t *dims = raw->objectness[i].shape.dims;
        int64_t plane = dims[2] * dims[3], n = dims[1] * plane;
        int64_t ratio = anchor % dims[1], place = anchor / dims[1];

        if (anchor >= n) {
            anchor -= n;
            continue;
        }
        *score =
            1 /
            (1 + expf(-tensor_f32(&raw->objectness[i])[ratio * plane + place]));
        for (int k = 0; k < 4; k++)
            deltas[k] =
                tensor_f32(&raw->shifts[i])[(4 * ratio + k) * plane + place];
        box_shift(unit, deltas, weights, box);
        return true;
    }
    return false;
}

static bool anchor_is_same(const struct raw_boxes *a, const struct raw_boxes *b,
                           int64_t anchor, struct raw_bar bar)
{
    float scores[2], boxes[2][4];

    return anchor_at(a, anchor, &scores[0], boxes[0]) &&
           anchor_at(b, anchor, &scores[1], boxes[1]) &&
           fabsf(scores[0] - scores[1]) <= bar.score &&
           box_iou(boxes[0], boxes[1]) >= bar.iou;
}

enum raw_answer raw_boxes_find(const struct raw_boxes *from,
                               const struct raw_boxes *in, int64_t label,
                               float score, struct raw_bar bar,
                               float *found_score)
{
    int64_t row = find_row(from, label, score), there;
    int64_t anchor = row < 0 ? -1 : find_anchor(from, row);
    float want[4], got[4];

    *found_score = NAN;
    if (anchor < 0)
        return RAW_UNKNOWN;
    there = find_proposal(in, anchor);
    if (there < 0)
        return anchor_is_same(from, in, anchor, bar) ? RAW_NO_PROPOSAL
                                                     : RAW_UNKNOWN;
    *found_score = raw_score(in, there, label);
    raw_box(from, row, label, want);
    raw_box(in, there, label, got);
    if (!(fabsf(*found_score - score) <= bar.score))
        return RAW_SCORED;
    return box_iou(want, got) >= bar.iou ? RAW_THERE : RAW_MOVED;
}
