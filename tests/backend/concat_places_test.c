/* Concatenations whose parts are made in place. */
#include "backend/device.h"
#include "base/processor.h"
#include "engine/engine.h"
#include "ops/movement/concat.h"
#include "passes/residual_block.h"

#include <math.h>

static struct error err;

static uint32_t concat(struct network *net, const uint32_t *parts, size_t n)
{
    static const struct concat_attrs channels = {.axis = 1};

    return network_add(net, &op_concat, &channels, GRAPH_NONE, parts, n);
}

static uint32_t conv(struct network *net, const char *name, uint32_t x,
                     int64_t c, int64_t o)
{
    return network_conv(net, GRAPH_NONE, name, x, c, o, 3);
}

/* As in a DenseNet: what a layer makes is put behind what it has read. The
 * first part is read again when it is in place, and the last one does not fill
 * its block. */
static struct network dense_block(int64_t images)
{
    struct network net = network_new();
    struct shape shape =
        shape_of(4, images, (int64_t)3, (int64_t)20, (int64_t)23);
    uint32_t image, a, b, c, parts[3], y;

    graph_free(net.graph);
    tensor_release(&net.x);
    net.x = network_data(&net, &shape, -1, 1);
    CHECK_INT(graph_new(&net.graph, &err), ASSAY_OK);
    CHECK_INT(graph_input(net.graph, "x", DTYPE_F32, &image, &err), ASSAY_OK);
    a = conv(&net, "a", image, 3, 32);
    b = conv(&net, "b", a, 32, 16);
    parts[0] = a, parts[1] = b;
    b = concat(&net, parts, 2);
    c = conv(&net, "c", b, 48, 32);
    parts[0] = b, parts[1] = c;
    c = concat(&net, parts, 2);
    b = conv(&net, "again", a, 32, 64);
    a = conv(&net, "few", c, 80, 10);
    parts[0] = c, parts[1] = b, parts[2] = a;
    y = conv(&net, "last", concat(&net, parts, 3), 154, 24);
    CHECK_INT(graph_output(net.graph, "y", y, &err), ASSAY_OK);
    return net;
}

/* What is used again holds anything. */
static void leave_dirt(struct network *net)
{
    enum { n_maps = 5 };
    struct shape shape = shape_of(4, net->x.shape.dims[0], (int64_t)160,
                                  (int64_t)20, (int64_t)23);
    struct tensor dirt[n_maps];

    for (int64_t i = 0; i < n_maps; i++) {
        shape.dims[1] = 32 * (i + 1);
        CHECK_INT(tensor_new(net->pool, DTYPE_F32, &shape, &dirt[i], &err),
                  ASSAY_OK);
        for (size_t k = 0; k < tensor_elements(&dirt[i]); k++)
            tensor_f32(&dirt[i])[k] = NAN;
    }
    for (int i = 0; i < n_maps; i++)
        tensor_release(&dirt[i]);
}

static struct engine *engine_on(const struct network *net,
                                const struct device *device)
{
    struct engine_options options = {
        .device = device,
        .backend_options = {.n_threads = 2, .algorithm = "direct"}};
    struct engine *engine;

    CHECK_STATUS(engine_new(net->graph, net->pool, &options, &engine, &err),
                 ASSAY_OK, &err);
    return engine;
}

static void check_passes(int64_t images, bool keeps_all)
{
    struct network net = dense_block(images);
    struct engine *slow = engine_on(&net, &device_portable);
    struct engine *fast = engine_on(&net, device_cpu());
    struct tensor want, got;

    for (size_t i = 0; keeps_all && i < graph_node_count(net.graph); i++) {
        uint32_t value = graph_node(net.graph, i)->outputs[0];

        CHECK_INT(engine_keep(slow, value, &err), ASSAY_OK);
        CHECK_INT(engine_keep(fast, value, &err), ASSAY_OK);
    }
    CHECK_STATUS(engine_run(slow, &net.x, &want, &err), ASSAY_OK, &err);
    for (int pass = 0; pass < 3; pass++) {
        leave_dirt(&net);
        CHECK_STATUS(engine_run(fast, &net.x, &got, &err), ASSAY_OK, &err);
        for (size_t i = 0; i < tensor_elements(&want); i++)
            CHECK_NEAR(tensor_f32(&got)[i], tensor_f32(&want)[i], 2e-3);
        tensor_release(&got);
        for (size_t i = 0; keeps_all && i < graph_node_count(net.graph); i++) {
            uint32_t value = graph_node(net.graph, i)->outputs[0];
            const struct tensor *a = engine_kept(fast, value);
            const struct tensor *b = engine_kept(slow, value);

            for (size_t k = 0; k < tensor_elements(b); k++)
                CHECK_NEAR(tensor_f32(a)[k], tensor_f32(b)[k], 2e-3);
        }
    }
    tensor_release(&want);
    engine_free(slow);
    engine_free(fast);
    network_free(&net);
}

TEST(parts_made_in_place_are_what_the_portable_kernels_compute)
{
    check_passes(1, false);
}

TEST(what_others_read_of_a_part_is_not_overwritten)
{
    check_passes(1, true);
}

TEST(parts_of_several_images_are_copied)
{
    check_passes(2, false);
}

TEST(nothing_is_copied_once_the_places_are_known)
{
    struct network net = dense_block(1);
    struct engine *engine = engine_on(&net, device_cpu());
    size_t peaks[2];
    struct tensor y;

    for (int pass = 0; pass < 2; pass++) {
        pool_reset_peak(net.pool);
        CHECK_STATUS(engine_run(engine, &net.x, &y, &err), ASSAY_OK, &err);
        peaks[pass] = pool_usage(net.pool).peak_bytes;
        tensor_release(&y);
    }
    if (processor_level() >= PROCESSOR_AVX2)
        CHECK(peaks[1] < peaks[0]);
    engine_free(engine);
    network_free(&net);
}
