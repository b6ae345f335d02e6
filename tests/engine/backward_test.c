/* tests/engine/backward_test.c - what engine/engine.h promises of training. */
#include "backend/far.h"
#include "base/mem.h"
#include "small_graph.h"

#include <math.h>
#include <string.h>

static struct error err;

/* ---- ops whose derivative everybody knows ------------------------------- */

static int n_sums, n_squares, n_doubles, n_again; /* kernels that ran */

static enum assay_status infer_same(const struct node *node,
                                    const struct tensor *const *inputs,
                                    struct tensor *outputs, struct error *error)
{
    (void)node, (void)error;
    outputs[0].dtype = DTYPE_F32;
    outputs[0].shape = inputs[0]->shape;
    return ASSAY_OK;
}

static enum assay_status square(const struct op_context *context,
                                const struct node *node,
                                const struct tensor *const *inputs,
                                struct tensor *outputs, struct error *error)
{
    (void)node, (void)error;
    n_squares++;
    n_again += context->is_again;
    for (size_t i = 0; i < tensor_elements(&outputs[0]); i++) {
        float x = tensor_f32(inputs[0])[i];

        tensor_f32(&outputs[0])[i] = x * x;
    }
    return ASSAY_OK;
}

static enum assay_status square_back(const struct op_context *context,
                                     const struct node *node,
                                     const struct op_backward *pass,
                                     struct error *error)
{
    (void)context, (void)node, (void)error;
    for (size_t i = 0; i < tensor_elements(&pass->dx[0]); i++)
        tensor_f32(&pass->dx[0])[i] =
            2 * tensor_f32(pass->inputs[0])[i] * tensor_f32(pass->dy[0])[i];
    return ASSAY_OK;
}

static struct op_reads read_input(const struct node *node, uint64_t wanted)
{
    (void)node, (void)wanted;
    return (struct op_reads){.inputs = 1};
}

static const struct op_class square_op = {.name = "Square",
                                          .min_inputs = 1,
                                          .max_inputs = 1,
                                          .min_outputs = 1,
                                          .max_outputs = 1,
                                          .infer = infer_same,
                                          .forward = square,
                                          .backward = square_back,
                                          .backward_reads = read_input};

static enum assay_status twice(const struct op_context *context,
                               const struct node *node,
                               const struct tensor *const *inputs,
                               struct tensor *outputs, struct error *error)
{
    (void)node, (void)error;
    n_doubles++;
    n_again += context->is_again;
    for (size_t i = 0; i < tensor_elements(&outputs[0]); i++)
        tensor_f32(&outputs[0])[i] = 2 * tensor_f32(inputs[0])[i];
    return ASSAY_OK;
}

static enum assay_status twice_back(const struct op_context *context,
                                    const struct node *node,
                                    const struct op_backward *pass,
                                    struct error *error)
{
    (void)context, (void)node, (void)error;
    CHECK(!pass->inputs[0]->buffer); /* it did not ask for it */
    CHECK_INT(pass->inputs[0]->shape.dims[0], 3);
    for (size_t i = 0; i < tensor_elements(&pass->dx[0]); i++)
        tensor_f32(&pass->dx[0])[i] = 2 * tensor_f32(pass->dy[0])[i];
    return ASSAY_OK;
}

static const struct op_class twice_op = {.name = "Twice",
                                         .min_inputs = 1,
                                         .max_inputs = 1,
                                         .min_outputs = 1,
                                         .max_outputs = 1,
                                         .infer = infer_same,
                                         .forward = twice,
                                         .backward = twice_back,
                                         .is_cheap = true};

static enum assay_status plus(const struct op_context *context,
                              const struct node *node,
                              const struct tensor *const *inputs,
                              struct tensor *outputs, struct error *error)
{
    (void)context, (void)node, (void)error;
    n_sums++;
    for (size_t i = 0; i < tensor_elements(&outputs[0]); i++)
        tensor_f32(&outputs[0])[i] =
            tensor_f32(inputs[0])[i] + tensor_f32(inputs[1])[i];
    return ASSAY_OK;
}

static enum assay_status plus_back(const struct op_context *context,
                                   const struct node *node,
                                   const struct op_backward *pass,
                                   struct error *error)
{
    (void)context, (void)node, (void)error;
    for (size_t k = 0; k < 2; k++)
        memcpy(tensor_f32(&pass->dx[k]), tensor_f32(pass->dy[0]),
               tensor_bytes(&pass->dx[k]));
    return ASSAY_OK;
}

static const struct op_class plus_op = {.name = "Plus",
                                        .min_inputs = 2,
                                        .max_inputs = 2,
                                        .min_outputs = 1,
                                        .max_outputs = 1,
                                        .infer = infer_same,
                                        .forward = plus,
                                        .backward = plus_back,
                                        .is_cheap = true};

/* ---- graphs ---------------------------------------------------------------
 */

/* A parameter of 1, 2, 3. */
static uint32_t small_parameter(struct small *small, const char *name)
{
    struct shape shape = {.rank = 1, .dims = {3}};
    struct tensor data = small_ones(small, shape);
    uint32_t value;

    for (int i = 0; i < 3; i++)
        tensor_f32(&data)[i] = (float)(i + 1);
    CHECK_INT(graph_parameter(small->graph, GRAPH_NONE, name, VALUE_PARAMETER,
                              DTYPE_F32, &shape, &value, NULL),
              ASSAY_OK);
    CHECK_INT(graph_set_data(small->graph, value, data, NULL), ASSAY_OK);
    return value;
}

static struct engine *training_engine_on(struct small *small,
                                         const struct device *device,
                                         const char *const *recompute)
{
    struct engine_options options = {
        .device = device,
        .backend_options = {.n_threads = 1, .is_training = true},
        .detail = ENGINE_MODULES,
        .recompute = recompute};
    struct engine *engine;

    memset(&err, 0, sizeof err);
    n_squares = n_doubles = n_sums = n_again = 0;
    CHECK_STATUS(engine_new(small->graph, small->pool, &options, &engine, &err),
                 ASSAY_OK, &err);
    return engine;
}

static struct engine *training_engine(struct small *small,
                                      const char *const *recompute)
{
    return training_engine_on(small, NULL, recompute);
}

/* One step; the loss. */
static float step(struct engine *engine, const struct tensor *inputs)
{
    struct tensor loss;
    float value;

    CHECK_STATUS(engine_run(engine, inputs, &loss, &err), ASSAY_OK, &err);
    value = *tensor_f32(&loss);
    tensor_release(&loss);
    CHECK_STATUS(engine_backward(engine, &err), ASSAY_OK, &err);
    return value;
}

static void check_gradient(const struct engine *engine, uint32_t value,
                           float first, float second, float third)
{
    const struct tensor *gradient = engine_gradient(engine, value);

    CHECK(gradient);
    CHECK_NEAR(tensor_f32(gradient)[0], first, 1e-4);
    CHECK_NEAR(tensor_f32(gradient)[1], second, 1e-4);
    CHECK_NEAR(tensor_f32(gradient)[2], third, 1e-4);
}

TEST(a_gradient_reaches_the_parameter_through_every_node)
{
    struct small small = small_new();
    uint32_t w = small_parameter(&small, "w");
    uint32_t y = small_op(&small, &square_op, GRAPH_NONE, "a", w);
    struct engine *engine;

    y = small_op(&small, &twice_op, GRAPH_NONE, "b", y);
    small_output(&small, small_op(&small, &small_total_op, GRAPH_NONE, "c", y));
    engine = training_engine(&small, NULL);
    CHECK_NEAR(step(engine, NULL), 28, 1e-4); /* 2 (1 + 4 + 9) */
    check_gradient(engine, w, 4, 8, 12);
    /* A second step begins anew. */
    CHECK_NEAR(step(engine, NULL), 28, 1e-4);
    check_gradient(engine, w, 4, 8, 12);
    engine_free(engine);
    small_free(&small);
}

static struct op_reads read_both(const struct node *node, uint64_t wanted)
{
    (void)node, (void)wanted;
    return (struct op_reads){.inputs = 3};
}

TEST(an_input_that_is_left_out_is_not_kept)
{
    struct op_class op = square_op;
    struct small small = small_new();
    uint32_t w = small_parameter(&small, "w");
    uint32_t inputs[] = {w, GRAPH_NONE}, y;
    struct engine *engine;

    op.max_inputs = 2;
    op.backward_reads = read_both;
    y = small_node(&small, &op, GRAPH_NONE, "a", inputs, 2);
    small_output(&small, small_op(&small, &small_total_op, GRAPH_NONE, "b", y));
    engine = training_engine(&small, NULL);
    step(engine, NULL);
    check_gradient(engine, w, 2, 4, 6);
    engine_free(engine);
    small_free(&small);
}

TEST(gradients_of_all_readers_and_of_all_losses_add_up)
{
    struct small small = small_new();
    uint32_t w = small_parameter(&small, "w");
    uint32_t a = small_op(&small, &twice_op, GRAPH_NONE, "a", w);
    uint32_t b = small_op(&small, &square_op, GRAPH_NONE, "b", a);
    uint32_t c = small_op(&small, &twice_op, GRAPH_NONE, "c", a);
    uint32_t one = small_op(&small, &small_total_op, GRAPH_NONE, "one", b);
    uint32_t two = small_op(&small, &small_total_op, GRAPH_NONE, "two", c);
    struct engine *engine;
    struct tensor losses[2];

    CHECK_INT(graph_output(small.graph, "one", one, NULL), ASSAY_OK);
    CHECK_INT(graph_output(small.graph, "two", two, NULL), ASSAY_OK);
    engine = training_engine(&small, NULL);
    CHECK_STATUS(engine_run(engine, NULL, losses, &err), ASSAY_OK, &err);
    CHECK_STATUS(engine_backward(engine, &err), ASSAY_OK, &err);
    check_gradient(engine, w, 12, 20, 28); /* 8 w + 4 */
    /* b comes back behind c: three sums, of two that are read into one. */
    CHECK_INT(engine_backward_cost(engine, 2)->done_flops, 0);
    CHECK_INT(engine_backward_cost(engine, 1)->done_flops, 3);
    CHECK_INT(engine_backward_cost(engine, 1)->done_bytes,
              3 * 3 * 4 + 3 * 3 * 4);
    tensor_release(&losses[0]);
    tensor_release(&losses[1]);
    engine_free(engine);
    small_free(&small);
}

TEST(a_frozen_parameter_gets_no_gradient)
{
    struct small small = small_new();
    uint32_t w = small_parameter(&small, "w");
    uint32_t v = small_parameter(&small, "v");
    uint32_t sum[2] = {small_op(&small, &twice_op, GRAPH_NONE, "a", w),
                       small_op(&small, &twice_op, GRAPH_NONE, "b", v)};
    uint32_t one = small_op(&small, &small_total_op, GRAPH_NONE, "c", sum[0]);
    struct engine *engine;

    CHECK_INT(graph_output(small.graph, "one", one, NULL), ASSAY_OK);
    small_output(&small,
                 small_op(&small, &small_total_op, GRAPH_NONE, "d", sum[1]));
    graph_freeze(small.graph, v);
    engine = training_engine(&small, NULL);
    {
        struct tensor losses[2];

        CHECK_STATUS(engine_run(engine, NULL, losses, &err), ASSAY_OK, &err);
        CHECK_STATUS(engine_backward(engine, &err), ASSAY_OK, &err);
        tensor_release(&losses[0]);
        tensor_release(&losses[1]);
    }
    check_gradient(engine, w, 2, 2, 2);
    CHECK(!engine_gradient(engine, v));
    engine_free(engine);
    small_free(&small);
}

TEST(only_what_a_backward_kernel_reads_is_kept)
{
    struct small small = small_new();
    uint32_t w = small_parameter(&small, "w");
    uint32_t a = small_op(&small, &square_op, GRAPH_NONE, "a", w);
    uint32_t b = small_op(&small, &square_op, GRAPH_NONE, "b", a);
    struct engine *engine;

    small_output(&small, small_op(&small, &small_total_op, GRAPH_NONE, "c", b));
    engine = training_engine(&small, NULL);
    step(engine, NULL);
    CHECK_INT(engine_kept_bytes(engine, 0), 12); /* the second one reads it */
    CHECK_INT(engine_kept_bytes(engine, 1), 0);  /* nobody reads it */
    engine_free(engine);
    small_free(&small);
}

TEST(what_a_kept_view_shows_is_counted_for_who_made_it)
{
    struct small small = small_new();
    uint32_t w = small_parameter(&small, "w");
    uint32_t a = small_op(&small, &square_op, GRAPH_NONE, "a", w);
    uint32_t view = small_op(&small, &op_flatten, GRAPH_NONE, "v", a);
    uint32_t b = small_op(&small, &square_op, GRAPH_NONE, "b", view);
    struct engine *engine;

    small_output(&small, small_op(&small, &small_total_op, GRAPH_NONE, "c", b));
    engine = training_engine(&small, NULL);
    step(engine, NULL);
    CHECK_INT(engine_kept_bytes(engine, 0), 12);
    CHECK_INT(engine_kept_bytes(engine, 1), 0);
    engine_free(engine);
    small_free(&small);
}

TEST(what_is_cheap_to_make_is_dropped_and_made_again)
{
    struct small small = small_new();
    uint32_t w = small_parameter(&small, "w");
    uint32_t a = small_op(&small, &square_op, GRAPH_NONE, "a", w);
    uint32_t kept = small_op(&small, &square_op, GRAPH_NONE, "b", a);
    uint32_t b = small_op(&small, &twice_op, GRAPH_NONE, "c", a);
    uint32_t c = small_op(&small, &square_op, GRAPH_NONE, "d", b);
    uint32_t two[2] = {kept, c};
    struct engine *engine;
    struct tensor losses[2];

    for (int i = 0; i < 2; i++) {
        uint32_t loss = small_op(&small, &small_total_op, GRAPH_NONE,
                                 i ? "g" : "f", two[i]);

        CHECK_INT(graph_output(small.graph, i ? "g" : "f", loss, NULL),
                  ASSAY_OK);
    }
    engine = training_engine(&small, NULL);
    CHECK_STATUS(engine_run(engine, NULL, losses, &err), ASSAY_OK, &err);
    CHECK_INT(engine_kept_bytes(engine, 0), 12);
    CHECK_INT(engine_kept_bytes(engine, 2), 0);
    CHECK_INT(n_doubles, 1);
    CHECK_STATUS(engine_backward(engine, &err), ASSAY_OK, &err);
    CHECK_INT(n_doubles, 2);
    CHECK_INT(n_again, 1);
    /* (w^2)^2 + (2 w^2)^2 = 5 w^4, so 20 w^3 */
    check_gradient(engine, w, 20, 160, 540);
    tensor_release(&losses[0]);
    tensor_release(&losses[1]);
    engine_free(engine);
    small_free(&small);
}

static void add_loss(struct small *small, const char *name, uint32_t x)
{
    uint32_t y = small_op(small, &square_op, GRAPH_NONE, NULL, x);
    uint32_t loss = small_op(small, &small_total_op, GRAPH_NONE, name, y);

    CHECK_INT(graph_output(small->graph, name, loss, NULL), ASSAY_OK);
}

/* y1 = x1 + y0 and y2 = x2 + y1, where all x are kept for others: y1 follows
 * from what is kept, y2 would follow from something that is dropped. */
TEST(of_a_row_of_cheap_sums_every_other_one_is_kept)
{
    struct small small = small_new();
    uint32_t w = small_parameter(&small, "w");
    uint32_t y = small_op(&small, &square_op, GRAPH_NONE, "y0", w);
    uint32_t sums[2];
    struct engine *engine;
    struct tensor losses[3];

    for (int i = 0; i < 2; i++) {
        uint32_t pair[2] = {small_op(&small, &square_op, GRAPH_NONE, NULL, y),
                            y};

        add_loss(&small, i ? "b" : "a", pair[0]);
        y = sums[i] = small_node(&small, &plus_op, GRAPH_NONE, NULL, pair, 2);
    }
    add_loss(&small, "c", y);
    engine = training_engine(&small, NULL);
    CHECK_STATUS(engine_run(engine, NULL, losses, &err), ASSAY_OK, &err);
    CHECK_INT(
        engine_kept_bytes(engine, graph_value(small.graph, sums[0])->producer),
        0);
    CHECK_INT(
        engine_kept_bytes(engine, graph_value(small.graph, sums[1])->producer),
        12);
    CHECK_STATUS(engine_backward(engine, &err), ASSAY_OK, &err);
    /* w^8 + y1^4 + (y1^2 + y1)^2 with y1 = w^4 + w^2 */
    CHECK_NEAR(tensor_f32(engine_gradient(engine, w))[0], 560, 1e-3);
    CHECK_NEAR(tensor_f32(engine_gradient(engine, w))[1], 2392864, 1);
    for (int i = 0; i < 3; i++)
        tensor_release(&losses[i]);
    engine_free(engine);
    small_free(&small);
}

/* The gradient of w on a device. */
static void check_there(struct engine *engine, uint32_t w, double first,
                        double second)
{
    struct tensor here;

    CHECK_STATUS(
        engine_to_host(engine, engine_gradient(engine, w), &here, &err),
        ASSAY_OK, &err);
    CHECK_NEAR(tensor_f32(&here)[0], first, 1e-3);
    CHECK_NEAR(tensor_f32(&here)[1], second, 1);
    tensor_release(&here);
}

/* The same row on a device, which drops both sums. What reads the second comes
 * soon after it, or many nodes later: then the first is not kept in between. */
static void check_row_on_device(int n_between, int n_sums_wanted)
{
    struct far_device *far = far_device_new(NULL);
    struct small small = small_new();
    uint32_t w = small_parameter(&small, "w");
    uint32_t v = small_parameter(&small, "v");
    uint32_t y = small_op(&small, &square_op, GRAPH_NONE, "y0", w);
    uint32_t sums[2];
    struct engine *engine;
    struct tensor losses[4];

    for (int i = 0; i < 2; i++) {
        uint32_t pair[2] = {small_op(&small, &square_op, GRAPH_NONE, NULL, y),
                            y};

        add_loss(&small, i ? "b" : "a", pair[0]);
        y = sums[i] = small_node(&small, &plus_op, GRAPH_NONE, NULL, pair, 2);
    }
    for (int i = 0; i < n_between; i++)
        v = small_op(&small, &twice_op, GRAPH_NONE, NULL, v);
    add_loss(&small, "between", v);
    add_loss(&small, "c", y);
    engine = training_engine_on(&small, far_device(far), NULL);
    CHECK_STATUS(engine_run(engine, NULL, losses, &err), ASSAY_OK, &err);
    for (int i = 0; i < 2; i++)
        CHECK_INT(engine_kept_bytes(
                      engine, graph_value(small.graph, sums[i])->producer),
                  0);
    CHECK_INT(n_sums, 2);
    CHECK_STATUS(engine_backward(engine, &err), ASSAY_OK, &err);
    check_there(engine, w, 560, 2392864); /* waits for the device */
    CHECK_INT(n_sums, n_sums_wanted);
    for (int i = 0; i < 4; i++)
        tensor_release(&losses[i]);
    engine_free(engine);
    small_free(&small);
    far_device_free(far);
}

TEST(a_device_drops_a_row_of_cheap_sums_and_makes_each_again_once)
{
    check_row_on_device(2, 4);
}

TEST(what_is_made_on_the_way_and_read_much_later_is_made_once_more)
{
    check_row_on_device(70, 5);
}

TEST(a_module_named_for_it_is_computed_again_with_the_same_gradient)
{
    struct small small = small_new();
    uint32_t module = small_module(&small, GRAPH_NONE, "block", "Block");
    uint32_t w = small_parameter(&small, "w");
    uint32_t a = small_op(&small, &square_op, GRAPH_NONE, "in", w);
    uint32_t b = small_op(&small, &square_op, module, "one", a);
    uint32_t c = small_op(&small, &square_op, module, "two", b);
    uint32_t d = small_op(&small, &square_op, module, "three", c);
    const char *recompute[] = {"block", NULL};
    struct engine *engine;

    small_output(&small,
                 small_op(&small, &small_total_op, GRAPH_NONE, "sum", d));
    engine = training_engine(&small, recompute);
    step(engine, NULL);
    CHECK_INT(engine_kept_bytes(engine, 0), 12); /* goes into the module */
    CHECK_INT(engine_kept_bytes(engine, 1), 0);
    CHECK_INT(engine_kept_bytes(engine, 2), 0);
    CHECK_INT(n_again, 2); /* each but the last, whose output nobody reads */
    CHECK_INT(engine_recomputed(engine).bytes, 2 * 12);
    CHECK(engine_recomputed(engine).ns > 0);
    check_gradient(engine, w, 16, 16 * 32768.f, 16 * 14348907.f);
    engine_free(engine);
    small_free(&small);
}

TEST(a_module_that_is_not_there_cannot_be_recomputed)
{
    struct small small = small_new();
    uint32_t w = small_parameter(&small, "w");
    const char *recompute[] = {"blok", NULL};
    struct engine_options options = {
        .backend_options = {.n_threads = 1, .is_training = true},
        .recompute = recompute};
    struct engine *engine;

    memset(&err, 0, sizeof err);
    small_output(&small,
                 small_op(&small, &small_total_op, GRAPH_NONE, "sum", w));
    CHECK_INT(engine_new(small.graph, small.pool, &options, &engine, &err),
              ASSAY_BAD_USAGE);
    CHECK(strstr(err.text, "'blok'"));
    small_free(&small);
}

TEST(a_view_hands_the_gradient_back_in_the_shape_of_its_input)
{
    struct small small = small_new();
    uint32_t w = small_parameter(&small, "w");
    uint32_t y = small_op(&small, &op_flatten, GRAPH_NONE, "flat", w);
    struct engine *engine;

    small_output(&small,
                 small_op(&small, &small_total_op, GRAPH_NONE, "sum", y));
    engine = training_engine(&small, NULL);
    step(engine, NULL);
    check_gradient(engine, w, 1, 1, 1);
    CHECK_INT(engine_gradient(engine, w)->shape.rank, 1);
    CHECK_INT(engine_backward_cost(engine, 0)->done_bytes, 0);
    engine_free(engine);
    small_free(&small);
}

TEST(a_backward_pass_wants_a_forward_pass_before_it)
{
    struct small small = small_new();
    uint32_t w = small_parameter(&small, "w");
    struct engine *engine;

    small_output(&small,
                 small_op(&small, &small_total_op, GRAPH_NONE, "sum", w));
    engine = training_engine(&small, NULL);
    CHECK_INT(engine_backward(engine, &err), ASSAY_BAD_USAGE);
    CHECK(strstr(err.text, "forward"));
    engine_free(engine);
    small_free(&small);
}

TEST(a_model_without_a_loss_is_told_so)
{
    struct small small = small_new();
    uint32_t w = small_parameter(&small, "w");
    struct engine *engine;
    struct tensor y;

    small_output(&small, small_op(&small, &square_op, GRAPH_NONE, "a", w));
    engine = training_engine(&small, NULL);
    CHECK_STATUS(engine_run(engine, NULL, &y, &err), ASSAY_OK, &err);
    CHECK_INT(engine_backward(engine, &err), ASSAY_BAD_USAGE);
    CHECK(strstr(err.text, "loss"));
    tensor_release(&y);
    engine_free(engine);
    small_free(&small);
}

TEST(the_first_node_that_made_no_number_is_named)
{
    struct small small = small_new();
    uint32_t w = small_parameter(&small, "w");
    uint32_t a = small_op(&small, &twice_op, GRAPH_NONE, "a", w);
    uint32_t b = small_op(&small, &square_op, GRAPH_NONE, "big", a);
    struct engine *engine;
    char text[128];

    small_output(&small,
                 small_op(&small, &small_total_op, GRAPH_NONE, "sum", b));
    engine = training_engine(&small, NULL);
    CHECK_STATUS(engine_find_not_finite(engine, NULL, text, sizeof text, &err),
                 ASSAY_OK, &err);
    CHECK_STR(text, "");
    tensor_f32(&graph_value(small.graph, w)->data)[1] = 1e30f;
    CHECK_STATUS(engine_find_not_finite(engine, NULL, text, sizeof text, &err),
                 ASSAY_OK, &err);
    CHECK_STR(text, "small.big (Square)");
    engine_free(engine);
    small_free(&small);
}

TEST(training_survives_missing_memory_at_every_place)
{
    struct small small = small_new();
    uint32_t module = small_module(&small, GRAPH_NONE, "block", "Block");
    uint32_t w = small_parameter(&small, "w");
    uint32_t a = small_op(&small, &square_op, module, "a", w);
    uint32_t b = small_op(&small, &square_op, module, "b", a);
    const char *recompute[] = {"block", NULL};
    struct engine_options options = {
        .backend_options = {.n_threads = 1, .is_training = true},
        .recompute = recompute};
    bool has_worked = false;

    small_output(&small,
                 small_op(&small, &small_total_op, GRAPH_NONE, "sum", b));
    for (size_t n = 1; !has_worked && n < 1000; n++) {
        struct engine *engine = NULL;
        struct tensor loss = {0};
        enum assay_status st;

        mem_fail_at((long)n);
        st = engine_new(small.graph, small.pool, &options, &engine, NULL);
        if (!st)
            st = engine_run(engine, NULL, &loss, NULL);
        if (!st)
            st = engine_backward(engine, NULL);
        mem_fail_at(0);
        CHECK(st == ASSAY_OK || st == ASSAY_NOMEM);
        has_worked = !st;
        tensor_release(&loss);
        engine_free(engine);
        pool_trim(small.pool);
    }
    CHECK(has_worked);
    small_free(&small);
}
