/* Gradients that finite differences cannot check: at kinks, of dropout, of
 * ignored labels. */
#include "ops/convolution/conv2d.h"
#include "ops/loss/loss.h"
#include "ops/math/reduce.h"
#include "ops/norm/dropout_training.h"
#include "ops/op_run.h"
#include "ops/pooling/max_pool2d.h"

#include <math.h>

static struct op_context context_of(int n_threads)
{
    return (struct op_context){.pool = op_pool(), .n_threads = n_threads};
}

/* The gradient of the first input, with all data present. */
static enum assay_status gradient(const struct op_class *op, const void *attrs,
                                  const struct tensor *const *inputs, size_t n,
                                  const struct tensor *y,
                                  const struct tensor *dy, struct tensor *dx)
{
    struct node node = {
        .op = op, .attrs = (void *)attrs, .n_inputs = n, .n_outputs = 1};
    struct op_context context = context_of(1);

    op_err = (struct error){0};
    *dx = op_tensor(DTYPE_F32, inputs[0]->shape, NULL);
    return op->backward(
        &context, &node,
        &(struct op_backward){
            .inputs = inputs, .outputs = y, .dy = &dy, .dx = dx, .wanted = 1},
        &op_err);
}

static void check_values(const struct tensor *got, const float *want)
{
    for (size_t i = 0; i < tensor_elements(got); i++)
        CHECK_NEAR(tensor_f32(got)[i], want[i], 1e-6);
}

/* PyTorch: F.relu(x).sum().backward() at 0. */
TEST(a_relu_has_no_slope_at_zero)
{
    static const float values[] = {-1, 0, 2}, made[] = {0, 0, 2};
    static const float ones[] = {1, 1, 1}, want[] = {0, 0, 1};
    struct tensor x = floats(values, dims(1, 3, 0, 0, 0));
    struct tensor y = floats(made, dims(1, 3, 0, 0, 0));
    struct tensor dy = floats(ones, dims(1, 3, 0, 0, 0)), dx;

    CHECK_INT(gradient(&op_relu, NULL, (const struct tensor *[]){&x}, 1, &y,
                       &dy, &dx),
              ASSAY_OK);
    check_values(&dx, want);
    op_release((struct tensor[]){x, y, dy, dx}, 4);
}

/* torch.maximum and torch.amax give equal shares. */
TEST(equally_large_inputs_share_the_gradient)
{
    static const float a[] = {1, 5, 3}, b[] = {4, 5, 2}, most[] = {4, 5, 3};
    static const float dys[] = {1, 2, 4}, of_a[] = {0, 1, 4};
    static const float row[] = {7, 1, 7, 7}, seven[] = {7}, six[] = {6};
    static const float of_row[] = {2, 0, 2, 2};
    struct reduce_attrs attrs = {0};
    struct tensor x = floats(a, dims(1, 3, 0, 0, 0));
    struct tensor other = floats(b, dims(1, 3, 0, 0, 0));
    struct tensor y = floats(most, dims(1, 3, 0, 0, 0));
    struct tensor dy = floats(dys, dims(1, 3, 0, 0, 0)), dx;

    CHECK_INT(gradient(&op_max, NULL, (const struct tensor *[]){&x, &other}, 2,
                       &y, &dy, &dx),
              ASSAY_OK);
    check_values(&dx, of_a);
    op_release((struct tensor[]){x, other, y, dy, dx}, 5);
    x = floats(row, dims(1, 4, 0, 0, 0));
    y = floats(seven, dims(0, 0, 0, 0, 0));
    dy = floats(six, dims(0, 0, 0, 0, 0));
    CHECK_INT(gradient(&op_reduce_max, &attrs, (const struct tensor *[]){&x}, 1,
                       &y, &dy, &dx),
              ASSAY_OK);
    check_values(&dx, of_row);
    op_release((struct tensor[]){x, y, dy, dx}, 4);
}

/* F.max_pool2d gives all of it to the first. */
TEST(the_first_of_equal_values_gets_the_gradient_of_a_window)
{
    static const float values[] = {3, 3, 1, 3}, best[] = {3}, two[] = {2};
    static const float want[] = {2, 0, 0, 0};
    struct max_pool2d_attrs attrs = {.kernel = {2, 2}, .stride = {2, 2}};
    struct tensor x = floats(values, dims(4, 1, 1, 2, 2));
    struct tensor y = floats(best, dims(4, 1, 1, 1, 1));
    struct tensor dy = floats(two, dims(4, 1, 1, 1, 1)), dx;

    CHECK_INT(gradient(&op_max_pool2d, &attrs, (const struct tensor *[]){&x}, 1,
                       &y, &dy, &dx),
              ASSAY_OK);
    check_values(&dx, want);
    op_release((struct tensor[]){x, y, dy, dx}, 4);
}

TEST(a_gradient_of_a_folded_norm_s_scale_is_refused)
{
    struct conv2d_attrs attrs = conv2d_defaults();
    struct tensor x = op_tensor(DTYPE_F32, dims(4, 1, 1, 2, 2), NULL);
    struct tensor w = op_tensor(DTYPE_F32, dims(4, 1, 1, 1, 1), NULL);
    struct tensor scale = op_tensor(DTYPE_F32, dims(1, 1, 0, 0, 0), NULL);
    const struct tensor *inputs[] = {&x, &w, NULL, NULL, &scale};
    struct tensor dx[CONV2D_SCALE + 1] = {{0}};
    struct node node = {.op = &op_conv2d,
                        .attrs = &attrs,
                        .n_inputs = CONV2D_SCALE + 1,
                        .n_outputs = 1};
    struct op_context context = context_of(1);
    const struct tensor *dy = &x;

    op_err = (struct error){0};
    CHECK_INT(
        op_conv2d.backward(&context, &node,
                           &(struct op_backward){.inputs = inputs,
                                                 .outputs = &x,
                                                 .dy = &dy,
                                                 .dx = dx,
                                                 .wanted = 1 << CONV2D_SCALE},
                           &op_err),
        ASSAY_UNSUPPORTED);
    CHECK_HAS(op_err.text, "folded into a convolution");
    op_release((struct tensor[]){x, w, scale}, 3);
}

/* ---- dropout ----------------------------------------------------------------
 */

enum { many = 40000 };

static struct tensor drop(uint32_t node_seed, int64_t seed, int n_threads)
{
    struct dropout_training_attrs attrs = {
        .seed = node_seed, .ratio = 0.25F, .is_on = true};
    struct tensor x = op_tensor(DTYPE_F32, dims(1, many, 0, 0, 0), NULL);
    struct tensor number = integers(&seed, dims(1, 1, 0, 0, 0)), y;
    const struct tensor *inputs[DROPOUT_INPUTS] = {&x, NULL, NULL, &number};

    for (int i = 0; i < many; i++)
        tensor_f32(&x)[i] = 1;
    CHECK_STATUS(op_run(&op_dropout_training, &attrs,
                        (struct op_way){false, n_threads}, inputs,
                        DROPOUT_INPUTS, &y, 1),
                 ASSAY_OK, &op_err);
    op_release((struct tensor[]){x, number}, 2);
    return y;
}

static double share_equal(const struct tensor *a, const struct tensor *b)
{
    double n = 0;

    for (int i = 0; i < many; i++)
        n += tensor_f32(a)[i] == tensor_f32(b)[i];
    return n / many;
}

TEST(a_quarter_is_dropped_and_the_rest_is_scaled_up)
{
    struct tensor y = drop(1, 2, 1);
    double kept = 0;

    for (int i = 0; i < many; i++) {
        kept += tensor_f32(&y)[i] != 0;
        if (tensor_f32(&y)[i] != 0)
            CHECK_NEAR(tensor_f32(&y)[i], 4.0 / 3, 1e-6);
    }
    CHECK_NEAR(kept / many, 0.75, 0.01);
    tensor_release(&y);
}

/* Independent draws agree with probability 0.75^2 + 0.25^2. */
TEST(draws_of_different_steps_and_nodes_are_independent)
{
    struct tensor first = drop(1, 2, 1), again = drop(1, 2, 2);
    struct tensor step = drop(1, 3, 1), node = drop(2, 2, 1);

    CHECK_NEAR(share_equal(&first, &again), 1, 0);
    CHECK_NEAR(share_equal(&first, &step), 0.625, 0.015);
    CHECK_NEAR(share_equal(&first, &node), 0.625, 0.015);
    op_release((struct tensor[]){first, again, step, node}, 4);
}

/* ---- losses -----------------------------------------------------------------
 */

TEST(ignored_labels_have_no_gradient)
{
    static const int64_t numbers[] = {1, -100};
    static const float none[] = {0, 0, 0, 0}, one[] = {1};
    static const float want[] = {0.5F, -0.5F, 0, 0};
    struct loss_attrs attrs = {
        .reduction = LOSS_MEAN, .has_ignored = true, .ignored = -100};
    struct tensor x = floats(none, dims(2, 2, 2, 0, 0));
    struct tensor labels = integers(numbers, dims(1, 2, 0, 0, 0));
    struct tensor dy = floats(one, dims(0, 0, 0, 0, 0)), dx, saved = {0}, y;
    struct node node = {.op = &op_softmax_cross_entropy_loss,
                        .attrs = &attrs,
                        .n_inputs = 2,
                        .n_outputs = 1};
    const struct tensor *inputs[] = {&x, &labels}, *dys[] = {&dy};
    struct op_context context = context_of(1);

    context.saved = &saved;
    y = op_tensor(DTYPE_F32, dims(0, 0, 0, 0, 0), NULL);
    CHECK_STATUS(node.op->forward(&context, &node, inputs, &y, &op_err),
                 ASSAY_OK, &op_err);
    CHECK_NEAR(*tensor_f32(&y), log(2), 1e-6);
    dx = op_tensor(DTYPE_F32, x.shape, NULL);
    CHECK_STATUS(node.op->backward(&context, &node,
                                   &(struct op_backward){.inputs = inputs,
                                                         .outputs = &y,
                                                         .saved = &saved,
                                                         .dy = dys,
                                                         .dx = &dx,
                                                         .wanted = 1},
                                   &op_err),
                 ASSAY_OK, &op_err);
    check_values(&dx, want);
    op_release((struct tensor[]){x, labels, dy, dx, saved, y}, 6);
}
