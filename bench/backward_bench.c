/* bench/backward_bench.c - the convolutions of a training step of Faster R-CNN
 * with ResNet-50 and FPN, two images of 800x800, one by one: forward, backward
 * to the data and to the weights.
 *
 * backward_bench [THREADS [WORD]]: on so many threads (2), the layers whose
 * line contains the word. */
#include "bench.h"
#include "conv_layers.h"

#include "backend/backend.h"
#include "base/clock.h"
#include "base/random.h"
#include "ops/convolution/conv2d.h"
#include "ops/ops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { n_runs = 5, images = 2 };

enum task { FORWARD, TO_DATA, TO_WEIGHTS, N_TASKS };

static const char *const task_names[N_TASKS] = {"forward", "to data",
                                                "to weights"};

/* A layer ready to run, after another one that leaves x in its layout. */
struct trial {
    struct pool *pool;
    struct random random;
    int n_threads;
    struct graph *graph;
    struct backend *backend;
    struct tensor image, x, y;
    struct error err;
};

static enum assay_status fill(struct trial *trial, const struct shape *shape,
                              struct tensor *out)
{
    enum assay_status st =
        tensor_new(trial->pool, DTYPE_F32, shape, out, &trial->err);

    for (size_t i = 0; !st && i < tensor_elements(out); i++)
        tensor_f32(out)[i] = (float)random_unit(&trial->random) - 0.5f;
    return st;
}

static enum assay_status add_conv(struct trial *trial,
                                  const struct layer *layer, uint32_t x,
                                  uint32_t *y)
{
    struct conv2d_attrs attrs = conv2d_defaults();
    struct shape shape = shape_of(4, layer->outputs, layer->channels,
                                  layer->kernel, layer->kernel);
    uint32_t inputs[CONV2D_INPUTS] = {x, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE};
    struct node_description node = {.op = &op_conv2d,
                                    .attrs = &attrs,
                                    .scope = GRAPH_NONE,
                                    .inputs = inputs,
                                    .n_inputs = CONV2D_INPUTS,
                                    .n_outputs = 1};
    struct tensor weight;
    enum assay_status st = fill(trial, &shape, &weight);

    for (int i = 0; i < 2; i++) {
        attrs.stride[i] = layer->stride;
        attrs.before[i] = attrs.after[i] = layer->kernel / 2;
    }
    if (!st)
        st = graph_constant(trial->graph, "weight", weight,
                            &inputs[CONV2D_WEIGHT], &trial->err);
    return st ? st : graph_node_add(trial->graph, &node, y, &trial->err);
}

static enum assay_status build(struct trial *trial, const struct layer *layer)
{
    struct layer before = {.channels = layer->channels,
                           .size = layer->size,
                           .outputs = layer->channels,
                           .kernel = 1,
                           .stride = 1};
    struct backend_options options = {.n_threads = trial->n_threads,
                                      .is_training = true,
                                      .tuning_seconds = 60,
                                      .trusts_any_time = true};
    struct shape shape =
        shape_of(4, (int64_t)images, layer->channels, layer->size, layer->size);
    enum assay_status st = graph_new(&trial->graph, &trial->err);
    uint32_t x;

    if (!st)
        st = fill(trial, &shape, &trial->image);
    if (!st)
        st = graph_input(trial->graph, "x", DTYPE_F32, &x, &trial->err);
    if (!st)
        st = add_conv(trial, &before, x, &x);
    if (!st)
        st = add_conv(trial, layer, x, &x);
    if (!st)
        st = device_cpu()->backend->make(device_cpu(), trial->graph, &options,
                                         &trial->backend, &trial->err);
    return st;
}

static enum assay_status run_forward(struct trial *trial, size_t at,
                                     const struct tensor *x, struct tensor *y)
{
    const struct node *node = graph_node(trial->graph, at);
    const struct tensor *inputs[CONV2D_INPUTS] = {
        x, &graph_value(trial->graph, node->inputs[CONV2D_WEIGHT])->data};
    struct tensor saved = {0};
    struct op_context context = {
        .pool = trial->pool, .n_threads = trial->n_threads, .saved = &saved};
    enum assay_status st = trial->backend->class->forward(
        trial->backend, &context, node, at, inputs, y, &trial->err);

    tensor_release(&saved);
    return st;
}

/* The output serves as its own gradient: it has the right layout. */
static enum assay_status run_backward(struct trial *trial, enum task task)
{
    const struct node *node = graph_node(trial->graph, 1);
    const struct tensor *inputs[CONV2D_INPUTS] = {
        &trial->x,
        &graph_value(trial->graph, node->inputs[CONV2D_WEIGHT])->data};
    const struct tensor *dy = &trial->y;
    struct tensor dx[CONV2D_INPUTS] = {{0}};
    struct op_context context = {.pool = trial->pool,
                                 .n_threads = trial->n_threads};
    struct op_backward pass = {.inputs = inputs,
                               .outputs = &trial->y,
                               .dy = &dy,
                               .dx = dx,
                               .wanted = task == TO_DATA ? 1 << CONV2D_X
                                                         : 1 << CONV2D_WEIGHT};
    enum assay_status st = trial->backend->class->backward(
        trial->backend, &context, node, 1, &pass, &trial->err);

    for (int i = 0; i < CONV2D_INPUTS; i++)
        tensor_release(&dx[i]);
    return st;
}

/* The best of a few runs, in seconds. */
static enum assay_status measure(struct trial *trial, enum task task,
                                 double *best)
{
    enum assay_status st = ASSAY_OK;

    *best = INFINITY;
    for (int i = 0; !st && i <= n_runs; i++) {
        int64_t since = clock_monotonic_ns();

        if (task == FORWARD) {
            tensor_release(&trial->y);
            st = run_forward(trial, 1, &trial->x, &trial->y);
        } else {
            st = run_backward(trial, task);
        }
        if (i > 0)
            *best = fmin(*best, (double)(clock_monotonic_ns() - since) / 1e9);
    }
    return st;
}

static double work_of(const struct layer *layer)
{
    double size = (double)((layer->size + layer->stride - 1) / layer->stride);

    return 2e-9 * images * size * size * (double)layer->channels *
           (double)layer->outputs * (double)(layer->kernel * layer->kernel);
}

static enum assay_status measure_layer(struct trial *trial,
                                       const struct layer *layer,
                                       const char *line,
                                       double seconds[N_TASKS])
{
    bool reads_image = layer->channels < 4;
    enum assay_status st = build(trial, layer);
    char name[80];

    if (!st && reads_image)
        trial->x = tensor_share(&trial->image);
    else if (!st)
        st = run_forward(trial, 0, &trial->image, &trial->x);
    for (int i = 0; !st && i < N_TASKS; i++) {
        seconds[i] = 0;
        if (i == TO_DATA && reads_image)
            continue;
        st = measure(trial, (enum task)i, &seconds[i]);
        snprintf(name, sizeof name, "%s, %s", line, task_names[i]);
        if (!st)
            bench_note(name, work_of(layer) / seconds[i], "GFLOP/s");
    }
    tensor_release(&trial->image);
    tensor_release(&trial->x);
    tensor_release(&trial->y);
    if (trial->backend)
        trial->backend->class->free(trial->backend);
    graph_free(trial->graph);
    return st;
}

int main(int argc, char **argv)
{
    const char *word = argc > 2 ? argv[2] : "";
    double all[N_TASKS] = {0}, work = 0;
    int n_threads = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 2;

    for (size_t i = 0; i < n_layers; i++) {
        struct trial trial = {.random = random_seed(1), .n_threads = n_threads};
        double seconds[N_TASKS];
        char line[64];
        enum assay_status st;

        snprintf(line, sizeof line, "%d x %dx%d, %d to %d, %dx%d/%d",
                 layers[i].count, (int)layers[i].size, (int)layers[i].size,
                 (int)layers[i].channels, (int)layers[i].outputs,
                 (int)layers[i].kernel, (int)layers[i].kernel,
                 (int)layers[i].stride);
        if (!strstr(line, word))
            continue;
        st = pool_new(&trial.pool, &trial.err);
        if (!st)
            st = measure_layer(&trial, &layers[i], line, seconds);
        if (st) {
            fprintf(stderr, "backward_bench: %s\n", trial.err.text);
            return 1;
        }
        pool_free(trial.pool);
        work += layers[i].count * work_of(&layers[i]);
        for (int k = 0; k < N_TASKS; k++)
            all[k] += layers[i].count * seconds[k];
    }
    bench_note("all, each way", work, "GFLOP");
    for (int k = 0; k < N_TASKS; k++)
        bench_note(task_names[k], all[k], "s");
    return bench_end();
}
