/* Ops that move elements, beyond what ONNX's own cases test: large and odd
 * shapes, other types, indices outside. */
#include "base/mem.h"
#include "ops/movement/gather.h"
#include "ops/movement/pad.h"
#include "ops/movement/rearrange.h"
#include "ops/movement/resize.h"
#include "ops/movement/select_ops.h"
#include "ops/movement/slice.h"
#include "ops/movement/transpose.h"
#include "ops/op_run.h"
#include "ops/strided_internal.h"

static enum assay_status run(const struct op_class *op, const void *attrs,
                             const struct tensor *const *inputs, size_t n,
                             struct tensor *y)
{
    return op_run(op, attrs, op_ways[OP_TWO_THREADS], inputs, n, y, 1);
}

static struct tensor list(size_t n, const int64_t *numbers)
{
    return integers(numbers, dims(1, (int64_t)n, 0, 0, 0));
}

/* Every element is different. */
static struct tensor counted(enum dtype dtype, struct shape shape)
{
    struct tensor x = op_tensor(dtype, shape, NULL);

    for (size_t i = 0; i < tensor_bytes(&x); i++)
        ((uint8_t *)tensor_data(&x))[i] =
            (uint8_t)(i / dtype_bytes(dtype) >> i % dtype_bytes(dtype) * 8);
    return x;
}

TEST(transposing_is_right_at_tile_edges_for_every_element_size)
{
    static const enum dtype dtypes[] = {DTYPE_U8, DTYPE_F16, DTYPE_F32,
                                        DTYPE_I64};
    struct transpose_attrs attrs = {.rank = 3, .order = {2, 0, 1}};

    for (size_t t = 0; t < 4; t++) {
        struct tensor x = counted(dtypes[t], dims(3, 33, 70, 41, 0)), y;
        const struct tensor *inputs[] = {&x};
        size_t bytes = dtype_bytes(dtypes[t]);
        const char *from, *to;

        CHECK_STATUS(run(&op_transpose, &attrs, inputs, 1, &y), ASSAY_OK,
                     &op_err);
        CHECK_INT(y.shape.dims[0], 41);
        from = tensor_data(&x);
        to = tensor_data(&y);
        for (size_t i = 0; i < 41 * 33 * 70; i++) {
            size_t c = i / (33 * 70), rest = i % (33 * 70);

            CHECK(memcmp(to + i * bytes, from + (rest * 41 + c) * bytes,
                         bytes) == 0);
        }
        op_release((struct tensor[]){x, y}, 2);
    }
}

TEST(an_invalid_order_is_refused)
{
    struct transpose_attrs twice = {.rank = 2, .order = {1, 1}};
    struct transpose_attrs outside = {.rank = 2, .order = {0, 2}};
    struct transpose_attrs other = {.rank = 3, .order = {0, 1, 2}};
    struct tensor x = op_tensor(DTYPE_F32, dims(2, 2, 3, 0, 0), NULL), y;
    const struct tensor *inputs[] = {&x};

    CHECK_STATUS(run(&op_transpose, &twice, inputs, 1, &y), ASSAY_BAD_INPUT,
                 &op_err);
    CHECK_STR(op_err.text, "axis 1 is listed twice");
    CHECK_STATUS(run(&op_transpose, &outside, inputs, 1, &y), ASSAY_BAD_INPUT,
                 &op_err);
    CHECK_STATUS(run(&op_transpose, &other, inputs, 1, &y), ASSAY_BAD_INPUT,
                 &op_err);
    tensor_release(&x);
}

/* Slices of 0 1 2 3 4 5 by [start, end, step], as in Python. */
TEST(slices_are_those_of_python_even_for_extreme_numbers)
{
    static const struct {
        int64_t start, end, step, n, first;
    } cases[] = {{0, INT64_MAX, 1, 6, 0},
                 {-2, INT64_MAX, 1, 2, 4},
                 {INT64_MAX, INT64_MIN, -1, 6, 5},
                 {-1, -100, -2, 3, 5},
                 {4, 2, 1, 0, 0},
                 {0, 6, INT64_MAX, 1, 0},
                 {5, INT64_MIN, -INT64_MAX, 1, 5},
                 {INT64_MIN, 2, 1, 2, 0},
                 {2, -1, 2, 2, 2}};
    static const int64_t values[] = {0, 1, 2, 3, 4, 5}, zero[] = {0};
    struct tensor x = list(6, values), axes = list(1, zero), y;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tensor start = list(1, &cases[i].start);
        struct tensor end = list(1, &cases[i].end);
        struct tensor step = list(1, &cases[i].step);
        const struct tensor *inputs[] = {&x, &start, &end, &axes, &step};

        CHECK_STATUS(run(&op_slice, NULL, inputs, 5, &y), ASSAY_OK, &op_err);
        CHECK_INT(tensor_elements(&y), cases[i].n);
        if (cases[i].n)
            CHECK_INT(tensor_i64(&y)[0], cases[i].first);
        for (int64_t k = 1; k < cases[i].n; k++)
            CHECK_INT(tensor_i64(&y)[k], cases[i].first + k * cases[i].step);
        op_release((struct tensor[]){start, end, step, y}, 4);
    }
    op_release((struct tensor[]){x, axes}, 2);
}

TEST(every_op_that_takes_indices_names_one_that_is_outside)
{
    static const int64_t bad[] = {3}, far[] = {-4};
    struct tensor x = op_tensor(DTYPE_F32, dims(1, 3, 0, 0, 0), NULL), y;
    struct tensor update = op_tensor(DTYPE_F32, dims(1, 1, 0, 0, 0), NULL);
    struct tensor index = list(1, bad), before = list(1, far);
    struct tensor tuple = integers(bad, dims(2, 1, 1, 0, 0));
    const struct tensor *two[] = {&x, &index}, *below[] = {&x, &before};
    const struct tensor *nd[] = {&x, &tuple};
    const struct tensor *three[] = {&x, &index, &update};
    const struct tensor *updates[] = {&x, &tuple, &update};
    struct gather_attrs gather = {0};
    struct scatter_attrs scatter = {0};

    CHECK_STATUS(run(&op_gather, &gather, two, 2, &y), ASSAY_BAD_INPUT,
                 &op_err);
    CHECK_STR(op_err.text, "index 3 is outside an axis of 3 elements");
    CHECK_STATUS(run(&op_gather, &gather, below, 2, &y), ASSAY_BAD_INPUT,
                 &op_err);
    CHECK_STR(op_err.text, "index -4 is outside an axis of 3 elements");
    CHECK_STATUS(run(&op_gather_elements, &gather, two, 2, &y), ASSAY_BAD_INPUT,
                 &op_err);
    CHECK_STATUS(run(&op_gather_nd, &gather, nd, 2, &y), ASSAY_BAD_INPUT,
                 &op_err);
    CHECK_STATUS(run(&op_scatter_elements, &scatter, three, 3, &y),
                 ASSAY_BAD_INPUT, &op_err);
    CHECK_STATUS(run(&op_scatter_nd, &scatter, updates, 3, &y), ASSAY_BAD_INPUT,
                 &op_err);
    /* Floats cannot be indices. */
    CHECK_STATUS(run(&op_gather, &gather,
                     (const struct tensor *const[]){&x, &update}, 2, &y),
                 ASSAY_BAD_INPUT, &op_err);
    CHECK_STR(op_err.text,
              "input 1 is float32; indices must be signed integers");
    op_release((struct tensor[]){x, update, index, before, tuple}, 5);
}

TEST(gathering_names_the_first_of_several_indices_that_is_outside)
{
    static const int64_t above[] = {0, 2, 3, 4}, below[] = {-3, -1, -4, 9};
    static const int64_t early[] = {0, 3, -4, 1, 0, 1, 2, -3};
    struct tensor x = op_tensor(DTYPE_F32, dims(3, 2, 3, 1, 0), NULL), y;
    struct tensor high = list(4, above), low = list(4, below);
    struct tensor batches = integers(early, dims(3, 2, 4, 1, 0));
    struct gather_attrs attrs = {.axis = 1}, batched = {.batch_dims = 1};

    CHECK_STATUS(run(&op_gather, &attrs,
                     (const struct tensor *const[]){&x, &high}, 2, &y),
                 ASSAY_BAD_INPUT, &op_err);
    CHECK_STR(op_err.text, "index 3 is outside an axis of 3 elements");
    CHECK_STATUS(run(&op_gather, &attrs,
                     (const struct tensor *const[]){&x, &low}, 2, &y),
                 ASSAY_BAD_INPUT, &op_err);
    CHECK_STR(op_err.text, "index -4 is outside an axis of 3 elements");
    CHECK_STATUS(run(&op_gather_nd, &batched,
                     (const struct tensor *const[]){&x, &batches}, 2, &y),
                 ASSAY_BAD_INPUT, &op_err);
    CHECK_STR(op_err.text, "index 3 is outside an axis of 3 elements");
    op_release((struct tensor[]){x, high, low, batches}, 4);
}

TEST(an_empty_map_has_nothing_that_an_index_could_miss)
{
    static const int64_t zeros[] = {0, 0};
    struct tensor x = op_tensor(DTYPE_F32, dims(3, 0, 0, 4, 0), NULL), y;
    struct gather_attrs attrs = {.axis = 1};

    for (int64_t n = 1; n <= 2; n++) {
        struct tensor indices = list((size_t)n, zeros);
        struct shape want = dims(3, 0, n, 4, 0);
        const struct tensor *inputs[] = {&x, &indices};

        CHECK_STATUS(run(&op_gather, &attrs, inputs, 2, &y), ASSAY_OK, &op_err);
        CHECK(shape_equal(&y.shape, &want));
        op_release((struct tensor[]){indices, y}, 2);
    }
    tensor_release(&x);
}

/* Types of 1, 1, 4 and 8 bytes; the kernel of Gather gets uint8 widened. */
static const enum dtype gathered_types[] = {DTYPE_BOOL, DTYPE_U8, DTYPE_F32,
                                            DTYPE_I64};
enum { N_GATHERED_TYPES = 4, LONGEST_SLICE = 6 };

/* Columns 1 .. 1 + length of every second row from `first` on, up or down. */
static void check_short_rows(const struct tensor *x, int64_t length,
                             int64_t first, int64_t step)
{
    int64_t rows = x->shape.dims[0], columns = x->shape.dims[1];
    int64_t end = step > 0 ? INT64_MAX : INT64_MIN;
    struct tensor start = list(2, (int64_t[]){first, 1}), y;
    struct tensor ends = list(2, (int64_t[]){end, 1 + length});
    struct tensor axes = list(2, (int64_t[]){0, 1});
    struct tensor steps = list(2, (int64_t[]){step, 1});
    const struct tensor *inputs[] = {x, &start, &ends, &axes, &steps};
    const int32_t *from = tensor_data(x), *to;

    CHECK_STATUS(run(&op_slice, NULL, inputs, 5, &y), ASSAY_OK, &op_err);
    CHECK_INT(y.shape.dims[0], (rows + 1) / 2);
    CHECK_INT(y.shape.dims[1], length);
    to = tensor_data(&y);
    for (int64_t i = 0; i < (rows + 1) / 2; i++) {
        for (int64_t k = 0; k < length; k++)
            CHECK_INT(to[i * length + k],
                      from[(first + i * step) * columns + 1 + k]);
    }
    op_release((struct tensor[]){start, ends, axes, steps, y}, 5);
}

TEST(short_rows_of_every_length_are_sliced_forwards_and_backwards)
{
    struct tensor x = counted(DTYPE_I32, dims(2, 41, 22, 0, 0));

    for (int64_t length = 1; length <= 20; length++) {
        check_short_rows(&x, length, 0, 2);
        check_short_rows(&x, length, 40, -2);
    }
    tensor_release(&x);
}

/* Checks slice `at` of y, which is slice `place` of x. */
static void check_slice(const struct tensor *y, size_t at,
                        const struct tensor *x, size_t place, int64_t slice)
{
    size_t bytes = (size_t)slice * dtype_bytes(x->dtype);
    const char *got = tensor_data(y), *want = tensor_data(x);

    CHECK(memcmp(got + at * bytes, want + place * bytes, bytes) == 0);
}

TEST(slices_of_every_length_are_gathered_from_their_places)
{
    enum { outer = 3, size = 5, n = 3 };
    static const int64_t picked[] = {4, 0, -2};
    static const size_t places[] = {4, 0, 3};
    struct tensor indices = list(n, picked);
    struct gather_attrs attrs = {.axis = 1};

    for (size_t k = 0; k < N_GATHERED_TYPES * LONGEST_SLICE; k++) {
        int64_t slice = (int64_t)(k % LONGEST_SLICE) + 1;
        struct tensor y, x = counted(gathered_types[k / LONGEST_SLICE],
                                     dims(3, outer, size, slice, 0));
        const struct tensor *inputs[] = {&x, &indices};

        CHECK_STATUS(run(&op_gather, &attrs, inputs, 2, &y), ASSAY_OK, &op_err);
        for (size_t i = 0; i < outer * n; i++)
            check_slice(&y, i, &x, i / n * size + places[i % n], slice);
        op_release((struct tensor[]){x, y}, 2);
    }
    tensor_release(&indices);
}

TEST(one_index_gathers_its_slice_from_every_row)
{
    enum { outer = 3, size = 5 };
    static const int64_t picked[] = {3, -5, -1};
    static const size_t places[] = {3, 0, 4};
    struct gather_attrs attrs = {.axis = 1};

    for (size_t k = 0; k < N_GATHERED_TYPES * LONGEST_SLICE * 3; k++) {
        int64_t slice = (int64_t)(k / 3 % LONGEST_SLICE) + 1;
        struct tensor index = integers(&picked[k % 3], dims(0, 0, 0, 0, 0)), y;
        struct tensor x = counted(gathered_types[k / 3 / LONGEST_SLICE],
                                  dims(3, outer, size, slice, 0));
        struct shape want = dims(2, outer, slice, 0, 0);
        const struct tensor *inputs[] = {&x, &index};

        CHECK_STATUS(run(&op_gather, &attrs, inputs, 2, &y), ASSAY_OK, &op_err);
        CHECK(shape_equal(&y.shape, &want));
        for (size_t i = 0; i < outer; i++)
            check_slice(&y, i, &x, i * size + places[k % 3], slice);
        op_release((struct tensor[]){x, index, y}, 3);
    }
}

TEST(gather_nd_takes_from_each_batch_what_its_own_indices_name)
{
    enum { batches = 3, size = 5, n = 2 };
    static const int64_t picked[] = {4, 0, -2, 1, -5, -1};
    static const size_t places[] = {4, 0, 3, 1, 0, 4};
    struct tensor indices = integers(picked, dims(3, batches, n, 1, 0));
    struct gather_attrs attrs = {.batch_dims = 1};

    for (size_t k = 0; k < N_GATHERED_TYPES * LONGEST_SLICE; k++) {
        int64_t slice = (int64_t)(k % LONGEST_SLICE) + 1;
        struct tensor y, x = counted(gathered_types[k / LONGEST_SLICE],
                                     dims(3, batches, size, slice, 0));
        const struct tensor *inputs[] = {&x, &indices};

        CHECK_STATUS(run(&op_gather_nd, &attrs, inputs, 2, &y), ASSAY_OK,
                     &op_err);
        for (size_t i = 0; i < batches * n; i++)
            check_slice(&y, i, &x, i / n * size + places[i], slice);
        op_release((struct tensor[]){x, y}, 2);
    }
    tensor_release(&indices);
}

TEST(gather_nd_takes_slices_that_tuples_name)
{
    enum { batches = 2, rows = 3, size = 4, n = 2 };
    static const int64_t picked[] = {2, -1, 0, 1, -3, 0, -1, -2};
    static const size_t places[] = {2 * size + 3, 1, 0, 2 * size + 2};
    struct tensor indices = integers(picked, dims(3, batches, n, 2, 0));
    struct gather_attrs attrs = {.batch_dims = 1};

    for (size_t k = 0; k < N_GATHERED_TYPES * LONGEST_SLICE; k++) {
        int64_t slice = (int64_t)(k % LONGEST_SLICE) + 1;
        struct tensor y, x = counted(gathered_types[k / LONGEST_SLICE],
                                     dims(4, batches, rows, size, slice));
        const struct tensor *inputs[] = {&x, &indices};

        CHECK_STATUS(run(&op_gather_nd, &attrs, inputs, 2, &y), ASSAY_OK,
                     &op_err);
        for (size_t i = 0; i < batches * n; i++)
            check_slice(&y, i, &x, i / n * rows * size + places[i], slice);
        op_release((struct tensor[]){x, y}, 2);
    }
    tensor_release(&indices);
}

TEST(channels_of_several_maps_are_picked_in_any_order)
{
    static const float a[] = {1, 2, 3, 4}, b[] = {5, 6};
    static const int64_t list[] = {2, 0, 2}, outside[] = {0, 3};
    struct tensor maps[] = {
        op_tensor(DTYPE_F32, shape_of(3, (int64_t)1, (int64_t)2, (int64_t)2),
                  a),
        op_tensor(DTYPE_F32, shape_of(3, (int64_t)1, (int64_t)1, (int64_t)2),
                  b)};
    struct tensor picks = op_tensor(DTYPE_I64, shape_of(1, (int64_t)3), list);
    struct tensor wrong =
        op_tensor(DTYPE_I64, shape_of(1, (int64_t)2), outside);
    const struct tensor *inputs[] = {&maps[0], &maps[1], &picks};
    static const float want[] = {5, 6, 1, 2, 5, 6};
    struct tensor y;

    CHECK_STATUS(
        op_run(&op_pick_channels, NULL, op_ways[OP_FAST], inputs, 3, &y, 1),
        ASSAY_OK, &op_err);
    CHECK(memcmp(tensor_data(&y), want, sizeof want) == 0);
    tensor_release(&y);
    inputs[2] = &wrong;
    CHECK_INT(
        op_run(&op_pick_channels, NULL, op_ways[OP_FAST], inputs, 3, &y, 1),
        ASSAY_BAD_INPUT);
    CHECK_HAS(op_err.text, "there is no channel 3");
    tensor_release(&maps[0]);
    tensor_release(&maps[1]);
    tensor_release(&picks);
    tensor_release(&wrong);
}

TEST(several_updates_of_one_element_are_combined)
{
    static const int64_t at[] = {1, 1, 1}, values[] = {10, 20, 30};
    static const int64_t updates[] = {5, 40, 2};
    static const struct {
        enum scatter_reduction reduction;
        int64_t want;
    } cases[] = {{SCATTER_NONE, 2},
                 {SCATTER_ADD, 67},
                 {SCATTER_MUL, 8000},
                 {SCATTER_MIN, 2},
                 {SCATTER_MAX, 40}};
    struct tensor x = list(3, values), index = list(3, at);
    struct tensor update = list(3, updates), y;
    const struct tensor *inputs[] = {&x, &index, &update};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scatter_attrs attrs = {.reduction = cases[i].reduction};

        CHECK_STATUS(run(&op_scatter_elements, &attrs, inputs, 3, &y), ASSAY_OK,
                     &op_err);
        CHECK_INT(tensor_i64(&y)[1], cases[i].want);
        CHECK_INT(tensor_i64(&y)[0], 10);
        tensor_release(&y);
    }
    op_release((struct tensor[]){x, index, update}, 3);
}

/* 1 2 3 with two before it and three after it. */
TEST(padding_repeats_mirrors_wraps_and_cuts)
{
    static const struct {
        enum pad_mode mode;
        int64_t pads[2], n, want[8];
    } cases[] = {{PAD_CONSTANT, {2, 3}, 8, {9, 9, 1, 2, 3, 9, 9, 9}},
                 {PAD_EDGE, {2, 3}, 8, {1, 1, 1, 2, 3, 3, 3, 3}},
                 {PAD_REFLECT, {2, 3}, 8, {3, 2, 1, 2, 3, 2, 1, 2}},
                 {PAD_WRAP, {2, 3}, 8, {2, 3, 1, 2, 3, 1, 2, 3}},
                 {PAD_CONSTANT, {-1, 1}, 3, {2, 3, 9}},
                 {PAD_CONSTANT, {-2, -1}, 0, {0}},
                 {PAD_EDGE, {1, -2}, 2, {1, 1}}};
    static const int64_t values[] = {1, 2, 3}, nine[] = {9};
    struct tensor x = list(3, values), value = list(1, nine), y;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tensor pads = list(2, cases[i].pads);
        const struct tensor *inputs[] = {&x, &pads, &value};
        struct pad_attrs attrs = {.mode = cases[i].mode};

        CHECK_STATUS(run(&op_pad, &attrs, inputs, 3, &y), ASSAY_OK, &op_err);
        CHECK_INT(tensor_elements(&y), cases[i].n);
        for (int64_t k = 0; k < cases[i].n; k++)
            CHECK_INT(tensor_i64(&y)[k], cases[i].want[k]);
        op_release((struct tensor[]){pads, y}, 2);
    }
    op_release((struct tensor[]){x, value}, 2);
}

TEST(depth_to_space_and_back_changes_nothing)
{
    for (int is_depth_first = 0; is_depth_first < 2; is_depth_first++) {
        struct depth_attrs attrs = {.block = 3,
                                    .is_depth_first = is_depth_first};
        struct tensor x = counted(DTYPE_F16, dims(4, 2, 18, 5, 7)), deep, y;
        const struct tensor *wide[] = {&x}, *stacked[] = {&deep};

        CHECK_STATUS(run(&op_depth_to_space, &attrs, wide, 1, &deep), ASSAY_OK,
                     &op_err);
        CHECK_INT(deep.shape.dims[3], 21);
        CHECK_STATUS(run(&op_space_to_depth, &attrs, stacked, 1, &y), ASSAY_OK,
                     &op_err);
        check_same(&y, &x, 0);
        op_release((struct tensor[]){x, deep, y}, 3);
    }
}

TEST(a_shape_too_large_for_memory_is_refused_before_it_is_allocated)
{
    static const int64_t huge[] = {INT64_C(1) << 40, INT64_C(1) << 40};
    static const int64_t less[] = {-1, 4};
    struct tensor shape = list(2, huge), negative = list(2, less), y;
    struct tensor one = op_tensor(DTYPE_F32, dims(0, 0, 0, 0, 0), NULL);
    const struct tensor *inputs[] = {&shape, &one},
                        *below[] = {&negative, &one};

    CHECK(run(&op_constant_of_shape, NULL, inputs, 2, &y) != ASSAY_OK);
    CHECK(run(&op_constant_of_shape, NULL, below, 2, &y) != ASSAY_OK);
    CHECK(run(&op_expand, NULL, (const struct tensor *const[]){&one, &shape}, 2,
              &y) != ASSAY_OK);
    op_release((struct tensor[]){shape, negative, one}, 3);
}

TEST(every_failing_allocation_of_a_resize_or_a_sort_is_reported)
{
    static const float scales[] = {1, 1, 2, 1.5F};
    struct random random = random_seed(4);
    struct tensor x = noise(&random, dims(4, 1, 2, 6, 6)), y, many[4];
    struct tensor by = floats(scales, dims(1, 4, 0, 0, 0));
    const struct tensor *inputs[] = {&x, NULL, &by}, *one[] = {&x};
    struct resize_attrs linear = {.mode = RESIZE_LINEAR};
    struct select_attrs unique = {.is_sorted = true};
    enum assay_status st;
    long nth = 0;

    do {
        mem_fail_at(nth++);
        st = op_run(&op_resize, &linear, op_ways[OP_FAST], inputs, 3, &y, 1);
        mem_fail_at(-1);
        CHECK(st == ASSAY_OK || st == ASSAY_NOMEM);
    } while (st);
    tensor_release(&y);
    CHECK(nth > 2);
    nth = 0;
    do {
        mem_fail_at(nth++);
        st = op_run(&op_unique, &unique, op_ways[OP_FAST], one, 1, many, 4);
        mem_fail_at(-1);
        CHECK(st == ASSAY_OK || st == ASSAY_NOMEM);
    } while (st);
    CHECK(nth > 5);
    op_release(many, 4);
    op_release((struct tensor[]){x, by}, 2);
}

TEST(asking_for_a_shape_reads_no_data)
{
    struct shape shape = shape_of(2, (int64_t)1000, (int64_t)1000);
    const struct tensor x = {.dtype = DTYPE_F32, .shape = shape};
    const struct tensor *inputs[] = {&x};
    struct tensor y = {.dtype = DTYPE_I64, .shape = shape_of(1, (int64_t)2)};
    struct cost cost = {.done_bytes = 4000000 + 16};

    op_shape_of.cost(NULL, inputs, &y, &cost);
    CHECK_INT(cost.done_bytes, 16);
}
