/* oneDNN on a whole graph, in both modes, and what it remembers of it. */
#include "backend/dnnl/dnnl_internal.h"
#include "base/file.h"
#include "base/mem.h"
#include "engine/engine.h"
#include "ops/detection/roi_align.h"
#include "ops/movement/concat.h"
#include "passes/fuse.h"
#include "passes/residual_block.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct error err;

enum { n_outputs = 2 };

static struct engine_options dnnl_options(bool is_plain)
{
    return (struct engine_options){
        .device = device_cpu(),
        .backend_options = {.n_threads = 2,
                            .is_plain = is_plain,
                            .tuning_seconds = 0.2,
                            .trusts_any_time = true}};
}

static struct engine *engine_of(const struct network *net,
                                const struct engine_options *options)
{
    struct engine *engine;

    err = (struct error){0};
    CHECK_STATUS(engine_new(net->graph, net->pool, options, &engine, &err),
                 ASSAY_OK, &err);
    return engine;
}

static void run(struct engine *engine, const struct tensor *x,
                struct tensor *outputs)
{
    CHECK_STATUS(engine_run(engine, x, outputs, &err), ASSAY_OK, &err);
}

static void release(struct tensor *outputs)
{
    for (int i = 0; i < n_outputs; i++)
        tensor_release(&outputs[i]);
}

/* Against the largest value of what is wanted. */
static void check_near(const struct tensor *got, const struct tensor *want,
                       double tolerance)
{
    double largest = 0;

    CHECK(shape_equal(&got->shape, &want->shape));
    CHECK(got->layout == NULL);
    for (size_t i = 0; i < tensor_elements(want); i++)
        largest = fmax(largest, fabs(tensor_f32(want)[i]));
    for (size_t i = 0; i < tensor_elements(want); i++)
        CHECK_NEAR(tensor_f32(got)[i], tensor_f32(want)[i],
                   tolerance * largest);
}

static void check_mode(struct network *net,
                       const struct engine_options *options, double tolerance)
{
    struct engine_options portable = {.device = &device_portable};
    struct network plain = network_new();
    struct tensor want[n_outputs], got[n_outputs];
    struct engine *engine = engine_of(&plain, &portable);

    run(engine, &plain.x, want);
    engine_free(engine);
    engine = engine_of(net, options);
    for (int i = 0; i < 3; i++) {
        run(engine, &net->x, got);
        for (int k = 0; k < n_outputs; k++)
            check_near(&got[k], &want[k], tolerance);
        release(got);
    }
    release(want);
    engine_free(engine);
    network_free(&plain);
}

TEST(plain_mode_computes_what_the_portable_kernels_do)
{
    struct network net = network_new();
    struct engine_options options = dnnl_options(true);

    check_mode(&net, &options, 1e-5);
    network_free(&net);
}

TEST(the_optimised_graph_computes_what_the_portable_kernels_do)
{
    struct network net = network_new();
    struct engine_options options = dnnl_options(false);

    CHECK_STATUS(fuse_graph(net.graph, net.pool, &err), ASSAY_OK, &err);
    check_mode(&net, &options, 5e-4);
    network_free(&net);
}

TEST(winograd_computes_what_the_portable_kernels_do)
{
    struct network net = network_new();
    struct engine_options options = dnnl_options(false);

    options.backend_options.algorithm = "winograd";
    CHECK_STATUS(fuse_graph(net.graph, net.pool, &err), ASSAY_OK, &err);
    check_mode(&net, &options, 5e-4);
    network_free(&net);
}

/* Memory that is used again holds what it held; so much of it that none of a
 * pass's maps gets other memory. */
static void leave_nan(struct network *net, const struct shape *shape)
{
    enum { n_maps = 6 };
    struct tensor dirt[n_maps];

    for (int i = 0; i < n_maps; i++) {
        CHECK_STATUS(tensor_new(net->pool, DTYPE_F32, shape, &dirt[i], &err),
                     ASSAY_OK, &err);
        for (size_t k = 0; k < tensor_elements(&dirt[i]); k++)
            tensor_f32(&dirt[i])[k] = NAN;
    }
    for (int i = 0; i < n_maps; i++)
        tensor_release(&dirt[i]);
}

/* Two convolutions, 19 and 10 channels behind one another, and one that reads
 * them. */
static struct network ragged_concat(void)
{
    static const struct concat_attrs channels = {.axis = 1};
    struct network net = network_new();
    int64_t in = net.x.shape.dims[1];
    uint32_t image, parts[2], y;

    graph_free(net.graph);
    CHECK_INT(graph_new(&net.graph, &err), ASSAY_OK);
    CHECK_INT(graph_input(net.graph, "x", DTYPE_F32, &image, &err), ASSAY_OK);
    parts[0] = network_conv(&net, GRAPH_NONE, "a", image, in, 19, 3);
    parts[1] = network_conv(&net, GRAPH_NONE, "b", image, in, 10, 3);
    y = network_add(&net, &op_concat, &channels, GRAPH_NONE, parts, 2);
    y = network_conv(&net, GRAPH_NONE, "c", y, 29, 16, 3);
    CHECK_INT(graph_output(net.graph, "y", y, &err), ASSAY_OK);
    return net;
}

TEST(maps_that_are_no_whole_blocks_are_put_behind_one_another)
{
    struct network net = ragged_concat(), plain = ragged_concat();
    struct engine_options options = dnnl_options(true);
    struct engine_options portable = {.device = &device_portable};
    struct shape padded = net.x.shape;
    struct tensor got, want;
    struct engine *engine = engine_of(&plain, &portable);

    run(engine, &plain.x, &want);
    engine_free(engine);
    engine = engine_of(&net, &options);
    padded.dims[1] = 32;
    for (int i = 0; i < 2; i++) {
        leave_nan(&net, &padded);
        run(engine, &net.x, &got);
        check_near(&got, &want, 1e-5);
        tensor_release(&got);
    }
    tensor_release(&want);
    engine_free(engine);
    network_free(&net);
    network_free(&plain);
}

/* As a detector's export does it with the boxes of its classes. */
static struct network long_concat(void)
{
    static const struct concat_attrs channels = {.axis = 1};
    struct network net = network_new();
    uint32_t image, parts[90], y;

    graph_free(net.graph);
    CHECK_INT(graph_new(&net.graph, &err), ASSAY_OK);
    CHECK_INT(graph_input(net.graph, "x", DTYPE_F32, &image, &err), ASSAY_OK);
    for (size_t i = 0; i < 90; i++)
        parts[i] = image;
    y = network_add(&net, &op_concat, &channels, GRAPH_NONE, parts, 90);
    CHECK_INT(graph_output(net.graph, "y", y, &err), ASSAY_OK);
    return net;
}

TEST(ninety_inputs_are_put_behind_one_another)
{
    struct network net = long_concat();
    struct engine_options options = dnnl_options(true);
    struct engine *engine = engine_of(&net, &options);
    size_t n = tensor_elements(&net.x), images = (size_t)net.x.shape.dims[0];
    struct tensor got;

    run(engine, &net.x, &got);
    CHECK_INT(tensor_elements(&got), 90 * n);
    for (size_t i = 0; i < 90 * n; i++) {
        size_t image = i / (90 * n / images);
        size_t at = image * (n / images) + i % (n / images);

        CHECK_NEAR(tensor_f32(&got)[i], tensor_f32(&net.x)[at], 0);
    }
    tensor_release(&got);
    engine_free(engine);
    network_free(&net);
}

TEST(an_input_that_is_kept_is_not_overwritten)
{
    struct engine_options portable = {.device = &device_portable};
    struct engine_options options = dnnl_options(true);
    struct network net = network_new();
    struct engine *fast, *slow;
    struct tensor outputs[n_outputs];

    fast = engine_of(&net, &options);
    slow = engine_of(&net, &portable);
    for (size_t i = 0; i < graph_node_count(net.graph); i++) {
        uint32_t value = graph_node(net.graph, i)->outputs[0];

        CHECK_INT(engine_keep(fast, value, &err), ASSAY_OK);
        CHECK_INT(engine_keep(slow, value, &err), ASSAY_OK);
    }
    run(fast, &net.x, outputs);
    release(outputs);
    run(slow, &net.x, outputs);
    release(outputs);
    for (size_t i = 0; i < graph_node_count(net.graph); i++) {
        uint32_t value = graph_node(net.graph, i)->outputs[0];

        check_near(engine_kept(fast, value), engine_kept(slow, value), 1e-5);
    }
    engine_free(fast);
    engine_free(slow);
    network_free(&net);
}

TEST(the_caller_s_image_is_not_overwritten)
{
    struct engine_options options = dnnl_options(true);
    struct network net = network_new();
    struct shape shape = shape_of(2, (int64_t)1, (int64_t)2);
    struct tensor x, y;
    struct engine *engine;
    uint32_t in, out;

    graph_free(net.graph);
    CHECK_INT(graph_new(&net.graph, &err), ASSAY_OK);
    CHECK_INT(graph_input(net.graph, "x", DTYPE_F32, &in, &err), ASSAY_OK);
    out = network_add(&net, &op_relu, NULL, GRAPH_NONE, &in, 1);
    CHECK_INT(graph_output(net.graph, "y", out, &err), ASSAY_OK);
    CHECK_INT(tensor_new(net.pool, DTYPE_F32, &shape, &x, &err), ASSAY_OK);
    tensor_f32(&x)[0] = -3, tensor_f32(&x)[1] = 4;
    engine = engine_of(&net, &options);
    run(engine, &x, &y);
    CHECK_NEAR(tensor_f32(&y)[0], 0, 0);
    CHECK_NEAR(tensor_f32(&y)[1], 4, 0);
    CHECK_NEAR(tensor_f32(&x)[0], -3, 0);
    tensor_release(&y);
    tensor_release(&x);
    engine_free(engine);
    network_free(&net);
}

/* What is said about the node of a scope. */
static void explain(struct engine *engine, const struct network *net,
                    const char *path, struct str *text)
{
    struct backend *backend = engine_backend(engine);
    struct sink sink = sink_to_str(text);

    for (size_t i = 0; i < graph_node_count(net->graph); i++) {
        const struct node *node = graph_node(net->graph, i);

        if (node->scope != GRAPH_NONE &&
            strcmp(graph_scope(net->graph, node->scope)->path, path) == 0)
            backend->class->explain(backend, node, i, &sink);
    }
}

static void run_and_explain(const struct engine_options *options,
                            const char *path, struct str *text)
{
    struct network net = network_new();
    struct tensor outputs[n_outputs];
    struct engine *engine;

    CHECK_STATUS(fuse_graph(net.graph, net.pool, &err), ASSAY_OK, &err);
    engine = engine_of(&net, options);
    run(engine, &net.x, outputs);
    release(outputs);
    explain(engine, &net, path, text);
    engine_free(engine);
    network_free(&net);
}

TEST(a_choice_names_the_kernel_the_others_and_the_reorders)
{
    struct engine_options options = dnnl_options(true);
    struct str text = {0};

    run_and_explain(&options, "block.conv1", &text);
    CHECK_HAS(str_text(&text), "2x64x12x10: direct ");
    CHECK_HAS(str_text(&text), ", plain");
    str_release(&text);
}

/* With several kernels to choose from, whatever the processor, and time to
 * measure them. */
static struct engine_options choosing_options(const char *path)
{
    struct engine_options options = dnnl_options(false);

    options.backend_options.tries_last_resorts = true;
    options.backend_options.tuning_seconds = 20;
    options.backend_options.choices_path = path;
    return options;
}

TEST(choices_are_remembered_and_used_again)
{
    const char *path = test_path("choices.txt");
    struct engine_options options = choosing_options(path);
    struct str first = {0}, second = {0}, file = {0};
    char library[64];

    run_and_explain(&options, "block.conv1", &first);
    CHECK_HAS(str_text(&first), ", measured, ");
    CHECK_INT(file_read(path, 1 << 20, &file, &err), ASSAY_OK);
    CHECK_HAS(str_text(&file), "assay kernel choices 5\n");
    onednn_version(library, sizeof library);
    CHECK_HAS(str_text(&file), "2 threads, oneDNN ");
    CHECK_HAS(str_text(&file), library);
    CHECK_HAS(str_text(&file), "\tn2 c64 h12 w10 o64 k3x3 s1x1 ");
    run_and_explain(&options, "block.conv1", &second);
    CHECK_HAS(str_text(&second), ", remembered, ");
    str_release(&first);
    str_release(&second);
    str_release(&file);
}

static void write_file(const char *path, const char *text)
{
    struct output *output;

    CHECK_INT(output_open(path, &output, &err), ASSAY_OK);
    sink_puts(output_sink(output), text);
    CHECK_INT(output_commit(output, &err), ASSAY_OK);
}

TEST(a_file_of_choices_that_is_damaged_is_replaced)
{
    static const char *const damaged[] = {
        "",
        "something else\n",
        "assay kernel choices 5",
        "assay kernel choices 5\nno tabs\n",
        "assay kernel choices 5\na\tb\tdirect x 1\na\tc\tdirect y\n",
        "assay kernel choices 5\na\tb\tdirect x nan\n",
        "assay kernel choices 5\na\tb\tdirect x 1"};
    const char *path = test_path("damaged.txt");
    struct engine_options options = choosing_options(path);

    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        struct str text = {0}, file = {0};

        write_file(path, damaged[i]);
        run_and_explain(&options, "block.conv1", &text);
        CHECK_INT(file_read(path, 1 << 20, &file, &err), ASSAY_OK);
        CHECK_HAS(str_text(&text), ", measured, ");
        CHECK_HAS(str_text(&file), "n2 c64 h12 w10 o64 k3x3 ");
        CHECK(!strstr(str_text(&file), "\tdirect x "));
        str_release(&text);
        str_release(&file);
    }
}

TEST(a_remembered_kernel_that_is_not_there_is_measured_anew)
{
    const char *path = test_path("stale.txt");
    struct engine_options options = choosing_options(path);
    struct str text = {0}, file = {0}, stale = {0};
    const char *line;

    run_and_explain(&options, "block.conv1", &text);
    CHECK_INT(file_read(path, 1 << 20, &file, &err), ASSAY_OK);
    line = strstr(str_text(&file), "\tn2 c64 h12 w10 o64 k3x3 ");
    CHECK(line);
    line = strchr(line + 1, '\t');
    CHECK_INT(str_append_n(&stale, file.text, (size_t)(line - file.text)),
              ASSAY_OK);
    CHECK_INT(str_append(&stale, "\tdirect no_such_kernel 0.1\n"), ASSAY_OK);
    write_file(path, stale.text);
    str_clear(&text);
    run_and_explain(&options, "block.conv1", &text);
    CHECK_HAS(str_text(&text), ", measured, ");
    str_release(&text);
    str_release(&file);
    str_release(&stale);
}

TEST(weights_that_several_nodes_share_are_reordered_once)
{
    struct network net = network_new();
    struct engine_options options = dnnl_options(true);
    struct shape w =
        shape_of(4, (int64_t)64, (int64_t)64, (int64_t)3, (int64_t)3);
    struct shape x =
        shape_of(4, (int64_t)1, (int64_t)64, (int64_t)8, (int64_t)8);
    struct conv2d_attrs attrs = conv2d_defaults();
    uint32_t inputs[CONV2D_INPUTS] = {0, 0, GRAPH_NONE, GRAPH_NONE};
    size_t weights_bytes, scratch_bytes;
    struct tensor image, y;
    struct engine *engine;

    graph_free(net.graph);
    CHECK_INT(graph_new(&net.graph, &err), ASSAY_OK);
    CHECK_INT(graph_input(net.graph, "x", DTYPE_F32, &inputs[0], &err),
              ASSAY_OK);
    inputs[1] = network_parameter(&net, GRAPH_NONE, "weight", &w, -1, 1);
    for (int i = 0; i < 3; i++)
        inputs[0] = network_add(&net, &op_conv2d, &attrs, GRAPH_NONE, inputs,
                                CONV2D_INPUTS);
    CHECK_INT(graph_output(net.graph, "y", inputs[0], &err), ASSAY_OK);
    image = network_data(&net, &x, -1, 1);
    engine = engine_of(&net, &options);
    run(engine, &image, &y);
    engine_backend(engine)->class->memory(engine_backend(engine),
                                          &weights_bytes, &scratch_bytes);
    /* One copy; the pool rounds a buffer up by at most an eighth. */
    CHECK(weights_bytes <= (size_t)64 * 64 * 9 * sizeof(float) * 9 / 8);
    tensor_release(&y);
    tensor_release(&image);
    engine_free(engine);
    network_free(&net);
}

/* A 3x3 convolution and a norm, which the pass folds. */
static struct network conv_and_norm(int64_t channels)
{
    struct network net = network_new();
    uint32_t image, y;

    graph_free(net.graph);
    CHECK_INT(graph_new(&net.graph, &err), ASSAY_OK);
    CHECK_INT(graph_input(net.graph, "x", DTYPE_F32, &image, &err), ASSAY_OK);
    y = network_conv(&net, GRAPH_NONE, "conv", image, channels, channels, 3);
    y = network_norm(&net, GRAPH_NONE, "bn", y, channels);
    CHECK_INT(graph_output(net.graph, "y", y, &err), ASSAY_OK);
    return net;
}

static void unmap(void *mapped)
{
    munmap(mapped, (size_t)64 * 64 * 9 * sizeof(float));
}

/* The weight, moved into a file that is mapped. */
static void put_into_file(struct network *net, const char *path)
{
    uint32_t value = graph_find_value(net->graph, "conv.weight");
    struct tensor data = tensor_share(&graph_value(net->graph, value)->data);
    size_t bytes = tensor_bytes(&data);
    struct output *output;
    void *mapped;
    int fd;

    CHECK_INT(output_open(path, &output, &err), ASSAY_OK);
    sink_write(output_sink(output), tensor_data(&data), bytes);
    CHECK_INT(output_commit(output, &err), ASSAY_OK);
    fd = open(path, O_RDONLY);
    mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    CHECK(mapped != MAP_FAILED);
    close(fd);
    tensor_release(&data);
    CHECK_INT(
        buffer_wrap_file(mapped, bytes, unmap, mapped, &data.buffer, &err),
        ASSAY_OK);
    data.dtype = DTYPE_F32;
    data.shape = graph_value(net->graph, value)->shape;
    graph_release_data(net->graph, value);
    CHECK_INT(graph_set_data(net->graph, value, data, &err), ASSAY_OK);
}

TEST(an_image_of_another_size_packs_the_weights_anew_from_the_file)
{
    static const int64_t sizes[][2] = {{12, 10}, {1, 1}, {40, 33}, {12, 10}};
    static const char *const algorithms[] = {"winograd", "direct"};
    struct engine_options portable = {.device = &device_portable};
    struct engine_options options = dnnl_options(false);
    struct network plain = conv_and_norm(64), fused = conv_and_norm(64);
    struct engine *reference = engine_of(&plain, &portable), *engines[2];

    put_into_file(&fused, test_path("weight.f32"));
    CHECK_STATUS(fuse_graph(fused.graph, fused.pool, &err), ASSAY_OK, &err);
    for (int k = 0; k < 2; k++) {
        options.backend_options.algorithm = algorithms[k];
        engines[k] = engine_of(&fused, &options);
    }
    for (int i = 0; i < 4; i++) {
        struct shape shape =
            shape_of(4, (int64_t)1, (int64_t)64, sizes[i][0], sizes[i][1]);
        struct tensor x = network_data(&plain, &shape, -1, 1), want, got;

        run(reference, &x, &want);
        for (int k = 0; k < 2; k++) {
            run(engines[k], &x, &got);
            check_near(&got, &want, 5e-4);
            tensor_release(&got);
        }
        tensor_release(&want);
        tensor_release(&x);
    }
    for (int k = 0; k < 2; k++)
        engine_free(engines[k]);
    engine_free(reference);
    network_free(&plain);
    network_free(&fused);
}

/* Of a convolution of few channels, for which Winograd's is no good. */
static size_t measure_scratch(const struct engine_options *options)
{
    struct network net = conv_and_norm(6);
    struct shape shape =
        shape_of(4, (int64_t)1, (int64_t)6, (int64_t)56, (int64_t)56);
    struct tensor x = network_data(&net, &shape, -1, 1), y;
    struct engine *engine = engine_of(&net, options);
    size_t weights_bytes, scratch_bytes;

    run(engine, &x, &y);
    engine_backend(engine)->class->memory(engine_backend(engine),
                                          &weights_bytes, &scratch_bytes);
    tensor_release(&y);
    tensor_release(&x);
    engine_free(engine);
    network_free(&net);
    return scratch_bytes;
}

/* A wide map between convolutions whose channels fill no blocks, and a 3x3
 * convolution behind it. */
static struct network wide_and_greedy(int64_t wide)
{
    struct network net = network_new();
    uint32_t image, y;

    graph_free(net.graph);
    CHECK_INT(graph_new(&net.graph, &err), ASSAY_OK);
    CHECK_INT(graph_input(net.graph, "x", DTYPE_F32, &image, &err), ASSAY_OK);
    y = network_conv(&net, GRAPH_NONE, "wide", image, 128, wide, 1);
    y = network_norm(&net, GRAPH_NONE, "wide_bn", y, wide);
    y = network_conv(&net, GRAPH_NONE, "narrow", y, wide, 127, 1);
    y = network_norm(&net, GRAPH_NONE, "narrow_bn", y, 127);
    y = network_conv(&net, GRAPH_NONE, "greedy", y, 127, 128, 3);
    CHECK_INT(graph_output(net.graph, "y", y, &err), ASSAY_OK);
    return net;
}

/* Whether the 3x3 convolution had a kernel that needs more scratch memory than
 * the wide map has bytes, so that something was seen. */
static bool check_scratch(const char *algorithm, int64_t wide, int64_t side)
{
    struct network net = wide_and_greedy(wide);
    struct engine_options options = dnnl_options(false);
    struct shape shape = shape_of(4, (int64_t)1, (int64_t)128, side, side);
    struct tensor x = network_data(&net, &shape, -1, 1), y;
    size_t wide_bytes = (size_t)(wide * side * side) * 4, scratch, weights;
    struct engine *engine;
    struct pool_usage usage;

    options.backend_options.algorithm = algorithm;
    options.backend_options.tuning_seconds = 1e-9;
    CHECK_STATUS(fuse_graph(net.graph, net.pool, &err), ASSAY_OK, &err);
    engine = engine_of(&net, &options);
    run(engine, &x, &y);
    tensor_release(&y);
    pool_reset_peak(net.pool);
    usage = pool_usage(net.pool);
    run(engine, &x, &y);
    tensor_release(&y);
    engine_backend(engine)->class->memory(engine_backend(engine), &weights,
                                          &scratch);
    if (scratch > wide_bytes)
        CHECK(pool_usage(net.pool).peak_bytes <
              usage.live_bytes + scratch + wide_bytes);
    tensor_release(&x);
    engine_free(engine);
    network_free(&net);
    return scratch > wide_bytes;
}

TEST(a_kernel_that_needs_little_scratch_memory_gets_little)
{
    check_scratch("winograd", 392, 28); /* where there is such a kernel */
    CHECK(check_scratch("gemm", 1022, 6));
}

TEST(kernels_that_lost_leave_no_scratch_memory_behind)
{
    struct engine_options options = dnnl_options(false);
    size_t compared;

    options.backend_options.tuning_seconds = 20;
    options.backend_options.choices_path = test_path("scratch.txt");
    compared = measure_scratch(&options);
    CHECK_INT(compared, measure_scratch(&options));
}

TEST(choices_are_on_disk_when_the_first_pass_is_over)
{
    const char *path = test_path("early.txt");
    struct engine_options options = choosing_options(path);
    struct network net = network_new();
    struct tensor outputs[n_outputs];
    struct str text = {0}, file = {0};
    struct engine *engine;

    engine = engine_of(&net, &options);
    run(engine, &net.x, outputs);
    release(outputs);
    explain(engine, &net, "block.conv1", &text);
    CHECK_HAS(str_text(&text), ", measured, ");
    CHECK_INT(file_read(path, 1 << 20, &file, &err), ASSAY_OK);
    CHECK_HAS(str_text(&file), "\tn2 c64 h12 w10 o64 k3x3 s1x1 ");
    str_release(&text);
    str_release(&file);
    engine_free(engine);
    network_free(&net);
}

static struct tensor integers(struct network *net, const struct shape *shape,
                              const int64_t *values)
{
    struct tensor made;

    CHECK_INT(tensor_new(net->pool, DTYPE_I64, shape, &made, &err), ASSAY_OK);
    memcpy(tensor_data(&made), values, tensor_bytes(&made));
    return made;
}

/* A graph of a convolution with 40 channels, so that the last block is not
 * full, and RoiAlign on it. */
static void make_roi_graph(struct network *net, struct tensor *inputs)
{
    static const int64_t counts[] = {2}, sizes[] = {48, 40};
    static const float boxes[] = {1, 2, 30, 20, 5.5f, 0, 39, 47.5f};
    struct shape boxes_shape = shape_of(2, (int64_t)2, (int64_t)4);
    struct shape counts_shape = shape_of(1, (int64_t)1);
    struct shape sizes_shape = shape_of(2, (int64_t)1, (int64_t)2);
    struct shape map_shape =
        shape_of(4, (int64_t)1, (int64_t)16, (int64_t)12, (int64_t)10);
    struct roi_align_attrs attrs = {.size = 7,
                                    .sampling_ratio = 2,
                                    .canonical_size = 224,
                                    .canonical_level = 4};
    uint32_t values[ROI_ALIGN_MAPS + 1], out;

    CHECK_INT(graph_new(&net->graph, &err), ASSAY_OK);
    for (size_t i = 0; i <= ROI_ALIGN_MAPS; i++)
        CHECK_INT(graph_input(net->graph,
                              (const char *[]){"b", "c", "s", "x"}[i],
                              DTYPE_F32, &values[i], &err),
                  ASSAY_OK);
    values[ROI_ALIGN_MAPS] = network_conv(net, GRAPH_NONE, "conv",
                                          values[ROI_ALIGN_MAPS], 16, 40, 3);
    out = network_add(net, &op_roi_align, &attrs, GRAPH_NONE, values,
                      ROI_ALIGN_MAPS + 1);
    CHECK_INT(graph_output(net->graph, "y", out, &err), ASSAY_OK);
    CHECK_INT(tensor_new(net->pool, DTYPE_F32, &boxes_shape, &inputs[0], &err),
              ASSAY_OK);
    memcpy(tensor_data(&inputs[0]), boxes, sizeof boxes);
    inputs[1] = integers(net, &counts_shape, counts);
    inputs[2] = integers(net, &sizes_shape, sizes);
    inputs[3] = network_data(net, &map_shape, -1, 1);
}

TEST(boxes_are_cut_out_of_blocked_maps_as_out_of_dense_ones)
{
    struct engine_options options[] = {{.device = &device_portable},
                                       dnnl_options(true)};
    struct network net = {.random = random_seed(5)};
    struct tensor inputs[ROI_ALIGN_MAPS + 1], y[2];

    CHECK_INT(pool_new(&net.pool, &err), ASSAY_OK);
    make_roi_graph(&net, inputs);
    for (int i = 0; i < 2; i++) {
        struct engine *engine = engine_of(&net, &options[i]);

        run(engine, inputs, &y[i]);
        engine_free(engine);
    }
    check_near(&y[1], &y[0], 1e-5);
    release(y);
    for (size_t i = 0; i <= ROI_ALIGN_MAPS; i++)
        tensor_release(&inputs[i]);
    network_free(&net);
}

/* Every few allocations, so that all parts of the backend are met in a few
 * seconds. */
TEST(whichever_allocation_fails_nothing_is_lost)
{
    enum { step = 3 };
    struct engine_options options = dnnl_options(false);
    struct network net = network_new();
    struct tensor outputs[n_outputs];
    enum assay_status st;
    long nth = 0, before;

    options.backend_options.tuning_seconds = 0.05;
    options.backend_options.choices_path = test_path("failing.txt");
    CHECK_STATUS(fuse_graph(net.graph, net.pool, &err), ASSAY_OK, &err);
    do {
        struct engine *engine = NULL;

        pool_trim(net.pool);
        before = mem_live();
        mem_fail_at(nth);
        st = engine_new(net.graph, net.pool, &options, &engine, NULL);
        if (!st)
            st = engine_run(engine, &net.x, outputs, NULL);
        mem_fail_at(-1);
        if (!st)
            release(outputs);
        engine_free(engine);
        pool_trim(net.pool);
        CHECK_INT(mem_live(), before);
        nth += step;
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    CHECK(nth > 10 * step);
    network_free(&net);
}
