/* ops/detection/roi_sample.c - see roi_sample.h. */
#include "ops/detection/roi_sample.h"

#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <string.h>

static enum assay_status roi_sample_check(const struct node *node,
                                          const struct tensor *const *inputs,
                                          struct error *err)
{
    const struct roi_sample_attrs *attrs = node->attrs;
    const struct tensor *proposals = inputs[ROI_SAMPLE_PROPOSALS];
    const struct tensor *objects = inputs[ROI_SAMPLE_OBJECT_BOXES];
    const struct tensor *labels = inputs[ROI_SAMPLE_OBJECT_LABELS];
    enum assay_status st = boxes_check_list(proposals, err);

    if (!st)
        st = boxes_check_list(objects, err);
    if (!st)
        st = boxes_check_counts(inputs[ROI_SAMPLE_COUNTS],
                                proposals->shape.dims[0], err);
    if (!st)
        st = boxes_check_counts(inputs[ROI_SAMPLE_OBJECT_COUNTS],
                                objects->shape.dims[0], err);
    if (!st)
        st = rule_dtype(inputs, ROI_SAMPLE_OBJECT_LABELS, DTYPE_I64, err);
    if (!st)
        st = sample_check_seed(inputs[ROI_SAMPLE_SEED], err);
    if (!st && ((int64_t)tensor_elements(labels) != objects->shape.dims[0] ||
                tensor_elements(inputs[ROI_SAMPLE_COUNTS]) !=
                    tensor_elements(inputs[ROI_SAMPLE_OBJECT_COUNTS]) ||
                attrs->sample.n < 0))
        st = error_set(err, ASSAY_BAD_INPUT,
                       "%zu classes for %lld objects of %zu images, and "
                       "proposals of %zu images",
                       tensor_elements(labels),
                       (long long)objects->shape.dims[0],
                       tensor_elements(inputs[ROI_SAMPLE_OBJECT_COUNTS]),
                       tensor_elements(inputs[ROI_SAMPLE_COUNTS]));
    return st;
}

/* The drawn proposals, and the candidates of one image. */
struct sampling {
    const struct op_context *context;
    const struct node *node;
    const struct tensor *const *inputs;
    struct buffer *memory;
    struct box *candidates;
    int64_t *matches, *labels, *chosen;
    struct sampled {
        struct box box;
        int64_t label, object;
    } * sampled;
    size_t n;
};

static size_t count_images(const struct sampling *sampling)
{
    return tensor_elements(sampling->inputs[ROI_SAMPLE_COUNTS]);
}

/* An image's proposals, followed by its objects. */
static size_t roi_sample_count_candidates(const struct sampling *sampling,
                                          size_t image)
{
    const struct tensor *const *inputs = sampling->inputs;

    return (size_t)(tensor_i64(inputs[ROI_SAMPLE_COUNTS])[image] +
                    tensor_i64(inputs[ROI_SAMPLE_OBJECT_COUNTS])[image]);
}

static enum assay_status roi_sample_take_memory(struct sampling *sampling,
                                                struct error *err)
{
    const struct roi_sample_attrs *attrs = sampling->node->attrs;
    size_t per_image = (size_t)attrs->sample.n, most = 0, n_sampled = 0, bytes;
    enum assay_status st;

    for (size_t i = 0; i < count_images(sampling); i++) {
        size_t n = roi_sample_count_candidates(sampling, i);

        most = n > most ? n : most;
        n_sampled += n < per_image ? n : per_image;
    }
    bytes = most * (sizeof(struct box) + 3 * sizeof(int64_t)) +
            n_sampled * sizeof(struct sampled);
    st = pool_take_scratch(sampling->context->pool, bytes, "choosing proposals",
                           &sampling->memory, err);
    if (st)
        return st;
    sampling->matches = buffer_data(sampling->memory);
    sampling->labels = sampling->matches + most;
    sampling->chosen = sampling->labels + most;
    sampling->sampled = (struct sampled *)(void *)(sampling->chosen + most);
    sampling->candidates =
        (struct box *)(void *)(sampling->sampled + n_sampled);
    return ASSAY_OK;
}

/* The labels for balanced_sample(): the class of a candidate's object, 0 for
 * background, -1 for neither. */
static void roi_sample_make_labels(const struct sampling *sampling, size_t n,
                                   int64_t first_object)
{
    const int64_t *classes =
        tensor_i64(sampling->inputs[ROI_SAMPLE_OBJECT_LABELS]) + first_object;

    for (size_t i = 0; i < n; i++) {
        int64_t match = sampling->matches[i];

        sampling->labels[i] = match >= 0 ? classes[match] : match + 1;
    }
}

static enum assay_status sample_image(struct sampling *sampling, int64_t image,
                                      int64_t first, int64_t first_object,
                                      struct error *err)
{
    const struct tensor *const *inputs = sampling->inputs;
    const struct roi_sample_attrs *attrs = sampling->node->attrs;
    size_t n_own = (size_t)tensor_i64(inputs[ROI_SAMPLE_COUNTS])[image];
    size_t n = roi_sample_count_candidates(sampling, (size_t)image), n_chosen;
    const struct box *objects =
        tensor_boxes(inputs[ROI_SAMPLE_OBJECT_BOXES]) + first_object;
    enum assay_status st;

    if (n_own)
        memcpy(sampling->candidates,
               tensor_boxes(inputs[ROI_SAMPLE_PROPOSALS]) + first,
               n_own * sizeof(struct box));
    if (n > n_own)
        memcpy(sampling->candidates + n_own, objects,
               (n - n_own) * sizeof(struct box));
    st = box_match(sampling->context, &attrs->match, sampling->candidates, n,
                   objects, n - n_own, sampling->matches, err);
    if (st)
        return st;
    roi_sample_make_labels(sampling, n, first_object);
    n_chosen = balanced_sample(
        &attrs->sample,
        sample_start(inputs[ROI_SAMPLE_SEED], SAMPLE_PROPOSALS, image),
        sampling->labels, n, sampling->chosen);
    for (size_t i = 0; i < n_chosen; i++) {
        int64_t at = sampling->chosen[i], match = sampling->matches[at];

        sampling->sampled[sampling->n++] = (struct sampled){
            .box = sampling->candidates[at],
            .label = sampling->labels[at],
            .object = match >= 0 ? first_object + match : match};
    }
    return ASSAY_OK;
}

static enum assay_status
roi_sample_make_outputs(const struct sampling *sampling, struct tensor *outputs,
                        struct error *err)
{
    struct pool *pool = sampling->context->pool;
    size_t n = sampling->n;
    enum assay_status st =
        rows_new(pool, DTYPE_F32, n, 4, &outputs[ROI_SAMPLE_BOXES], err);

    if (!st)
        st = rows_new(pool, DTYPE_I64, n, 0, &outputs[ROI_SAMPLE_LABELS], err);
    if (!st)
        st = rows_new(pool, DTYPE_I64, n, 0, &outputs[ROI_SAMPLE_OBJECTS], err);
    if (!st)
        st = rows_new(pool, DTYPE_F32, n, 4, &outputs[ROI_SAMPLE_DELTAS], err);
    return st;
}

static void roi_sample_write_one(const struct sampling *sampling, size_t i,
                                 const struct tensor *outputs)
{
    const struct roi_sample_attrs *attrs = sampling->node->attrs;
    const struct sampled *sampled = &sampling->sampled[i];
    const struct box *objects =
        tensor_boxes(sampling->inputs[ROI_SAMPLE_OBJECT_BOXES]);
    float *deltas = tensor_f32(&outputs[ROI_SAMPLE_DELTAS]) + 4 * i;

    tensor_boxes(&outputs[ROI_SAMPLE_BOXES])[i] = sampled->box;
    tensor_i64(&outputs[ROI_SAMPLE_LABELS])[i] = sampled->label;
    tensor_i64(&outputs[ROI_SAMPLE_OBJECTS])[i] = sampled->object;
    deltas[0] = deltas[1] = deltas[2] = deltas[3] = 0;
    if (sampled->object >= 0)
        box_encode(sampled->box, objects[sampled->object], attrs->weights,
                   deltas);
}

static enum assay_status roi_sample_forward(const struct op_context *context,
                                            const struct node *node,
                                            const struct tensor *const *inputs,
                                            struct tensor *outputs,
                                            struct error *err)
{
    struct sampling sampling = {
        .context = context, .node = node, .inputs = inputs};
    int64_t first = 0, first_object = 0, *kept = NULL;
    enum assay_status st = roi_sample_check(node, inputs, err);

    if (!st)
        st = tensor_new(context->pool, DTYPE_I64,
                        &inputs[ROI_SAMPLE_COUNTS]->shape,
                        &outputs[ROI_SAMPLE_KEPT], err);
    if (!st)
        st = roi_sample_take_memory(&sampling, err);
    if (!st)
        kept = tensor_i64(&outputs[ROI_SAMPLE_KEPT]);
    for (size_t i = 0; !st && i < count_images(&sampling); i++) {
        size_t before = sampling.n;

        st = sample_image(&sampling, (int64_t)i, first, first_object, err);
        kept[i] = (int64_t)(sampling.n - before);
        first += tensor_i64(inputs[ROI_SAMPLE_COUNTS])[i];
        first_object += tensor_i64(inputs[ROI_SAMPLE_OBJECT_COUNTS])[i];
    }
    if (!st)
        st = roi_sample_make_outputs(&sampling, outputs, err);
    for (size_t i = 0; !st && i < sampling.n; i++)
        roi_sample_write_one(&sampling, i, outputs);
    buffer_release(sampling.memory);
    return st;
}

/* An overlap is about 14 operations, for each candidate and object of an image;
 * encoding a box is about 20. */
static void roi_sample_count_cost(const struct node *node,
                                  const struct tensor *const *inputs,
                                  const struct tensor *outputs,
                                  struct cost *cost)
{
    const int64_t *proposals = tensor_i64(inputs[ROI_SAMPLE_COUNTS]);
    const int64_t *objects = tensor_i64(inputs[ROI_SAMPLE_OBJECT_COUNTS]);

    (void)node;
    for (size_t i = 0; i < tensor_elements(inputs[ROI_SAMPLE_COUNTS]); i++)
        cost->flops +=
            (uint64_t)((proposals[i] + objects[i]) * objects[i]) * 14;
    cost->flops += tensor_elements(&outputs[ROI_SAMPLE_LABELS]) * 20;
}

const struct op_class op_roi_sample = {
    .name = "RoiSample",
    .attrs_bytes = sizeof(struct roi_sample_attrs),
    OP_TAKES(ROI_SAMPLE_INPUTS, ROI_SAMPLE_INPUTS),
    OP_MAKES(ROI_SAMPLE_OUTPUTS, ROI_SAMPLE_OUTPUTS),
    .forward = roi_sample_forward,
    .cost = roi_sample_count_cost,
};
