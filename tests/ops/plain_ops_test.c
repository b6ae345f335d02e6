/* The portable kernels of the plain ops, on cases worked out by hand. */
#include "ops/convolution/conv2d.h"
#include "ops/convolution/conv_transpose2d.h"
#include "ops/norm/batch_norm.h"
#include "ops/ops.h"
#include "ops/pooling/max_pool2d.h"
#include "ops/product/linear.h"
#include "test.h"

#include <stdarg.h>
#include <string.h>

static struct error err;
static struct pool *pool;

static struct tensor tensor(const float *values, int rank, ...)
{
    struct shape shape = {.rank = rank};
    struct tensor made;
    va_list dims;

    va_start(dims, rank);
    for (int i = 0; i < rank; i++)
        shape.dims[i] = va_arg(dims, int);
    va_end(dims);
    if (!pool)
        CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    err = (struct error){0};
    CHECK_INT(tensor_new(pool, DTYPE_F32, &shape, &made, &err), ASSAY_OK);
    if (values)
        memcpy(tensor_data(&made), values, tensor_bytes(&made));
    return made;
}

/* Infers and runs one op; the caller owns *output. */
static enum assay_status run_op(const struct op_class *op, const void *attrs,
                                const struct tensor *const *inputs, size_t n,
                                struct tensor *output)
{
    struct node node = {
        .op = op, .attrs = (void *)attrs, .n_inputs = n, .n_outputs = 1};
    struct op_context context = {.pool = pool, .n_threads = 1};
    enum assay_status st = op->infer(&node, inputs, output, &err);
    struct shape shape = output->shape;

    if (!st && !op->is_view)
        st = tensor_new(pool, output->dtype, &shape, output, &err);
    if (!st)
        st = op->forward(&context, &node, inputs, output, &err);
    return st;
}

static void check_values(struct tensor *got, const float *want, size_t n)
{
    CHECK_INT(tensor_elements(got), n);
    for (size_t i = 0; i < n; i++)
        CHECK_NEAR(tensor_f32(got)[i], want[i], 1e-5);
    tensor_release(got);
}

TEST(a_convolution_pads_strides_and_fuses)
{
    static const float x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    static const float ones[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const float bias[] = {-20}, residual[] = {1, 1, 1, 1};
    /* Sums of the 3x3 windows at the corners: 12 16 24 28. */
    static const float want[] = {12, 16, 24, 28}, fused[] = {0, 0, 5, 9};
    struct conv2d_attrs attrs = conv2d_defaults();
    struct tensor in = tensor(x, 4, 1, 1, 3, 3),
                  w = tensor(ones, 4, 1, 1, 3, 3);
    struct tensor b = tensor(bias, 1, 1), r = tensor(residual, 4, 1, 1, 2, 2);
    const struct tensor *plain[] = {&in, &w, NULL, NULL};
    const struct tensor *all[] = {&in, &w, &b, &r};
    struct tensor y;

    for (int i = 0; i < 2; i++)
        attrs.stride[i] = 2, attrs.before[i] = attrs.after[i] = 1;
    CHECK_STATUS(run_op(&op_conv2d, &attrs, plain, 4, &y), ASSAY_OK, &err);
    check_values(&y, want, 4);
    attrs.has_relu = true;
    CHECK_STATUS(run_op(&op_conv2d, &attrs, all, 4, &y), ASSAY_OK, &err);
    check_values(&y, fused, 4);
    tensor_release(&in);
    tensor_release(&w);
    tensor_release(&b);
    tensor_release(&r);
}

TEST(a_scale_multiplies_each_output_channel_before_the_bias)
{
    static const float x[] = {1, 2}, k[] = {1, 1}, bias[] = {10, 20};
    static const float scale[] = {2, -3};
    static const float want[] = {12, 14, 17, 14};
    struct conv2d_attrs attrs = conv2d_defaults();
    struct tensor in = tensor(x, 4, 1, 1, 1, 2), w = tensor(k, 4, 2, 1, 1, 1);
    struct tensor b = tensor(bias, 1, 2), s = tensor(scale, 1, 2);
    struct tensor three = tensor(NULL, 1, 3), y;
    const struct tensor *inputs[] = {&in, &w, &b, NULL, &s};

    CHECK_STATUS(run_op(&op_conv2d, &attrs, inputs, 5, &y), ASSAY_OK, &err);
    check_values(&y, want, 4);
    inputs[CONV2D_SCALE] = &three;
    CHECK_INT(run_op(&op_conv2d, &attrs, inputs, 5, &y), ASSAY_BAD_INPUT);
    CHECK_STR(err.text, "a scale of 3 does not fit 2 channels");
    tensor_release(&in);
    tensor_release(&w);
    tensor_release(&b);
    tensor_release(&s);
    tensor_release(&three);
}

TEST(a_grouped_dilated_convolution_reads_its_own_channels)
{
    static const float x[] = {1, 2, 3, 10, 20, 30};
    static const float k[] = {1, 1, 2, 2};
    static const float want[] = {4, 80};
    struct conv2d_attrs attrs = conv2d_defaults();
    struct tensor in = tensor(x, 4, 1, 2, 1, 3), w = tensor(k, 4, 2, 1, 1, 2);
    const struct tensor *inputs[] = {&in, &w, NULL, NULL};
    struct tensor y;

    attrs.groups = 2;
    attrs.dilation[1] = 2;
    CHECK_STATUS(run_op(&op_conv2d, &attrs, inputs, 4, &y), ASSAY_OK, &err);
    check_values(&y, want, 2);
    tensor_release(&in);
    tensor_release(&w);
}

TEST(a_convolution_that_does_not_fit_names_both_shapes)
{
    struct conv2d_attrs attrs = conv2d_defaults();
    struct tensor in = tensor(NULL, 4, 1, 3, 5, 5);
    struct tensor w = tensor(NULL, 4, 8, 4, 3, 3);
    const struct tensor *inputs[] = {&in, &w, NULL, NULL};
    struct tensor y;

    CHECK_INT(run_op(&op_conv2d, &attrs, inputs, 4, &y), ASSAY_BAD_INPUT);
    CHECK_STR(err.text, "x 1x3x5x5 and weight 8x4x3x3 do not fit");
    tensor_release(&in);
    tensor_release(&w);
}

TEST(batch_norm_scales_and_shifts_each_channel)
{
    static const float x[] = {1, 3, 5, 7}, weight[] = {2, 1}, bias[] = {1, 0};
    static const float mean[] = {1, 5}, variance[] = {3.75f, 0.75f};
    static const float want[] = {1, 3, 0, 2};
    struct batch_norm_attrs attrs = {.eps = 0.25f};
    struct tensor t[] = {tensor(x, 4, 1, 2, 1, 2), tensor(weight, 1, 2),
                         tensor(bias, 1, 2), tensor(mean, 1, 2),
                         tensor(variance, 1, 2)};
    const struct tensor *inputs[] = {&t[0], &t[1], &t[2], &t[3], &t[4]};
    struct tensor y;

    CHECK_STATUS(run_op(&op_batch_norm, &attrs, inputs, 5, &y), ASSAY_OK, &err);
    check_values(&y, want, 4);
    for (int i = 0; i < 5; i++)
        tensor_release(&t[i]);
}

TEST(padding_never_wins_in_a_max_pool)
{
    static const float x[] = {-1, -2, -3, -4, -5, -6, -7, -8, -9};
    static const float want[] = {-1, -2, -4, -5};
    struct max_pool2d_attrs attrs = {
        .kernel = {3, 3}, .stride = {2, 2}, .before = {1, 1}, .after = {1, 1}};
    struct tensor in = tensor(x, 4, 1, 1, 3, 3), y;
    const struct tensor *inputs[] = {&in};

    CHECK_STATUS(run_op(&op_max_pool2d, &attrs, inputs, 1, &y), ASSAY_OK, &err);
    check_values(&y, want, 4);
    tensor_release(&in);
}

TEST(linear_multiplies_by_rows_of_the_weight)
{
    static const float x[] = {1, 2, 3}, w[] = {1, 0, -1, 2, 2, 2};
    static const float b[] = {1, -1}, want[] = {0, 11};
    struct linear_attrs attrs = {.has_relu = true};
    struct tensor t[] = {tensor(x, 2, 1, 3), tensor(w, 2, 2, 3),
                         tensor(b, 1, 2)};
    const struct tensor *inputs[] = {&t[0], &t[1], &t[2]};
    struct tensor y;

    CHECK_STATUS(run_op(&op_linear, &attrs, inputs, 3, &y), ASSAY_OK, &err);
    check_values(&y, want, 2);
    for (int i = 0; i < 3; i++)
        tensor_release(&t[i]);
}

TEST(nearest_resizing_repeats_the_value_before)
{
    static const float x[] = {1, 2, 3}, want[] = {1, 1, 2, 2, 3};
    struct tensor in = tensor(x, 4, 1, 1, 1, 3);
    struct tensor like = tensor(NULL, 4, 1, 7, 1, 5), y;
    const struct tensor *inputs[] = {&in, &like};

    CHECK_STATUS(run_op(&op_resize_nearest, NULL, inputs, 2, &y), ASSAY_OK,
                 &err);
    check_values(&y, want, 5);
    tensor_release(&in);
    tensor_release(&like);
}

TEST(a_transposed_convolution_spreads_each_value)
{
    static const float x[] = {1, 2}, w[] = {1, 10, 100, 1000}, b[] = {0.5f};
    static const float want[] = {1.5f,   10.5f,   2.5f,   20.5f,
                                 100.5f, 1000.5f, 200.5f, 2000.5f};
    struct conv_transpose2d_attrs attrs = {.stride = {2, 2}};
    struct tensor t[] = {tensor(x, 4, 1, 1, 1, 2), tensor(w, 4, 1, 1, 2, 2),
                         tensor(b, 1, 1)};
    const struct tensor *inputs[] = {&t[0], &t[1], &t[2]};
    struct tensor y;

    CHECK_STATUS(run_op(&op_conv_transpose2d, &attrs, inputs, 3, &y), ASSAY_OK,
                 &err);
    check_values(&y, want, 8);
    for (int i = 0; i < 3; i++)
        tensor_release(&t[i]);
}

TEST(flatten_shares_the_memory)
{
    struct tensor in = tensor(NULL, 4, 2, 3, 4, 5), y;
    const struct tensor *inputs[] = {&in};

    CHECK_STATUS(run_op(&op_flatten, NULL, inputs, 1, &y), ASSAY_OK, &err);
    CHECK(tensor_data(&y) == tensor_data(&in));
    CHECK_INT(y.shape.dims[0], 2);
    CHECK_INT(y.shape.dims[1], 60);
    tensor_release(&in);
    tensor_release(&y);
}

TEST(an_op_is_found_by_its_name)
{
    CHECK(op_find("Conv2d") == &op_conv2d);
    CHECK(op_find("Conv3d") == NULL);
    for (size_t i = 0; op_classes[i]; i++)
        CHECK(op_find(op_classes[i]->name) == op_classes[i]);
}
