/* tests/train/small_training.c - see small_training.h. */
#include "small_training.h"

#include "base/mem.h"
#include "base/random.h"
#include "ops/ops.h"
#include "ops/product/linear.h"
#include "test.h"

#include <string.h>

/* ---- an op to learn from ------------------------------------------------ */

/* A scalar: half the squared distance from x [n,c] to the corners given by
 * labels [n]; and the mean of x over n, mixed into a running mean [c]. */
static enum assay_status infer_distance(const struct node *node,
                                        const struct tensor *const *inputs,
                                        struct tensor *outputs,
                                        struct error *err)
{
    (void)node, (void)err;
    outputs[0].dtype = outputs[1].dtype = DTYPE_F32;
    outputs[0].shape = (struct shape){0};
    outputs[1].shape = inputs[2]->shape;
    return ASSAY_OK;
}

static float target(const struct tensor *labels, int64_t i, int64_t c)
{
    return tensor_i64(labels)[i] == c ? 1.0F : 0.0F;
}

static enum assay_status forward_distance(const struct op_context *context,
                                          const struct node *node,
                                          const struct tensor *const *inputs,
                                          struct tensor *outputs,
                                          struct error *err)
{
    int64_t n = inputs[0]->shape.dims[0], n_classes = inputs[0]->shape.dims[1];
    const float *x = tensor_f32(inputs[0]);
    float sum = 0;

    (void)context, (void)node, (void)err;
    for (int64_t c = 0; c < n_classes; c++) {
        float mean = 0;

        for (int64_t i = 0; i < n; i++) {
            float d = x[i * n_classes + c] - target(inputs[1], i, c);

            sum += d * d / 2;
            mean += x[i * n_classes + c] / (float)n;
        }
        tensor_f32(&outputs[1])[c] =
            0.9F * tensor_f32(inputs[2])[c] + 0.1F * mean;
    }
    *tensor_f32(&outputs[0]) = sum;
    return ASSAY_OK;
}

static enum assay_status backward_distance(const struct op_context *context,
                                           const struct node *node,
                                           const struct op_backward *pass,
                                           struct error *err)
{
    const struct tensor *x = pass->inputs[0];
    int64_t n_classes = x->shape.dims[1];
    size_t n = tensor_elements(x);

    (void)context, (void)node, (void)err;
    for (size_t i = 0; i < n; i++)
        tensor_f32(&pass->dx[0])[i] =
            *tensor_f32(pass->dy[0]) *
            (tensor_f32(x)[i] - target(pass->inputs[1], (int64_t)i / n_classes,
                                       (int64_t)i % n_classes));
    return ASSAY_OK;
}

static struct op_reads distance_reads(const struct node *node, uint64_t wanted)
{
    (void)node, (void)wanted;
    return (struct op_reads){.inputs = 3};
}

static const struct op_class distance_op = {.name = "Distance",
                                            .min_inputs = 3,
                                            .max_inputs = 3,
                                            .min_outputs = 2,
                                            .max_outputs = 2,
                                            .infer = infer_distance,
                                            .forward = forward_distance,
                                            .backward = backward_distance,
                                            .backward_reads = distance_reads,
                                            .is_loss = true};

/* ---- the data ----------------------------------------------------------- */

static struct tensor small_tensor(struct pool *pool, enum dtype dtype,
                                  struct shape shape)
{
    struct tensor tensor;

    CHECK_INT(tensor_new(pool, dtype, &shape, &tensor, NULL), ASSAY_OK);
    return tensor;
}

static enum assay_status begin(void *context, struct batch_place place,
                               struct error *err)
{
    struct small_source *source = context;

    (void)err;
    source->place = place;
    return ASSAY_OK;
}

static enum assay_status make_batch(const struct small_source *source,
                                    struct batch *out, struct error *err)
{
    const struct shape images =
        shape_of(4, (int64_t)SMALL_IMAGES, (int64_t)3, (int64_t)2, (int64_t)2);
    const struct shape labels = shape_of(1, (int64_t)SMALL_IMAGES);
    enum assay_status st;

    out->images = mem_array(1, sizeof *out->images);
    if (!out->images)
        return error_nomem(err, sizeof *out->images, "a batch");
    out->n_tensors = 1;
    st = tensor_new(source->pool, DTYPE_F32, &images, &out->images[0], err);
    if (!st)
        st = tensor_new(source->pool, DTYPE_I64, &labels, &out->labels, err);
    return st;
}

/* Pixels are about as bright as the class number. */
static void fill_batch(const struct small_source *source, struct batch *batch)
{
    struct random random =
        random_seed(source->place.epoch * 1000 + source->place.index);
    size_t n = tensor_elements(&batch->images[0]);

    for (size_t i = 0; i < SMALL_IMAGES; i++)
        tensor_i64(&batch->labels)[i] =
            (int64_t)random_below(&random, SMALL_CLASSES);
    for (size_t i = 0; i < n; i++)
        tensor_f32(&batch->images[0])[i] =
            (float)tensor_i64(&batch->labels)[i / SMALL_PIXELS] - 1 +
            0.1F * (float)random_unit(&random);
    if (source->n == source->bad_at)
        tensor_f32(&batch->images[0])[0] = 1e30F; /* its square is not */
}

static enum assay_status next(void *context, struct batch *out,
                              struct error *err)
{
    struct small_source *source = context;
    enum assay_status st = make_batch(source, out, err);

    source->n++;
    if (st) {
        batch_release(out);
        return st;
    }
    fill_batch(source, out);
    out->n_images = SMALL_IMAGES;
    out->first = source->place;
    if (++source->place.index == SMALL_EPOCH)
        source->place = (struct batch_place){.epoch = source->place.epoch + 1};
    out->after = source->place;
    if (source->is_small || source->n == source->small_at) {
        tensor_release(&out->images[0]);
        out->n_tensors = 0;
    }
    return ASSAY_OK;
}

/* ---- the model ---------------------------------------------------------- */

static uint32_t parameter(struct small_training *training, uint32_t scope,
                          const char *name, enum value_kind kind,
                          struct shape shape)
{
    struct tensor data = small_tensor(training->pool, DTYPE_F32, shape);
    uint32_t value;

    for (size_t i = 0; i < tensor_elements(&data); i++)
        tensor_f32(&data)[i] = kind == VALUE_BUFFER ? 0 : 0.01F * (float)i;
    CHECK_INT(graph_parameter(training->graph, scope, name, kind, DTYPE_F32,
                              &shape, &value, NULL),
              ASSAY_OK);
    CHECK_INT(graph_set_data(training->graph, value, data, NULL), ASSAY_OK);
    return value;
}

static void add_node(struct small_training *training,
                     struct node_description description, uint32_t *outputs)
{
    CHECK_INT(graph_node_add(training->graph, &description, outputs, NULL),
              ASSAY_OK);
}

static void make_graph(struct small_training *training)
{
    struct graph *graph = training->graph;
    uint32_t fc, loss, flat, y, made[2], linear[3], distance[3], x, labels;

    CHECK_INT(graph_set_name(graph, "small", "Small", NULL), ASSAY_OK);
    CHECK_INT(graph_input(graph, "images", DTYPE_F32, &x, NULL), ASSAY_OK);
    CHECK_INT(graph_input(graph, "labels", DTYPE_I64, &labels, NULL), ASSAY_OK);
    CHECK_INT(
        graph_scope_add(graph, GRAPH_NONE, "fc", "Linear", false, &fc, NULL),
        ASSAY_OK);
    CHECK_INT(graph_scope_add(graph, GRAPH_NONE, "distance", "Distance", false,
                              &loss, NULL),
              ASSAY_OK);
    add_node(training,
             (struct node_description){.op = &op_flatten,
                                       .scope = GRAPH_NONE,
                                       .name = "flatten",
                                       .inputs = &x,
                                       .n_inputs = 1,
                                       .n_outputs = 1},
             &flat);
    linear[0] = flat;
    linear[1] =
        parameter(training, fc, "weight", VALUE_PARAMETER,
                  shape_of(2, (int64_t)SMALL_CLASSES, (int64_t)SMALL_PIXELS));
    linear[2] = parameter(training, fc, "bias", VALUE_PARAMETER,
                          shape_of(1, (int64_t)SMALL_CLASSES));
    add_node(training,
             (struct node_description){.op = &op_linear,
                                       .scope = fc,
                                       .inputs = linear,
                                       .n_inputs = 3,
                                       .n_outputs = 1},
             &y);
    distance[0] = y;
    distance[1] = labels;
    distance[2] = parameter(training, fc, "running_mean", VALUE_BUFFER,
                            shape_of(1, (int64_t)SMALL_CLASSES));
    add_node(training,
             (struct node_description){.op = &distance_op,
                                       .scope = loss,
                                       .inputs = distance,
                                       .n_inputs = 3,
                                       .n_outputs = 2},
             made);
    CHECK_INT(graph_output(graph, "loss", made[0], NULL), ASSAY_OK);
    CHECK_INT(graph_output(graph, "fc.running_mean", made[1], NULL), ASSAY_OK);
}

void small_training_make(struct small_training *training)
{
    *training = (struct small_training){0};
    CHECK_INT(pool_new(&training->pool, NULL), ASSAY_OK);
    CHECK_INT(graph_new(&training->graph, NULL), ASSAY_OK);
    make_graph(training);
    training->source.pool = training->pool;
    training->options = (struct trainer_options){
        .graph = training->graph,
        .pool = training->pool,
        .source = {.begin = begin,
                   .next = next,
                   .context = &training->source,
                   .epoch_batches = SMALL_EPOCH},
        .n_threads = 1,
        .optimizer = optimizer_defaults(OPTIMIZER_SGD),
        .schedule = {.learning_rate = 0.01, .gamma = 1},
        .seed = 3,
        .n_steps = 6,
    };
    training->options.optimizer.momentum = 0.9;
}

void small_training_free(struct small_training *training)
{
    trainer_free(training->trainer);
    graph_free(training->graph);
    pool_free(training->pool);
}

enum assay_status small_training_run(struct small_training *training,
                                     struct train_report *report,
                                     struct error *err)
{
    enum assay_status st =
        trainer_new(&training->options, &training->trainer, err);

    return st ? st : trainer_run(training->trainer, report, err);
}

static const struct tensor *weight_of(const struct small_training *training)
{
    uint32_t value = graph_find_value(training->graph, "fc.weight");

    return &graph_value(training->graph, value)->data;
}

const float *small_training_weight(const struct small_training *training)
{
    return tensor_f32(weight_of(training));
}

size_t small_training_weight_bytes(const struct small_training *training)
{
    return tensor_bytes(weight_of(training));
}
