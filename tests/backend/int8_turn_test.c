/* Maps of bytes are turned element by element, whatever their sizes. */
#include "backend/dnnl/int8_internal.h"

#include "base/mem.h"
#include "test.h"

#include <string.h>

static struct layout layout_in(enum order order, enum dtype dtype,
                               const int64_t dims[4])
{
    return (struct layout){.dtype = dtype,
                           .order = order,
                           .shape =
                               shape_of(4, dims[0], dims[1], dims[2], dims[3])};
}

static void check_turned(const int64_t dims[4])
{
    struct layout dense = layout_in(ORDER_DENSE, DTYPE_I8, dims);
    struct layout last = layout_in(ORDER_CHANNELS_LAST, DTYPE_I8, dims);
    int64_t channels = dims[1], pixels = dims[2] * dims[3];
    int64_t n = dims[0] * channels * pixels;
    uint8_t *x = mem_alloc((size_t)n), *y = mem_alloc((size_t)n + 1);
    uint8_t *back = mem_alloc((size_t)n + 1);

    CHECK(x && y && back);
    for (int64_t i = 0; i < n; i++)
        x[i] = (uint8_t)(i * 7 + i / 251);
    y[n] = back[n] = 99;
    CHECK(int8_turn(&dense, x, &last, y));
    for (int64_t i = 0; i < n; i++) {
        int64_t image = i / (channels * pixels);
        int64_t c = i / pixels % channels, p = i % pixels;

        CHECK_INT(y[(image * pixels + p) * channels + c], x[i]);
    }
    CHECK(int8_turn(&last, y, &dense, back));
    CHECK(memcmp(x, back, (size_t)n) == 0);
    CHECK_INT(y[n], 99);
    CHECK_INT(back[n], 99);
    mem_free(x);
    mem_free(y);
    mem_free(back);
}

TEST(maps_of_bytes_are_turned_there_and_back)
{
    static const int64_t shapes[][4] = {
        {1, 3, 8, 9},  {2, 3, 20, 7}, {1, 16, 4, 16}, {1, 21, 5, 13},
        {2, 33, 1, 1}, {1, 1, 3, 70}, {1, 144, 8, 8}, {3, 15, 9, 15}};

    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        check_turned(shapes[i]);
}

TEST(other_layouts_are_left_to_onednn)
{
    static const int64_t dims[] = {1, 16, 4, 4};
    struct layout dense = layout_in(ORDER_DENSE, DTYPE_U8, dims);
    struct layout blocks = layout_in(ORDER_BLOCKS_OF_16, DTYPE_U8, dims);
    struct layout real = layout_in(ORDER_DENSE, DTYPE_F32, dims);
    struct layout real_last = layout_in(ORDER_CHANNELS_LAST, DTYPE_F32, dims);

    CHECK(!int8_turn(&dense, NULL, &blocks, NULL));
    CHECK(!int8_turn(&blocks, NULL, &dense, NULL));
    CHECK(!int8_turn(&dense, NULL, &dense, NULL));
    CHECK(!int8_turn(&real, NULL, &real_last, NULL));
    CHECK(!int8_turn(&dense, NULL, &real_last, NULL));
}
