/* Pruned networks, whose maps a GPU pads, are trained there as on the host. */
#include "backend/backend.h"
#include "engine/engine.h"
#include "models/models.h"
#include "passes/fuse.h"
#include "passes/prune.h"
#include "passes/train_pass.h"
#include "test.h"

#include <math.h>
#include <string.h>

enum {
    batch = 6,
    side = 96,
    n_classes = 10,
    most_outputs = 512,
    n_nudges = 3,
};

static struct error err;

/* One step of a network on one device. */
struct stepped {
    struct pool *pool;
    struct graph *graph;
    struct engine *engine;
    float loss;
};

/* Made again for each device, from the same seeds. */
static struct graph *pruned_of(const char *name, struct pool *pool)
{
    struct model_options options = model_options_for(name, MODEL_IMAGENET);
    struct prune_options pruning = {
        .percent = 30, .seed = 3, .mode = PRUNE_RANDOM};
    struct shape image =
        shape_of(4, (int64_t)1, (int64_t)3, (int64_t)side, (int64_t)side);
    struct prune_report report = {0};
    struct graph *graph, *pruned;

    options.n_classes = n_classes;
    CHECK_STATUS(model_build(name, &options, &graph, &err), ASSAY_OK, &err);
    CHECK_STATUS(
        graph_prune(graph, &image, &pruning, pool, &pruned, &report, &err),
        ASSAY_OK, &err);
    CHECK_STATUS(model_fill(pruned, pool, 7, &err), ASSAY_OK, &err);
    CHECK_STATUS(graph_make_training(pruned, NULL, &err), ASSAY_OK, &err);
    CHECK_STATUS(fuse_training(pruned, &err), ASSAY_OK, &err);
    prune_report_release(&report);
    graph_free(graph);
    return pruned;
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

/* Photographs, labels, and the seed of what is dropped. A nudge other than 0
 * changes each pixel by a millionth at most. */
static void make_inputs(struct pool *pool, uint32_t nudge,
                        struct tensor inputs[3])
{
    struct shape images =
        shape_of(4, (int64_t)batch, (int64_t)3, (int64_t)side, (int64_t)side);
    struct shape labels = shape_of(1, (int64_t)batch);
    struct shape one = shape_of(1, (int64_t)1);
    uint32_t state = 12345, off = nudge * 7919;

    CHECK_INT(tensor_new(pool, DTYPE_F32, &images, &inputs[0], &err), 0);
    CHECK_INT(tensor_new(pool, DTYPE_I64, &labels, &inputs[1], &err), 0);
    CHECK_INT(tensor_new(pool, DTYPE_I64, &one, &inputs[2], &err), 0);
    for (size_t i = 0; i < tensor_elements(&inputs[0]); i++) {
        float pixel = (float)next_random(&state) / (float)(1 << 24);
        float by = (float)next_random(&off) / (float)(1 << 23) - 1;

        tensor_f32(&inputs[0])[i] = nudge ? pixel * (1 + 1e-6f * by) : pixel;
    }
    for (int64_t i = 0; i < batch; i++)
        tensor_i64(&inputs[1])[i] = i % n_classes;
    tensor_i64(&inputs[2])[0] = 1;
}

static struct stepped step_on(const char *name, const struct device *device,
                              uint32_t nudge)
{
    struct engine_options options = {
        .device = device,
        .backend_options = {
            .n_threads = 2, .is_training = true, .precision = PRECISION_FP32}};
    struct tensor inputs[3], outputs[most_outputs] = {{0}}, loss;
    struct stepped made = {0};

    err = (struct error){0};
    CHECK_STATUS(pool_new(&made.pool, &err), ASSAY_OK, &err);
    made.graph = pruned_of(name, made.pool);
    make_inputs(made.pool, nudge, inputs);
    CHECK(graph_output_count(made.graph) <= most_outputs);
    CHECK_STATUS(
        engine_new(made.graph, made.pool, &options, &made.engine, &err),
        ASSAY_OK, &err);
    CHECK_STATUS(engine_run(made.engine, inputs, outputs, &err), ASSAY_OK,
                 &err);
    CHECK_STATUS(engine_backward(made.engine, &err), ASSAY_OK, &err);
    CHECK_STATUS(tensor_copy(made.pool, &outputs[0], &loss, &err), ASSAY_OK,
                 &err);
    made.loss = tensor_f32(&loss)[0];
    tensor_release(&loss);
    for (size_t i = 0; i < graph_output_count(made.graph); i++)
        tensor_release(&outputs[i]);
    for (size_t i = 0; i < 3; i++)
        tensor_release(&inputs[i]);
    return made;
}

static void stepped_free(struct stepped *made)
{
    engine_free(made->engine);
    graph_free(made->graph);
    pool_free(made->pool);
}

/* Squares of a gradient, and of what is off; engines that ran on a device keep
 * theirs there. */
static void add_squares(struct stepped *want, struct stepped *got, uint32_t id,
                        double *of_all, double *of_off)
{
    const struct tensor *there = engine_gradient(got->engine, id);
    const struct tensor *a = engine_gradient(want->engine, id);
    struct tensor b;

    CHECK(a && there);
    CHECK_STATUS(tensor_copy(want->pool, there, &b, &err), ASSAY_OK, &err);
    CHECK(shape_equal(&a->shape, &b.shape));
    for (size_t i = 0; i < tensor_elements(a); i++) {
        double x = (double)tensor_f32(a)[i], off = tensor_f32(&b)[i] - x;

        *of_all += x * x;
        *of_off += off * off;
    }
    tensor_release(&b);
}

/* How far off the gradient of a parameter is at most, as a part of its length.
 * Where that is nothing but rounding, as of a weight before a norm, of a
 * thousandth of the whole gradient's. */
static double distance(struct stepped *want, struct stepped *got)
{
    double whole = 0, unused = 0, worst = 0;

    for (uint32_t i = 0; i < graph_value_count(want->graph); i++) {
        if (graph_value(want->graph, i)->kind == VALUE_PARAMETER)
            add_squares(want, want, i, &whole, &unused);
    }
    for (uint32_t i = 0; i < graph_value_count(want->graph); i++) {
        double all = 0, off = 0, part;

        if (graph_value(want->graph, i)->kind != VALUE_PARAMETER)
            continue;
        add_squares(want, got, i, &all, &off);
        part = sqrt(off) / fmax(sqrt(all), 1e-3 * sqrt(whole));
        worst = part > worst || isnan(part) ? part : worst;
    }
    return worst;
}

/* Passing the kink of one ReLU changes a gradient by far more than rounding
 * does, so what counts as near is what the host itself makes of photographs
 * that differ by a millionth. */
static double near_enough(const char *name, struct stepped *want)
{
    double most = 2.5e-5;

    for (uint32_t nudge = 1; nudge <= n_nudges; nudge++) {
        struct stepped other = step_on(name, device_cpu(), nudge);

        most = fmax(most, distance(want, &other));
        stepped_free(&other);
    }
    return 4 * most;
}

static void check_network(const char *name, const struct device *gpu)
{
    struct stepped want = step_on(name, device_cpu(), 0);
    struct stepped got = step_on(name, gpu, 0);
    double near = near_enough(name, &want), off = distance(&want, &got);

    print_message("  %s: loss %g, gradients within %.1e, allowed %.1e\n", name,
                  (double)got.loss, off, near);
    CHECK_NEAR(got.loss, want.loss, 1e-4 * fabs((double)want.loss));
    CHECK(near < 0.5);
    CHECK(off < near);
    stepped_free(&want);
    stepped_free(&got);
}

/* Concatenations, residual blocks and a max pool, depthwise convolutions. */
TEST(a_gpu_trains_pruned_networks_as_the_host_does)
{
    static const char *const names[] = {"squeezenet1_1", "resnet18",
                                        "mobilenet_v2", "resnet50"};
    const struct device *gpu;

    err = (struct error){0};
    if (device_find("cuda:0", &gpu, &err))
        SKIP("%s", err.text);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check_network(names[i], gpu);
}
