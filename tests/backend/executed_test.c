/* tests/backend/executed_test.c - the work that kernels report, against counts
 * made by hand. */
#include "../engine/small_graph.h"

#include "backend/dnnl/dnnl_internal.h"
#include "base/str.h"
#include "ops/movement/gather.h"

#include <stdio.h>
#include <string.h>

static struct error err;

struct layer {
    int64_t in, out, height, width, kernel, stride, groups;
    bool has_residual;
};

/* x, a convolution with padding of half the kernel, and perhaps x again as its
 * residual. */
static struct small layer_graph(const struct layer *layer)
{
    struct small small = small_new();
    struct shape w = shape_of(4, layer->out, layer->in / layer->groups,
                              layer->kernel, layer->kernel);
    struct conv2d_attrs attrs = conv2d_defaults();
    uint32_t x = small_input(&small), y;
    uint32_t inputs[CONV2D_INPUTS] = {x, GRAPH_NONE, GRAPH_NONE,
                                      layer->has_residual ? x : GRAPH_NONE};
    struct node_description node = {.op = &op_conv2d,
                                    .attrs = &attrs,
                                    .scope = GRAPH_NONE,
                                    .inputs = inputs,
                                    .n_inputs = CONV2D_INPUTS,
                                    .n_outputs = 1};

    for (int i = 0; i < 2; i++) {
        attrs.stride[i] = layer->stride;
        attrs.before[i] = attrs.after[i] = layer->kernel / 2;
    }
    attrs.groups = layer->groups;
    CHECK_INT(graph_parameter(small.graph, GRAPH_NONE, "w", VALUE_PARAMETER,
                              DTYPE_F32, &w, &inputs[CONV2D_WEIGHT], &err),
              0);
    CHECK_INT(graph_set_data(small.graph, inputs[CONV2D_WEIGHT],
                             small_ones(&small, w), &err),
              0);
    CHECK_INT(graph_node_add(small.graph, &node, &y, &err), 0);
    small_output(&small, y);
    return small;
}

/* Has the kernel that ran counted as one of Winograd's, which few processors
 * have. Its weights are not in Winograd's form, so that it would transform them
 * each time. */
static void call_it_winograd(struct engine *engine)
{
    struct kernel *kernel = *kernel_list(
        (struct onednn *)engine_backend(engine), DIRECTION_FORWARD, 0);
    struct candidate *name = &kernel->candidates.items[0];

    if (strncmp(name->name, "winograd", 8) != 0)
        snprintf(name->name, sizeof name->name, "winograd made_up_4x3");
}

/* Runs it; *kernel says how, where it is asked for. */
static struct cost cost_of(const struct layer *layer,
                           const struct backend_options *options,
                           struct str *kernel)
{
    struct small small = layer_graph(layer);
    struct engine_options wanted = {.device = device_cpu(),
                                    .backend_options = *options};
    struct tensor x = small_ones(&small, shape_of(4, (int64_t)1, layer->in,
                                                  layer->height, layer->width));
    struct engine *engine;
    struct tensor y;
    struct cost cost;

    CHECK_STATUS(engine_new(small.graph, small.pool, &wanted, &engine, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(engine_run(engine, &x, &y, &err), ASSAY_OK, &err);
    if (options->algorithm) {
        call_it_winograd(engine);
        tensor_release(&y);
        CHECK_STATUS(engine_run(engine, &x, &y, &err), ASSAY_OK, &err);
    }
    cost = *engine_cost(engine, 0);
    if (kernel) {
        struct sink sink = sink_to_str(kernel);
        struct backend *backend = engine_backend(engine);

        backend->class->explain(backend, graph_node(small.graph, 0), 0, &sink);
    }
    tensor_release(&y);
    tensor_release(&x);
    engine_free(engine);
    small_free(&small);
    return cost;
}

TEST(a_direct_convolution_skips_the_zeros_around_its_input)
{
    struct layer layer = {64, 64, 16, 16, 3, 1, 1, false};
    struct backend_options plain = {.n_threads = 1, .is_plain = true};
    struct cost cost = cost_of(&layer, &plain, NULL);

    CHECK_INT(cost.macs, 16 * 16 * 9 * 64 * 64);
    /* 16 outputs with 3 places each, less one at either end. */
    CHECK_INT(cost.done_flops, 2 * 46 * 46 * 64 * 64);
    /* Stride 2: 8 outputs; only the first one meets a zero. */
    layer.stride = 2;
    cost = cost_of(&layer, &plain, NULL);
    CHECK_INT(cost.done_flops, 2 * 23 * 23 * 64 * 64);
}

TEST(channels_that_fill_up_a_block_are_computed_too)
{
    struct layer layer = {64, 20, 8, 8, 1, 1, 1, false};
    struct backend_options plain = {.n_threads = 1, .is_plain = true};
    struct str kernel = {0};
    struct cost cost = cost_of(&layer, &plain, &kernel);
    bool has_16 = strstr(str_text(&kernel), "to nChw16c") != NULL;
    bool has_8 = strstr(str_text(&kernel), "to nChw8c") != NULL;
    uint64_t computed = has_16 ? 32 : has_8 ? 24 : 20;

    str_release(&kernel);
    CHECK_INT(cost.macs, 64 * 20 * 64);
    CHECK_INT(cost.done_flops, 2 * 64 * computed * 64);
}

/* Of a 1x1 convolution of 20 channels with one thread; the vectors of our
 * kernel have *width numbers. */
static uint64_t pointwise_flops(int64_t n_outputs, int *width)
{
    struct layer layer = {20, n_outputs, 8, 8, 1, 1, 1, false};
    struct backend_options options = {.n_threads = 1};
    struct str kernel = {0};
    struct cost cost = cost_of(&layer, &options, &kernel);
    const char *text = str_text(&kernel);

    *width = strstr(text, "assay_1x1:avx512") ? 16
             : strstr(text, "assay_1x1:avx2") ? 8
                                              : 0;
    str_release(&kernel);
    return cost.done_flops;
}

TEST(a_pointwise_kernel_of_ours_reads_no_channels_that_are_not_there)
{
    int width;
    uint64_t flops = pointwise_flops(40, &width);

    if (!width)
        SKIP_PROCESSOR("needs AVX2");
    CHECK_INT(flops, 2 * 64 * 20 * (width == 16 ? 48 : 40));
}

TEST(few_outputs_are_summed_up_block_by_block)
{
    int width;
    uint64_t flops = pointwise_flops(1, &width);

    if (!width)
        SKIP_PROCESSOR("needs AVX2");
    CHECK_INT(flops, 2 * 64 * (width == 16 ? 32 : 24));
}

TEST(groups_do_their_own_share_only)
{
    struct layer layer = {32, 32, 6, 6, 3, 1, 32, false};
    struct backend_options plain = {.n_threads = 1, .is_plain = true};
    struct cost cost = cost_of(&layer, &plain, NULL);

    CHECK_INT(cost.done_flops, 2 * 16 * 16 * 32);
}

/* Whether the kernel that was chosen has that in its name; the others follow
 * behind a comma. */
static bool is_chosen(const struct str *kernel, const char *word)
{
    const char *name = strstr(str_text(kernel), ": winograd ");
    const char *found = name ? strstr(name, word) : NULL;

    return found && found < name + strcspn(name, ",");
}

static void check_winograd(const char *algorithm)
{
    /* 18 by 14 outputs are 5 by 4 tiles of 4 by 4, or 9 by 7 of 2 by 2. */
    struct layer layer = {64, 128, 18, 14, 3, 1, 1, false};
    struct backend_options options = {.n_threads = 1, .algorithm = algorithm};
    struct str kernel = {0};
    struct cost cost = cost_of(&layer, &options, &kernel);
    bool is_made_up = is_chosen(&kernel, "made_up");
    bool is_small = is_chosen(&kernel, "2x3");
    uint64_t of_weights = is_made_up ? 135 * 64 * 128 : 0;

    str_release(&kernel);
    if (is_small)
        CHECK_INT(cost.done_flops,
                  63 * (2 * 16 * 64 * 128 + 32 * 64 + 24 * 128));
    else
        CHECK_INT(cost.done_flops,
                  20 * (2 * 36 * 64 * 128 + 288 * 64 + 160 * 128) + of_weights);
    CHECK_INT(cost.macs, 18 * 14 * 9 * 64 * 128);
    CHECK(cost.done_flops < 2 * cost.macs);
    if (is_made_up)
        return;
    /* The packed weights alone are larger than those of the graph. */
    CHECK(cost.done_bytes >
          4 * (18 * 14 * (64 + 128) + (is_small ? 16 : 36) * 64 * 128));
}

TEST(winograd_does_fewer_products_and_its_transforms)
{
    check_winograd("winograd");
    check_winograd("winograd assay_4x3");
    check_winograd("winograd assay_2x3");
}

TEST(winograd_of_5x5_does_36_products_for_100)
{
    /* 9 by 7 tiles of 2 by 2. */
    struct layer layer = {64, 128, 18, 14, 5, 1, 1, false};
    struct backend_options options = {.n_threads = 1,
                                      .algorithm = "winograd assay_2x5"};
    struct str kernel = {0};
    struct cost cost = cost_of(&layer, &options, &kernel);
    bool is_ours = is_chosen(&kernel, "assay_2x5");

    str_release(&kernel);
    if (!is_ours)
        SKIP_PROCESSOR("it has no AVX2");
    CHECK_INT(cost.done_flops, 63 * (2 * 36 * 64 * 128 + 288 * 64 + 96 * 128));
}

TEST(our_winograd_multiplies_no_channels_that_only_fill_up_a_block)
{
    struct layer layer = {20, 64, 8, 8, 3, 1, 1, false};
    struct backend_options options = {.n_threads = 1,
                                      .algorithm = "winograd assay_4x3"};
    struct str kernel = {0};
    struct cost cost = cost_of(&layer, &options, &kernel);
    bool is_ours = is_chosen(&kernel, "assay_4x3");
    bool has_16 = strstr(str_text(&kernel), "to nChw16c") != NULL;

    str_release(&kernel);
    if (!is_ours)
        SKIP_PROCESSOR("it has no AVX2");
    CHECK_INT(cost.done_flops,
              4 * (2 * 36 * 20 * 64 + 288 * (has_16 ? 32 : 24) + 160 * 64));
}

TEST(a_reorder_reads_and_writes_the_map_once_more)
{
    struct layer layer = {64, 64, 8, 8, 1, 1, 1, false};
    struct backend_options plain = {.n_threads = 1, .is_plain = true};
    struct str kernel = {0};
    struct cost cost = cost_of(&layer, &plain, &kernel);
    bool is_reordered = strstr(str_text(&kernel), "x reordered") != NULL;
    uint64_t map = 4 * 64 * 64, weights = 4 * 64 * 64;

    str_release(&kernel);
    CHECK_INT(cost.read_bytes, map + weights);
    CHECK_INT(cost.done_bytes,
              weights + map + map + (is_reordered ? 2 * map : 0));
}

TEST(a_residual_that_must_stay_is_copied_first)
{
    struct layer layer = {64, 64, 8, 8, 1, 1, 1, true};
    struct backend_options plain = {.n_threads = 1, .is_plain = true};
    struct cost with = cost_of(&layer, &plain, NULL), without;

    layer.has_residual = false;
    without = cost_of(&layer, &plain, NULL);
    /* Read, copied (read and written). */
    CHECK_INT(with.done_bytes - without.done_bytes, 3 * 4 * 64 * 64);
}

static struct cost cost_of_op(const struct op_class *op, uint32_t n_inputs)
{
    struct small small = small_new();
    uint32_t x = small_input(&small), inputs[2] = {x, x};
    struct engine *engine;
    struct tensor data, y;
    struct cost cost;

    small_output(&small,
                 small_node(&small, op, GRAPH_NONE, NULL, inputs, n_inputs));
    engine = small_engine(&small, &device_portable, ENGINE_OPS);
    data = small_ones(
        &small, shape_of(4, (int64_t)1, (int64_t)3, (int64_t)4, (int64_t)5));
    CHECK_STATUS(engine_run(engine, &data, &y, &err), ASSAY_OK, &err);
    cost = *engine_cost(engine, 0);
    tensor_release(&y);
    tensor_release(&data);
    engine_free(engine);
    small_free(&small);
    return cost;
}

TEST(what_an_op_does_not_touch_was_not_moved)
{
    uint64_t map = 4 * 3 * 4 * 5;
    struct cost add = cost_of_op(&op_add, 2);

    CHECK_INT(add.done_bytes, 3 * map);
    CHECK_INT(add.done_flops, 3 * 4 * 5);
    /* Of the second map only the shape is read. */
    CHECK_INT(cost_of_op(&op_resize_nearest, 2).read_bytes, 2 * map);
    CHECK_INT(cost_of_op(&op_resize_nearest, 2).done_bytes, 2 * map);
}

TEST(a_lookup_reads_no_more_than_it_gives)
{
    struct small small = small_new();
    struct shape one = shape_of(1, (int64_t)1);
    uint32_t inputs[2] = {small_input(&small)}, y;
    struct gather_attrs attrs = {.axis = 0};
    struct node_description node = {.op = &op_gather,
                                    .attrs = &attrs,
                                    .scope = GRAPH_NONE,
                                    .inputs = inputs,
                                    .n_inputs = 2,
                                    .n_outputs = 1};
    struct tensor index, data, row;
    struct engine *engine;

    CHECK_INT(tensor_new(small.pool, DTYPE_I64, &one, &index, &err), 0);
    tensor_i64(&index)[0] = 7;
    CHECK_INT(graph_constant(small.graph, "index", index, &inputs[1], &err), 0);
    CHECK_INT(graph_node_add(small.graph, &node, &y, &err), 0);
    small_output(&small, y);
    engine = small_engine(&small, &device_portable, ENGINE_OPS);
    data = small_ones(&small, shape_of(2, (int64_t)100, (int64_t)3));
    CHECK_STATUS(engine_run(engine, &data, &row, &err), ASSAY_OK, &err);
    CHECK_INT(engine_cost(engine, 0)->read_bytes, 100 * 3 * 4 + 8);
    /* A row read and written, and where it is. */
    CHECK_INT(engine_cost(engine, 0)->done_bytes, 3 * 4 + 3 * 4 + 8);
    tensor_release(&row);
    tensor_release(&data);
    engine_free(engine);
    small_free(&small);
}
