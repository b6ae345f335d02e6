/* backend/cuda/cuda_targets.c - launches kernels/targets.cu: anchors are
 * matched on the GPU; those to learn from are drawn on the host, one after the
 * other, by the same random numbers as without a GPU. */
#include "backend/cuda/cuda_ops.h"

#include "backend/cuda/cuda_walk.h"
#include "ops/detection/anchor_match.h"
#include "ops/detection/anchor_sample.h"
#include "ops/detection/boxes.h"
#include "ops/op_threads.h"

#include <string.h>

/* ---- matching ------------------------------------------------------------ */

struct match_numbers {
    float high, low;
    int keeps_best;
};

static struct cuda_grid grid_of_images(const struct cuda_call *call, int64_t n,
                                       int64_t images)
{
    struct cuda_grid grid = cuda_grid_for(call->cuda->device, (size_t)n, 1);

    grid.y = (unsigned)images;
    return grid;
}

enum assay_status cuda_run_anchor_match(struct cuda_call *call)
{
    const struct anchor_match_attrs *attrs = call->node->attrs;
    struct match_numbers rule = {attrs->rule.high, attrs->rule.low,
                                 attrs->rule.keeps_best};
    cu_pointer boxes = cuda_at(call->inputs[ANCHOR_MATCH_ANCHORS]);
    cu_pointer objects = cuda_at(call->inputs[ANCHOR_MATCH_BOXES]);
    cu_pointer counts = cuda_at(call->inputs[ANCHOR_MATCH_COUNTS]);
    int64_t n = call->inputs[ANCHOR_MATCH_ANCHORS]->shape.dims[0];
    int64_t n_objects = call->inputs[ANCHOR_MATCH_BOXES]->shape.dims[0];
    int64_t images = call->inputs[ANCHOR_MATCH_COUNTS]->shape.dims[0];
    struct cuda_grid grid = grid_of_images(call, n, images);
    size_t bytes = ((size_t)n_objects + 1) * sizeof(int);
    struct buffer *scratch = NULL;
    struct space *space = &call->cuda->device->space;
    cu_pointer matches, most;
    enum assay_status st = cuda_output(call, 0, NULL);

    if (st || !n || !images)
        return st;
    matches = cuda_at(&call->outputs[0]);
    st = cuda_scratch(call, bytes, &scratch);
    if (!st)
        st = space->clear(space, buffer_data(scratch), bytes, call->err);
    if (!st) {
        most = (cu_pointer)(uintptr_t)buffer_data(scratch);
        st = CUDA_LAUNCH(call, "targets", "match_boxes", grid, boxes, n,
                         objects, n_objects, counts, rule, matches, most);
    }
    if (!st && rule.keeps_best)
        st = CUDA_LAUNCH(call, "targets", "match_best", grid, boxes, n, objects,
                         n_objects, counts, matches, most);
    buffer_release(scratch);
    return st;
}

/* ---- drawing ------------------------------------------------------------- */

/* What the host works with. */
struct draws {
    int64_t n_images;
    size_t n, most;  /* anchors of an image; drawn from one, at most */
    int64_t *wide;   /* labels as balanced_sample() wants them, [images,n] */
    int64_t *chosen; /* [images,most], then one after the other */
    size_t *found;   /* [images] */
    int8_t *labels;  /* [images,n] */
    size_t n_chosen;
};

static enum assay_status draws_place(struct cuda_call *call,
                                     struct draws *draws)
{
    const struct anchor_sample_attrs *attrs = call->node->attrs;
    const int64_t *dims = call->inputs[ANCHOR_SAMPLE_MATCHES]->shape.dims;
    size_t images = (size_t)dims[0], n = (size_t)dims[1];
    size_t most = (size_t)attrs->rule.n < n ? (size_t)attrs->rule.n : n;
    size_t numbers = images * (n + most) * sizeof(int64_t);
    void *desk;
    enum assay_status st =
        cuda_desk(call, numbers + images * (sizeof(size_t) + n),
                  "choosing anchors", &desk);

    if (st)
        return st;
    draws->n_images = dims[0];
    draws->n = n;
    draws->most = most;
    draws->wide = desk;
    draws->chosen = draws->wide + images * n;
    draws->found = (size_t *)(draws->chosen + images * most);
    draws->labels = (int8_t *)(draws->found + images);
    return ASSAY_OK;
}

static enum assay_status draws_read(struct cuda_call *call, struct draws *draws)
{
    cu_pointer matches = cuda_at(call->inputs[ANCHOR_SAMPLE_MATCHES]), labels;
    int64_t n = draws->n_images * (int64_t)draws->n;
    struct buffer *scratch = NULL;
    enum assay_status st = cuda_scratch(call, (size_t)n, &scratch);

    if (!st) {
        labels = (cu_pointer)(uintptr_t)buffer_data(scratch);
        st = CUDA_LAUNCH(call, "targets", "label_matches",
                         cuda_grid_for(call->cuda->device, (size_t)n, 4),
                         matches, labels, n);
    }
    if (!st)
        st = cuda_read_back(call, labels, draws->labels, (size_t)n);
    buffer_release(scratch);
    return st;
}

static size_t draw_image(const struct cuda_call *call,
                         const struct draws *draws, int64_t image)
{
    const struct anchor_sample_attrs *attrs = call->node->attrs;
    int64_t first = image * (int64_t)draws->n;
    int64_t *chosen = draws->chosen + image * (int64_t)draws->most;
    size_t found;

    for (size_t i = 0; i < draws->n; i++)
        draws->wide[first + (int64_t)i] = draws->labels[first + (int64_t)i];
    found = balanced_sample(
        &attrs->rule,
        sample_start(call->inputs[ANCHOR_SAMPLE_SEED], SAMPLE_ANCHORS, image),
        draws->wide + first, draws->n, chosen);
    for (size_t i = 0; i < found; i++)
        chosen[i] += first;
    return found;
}

/* All images at once, then in their order. */
static void draws_choose(const struct cuda_call *call, struct draws *draws)
{
#pragma omp parallel for num_threads(op_threads(call->context))
    for (int64_t image = 0; image < draws->n_images; image++)
        draws->found[image] = draw_image(call, draws, image);
    draws->n_chosen = 0;
    for (int64_t image = 0; image < draws->n_images; image++) {
        memmove(draws->chosen + draws->n_chosen,
                draws->chosen + image * (int64_t)draws->most,
                draws->found[image] * sizeof *draws->chosen);
        draws->n_chosen += draws->found[image];
    }
}

static enum assay_status draws_write(struct cuda_call *call,
                                     const struct draws *draws)
{
    struct tensor *outputs = call->outputs;
    struct space *space = &call->cuda->device->space;
    int64_t n = (int64_t)draws->n_chosen, n_anchors = (int64_t)draws->n;
    cu_pointer matches = cuda_at(call->inputs[ANCHOR_SAMPLE_MATCHES]);
    cu_pointer anchors = cuda_at(call->inputs[ANCHOR_SAMPLE_ANCHORS]);
    cu_pointer objects = cuda_at(call->inputs[ANCHOR_SAMPLE_BOXES]);
    cu_pointer chosen, labels, deltas;
    enum assay_status st =
        rows_new(call->context->pool, DTYPE_I64, (size_t)n, 0,
                 &outputs[ANCHOR_SAMPLE_CHOSEN], call->err);

    if (!st)
        st = rows_new(call->context->pool, DTYPE_F32, (size_t)n, 0,
                      &outputs[ANCHOR_SAMPLE_LABELS], call->err);
    if (!st)
        st = rows_new(call->context->pool, DTYPE_F32, (size_t)n, 4,
                      &outputs[ANCHOR_SAMPLE_DELTAS], call->err);
    if (st || !n)
        return st;
    chosen = cuda_at(&outputs[ANCHOR_SAMPLE_CHOSEN]);
    labels = cuda_at(&outputs[ANCHOR_SAMPLE_LABELS]);
    deltas = cuda_at(&outputs[ANCHOR_SAMPLE_DELTAS]);
    st = space->copy_in(space, (void *)(uintptr_t)chosen, draws->chosen,
                        (size_t)n * sizeof *draws->chosen, call->err);
    if (st)
        return st;
    return CUDA_LAUNCH(call, "targets", "encode_chosen",
                       cuda_grid_for(call->cuda->device, (size_t)n, 1), chosen,
                       n, matches, anchors, n_anchors, objects, labels, deltas);
}

/* What the portable kernel would refuse is left to it, for its message. */
bool cuda_can_anchor_sample(const struct cuda *cuda, const struct node *node,
                            const struct tensor *const *inputs)
{
    const struct anchor_sample_attrs *attrs = node->attrs;
    const struct tensor *matches = inputs[ANCHOR_SAMPLE_MATCHES];
    const struct tensor *seed = inputs[ANCHOR_SAMPLE_SEED];

    (void)cuda;
    return matches->dtype == DTYPE_I64 && matches->shape.rank == 2 &&
           inputs[ANCHOR_SAMPLE_ANCHORS]->shape.rank == 2 &&
           matches->shape.dims[1] ==
               inputs[ANCHOR_SAMPLE_ANCHORS]->shape.dims[0] &&
           seed->dtype == DTYPE_I64 && tensor_elements(seed) == 1 &&
           attrs->rule.n >= 0;
}

enum assay_status cuda_run_anchor_sample(struct cuda_call *call)
{
    struct draws draws = {0};
    enum assay_status st = draws_place(call, &draws);

    if (!st && draws.n && draws.n_images)
        st = draws_read(call, &draws);
    if (st)
        return st;
    draws_choose(call, &draws);
    return draws_write(call, &draws);
}
