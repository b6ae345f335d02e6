/* The pass that prepares a graph for training. */
#include "passes/train_pass.h"

#include "base/mem.h"
#include "engine/engine.h"
#include "ops/convolution/conv2d.h"
#include "ops/math/softmax.h"
#include "ops/norm/batch_norm.h"
#include "ops/norm/dropout.h"
#include "ops/op_run.h"
#include "ops/product/linear.h"

#include <math.h>

static struct error err;

enum { images = 6, features = 5, classes = 4 };

/* norm, dropout, linear, softmax; found by name below. */
struct classifier {
    struct graph *graph;
    struct random random;
    uint32_t norm[BATCH_NORM_INPUTS];
};

static uint32_t add(struct classifier *c, const struct op_class *op,
                    const void *attrs, const char *name, const uint32_t *inputs,
                    size_t n)
{
    struct node_description description = {.op = op,
                                           .attrs = attrs,
                                           .scope = GRAPH_NONE,
                                           .name = name,
                                           .inputs = inputs,
                                           .n_inputs = n,
                                           .n_outputs = 1};
    uint32_t y;

    CHECK_STATUS(graph_node_add(c->graph, &description, &y, &err), ASSAY_OK,
                 &err);
    return y;
}

static uint32_t store(struct classifier *c, const char *name,
                      enum value_kind kind, struct shape shape, float from,
                      float to)
{
    struct tensor data = op_tensor(DTYPE_F32, shape, NULL);
    uint32_t value;

    for (size_t i = 0; i < tensor_elements(&data); i++)
        tensor_f32(&data)[i] =
            from + (to - from) * (float)random_unit(&c->random);
    CHECK_STATUS(graph_parameter(c->graph, GRAPH_NONE, name, kind, DTYPE_F32,
                                 &shape, &value, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(graph_set_data(c->graph, value, data, &err), ASSAY_OK, &err);
    return value;
}

static uint32_t add_norm(struct classifier *c, const char *name, uint32_t x)
{
    struct batch_norm_attrs attrs = {.eps = 1e-3F, .momentum = 0.25F};

    c->norm[BATCH_NORM_X] = x;
    return add(c, &op_batch_norm, &attrs, name, c->norm, BATCH_NORM_INPUTS);
}

static uint32_t add_dropout(struct classifier *c, const char *name, uint32_t x)
{
    struct dropout_attrs attrs = {.ratio = 0.5F};

    return add(c, &op_dropout, &attrs, name, &x, 1);
}

static uint32_t add_linear(struct classifier *c, uint32_t x)
{
    struct linear_attrs attrs = {0};
    uint32_t inputs[LINEAR_INPUTS] = {
        x,
        store(c, "weight", VALUE_PARAMETER, dims(2, classes, features, 0, 0),
              -1, 1),
        store(c, "bias", VALUE_PARAMETER, dims(1, classes, 0, 0, 0), -1, 1)};

    return add(c, &op_linear, &attrs, "fc", inputs, LINEAR_INPUTS);
}

/* The graph up to the norm, which reads x. */
static uint32_t start(struct classifier *c, enum value_kind weights)
{
    struct shape channels = dims(1, features, 0, 0, 0);
    uint32_t x;

    *c = (struct classifier){.random = random_seed(11)};
    CHECK_STATUS(graph_new(&c->graph, &err), ASSAY_OK, &err);
    CHECK_STATUS(graph_input(c->graph, "x", DTYPE_F32, &x, &err), ASSAY_OK,
                 &err);
    c->norm[1] = store(c, "norm.weight", weights, channels, 0.5F, 1.5F);
    c->norm[2] = store(c, "norm.bias", weights, channels, -1, 1);
    c->norm[3] = store(c, "norm.running_mean", VALUE_BUFFER, channels, -1, 1);
    c->norm[4] = store(c, "norm.running_var", VALUE_BUFFER, channels, 0.5F, 2);
    return add_norm(c, "norm", x);
}

static void finish(struct classifier *c, uint32_t x)
{
    struct softmax_attrs attrs = {.axis = 1};

    x = add_linear(c, x);
    x = add(c, &op_softmax, &attrs, "softmax", &x, 1);
    CHECK_STATUS(graph_output(c->graph, "shares", x, &err), ASSAY_OK, &err);
}

static struct classifier classifier_new(enum value_kind weights)
{
    struct classifier c;
    uint32_t x = start(&c, weights);

    x = add_dropout(&c, "first", x);
    finish(&c, add_dropout(&c, "second", x));
    return c;
}

static size_t count(const struct graph *graph, const struct op_class *op)
{
    size_t n = 0;

    for (size_t i = 0; i < graph_node_count(graph); i++)
        n += graph_node(graph, i)->op == op;
    return n;
}

static const char *output_name(const struct graph *graph, size_t i)
{
    const char *name;

    graph_output_at(graph, i, &name);
    return name;
}

/* ---- running ---------------------------------------------------------------
 */

struct step {
    struct tensor inputs[3], outputs[8];
    size_t n;
};

static struct step run(const struct graph *graph, int64_t seed)
{
    struct random random = random_seed(5);
    struct engine_options options = {.device = &device_portable};
    struct step step = {.n = graph_output_count(graph)};
    int64_t labels[images];
    struct engine *engine;

    for (int i = 0; i < images; i++)
        labels[i] = i % classes;
    step.inputs[0] = noise(&random, dims(2, images, features, 0, 0));
    step.inputs[1] = integers(labels, dims(1, images, 0, 0, 0));
    step.inputs[2] = integers(&seed, dims(1, 1, 0, 0, 0));
    CHECK_STATUS(engine_new(graph, op_pool(), &options, &engine, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(engine_run(engine, step.inputs, step.outputs, &err), ASSAY_OK,
                 &err);
    engine_free(engine);
    return step;
}

static void release(struct step *step)
{
    op_release(step->inputs, 3);
    op_release(step->outputs, step->n);
}

static double loss_by_hand(const struct step *step)
{
    const float *logits = tensor_f32(&step->outputs[1]);
    double sum = 0;

    for (int i = 0; i < images; i++) {
        double total = 0;

        for (int k = 0; k < classes; k++)
            total += exp((double)logits[i * classes + k]);
        sum += log(total) -
               (double)logits[i * classes + tensor_i64(&step->inputs[1])[i]];
    }
    return sum / images;
}

TEST(a_classifier_gets_labels_a_seed_and_a_loss)
{
    struct classifier c = classifier_new(VALUE_PARAMETER);
    struct step step;

    CHECK_STATUS(graph_make_training(c.graph, NULL, &err), ASSAY_OK, &err);
    CHECK_STATUS(graph_check(c.graph, &err), ASSAY_OK, &err);
    CHECK_INT(graph_input_count(c.graph), 3);
    CHECK_STR(graph_value(c.graph, graph_input_at(c.graph, 1))->name, "labels");
    CHECK_STR(graph_value(c.graph, graph_input_at(c.graph, 2))->name, "seed");
    CHECK_INT(graph_output_count(c.graph), 4);
    CHECK_STR(output_name(c.graph, 0), "loss");
    CHECK_STR(output_name(c.graph, 1), "logits");
    CHECK_STR(output_name(c.graph, 2), "norm.running_mean");
    CHECK_STR(output_name(c.graph, 3), "norm.running_var");
    CHECK_INT(count(c.graph, &op_softmax), 0);
    CHECK_INT(count(c.graph, &op_batch_norm), 0);
    CHECK_INT(count(c.graph, &op_dropout), 0);
    step = run(c.graph, 1);
    CHECK_INT(step.outputs[0].shape.rank, 0);
    CHECK_NEAR(tensor_f32(&step.outputs[0])[0], loss_by_hand(&step), 1e-5);
    release(&step);
    graph_free(c.graph);
}

/* From PyTorch's BatchNorm2d(momentum=0.25): the norm divides the variance by
 * n, the statistics by n - 1. */
TEST(running_statistics_are_updated_as_in_pytorch)
{
    struct classifier c = classifier_new(VALUE_PARAMETER);
    struct step step;

    CHECK_STATUS(graph_make_training(c.graph, NULL, &err), ASSAY_OK, &err);
    step = run(c.graph, 1);
    for (int k = 0; k < features; k++) {
        const struct tensor *old = &graph_value(c.graph, c.norm[3])->data;
        const struct tensor *spread = &graph_value(c.graph, c.norm[4])->data;
        const float *x = tensor_f32(&step.inputs[0]) + k;
        double mean = 0, squares = 0;

        for (int i = 0; i < images; i++)
            mean += (double)x[i * features] / images;
        for (int i = 0; i < images; i++)
            squares += pow((double)x[i * features] - mean, 2);
        CHECK_NEAR(tensor_f32(&step.outputs[2])[k],
                   0.75 * (double)tensor_f32(old)[k] + 0.25 * mean, 1e-5);
        CHECK_NEAR(tensor_f32(&step.outputs[3])[k],
                   0.75 * (double)tensor_f32(spread)[k] +
                       0.25 * squares / (images - 1),
                   1e-5);
    }
    release(&step);
    graph_free(c.graph);
}

TEST(the_seed_decides_what_is_dropped)
{
    struct classifier c = classifier_new(VALUE_PARAMETER);
    struct step first, again, other;

    CHECK_STATUS(graph_make_training(c.graph, NULL, &err), ASSAY_OK, &err);
    first = run(c.graph, 1);
    again = run(c.graph, 1);
    other = run(c.graph, 2);
    check_same(&again.outputs[1], &first.outputs[1], 0);
    CHECK(tensor_f32(&other.outputs[0])[0] != tensor_f32(&first.outputs[0])[0]);
    release(&first);
    release(&again);
    release(&other);
    graph_free(c.graph);
}

TEST(norms_and_dropouts_stay_if_the_options_ask_for_it)
{
    struct train_pass_options options = {.keeps_statistics = true,
                                         .drops_nothing = true};
    struct classifier plain = classifier_new(VALUE_PARAMETER);
    struct classifier c = classifier_new(VALUE_PARAMETER);
    struct step used, trained;

    CHECK_STATUS(graph_make_training(c.graph, &options, &err), ASSAY_OK, &err);
    CHECK_INT(graph_output_count(c.graph), 2);
    CHECK(graph_value(c.graph, c.norm[3])->is_frozen);
    CHECK(!graph_value(c.graph, c.norm[1])->is_frozen);
    used = run(plain.graph, 1);
    trained = run(c.graph, 1);
    for (int i = 0; i < images; i++) {
        const float *logits = tensor_f32(&trained.outputs[1]) + i * classes;
        const float *shares = tensor_f32(&used.outputs[0]) + i * classes;

        CHECK_NEAR(log((double)shares[0] / (double)shares[1]),
                   (double)logits[0] - (double)logits[1], 1e-4);
    }
    release(&used);
    release(&trained);
    graph_free(plain.graph);
    graph_free(c.graph);
}

TEST(a_norm_whose_weights_are_buffers_stays_frozen)
{
    struct classifier c = classifier_new(VALUE_BUFFER);

    CHECK_STATUS(graph_make_training(c.graph, NULL, &err), ASSAY_OK, &err);
    CHECK_INT(count(c.graph, &op_batch_norm), 1);
    CHECK_INT(graph_output_count(c.graph), 2);
    graph_free(c.graph);
}

TEST(a_norm_that_is_called_twice_has_one_set_of_statistics)
{
    struct classifier c;
    uint32_t x = start(&c, VALUE_PARAMETER);
    const struct node *first, *second;

    finish(&c, add_norm(&c, "again", x));
    CHECK_STATUS(graph_make_training(c.graph, NULL, &err), ASSAY_OK, &err);
    CHECK_INT(graph_output_count(c.graph), 4);
    first = graph_node(c.graph, 0);
    second = graph_node(c.graph, 1);
    CHECK_INT(first->inputs[BATCH_NORM_MEAN], c.norm[3]);
    CHECK_INT(second->inputs[BATCH_NORM_MEAN], first->outputs[1]);
    CHECK_INT(graph_output_at(c.graph, 2, NULL), second->outputs[1]);
    CHECK_INT(graph_output_at(c.graph, 3, NULL), second->outputs[2]);
    graph_free(c.graph);
}

TEST(a_node_that_passes_no_gradient_is_named)
{
    struct classifier c;
    uint32_t x = start(&c, VALUE_PARAMETER);

    finish(&c, add(&c, &op_floor, NULL, "steps", &x, 1));
    err = (struct error){0};
    CHECK_INT(graph_make_training(c.graph, NULL, &err), ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, "steps (Floor) passes no gradient");
    graph_free(c.graph);
}

/* Nothing before it is trained. */
TEST(a_step_is_harmless_before_the_first_parameter)
{
    struct classifier c;
    uint32_t x = start(&c, VALUE_BUFFER);

    finish(&c, add(&c, &op_floor, NULL, "steps", &x, 1));
    CHECK_STATUS(graph_make_training(c.graph, NULL, &err), ASSAY_OK, &err);
    graph_free(c.graph);
}

TEST(folded_norms_are_refused)
{
    struct conv2d_attrs attrs = conv2d_defaults();
    struct classifier c;
    uint32_t inputs[CONV2D_SCALE + 1] = {start(&c, VALUE_PARAMETER), c.norm[1],
                                         GRAPH_NONE, GRAPH_NONE, c.norm[2]};

    finish(&c, add(&c, &op_conv2d, &attrs, "conv", inputs, CONV2D_SCALE + 1));
    err = (struct error){0};
    CHECK_INT(graph_make_training(c.graph, NULL, &err), ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, "folded");
    graph_free(c.graph);
}

TEST(nothing_leaks_whichever_allocation_fails)
{
    enum assay_status st;
    long nth = 0;

    do {
        struct classifier c = classifier_new(VALUE_PARAMETER);
        long live = mem_live();

        mem_fail_at(nth++);
        st = graph_make_training(c.graph, NULL, &err);
        mem_fail_at(-1);
        CHECK(mem_live() - live < 8); /* owned by the graph by now */
        graph_free(c.graph);
    } while (st == ASSAY_NOMEM);
    CHECK_STATUS(st, ASSAY_OK, &err);
    CHECK(nth > 1);
}
