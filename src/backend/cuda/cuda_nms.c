/* backend/cuda/cuda_nms.c - launches kernels/nms.cu: proposals and detections.
 *
 * Their number is data: it is read back once, for the shapes of the outputs,
 * unless the lists keep the size of the longest (struct cuda, keeps_rooms). */
#include "backend/cuda/cuda_ops.h"

#include "backend/cuda/cuda_walk.h"
#include "base/mem.h"
#include "ops/detection/box_detections.h"
#include "ops/detection/rpn_nms.h"
#include "ops/ops.h"

/* kernels/nms.cu: SORTED, BLOCK, and levels that proposal_write() counts. */
enum { most_kept = 4096, rows_together = 64, most_levels = 64 };
/* Blocks that share the comparisons of a row. */
enum { most_parts = 16 };

/* Parts of one piece of memory, one after the other. */
struct parts {
    struct buffer *buffer;
    size_t bytes;
};

static size_t parts_add(struct parts *parts, size_t bytes)
{
    size_t at = parts->bytes;

    parts->bytes +=
        (bytes + SPACE_ALIGNMENT - 1) / SPACE_ALIGNMENT * SPACE_ALIGNMENT;
    return at;
}

static enum assay_status parts_take(struct cuda_call *call, struct parts *parts)
{
    return cuda_scratch(call, parts->bytes, &parts->buffer);
}

static cu_pointer part_at(const struct parts *parts, size_t at)
{
    return (cu_pointer)(uintptr_t)buffer_data(parts->buffer) + at;
}

static enum assay_status clear_part(struct cuda_call *call, cu_pointer at,
                                    size_t bytes)
{
    struct space *space = &call->cuda->device->space;

    return space->clear(space, (void *)(uintptr_t)at, bytes, call->err);
}

static enum assay_status list_new(struct cuda_call *call, size_t i,
                                  enum dtype dtype, int64_t n, int64_t width)
{
    struct shape shape = shape_of(2, n, width);

    shape.rank = width ? 2 : 1;
    call->outputs[i] = (struct tensor){.dtype = dtype, .shape = shape};
    return cuda_output(call, i, NULL);
}

/* Cuts outputs [first, end) to the rows that there are. */
static enum assay_status cut_lists(struct cuda_call *call, cu_pointer kept,
                                   int64_t n_images, size_t first, size_t end)
{
    int64_t *counts, n = 0;
    enum assay_status st;

    counts = mem_array((size_t)n_images, sizeof *counts);
    if (!counts)
        return error_nomem(call->err, (size_t)n_images * sizeof *counts,
                           "counts");
    st = cuda_read_back(call, kept, counts, (size_t)n_images * sizeof *counts);
    for (int64_t i = 0; !st && i < n_images; i++)
        n += counts[i];
    for (size_t i = first; !st && i < end; i++)
        call->outputs[i].shape.dims[0] = n;
    mem_free(counts);
    return st;
}

static enum assay_status list_best(struct cuda_call *call, cu_pointer n_listed,
                                   cu_pointer lists, int64_t room, int64_t keep,
                                   cu_pointer best, cu_pointer kept,
                                   int64_t n_images)
{
    struct cuda_grid grid = {(unsigned)n_images, 1, 1, 1024, 0};

    return CUDA_LAUNCH(call, "nms", "list_best", grid, n_listed, lists, room,
                       keep, best, kept);
}

/* ---- RpnNms -------------------------------------------------------------- */

bool cuda_can_rpn_nms(const struct cuda *cuda, const struct node *node,
                      const struct tensor *const *inputs)
{
    const struct rpn_nms_attrs *attrs = node->attrs;
    const struct shape *counts = &inputs[RPN_NMS_COUNTS]->shape;

    (void)cuda;
    return attrs->keep >= 0 && attrs->keep <= most_kept && counts->rank == 2 &&
           counts->dims[0] >= 1 && counts->dims[1] >= 1 &&
           counts->dims[1] <= most_levels;
}

struct proposals {
    struct cuda_call *call;
    struct parts parts;
    size_t scores, shifts, masks, n_listed, lists, best;
    int64_t n, n_images, n_levels;
    int64_t longest; /* no level has more */
    int64_t words;   /* of a row of masks */
};

static enum assay_status proposals_take(struct proposals *p)
{
    const struct rpn_nms_attrs *attrs = p->call->node->attrs;
    size_t n = (size_t)p->n, images = (size_t)p->n_images;

    /* All images have as many, unless they are not from RpnTopK. */
    p->longest = p->n % p->n_images ? p->n : p->n / p->n_images;
    p->words = (p->longest + rows_together - 1) / rows_together;
    p->scores = parts_add(&p->parts, n * sizeof(float));
    p->shifts = parts_add(&p->parts, images * sizeof(float));
    p->masks = parts_add(&p->parts, n * (size_t)p->words * sizeof(uint64_t));
    p->n_listed = parts_add(&p->parts, images * sizeof(int));
    p->lists = parts_add(&p->parts, images * n * sizeof(uint64_t));
    p->best =
        parts_add(&p->parts, images * (size_t)attrs->keep * sizeof(uint64_t));
    return parts_take(p->call, &p->parts);
}

static enum assay_status proposals_compare(struct proposals *p)
{
    struct cuda_call *call = p->call;
    const struct rpn_nms_attrs *attrs = call->node->attrs;
    float min_size = attrs->min_size, least = attrs->score, iou = attrs->iou;
    unsigned images = (unsigned)p->n_images, levels = (unsigned)p->n_levels;
    struct cuda_grid by_image = {images, 1, 1, 256, 0};
    int64_t parts = p->words < most_parts ? p->words : most_parts;
    struct cuda_grid by_rows = {(unsigned)p->words, levels,
                                images * (unsigned)parts, rows_together, 0};
    struct cuda_grid by_level = {levels, images, 1, 1024,
                                 (unsigned)p->words *
                                     (unsigned)sizeof(uint64_t)};
    cu_pointer boxes = cuda_at(call->inputs[RPN_NMS_BOXES]);
    cu_pointer logits = cuda_at(call->inputs[RPN_NMS_LOGITS]);
    cu_pointer counts = cuda_at(call->inputs[RPN_NMS_COUNTS]);
    cu_pointer scores = part_at(&p->parts, p->scores);
    cu_pointer shifts = part_at(&p->parts, p->shifts);
    cu_pointer masks = part_at(&p->parts, p->masks);
    cu_pointer n_listed = part_at(&p->parts, p->n_listed);
    cu_pointer lists = part_at(&p->parts, p->lists);
    enum assay_status st =
        clear_part(call, n_listed, (size_t)p->n_images * sizeof(int));

    if (!st)
        st =
            CUDA_LAUNCH(call, "nms", "proposal_scores", by_image, boxes, logits,
                        counts, p->n_levels, min_size, least, scores, shifts);
    if (!st)
        st = CUDA_LAUNCH(call, "nms", "proposal_overlaps", by_rows, boxes,
                         scores, shifts, counts, p->n_levels, iou, masks,
                         p->words, parts);
    if (!st)
        st = CUDA_LAUNCH(call, "nms", "proposal_keep", by_level, scores, counts,
                         p->n_levels, masks, p->words, n_listed, lists, p->n);
    return st;
}

static enum assay_status proposals_write(struct proposals *p)
{
    struct cuda_call *call = p->call;
    const struct rpn_nms_attrs *attrs = call->node->attrs;
    int64_t keep = attrs->keep;
    struct cuda_grid by_image = {(unsigned)p->n_images, 1, 1, 256, 0};
    cu_pointer boxes = cuda_at(call->inputs[RPN_NMS_BOXES]);
    cu_pointer counts = cuda_at(call->inputs[RPN_NMS_COUNTS]);
    cu_pointer best = part_at(&p->parts, p->best);
    cu_pointer to = cuda_at(&call->outputs[RPN_NMS_PROPOSALS]);
    cu_pointer kept = cuda_at(&call->outputs[RPN_NMS_KEPT]);
    cu_pointer levels = cuda_at(&call->outputs[RPN_NMS_LEVELS]);
    enum assay_status st = list_best(call, part_at(&p->parts, p->n_listed),
                                     part_at(&p->parts, p->lists), p->n, keep,
                                     best, kept, p->n_images);

    if (!st && call->cuda->keeps_rooms)
        st = tensor_clear(&call->outputs[RPN_NMS_PROPOSALS], call->err);
    if (!st)
        st = CUDA_LAUNCH(call, "nms", "proposal_write", by_image, boxes, counts,
                         p->n_levels, best, keep, kept, to, levels);
    return st;
}

enum assay_status cuda_run_rpn_nms(struct cuda_call *call)
{
    const struct rpn_nms_attrs *attrs = call->node->attrs;
    const int64_t *dims = call->inputs[RPN_NMS_COUNTS]->shape.dims;
    struct proposals p = {.call = call,
                          .n = call->inputs[RPN_NMS_LOGITS]->shape.dims[0],
                          .n_images = dims[0],
                          .n_levels = dims[1]};
    int64_t most =
        p.n_images * attrs->keep < p.n ? p.n_images * attrs->keep : p.n;
    enum assay_status st =
        list_new(call, RPN_NMS_PROPOSALS, DTYPE_F32, most, 4);

    if (!st)
        st = list_new(call, RPN_NMS_KEPT, DTYPE_I64, p.n_images, 0);
    if (!st)
        st = list_new(call, RPN_NMS_LEVELS, DTYPE_I64, p.n_images, p.n_levels);
    if (!st)
        st = proposals_take(&p);
    if (!st)
        st = proposals_compare(&p);
    if (!st)
        st = proposals_write(&p);
    buffer_release(p.parts.buffer);
    if (!st && !call->cuda->keeps_rooms)
        st = cut_lists(call, cuda_at(&call->outputs[RPN_NMS_KEPT]), p.n_images,
                       RPN_NMS_PROPOSALS, RPN_NMS_PROPOSALS + 1);
    return st;
}

/* ---- BoxDetections ------------------------------------------------------- */

bool cuda_can_box_detections(const struct cuda *cuda, const struct node *node,
                             const struct tensor *const *inputs)
{
    const struct box_detections_attrs *attrs = node->attrs;
    const struct shape *logits = &inputs[BOX_DETECTIONS_LOGITS]->shape;

    (void)cuda;
    return attrs->keep >= 0 && attrs->keep <= most_kept && logits->rank == 2 &&
           inputs[BOX_DETECTIONS_DELTAS]->shape.rank == 2 &&
           logits->dims[1] >= 1 &&
           inputs[BOX_DETECTIONS_COUNTS]->shape.rank == 1 &&
           inputs[BOX_DETECTIONS_COUNTS]->shape.dims[0] >= 1;
}

struct detection_limits {
    float weights[4];
    float score, min_size, iou;
};

struct detections {
    struct cuda_call *call;
    struct parts parts;
    size_t scores, boxes, counted, ranks, n_listed, lists, best;
    int64_t rows, classes, n_images, room;
};

static enum assay_status detections_take(struct detections *d)
{
    const struct box_detections_attrs *attrs = d->call->node->attrs;
    size_t n = (size_t)(d->rows * d->classes), images = (size_t)d->n_images;
    int64_t per_class = attrs->keep < d->rows ? attrs->keep : d->rows;

    d->room = per_class * d->classes;
    d->scores = parts_add(&d->parts, n * sizeof(float));
    d->boxes = parts_add(&d->parts, n * 4 * sizeof(float));
    d->ranks = parts_add(&d->parts, 2 * n * sizeof(uint64_t));
    d->n_listed = parts_add(&d->parts, images * sizeof(int));
    d->counted = parts_add(&d->parts, images * 2 * sizeof(uint32_t));
    d->lists =
        parts_add(&d->parts, images * (size_t)d->room * sizeof(uint64_t));
    d->best =
        parts_add(&d->parts, images * (size_t)attrs->keep * sizeof(uint64_t));
    return parts_take(d->call, &d->parts);
}

/* Scores and boxes of all classes of all proposals. */
static enum assay_status detections_decode(struct detections *d)
{
    struct cuda_call *call = d->call;
    const struct box_detections_attrs *attrs = call->node->attrs;
    struct detection_limits limits = {
        .score = attrs->score, .min_size = attrs->min_size, .iou = attrs->iou};
    struct cuda_view logits = cuda_view_of(call->inputs[BOX_DETECTIONS_LOGITS]);
    struct cuda_view deltas = cuda_view_of(call->inputs[BOX_DETECTIONS_DELTAS]);
    size_t n = (size_t)(d->rows * d->classes);
    cu_pointer proposals = cuda_at(call->inputs[BOX_DETECTIONS_PROPOSALS]);
    cu_pointer counts = cuda_at(call->inputs[BOX_DETECTIONS_COUNTS]);
    cu_pointer sizes = cuda_at(call->inputs[BOX_DETECTIONS_SIZES]);
    cu_pointer scores = part_at(&d->parts, d->scores);
    cu_pointer boxes = part_at(&d->parts, d->boxes);
    cu_pointer counted = part_at(&d->parts, d->counted);
    cu_pointer n_listed = part_at(&d->parts, d->n_listed);
    struct cuda_grid by_part =
        cuda_grid_for(call->cuda->device, n / (size_t)d->n_images, 4);
    /* Both lie one after the other. */
    enum assay_status st = clear_part(
        call, n_listed,
        counted - n_listed + (size_t)d->n_images * 2 * sizeof(uint32_t));

    by_part.y = (unsigned)d->n_images;
    for (int i = 0; i < 4; i++)
        limits.weights[i] = attrs->weights[i];
    if (!st && n)
        st = CUDA_LAUNCH(
            call, "nms", "detection_scores",
            cuda_grid_for(call->cuda->device, (size_t)d->rows * 32, 1), logits,
            d->rows, d->classes, scores);
    if (!st && n)
        st = CUDA_LAUNCH(call, "boxes", "detection_decode",
                         cuda_grid_for(call->cuda->device, n, 1), deltas,
                         proposals, counts, sizes, d->n_images, d->rows,
                         d->classes, limits, scores, boxes);
    if (!st)
        st = CUDA_LAUNCH(call, "nms", "detection_count", by_part, scores, boxes,
                         counts, d->classes, counted);
    return st;
}

static enum assay_status detections_keep(struct detections *d)
{
    struct cuda_call *call = d->call;
    const struct box_detections_attrs *attrs = call->node->attrs;
    int64_t keep = attrs->keep;
    float iou = attrs->iou;
    cu_pointer counts = cuda_at(call->inputs[BOX_DETECTIONS_COUNTS]);
    cu_pointer scores = part_at(&d->parts, d->scores);
    cu_pointer boxes = part_at(&d->parts, d->boxes);
    cu_pointer counted = part_at(&d->parts, d->counted);
    cu_pointer ranks = part_at(&d->parts, d->ranks);
    cu_pointer n_listed = part_at(&d->parts, d->n_listed);
    cu_pointer lists = part_at(&d->parts, d->lists);
    cu_pointer best = part_at(&d->parts, d->best);
    cu_pointer kept = cuda_at(&call->outputs[BOX_DETECTIONS_KEPT]);
    cu_pointer to_boxes = cuda_at(&call->outputs[BOX_DETECTIONS_BOXES]);
    cu_pointer to_scores = cuda_at(&call->outputs[BOX_DETECTIONS_SCORES]);
    cu_pointer to_labels = cuda_at(&call->outputs[BOX_DETECTIONS_LABELS]);
    struct cuda_grid by_class = {(unsigned)d->classes, (unsigned)d->n_images, 1,
                                 256, 0};
    struct cuda_grid by_image = {(unsigned)d->n_images, 1, 1, 128, 0};
    enum assay_status st = CUDA_LAUNCH(
        call, "nms", "detection_keep", by_class, scores, boxes, counted, counts,
        d->classes, iou, keep, ranks, n_listed, lists, d->room);
    if (!st)
        st = list_best(call, n_listed, lists, d->room, keep, best, kept,
                       d->n_images);
    for (size_t i = 0;
         !st && call->cuda->keeps_rooms && i < BOX_DETECTIONS_KEPT; i++)
        st = tensor_clear(&call->outputs[i], call->err);
    if (!st)
        st = CUDA_LAUNCH(call, "nms", "detection_write", by_image, scores,
                         boxes, counts, d->classes, best, keep, kept, to_boxes,
                         to_scores, to_labels);
    return st;
}

enum assay_status cuda_run_box_detections(struct cuda_call *call)
{
    const struct box_detections_attrs *attrs = call->node->attrs;
    const int64_t *dims = call->inputs[BOX_DETECTIONS_LOGITS]->shape.dims;
    struct detections d = {
        .call = call,
        .rows = dims[0],
        .classes = dims[1],
        .n_images = call->inputs[BOX_DETECTIONS_COUNTS]->shape.dims[0]};
    int64_t most = d.n_images * attrs->keep;
    enum assay_status st;

    /* Room for `keep` of each image, so that who cuts it knows where. */
    if (!call->cuda->keeps_rooms && most > d.rows * d.classes)
        most = d.rows * d.classes;
    st = list_new(call, BOX_DETECTIONS_BOXES, DTYPE_F32, most, 4);
    if (!st)
        st = list_new(call, BOX_DETECTIONS_SCORES, DTYPE_F32, most, 0);
    if (!st)
        st = list_new(call, BOX_DETECTIONS_LABELS, DTYPE_I64, most, 0);
    if (!st)
        st = list_new(call, BOX_DETECTIONS_KEPT, DTYPE_I64, d.n_images, 0);
    if (!st)
        st = detections_take(&d);
    if (!st)
        st = detections_decode(&d);
    if (!st)
        st = detections_keep(&d);
    buffer_release(d.parts.buffer);
    if (!st && !call->cuda->keeps_rooms)
        st = cut_lists(call, cuda_at(&call->outputs[BOX_DETECTIONS_KEPT]),
                       d.n_images, BOX_DETECTIONS_BOXES, BOX_DETECTIONS_KEPT);
    return st;
}
