/* backend/cuda/cuda_box_select.c - launches kernels/nms.cu for ONNX's
 * NonMaxSuppression. How many boxes it finds is data, and read back. */
#include "backend/cuda/cuda_ops.h"

#include "backend/cuda/cuda_walk.h"
#include "base/mem.h"
#include "ops/detection/box_select.h"

#include <limits.h>

/* In the order of the inputs: see ops/detection/box_select.h. */
enum { select_boxes, select_scores, select_most, select_overlap, select_score };

static const struct tensor *select_input(const struct node *node,
                                         const struct tensor *const *inputs,
                                         size_t i)
{
    return i < node->n_inputs ? inputs[i] : NULL;
}

static bool is_limit(const struct tensor *x, enum dtype dtype)
{
    return !x || (x->dtype == dtype && tensor_elements(x) == 1);
}

bool cuda_can_box_select(const struct cuda *cuda, const struct node *node,
                         const struct tensor *const *inputs)
{
    enum { most_groups = 65535 };
    const struct shape *boxes = &inputs[select_boxes]->shape;
    const struct shape *scores = &inputs[select_scores]->shape;

    (void)cuda;
    return inputs[select_boxes]->dtype == DTYPE_F32 &&
           inputs[select_scores]->dtype == DTYPE_F32 && boxes->rank == 3 &&
           scores->rank == 3 && boxes->dims[2] == 4 &&
           boxes->dims[0] == scores->dims[0] &&
           boxes->dims[1] == scores->dims[2] && scores->dims[0] >= 1 &&
           scores->dims[0] <= most_groups && scores->dims[1] >= 1 &&
           scores->dims[1] <= most_groups && scores->dims[2] >= 1 &&
           scores->dims[1] * scores->dims[2] <= INT_MAX &&
           is_limit(select_input(node, inputs, select_most), DTYPE_I64) &&
           is_limit(select_input(node, inputs, select_overlap), DTYPE_F32) &&
           is_limit(select_input(node, inputs, select_score), DTYPE_F32);
}

struct box_selection {
    struct cuda_call *call;
    struct buffer *memory;
    cu_pointer scores, boxes, ranks, n_kept;
    int64_t n, classes, rows;
};

static enum assay_status box_selection_take(struct box_selection *s)
{
    size_t all = (size_t)(s->n * s->classes * s->rows);
    size_t boxes = (size_t)(s->n * s->rows) * 4 * sizeof(float);
    size_t ranks = 2 * all * sizeof(uint64_t);
    enum assay_status st =
        cuda_scratch(s->call,
                     ranks + boxes + all * sizeof(float) +
                         (size_t)(s->n * s->classes) * sizeof(int),
                     &s->memory);

    if (st)
        return st;
    s->ranks = (cu_pointer)(uintptr_t)buffer_data(s->memory);
    s->boxes = s->ranks + ranks;
    s->scores = s->boxes + boxes;
    s->n_kept = s->scores + all * sizeof(float);
    return ASSAY_OK;
}

static enum assay_status box_selection_keep(struct box_selection *s)
{
    struct cuda_call *call = s->call;
    const struct box_select_attrs *attrs = call->node->attrs;
    struct cuda_device *device = call->cuda->device;
    cu_pointer boxes = cuda_at(call->inputs[select_boxes]);
    cu_pointer scores = cuda_at(call->inputs[select_scores]);
    cu_pointer most = cuda_at(cuda_input(call, select_most));
    cu_pointer iou = cuda_at(cuda_input(call, select_overlap));
    cu_pointer least = cuda_at(cuda_input(call, select_score));
    struct cuda_grid by_class = {(unsigned)s->classes, (unsigned)s->n, 1, 256,
                                 0};
    int64_t n_boxes = s->n * s->rows;
    int is_centred = attrs->is_centred;
    enum assay_status st =
        CUDA_LAUNCH(call, "nms", "select_scores",
                    cuda_grid_for(device, (size_t)(n_boxes * s->classes), 2),
                    scores, least, s->scores, s->n, s->classes, s->rows);

    if (!st)
        st = CUDA_LAUNCH(call, "nms", "select_boxes",
                         cuda_grid_for(device, (size_t)n_boxes, 1), boxes,
                         s->boxes, n_boxes, is_centred);
    if (!st)
        st = CUDA_LAUNCH(call, "nms", "select_keep", by_class, s->scores,
                         s->boxes, iou, most, s->classes, s->rows, s->ranks,
                         s->n_kept);
    return st;
}

static enum assay_status box_selection_write(struct box_selection *s)
{
    struct cuda_call *call = s->call;
    size_t n = (size_t)(s->n * s->classes);
    int *counts = mem_array(n, sizeof *counts);
    struct cuda_grid by_class = {(unsigned)s->classes, (unsigned)s->n, 1, 128,
                                 0};
    int64_t n_found = 0;
    enum assay_status st;
    cu_pointer to;

    if (!counts)
        return error_nomem(call->err, n * sizeof *counts, "counts");
    st = cuda_read_back(call, s->n_kept, counts, n * sizeof *counts);
    for (size_t i = 0; !st && i < n; i++)
        n_found += counts[i];
    mem_free(counts);
    call->outputs[0] = (struct tensor){
        .dtype = DTYPE_I64, .shape = shape_of(2, n_found, (int64_t)3)};
    if (!st)
        st = cuda_output(call, 0, NULL);
    to = cuda_at(&call->outputs[0]);
    return st || !n_found
               ? st
               : CUDA_LAUNCH(call, "nms", "select_write", by_class, s->ranks,
                             s->n_kept, s->classes, s->rows, to);
}

enum assay_status cuda_run_box_select(struct cuda_call *call)
{
    const int64_t *dims = call->inputs[select_scores]->shape.dims;
    struct box_selection s = {
        .call = call, .n = dims[0], .classes = dims[1], .rows = dims[2]};
    enum assay_status st = box_selection_take(&s);

    if (!st)
        st = box_selection_keep(&s);
    if (!st)
        st = box_selection_write(&s);
    buffer_release(s.memory);
    return st;
}
