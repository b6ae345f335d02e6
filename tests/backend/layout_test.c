/* tests/backend/layout_test.c - layouts and operations as the backend speaks of
 * them, whichever version of oneDNN is below. */
#include "../engine/small_graph.h"

#include "backend/dnnl/dnnl_internal.h"
#include "base/mem.h"

#include <string.h>

static struct small small;
static struct backend *backend;
static struct error err;

static struct onednn *open_backend(void)
{
    struct backend_options options = {.n_threads = 1};

    err = (struct error){0};
    small = small_new();
    small_output(&small, small_input(&small));
    CHECK_STATUS(
        backend_dnnl.make(device_cpu(), small.graph, &options, &backend, &err),
        ASSAY_OK, &err);
    return (struct onednn *)backend;
}

static void close_backend(void)
{
    backend_dnnl.free(backend);
    small_free(&small);
}

static struct shape map_shape(int64_t channels)
{
    return shape_of(4, (int64_t)2, channels, (int64_t)3, (int64_t)5);
}

TEST(equal_layouts_are_one_pointer)
{
    struct onednn *dn = open_backend();
    struct shape shape = map_shape(20), other = map_shape(21);
    const struct layout *dense = layout_dense(dn, &shape);
    const struct layout *blocked =
        layout_ordered(dn, &shape, ORDER_BLOCKS_OF_16);
    const int64_t strides[] = {20 * 15, 15, 5, 1};
    const struct layout *found;

    CHECK(dense == layout_dense(dn, &shape));
    CHECK(dense == layout_strided(dn, &shape, strides));
    CHECK_STATUS(layout_intern(dn, blocked->native, &found, &err), ASSAY_OK,
                 &err);
    CHECK(found == blocked);
    CHECK(blocked != dense);
    CHECK(layout_any(dn, &shape) != dense);
    CHECK(layout_dense(dn, &other) != dense);
    CHECK(layout_like(dn, blocked, &other) ==
          layout_ordered(dn, &other, ORDER_BLOCKS_OF_16));
    close_backend();
}

TEST(a_layout_knows_its_blocks_and_its_size)
{
    struct onednn *dn = open_backend();
    struct shape shape = map_shape(20), w;
    const struct layout *layout =
        layout_ordered(dn, &shape, ORDER_BLOCKS_OF_16);

    /* 20 channels are a block and a quarter. */
    CHECK_INT(layout->channels, 32);
    CHECK_INT(layout->block, 16);
    CHECK_INT(layout->bytes, 2 * 32 * 15 * 4);
    CHECK_STR(layout_text(layout), "nChw16c");
    layout = layout_ordered(dn, &shape, ORDER_CHANNELS_LAST);
    CHECK_INT(layout->channels, 20);
    CHECK_INT(layout->block, 1);
    CHECK_INT(layout->bytes, 2 * 20 * 15 * 4);
    CHECK_STR(layout_text(layout), "nhwc");
    w = shape_of(4, (int64_t)32, (int64_t)20, (int64_t)1, (int64_t)1);
    layout = layout_ordered(dn, &w, ORDER_WEIGHTS_16X16);
    CHECK_INT(layout->bytes, 32 * 32 * 4);
    CHECK_STR(layout_text(layout), "other");
    CHECK(layout_like(dn, layout, &shape) == NULL);
    close_backend();
}

TEST(what_lies_in_several_orders_at_once_is_dense)
{
    struct onednn *dn = open_backend();
    struct shape one_channel = map_shape(1), scalar = {0};

    CHECK(layout_ordered(dn, &one_channel, ORDER_CHANNELS_LAST) ==
          layout_dense(dn, &one_channel));
    CHECK_STR(layout_text(layout_dense(dn, &one_channel)), "nchw");
    CHECK(layout_dense(dn, &scalar) == layout_any(dn, &scalar));
    CHECK_INT(layout_dense(dn, &scalar)->order, ORDER_DENSE);
    close_backend();
}

/* Rows of [64,32,1,1], 16 at a time, against all of them at once. */
TEST(rows_are_written_to_their_place_in_the_whole)
{
    enum { n_rows = 64, n_in = 32, step = 16 };
    static float rows[n_rows * n_in], whole[n_rows * n_in],
        parts[n_rows * n_in];
    struct onednn *dn = open_backend();
    struct shape shape =
        shape_of(4, (int64_t)n_rows, (int64_t)n_in, (int64_t)1, (int64_t)1);
    const struct layout *to = layout_ordered(dn, &shape, ORDER_WEIGHTS_16X16);

    for (int i = 0; i < n_rows * n_in; i++)
        rows[i] = (float)i;
    CHECK_STATUS(onednn_reorder(dn, small.pool, layout_dense(dn, &shape), rows,
                                to, whole, &err),
                 ASSAY_OK, &err);
    shape.dims[0] = step;
    for (int64_t i = 0; i < n_rows; i += step)
        CHECK_STATUS(onednn_reorder_rows(dn, small.pool,
                                         layout_dense(dn, &shape),
                                         rows + i * n_in, to, i, parts, &err),
                     ASSAY_OK, &err);
    /* The second input of the first output lies a block of outputs further. */
    CHECK_NEAR(whole[16], 1, 0);
    CHECK_INT(memcmp(parts, whole, sizeof whole), 0);
    close_backend();
}

TEST(a_layout_without_memory_is_refused_and_comes_with_it)
{
    struct onednn *dn = open_backend();
    struct shape shape = map_shape(6);
    struct tensor x = small_ones(&small, shape), y;
    const struct layout *layout;

    mem_fail_at(0);
    layout = layout_dense(dn, &shape);
    mem_fail_at(-1);
    CHECK_INT(layout_check(layout, NULL), ASSAY_NOMEM);
    CHECK_INT(layout_convert(dn, small.pool, &x, layout, &y, NULL),
              ASSAY_NOMEM);
    CHECK_INT(layout_check(layout_dense(dn, &shape), NULL), ASSAY_OK);
    tensor_release(&x);
    close_backend();
}

static bool count_implementation(const char *name, const struct layout *y,
                                 void *context)
{
    CHECK(name[0] && y->shape.rank == 4);
    ++*(int *)context;
    return true;
}

/* A kernel of 5x5 has no Winograd in any version. */
TEST(an_algorithm_that_is_not_there_lists_nothing)
{
    struct onednn *dn = open_backend();
    struct shape x =
        shape_of(4, (int64_t)1, (int64_t)16, (int64_t)8, (int64_t)8);
    struct shape w =
        shape_of(4, (int64_t)16, (int64_t)16, (int64_t)5, (int64_t)5);
    struct operation operation = {.kind = OPERATION_CONVOLUTION,
                                  .src = layout_any(dn, &x),
                                  .weights = layout_any(dn, &w),
                                  .dst = layout_any(dn, &x),
                                  .stride = {1, 1},
                                  .before = {2, 2},
                                  .after = {2, 2}};
    int n_direct = 0, n_winograd = 0;

    CHECK_STATUS(
        onednn_list(dn, &operation, count_implementation, &n_direct, &err),
        ASSAY_OK, &err);
    operation.algorithm = ALGORITHM_WINOGRAD;
    CHECK_STATUS(
        onednn_list(dn, &operation, count_implementation, &n_winograd, &err),
        ASSAY_OK, &err);
    CHECK(n_direct > 0);
    CHECK_INT(n_winograd, 0);
    close_backend();
}
