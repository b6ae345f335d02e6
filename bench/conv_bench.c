/* bench/conv_bench.c - the convolutions of Faster R-CNN with ResNet-50 and FPN
 * at 800x800, one by one: direct, Winograd and the fastest.
 *
 * conv_bench [THREADS]: on so many threads (2). */
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

enum { n_runs = 4 };

static const char *const algorithms[] = {"direct", "winograd", NULL};

enum { n_algorithms = sizeof algorithms / sizeof *algorithms };

/* What the measured runs of a layer need. */
struct setup {
    struct pool *pool;
    struct random random;
    int n_threads;
    struct error err;
};

static enum assay_status fill(struct setup *setup, const struct shape *shape,
                              struct tensor *out)
{
    enum assay_status st =
        tensor_new(setup->pool, DTYPE_F32, shape, out, &setup->err);

    for (size_t i = 0; !st && i < tensor_elements(out); i++)
        tensor_f32(out)[i] = (float)random_unit(&setup->random) - 0.5f;
    return st;
}

/* A convolution of x; its output is *y. */
static enum assay_status add_conv(struct setup *setup, struct graph *graph,
                                  uint32_t x, const struct layer *layer,
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
    enum assay_status st = fill(setup, &shape, &weight);

    attrs.has_relu = true;
    for (int i = 0; i < 2; i++) {
        attrs.stride[i] = layer->stride;
        attrs.before[i] = attrs.after[i] = layer->kernel / 2;
    }
    if (!st)
        st = graph_constant(graph, "weight", weight, &inputs[CONV2D_WEIGHT],
                            &setup->err);
    return st ? st : graph_node_add(graph, &node, y, &setup->err);
}

/* Node 0 leaves its output in the layout that node 1, the layer, has in the
 * model; the first layer of the model reads a dense image. */
static enum assay_status build(struct setup *setup, const struct layer *layer,
                               struct graph **out, struct tensor *image)
{
    struct layer before = {.channels = layer->channels,
                           .size = layer->size,
                           .outputs = layer->channels,
                           .kernel = 1,
                           .stride = 1};
    struct shape shape =
        shape_of(4, (int64_t)1, layer->channels, layer->size, layer->size);
    enum assay_status st = graph_new(out, &setup->err);
    uint32_t x;

    if (!st)
        st = fill(setup, &shape, image);
    if (!st)
        st = graph_input(*out, "x", DTYPE_F32, &x, &setup->err);
    if (!st)
        st = add_conv(setup, *out, x, &before, &x);
    return st ? st : add_conv(setup, *out, x, layer, &x);
}

static enum assay_status run_node(struct setup *setup, struct backend *backend,
                                  const struct graph *graph, size_t at,
                                  const struct tensor *x, struct tensor *y)
{
    const struct node *node = graph_node(graph, at);
    const struct tensor *inputs[CONV2D_INPUTS] = {
        x, &graph_value(graph, node->inputs[CONV2D_WEIGHT])->data, NULL, NULL};
    struct op_context context = {.pool = setup->pool,
                                 .n_threads = setup->n_threads};

    return backend->class->forward(backend, &context, node, at, inputs, y,
                                   &setup->err);
}

/* The best of a few runs, in seconds. */
static enum assay_status measure(struct setup *setup, struct backend *backend,
                                 const struct graph *graph,
                                 const struct tensor *image, double *best)
{
    bool reads_image = image->shape.dims[1] < 4;
    struct tensor before = {0}, y;
    enum assay_status st =
        reads_image ? ASSAY_OK
                    : run_node(setup, backend, graph, 0, image, &before);

    *best = INFINITY;
    for (int i = 0; !st && i <= n_runs; i++) {
        int64_t since = clock_monotonic_ns();

        st = run_node(setup, backend, graph, 1, reads_image ? image : &before,
                      &y);
        if (!st)
            tensor_release(&y);
        if (i > 0)
            *best = fmin(*best, (double)(clock_monotonic_ns() - since) / 1e9);
    }
    tensor_release(&before);
    return st;
}

static enum assay_status measure_with(struct setup *setup,
                                      const struct graph *graph,
                                      const struct tensor *image,
                                      const char *algorithm, double *best)
{
    struct backend_options options = {.n_threads = setup->n_threads,
                                      .tuning_seconds = 60,
                                      .algorithm = algorithm};
    struct backend *backend;
    enum assay_status st = device_cpu()->backend->make(
        device_cpu(), graph, &options, &backend, &setup->err);

    if (st)
        return st;
    st = measure(setup, backend, graph, image, best);
    backend->class->free(backend);
    return st;
}

static double work_of(const struct layer *layer)
{
    double size = (double)(layer->size / layer->stride);

    return 2e-9 * size * size * (double)layer->channels *
           (double)layer->outputs * (double)(layer->kernel * layer->kernel);
}

static enum assay_status measure_layer(struct setup *setup,
                                       const struct layer *layer,
                                       double seconds[n_algorithms])
{
    struct tensor image = {0};
    struct graph *graph;
    enum assay_status st = build(setup, layer, &graph, &image);
    char name[64];

    for (int i = 0; !st && i < n_algorithms; i++) {
        bool has = layer->kernel == 3 && layer->stride == 1;

        if (i > 0 && !has) {
            seconds[i] = seconds[0];
            continue;
        }
        st = measure_with(setup, graph, &image, algorithms[i], &seconds[i]);
        snprintf(name, sizeof name, "%d x %dx%d, %d to %d, %dx%d/%d, %s",
                 layer->count, (int)layer->size, (int)layer->size,
                 (int)layer->channels, (int)layer->outputs, (int)layer->kernel,
                 (int)layer->kernel, (int)layer->stride,
                 algorithms[i] ? algorithms[i] : "fastest");
        if (!st)
            bench_note(name, work_of(layer) / seconds[i], "GFLOP/s");
    }
    tensor_release(&image);
    graph_free(graph);
    return st;
}

int main(int argc, char **argv)
{
    struct setup setup = {.random = random_seed(1), .n_threads = 2};
    double all[n_algorithms] = {0}, work = 0;
    enum assay_status st = pool_new(&setup.pool, &setup.err);

    if (argc > 1)
        setup.n_threads = (int)strtol(argv[1], NULL, 10);
    if (device_cpu()->backend == &backend_portable) {
        printf("conv_bench: built without oneDNN\n");
        return 0;
    }
    for (size_t i = 0; !st && i < n_layers; i++) {
        double seconds[n_algorithms];

        st = measure_layer(&setup, &layers[i], seconds);
        work += layers[i].count * work_of(&layers[i]);
        for (int k = 0; !st && k < n_algorithms; k++)
            all[k] += layers[i].count * seconds[k];
    }
    if (st) {
        fprintf(stderr, "conv_bench: %s\n", setup.err.text);
        return 1;
    }
    bench_note("all convolutions", work, "GFLOP");
    bench_note("all convolutions, direct", all[0], "s");
    bench_note("all convolutions, fastest", all[n_algorithms - 1], "s");
    bench_at_most("all convolutions, fastest / direct",
                  all[n_algorithms - 1] / all[0], 0.75, "x");
    pool_free(setup.pool);
    return bench_end();
}
