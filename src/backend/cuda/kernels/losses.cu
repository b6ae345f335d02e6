/* backend/cuda/kernels/losses.cu - losses and their gradients, as ops/loss has
 * them; sums are of double, in an order that does not change.
 *
 * SPDX-License-Identifier: MIT */

__device__ void complain(int64_t *fault, int64_t index, int64_t size)
{
    fault[1] = index;
    fault[2] = size;
    fault[0] = 1;
}

/* ---- cross entropy of classes ---------------------------------------------- */

/* Scores are [images,classes,places]. */
struct scores {
    int64_t images, classes, places;
    int label_type, reduction, has_ignored;
    int64_t ignored;
};

enum { NONE, SUM, MEAN };

__device__ inline bool counts(const scores &s, int64_t label)
{
    return !s.has_ignored || label != s.ignored;
}

/* A warp for each line. lines: its loss and its weight; shares: its softmax;
 * 0: not asked for. */
extern "C" __global__ void entropy_lines(scores s, const float *x,
                                         const void *labels, double *lines,
                                         float *shares, int64_t *fault)
{
    int lane = threadIdx.x % 32;

    for (int64_t i = FIRST / 32; i < s.images * s.places; i += STEP / 32) {
        int64_t at = i / s.places * s.classes * s.places + i % s.places;
        int64_t label = load_any(labels, i, s.label_type).bits;
        float largest = -INFINITY_F;
        double sum = 0, total, loss = 0;
        bool is_label = label >= 0 && label < s.classes;

        for (int64_t c = lane; c < s.classes; c += 32)
            largest = fmaxf(largest, x[at + c * s.places]);
        for (int k = 16; k; k /= 2)
            largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, k));
        for (int64_t c = lane; c < s.classes; c += 32)
            sum += exp((double)x[at + c * s.places] - largest);
        for (int k = 16; k; k /= 2)
            sum += __shfl_xor_sync(~0u, sum, k);
        total = largest + log(sum);
        for (int64_t c = lane; shares && c < s.classes; c += 32)
            shares[at + c * s.places] =
                (float)exp((double)x[at + c * s.places] - total);
        if (lane)
            continue;
        if (counts(s, label) && !is_label)
            complain(fault, label, s.classes);
        if (counts(s, label) && is_label)
            loss = total - x[at + label * s.places];
        lines[2 * i] = loss;
        lines[2 * i + 1] = counts(s, label);
    }
}

/* One block. */
extern "C" __global__ void entropy_finish(scores s, const double *lines,
                                          float *y)
{
    double loss = 0, weight = 0;

    for (int64_t i = threadIdx.x; i < s.images * s.places; i += blockDim.x) {
        loss += lines[2 * i];
        weight += lines[2 * i + 1];
        if (s.reduction == NONE)
            y[i] = (float)lines[2 * i];
    }
    loss = sum_block(loss);
    weight = sum_block(weight);
    if (!threadIdx.x && s.reduction != NONE)
        *y = (float)(s.reduction == MEAN ? loss / weight : loss);
}

/* How many lines count. One block. */
extern "C" __global__ void entropy_count(scores s, const void *labels,
                                         float *share)
{
    double weight = 0;

    for (int64_t i = threadIdx.x; i < s.images * s.places; i += blockDim.x)
        weight += counts(s, load_any(labels, i, s.label_type).bits);
    weight = sum_block(weight);
    if (!threadIdx.x)
        *share = (float)(s.reduction == MEAN ? 1 / weight : 1);
}

extern "C" __global__ void entropy_back(scores s, const float *shares,
                                        const void *labels, const float *share,
                                        const float *dy, float *dx)
{
    int64_t n = s.images * s.classes * s.places;

    for (int64_t i = FIRST; i < n; i += STEP) {
        int64_t c = i / s.places % s.classes;
        int64_t line = i / s.places / s.classes * s.places + i % s.places;
        int64_t label = load_any(labels, line, s.label_type).bits;
        float factor = *share * dy[s.reduction == NONE ? line : 0];
        float off = shares[i] * factor;

        dx[i] = !counts(s, label) ? 0 : c == label ? off - factor : off;
    }
}

/* ---- terms of detectors: see ops/loss/detection_loss_internal.h ------------- */

__device__ inline double bce_term(double logit, double target)
{
    return (logit > 0 ? logit : 0) - logit * target + log1p(exp(-fabs(logit)));
}

__device__ inline double bce_slope(double logit, double target)
{
    return 1 / (1 + exp(-logit)) - target;
}

__device__ inline double smooth_l1_term(double difference, double beta)
{
    double size = fabs(difference);

    return size < beta ? 0.5 * size * size / beta : size - 0.5 * beta;
}

__device__ inline double smooth_l1_slope(double difference, double beta)
{
    if (fabs(difference) < beta)
        return difference / beta;
    return difference > 0 ? 1 : -1;
}

/* ---- the losses of proposals ------------------------------------------------ */

enum { MAX_MAPS = 8 };

struct rpn_levels {
    view scores[MAX_MAPS], deltas[MAX_MAPS]; /* [n,a,h,w] and [n,4a,h,w] */
    int64_t shapes[MAX_MAPS], widths[MAX_MAPS]; /* anchors of a place */
    int64_t anchors[MAX_MAPS];                  /* of an image */
    int64_t n_images;
    int n;
    float beta;
};

/* Where the answers for an anchor are. */
struct place {
    int level;
    int64_t score, deltas;
};

__device__ bool find_place(const rpn_levels &l, int64_t chosen, place *found)
{
    int64_t n = 0, at, image, shape, row, column;
    int k = 0;

    for (int i = 0; i < l.n; i++)
        n += l.anchors[i];
    if (chosen < 0 || n == 0 || chosen >= n * l.n_images)
        return false;
    image = chosen / n;
    at = chosen % n;
    while (at >= l.anchors[k])
        at -= l.anchors[k++];
    shape = at % l.shapes[k];
    row = at / l.shapes[k] / l.widths[k];
    column = at / l.shapes[k] % l.widths[k];
    found->level = k;
    found->score = image * l.scores[k].strides[0] +
                   shape * l.scores[k].strides[1] +
                   row * l.scores[k].strides[2] +
                   column * l.scores[k].strides[3];
    found->deltas = image * l.deltas[k].strides[0] +
                    4 * shape * l.deltas[k].strides[1] +
                    row * l.deltas[k].strides[2] +
                    column * l.deltas[k].strides[3];
    return true;
}

/* One block. */
extern "C" __global__ void rpn_loss(rpn_levels l, const int64_t *chosen,
                                    const float *labels, const float *targets,
                                    int64_t n, float *of_scores,
                                    float *of_boxes, int64_t *fault)
{
    double scores = 0, boxes = 0, by = n > 0 ? (double)n : 1;

    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
        place p;

        if (!find_place(l, chosen[i], &p)) {
            complain(fault, chosen[i], 0);
            continue;
        }
        scores += bce_term(load_float(l.scores[p.level], p.score), labels[i]);
        for (int k = 0; labels[i] > 0 && k < 4; k++) {
            const view &of = l.deltas[p.level];

            boxes += smooth_l1_term(
                sub(load_float(of, p.deltas + k * of.strides[1]),
                    targets[4 * i + k]),
                l.beta);
        }
    }
    scores = sum_block(scores);
    boxes = sum_block(boxes);
    if (threadIdx.x)
        return;
    *of_scores = (float)(scores / by);
    *of_boxes = (float)(boxes / by);
}

/* Adds what anchor i of the chosen gives to its places: one thread does all
 * that have the same. to: where the gradients are, in the same order; those
 * without data are not asked for. */
extern "C" __global__ void rpn_loss_back(rpn_levels l, rpn_levels to,
                                         const int64_t *chosen,
                                         const float *labels,
                                         const float *targets, int64_t n,
                                         const float *of_scores,
                                         const float *of_boxes)
{
    for (int64_t i = FIRST; i < n; i += STEP) {
        float score = 0, deltas[4] = {0};
        bool is_first = true;
        place p, q;

        for (int64_t k = 0; k < i && is_first; k++)
            is_first = chosen[k] != chosen[i];
        if (!is_first || !find_place(l, chosen[i], &p) ||
            !find_place(to, chosen[i], &q))
            continue;
        const view &of = l.deltas[p.level];
        const view &on_scores = to.scores[q.level];
        const view &on_deltas = to.deltas[q.level];

        for (int64_t m = i; m < n; m++) {
            if (chosen[m] != chosen[i])
                continue;
            if (of_scores)
                score += (float)(*of_scores / (double)n *
                                 bce_slope(load_float(l.scores[p.level],
                                                      p.score),
                                           labels[m]));
            for (int k = 0; of_boxes && labels[m] > 0 && k < 4; k++)
                deltas[k] +=
                    (float)(*of_boxes / (double)n *
                            smooth_l1_slope(
                                sub(load_float(of,
                                               p.deltas + k * of.strides[1]),
                                    targets[4 * m + k]),
                                l.beta));
        }
        if (on_scores.data)
            store_float(on_scores, q.score, score);
        for (int k = 0; on_deltas.data && k < 4; k++)
            store_float(on_deltas, q.deltas + k * on_deltas.strides[1],
                        deltas[k]);
    }
}

/* ---- the loss of boxes ------------------------------------------------------ */

/* One block. deltas are [n,4 classes]. */
extern "C" __global__ void box_loss(const float *deltas, const int64_t *labels,
                                    const float *targets, int64_t n,
                                    int64_t classes, float beta, float *y,
                                    int64_t *fault)
{
    double sum = 0;

    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
        bool is_label = labels[i] >= 0 && labels[i] < classes;

        if (!is_label)
            complain(fault, labels[i], classes);
        for (int k = 0; is_label && labels[i] > 0 && k < 4; k++)
            sum += smooth_l1_term(
                sub(deltas[(i * classes + labels[i]) * 4 + k],
                    targets[4 * i + k]),
                beta);
    }
    sum = sum_block(sum);
    if (!threadIdx.x)
        *y = n ? (float)(sum / (double)n) : 0;
}

extern "C" __global__ void box_loss_back(const float *deltas,
                                         const int64_t *labels,
                                         const float *targets, int64_t n,
                                         int64_t classes, float beta,
                                         const float *dy, float *dx)
{
    for (int64_t i = FIRST; i < n * classes * 4; i += STEP) {
        int64_t row = i / 4 / classes, label = i / 4 % classes;

        dx[i] = label == 0 || labels[row] != label
                    ? 0
                    : (float)(*dy / (double)n *
                              smooth_l1_slope(
                                  sub(deltas[i], targets[4 * row + i % 4]),
                                  beta));
    }
}

/* ---- the loss of masks ------------------------------------------------------ */

/* Maps of logits [n,classes,h,w]; targets are [n,h,w]. */
struct mask_maps {
    view logits;
    int64_t n, classes, height, width;
};

/* Where the point of an object is in the map of a class. */
__device__ inline int64_t point_of(const mask_maps &m, int64_t object,
                                   int64_t label, int64_t point)
{
    return object * m.logits.strides[0] + label * m.logits.strides[1] +
           point / m.width * m.logits.strides[2] +
           point % m.width * m.logits.strides[3];
}

/* One block. */
extern "C" __global__ void mask_loss(mask_maps m, const int64_t *labels,
                                     const float *targets, float *y,
                                     int64_t *fault)
{
    int64_t each = m.height * m.width, n = m.n * each;
    double sum = 0;

    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
        int64_t object = i / each, label = labels[object];

        if (label < 0 || label >= m.classes)
            complain(fault, label, m.classes);
        else
            sum += bce_term(
                load_float(m.logits, point_of(m, object, label, i % each)),
                targets[i]);
    }
    sum = sum_block(sum);
    if (!threadIdx.x)
        *y = n ? (float)(sum / (double)n) : 0;
}

/* dx is [n,h,w,classes]. */
extern "C" __global__ void mask_loss_back(mask_maps m, const int64_t *labels,
                                          const float *targets, const float *dy,
                                          float *dx)
{
    int64_t each = m.height * m.width, n = m.n * each;

    for (int64_t i = FIRST; i < n * m.classes; i += STEP) {
        int64_t label = i % m.classes, point = i / m.classes;
        int64_t object = point / each;

        dx[i] = label != labels[object]
                    ? 0
                    : (float)(*dy / (double)n *
                              bce_slope(load_float(m.logits,
                                                   point_of(m, object, label,
                                                            point % each)),
                                        targets[point]));
    }
}
