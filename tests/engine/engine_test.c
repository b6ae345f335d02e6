/* tests/engine/engine_test.c - what engine/engine.h promises. */
#include "base/mem.h"
#include "engine/engine.h"
#include "small_graph.h"

#include <string.h>

static struct error err;

/* ---- ops that can be looked at ---------------------------------------- */

static enum assay_status infer_same(const struct node *node,
                                    const struct tensor *const *inputs,
                                    struct tensor *outputs, struct error *error)
{
    (void)node, (void)error;
    outputs[0].dtype = DTYPE_F32;
    outputs[0].shape = inputs[0]->shape;
    return ASSAY_OK;
}

static enum assay_status add_all(const struct op_context *context,
                                 const struct node *node,
                                 const struct tensor *const *inputs,
                                 struct tensor *outputs, struct error *error)
{
    (void)context, (void)error;
    for (size_t i = 0; i < tensor_elements(&outputs[0]); i++) {
        float sum = 0;

        for (size_t k = 0; k < node->n_inputs; k++) {
            CHECK(inputs[k]->layout == NULL);
            sum += tensor_f32(inputs[k])[i];
        }
        tensor_f32(&outputs[0])[i] = sum;
    }
    return ASSAY_OK;
}

static const struct op_class sum_op = {.name = "Sum",
                                       .min_inputs = 1,
                                       .max_inputs = SIZE_MAX,
                                       .min_outputs = 1,
                                       .max_outputs = 1,
                                       .infer = infer_same,
                                       .forward = add_all};

/* What each run of a spy was told, in order. */
static uint64_t spied[8];
static size_t n_spied;

static enum assay_status spy(const struct op_context *context,
                             const struct node *node,
                             const struct tensor *const *inputs,
                             struct tensor *outputs, struct error *error)
{
    spied[n_spied++] = context->dying;
    return add_all(context, node, inputs, outputs, error);
}

static const struct op_class spy_op = {.name = "Spy",
                                       .min_inputs = 1,
                                       .max_inputs = SIZE_MAX,
                                       .min_outputs = 1,
                                       .max_outputs = 1,
                                       .infer = infer_same,
                                       .forward = spy};

static enum assay_status keep_positive(const struct op_context *context,
                                       const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct tensor *outputs,
                                       struct error *error)
{
    const float *x = tensor_f32(inputs[0]);
    struct shape shape = {.rank = 1};
    enum assay_status st;
    size_t n = 0;

    (void)node;
    for (size_t i = 0; i < tensor_elements(inputs[0]); i++)
        shape.dims[0] += x[i] > 0;
    st = tensor_new(context->pool, DTYPE_F32, &shape, &outputs[0], error);
    for (size_t i = 0; !st && i < tensor_elements(inputs[0]); i++) {
        if (x[i] > 0)
            tensor_f32(&outputs[0])[n++] = x[i];
    }
    return st;
}

static const struct op_class positive_op = {.name = "Positive",
                                            .min_inputs = 1,
                                            .max_inputs = 1,
                                            .min_outputs = 1,
                                            .max_outputs = 1,
                                            .forward = keep_positive};

static enum assay_status refuse(const struct op_context *context,
                                const struct node *node,
                                const struct tensor *const *inputs,
                                struct tensor *outputs, struct error *error)
{
    (void)context, (void)node, (void)inputs, (void)outputs;
    return error_set(error, ASSAY_BAD_INPUT, "it cannot be");
}

static const struct op_class broken_op = {.name = "Broken",
                                          .min_inputs = 1,
                                          .max_inputs = 1,
                                          .min_outputs = 1,
                                          .max_outputs = 1,
                                          .infer = infer_same,
                                          .forward = refuse};

/* ---- a backend that keeps its tensors as their negatives -------------- */

struct layout {
    int unused;
};

static const struct layout negative;

static enum assay_status make_negative(const struct device *device,
                                       const struct graph *graph,
                                       const struct backend_options *options,
                                       struct backend **out,
                                       struct error *error);

static void free_negative(struct backend *backend)
{
    mem_free(backend);
}

static bool can_run_negative(const struct backend *backend,
                             const struct node *node,
                             const struct tensor *const *inputs)
{
    (void)backend, (void)inputs;
    return node->op == &sum_op && node->n_inputs == 1;
}

static enum assay_status negate(const struct op_context *context,
                                const struct tensor *x, struct tensor *y,
                                struct error *error)
{
    enum assay_status st =
        tensor_new(context->pool, DTYPE_F32, &x->shape, y, error);

    for (size_t i = 0; !st && i < tensor_elements(x); i++)
        tensor_f32(y)[i] = -tensor_f32(x)[i];
    return st;
}

static enum assay_status forward_negative(struct backend *backend,
                                          const struct op_context *context,
                                          const struct node *node, size_t at,
                                          const struct tensor *const *inputs,
                                          struct tensor *outputs,
                                          struct error *error)
{
    enum assay_status st;

    (void)backend, (void)node, (void)at;
    if (inputs[0]->layout) {
        outputs[0] = tensor_share(inputs[0]);
        return ASSAY_OK;
    }
    st = negate(context, inputs[0], &outputs[0], error);
    outputs[0].layout = &negative;
    return st;
}

static enum assay_status negative_to_dense(struct backend *backend,
                                           const struct op_context *context,
                                           const struct tensor *tensor,
                                           struct tensor *out,
                                           struct error *error)
{
    (void)backend;
    CHECK(tensor->layout == &negative);
    return negate(context, tensor, out, error);
}

static const struct backend_class negative_backend = {
    .name = "negative",
    .api_version = BACKEND_API_VERSION,
    .make = make_negative,
    .free = free_negative,
    .can_run = can_run_negative,
    .forward = forward_negative,
    .to_dense = negative_to_dense};

static const struct device negative_device = {
    .name = "negative", .backend = &negative_backend, .space = &space_host};

static enum assay_status make_negative(const struct device *device,
                                       const struct graph *graph,
                                       const struct backend_options *options,
                                       struct backend **out,
                                       struct error *error)
{
    (void)graph, (void)options;
    *out = mem_zalloc(sizeof **out);
    if (!*out)
        return error_nomem(error, sizeof **out, "a backend");
    **out = (struct backend){.class = &negative_backend, .device = device};
    return ASSAY_OK;
}

/* ---- values ----------------------------------------------------------- */

enum { n_floats = 1024, value_bytes = n_floats * sizeof(float) };

static struct tensor ones(struct small *small, int64_t n)
{
    return small_ones(small, (struct shape){.rank = 1, .dims = {n}});
}

static size_t live(const struct small *small)
{
    return pool_usage(small->pool).live_bytes;
}

static void run(struct engine *engine, const struct tensor *x, struct tensor *y)
{
    err = (struct error){0};
    CHECK_STATUS(engine_run(engine, x, y, &err), ASSAY_OK, &err);
}

static void finish(struct engine *engine, struct tensor *x, struct small *small)
{
    engine_free(engine);
    tensor_release(x);
    CHECK_INT(live(small), 0);
    small_free(small);
}

TEST(a_value_lives_until_its_last_reader)
{
    struct small small = small_new();
    struct tensor x = ones(&small, n_floats), y;
    uint32_t value = small_input(&small);
    struct engine *engine;

    for (int i = 0; i < 10; i++)
        value = small_op(&small, &sum_op, GRAPH_NONE, NULL, value);
    small_output(&small, value);
    engine = small_engine(&small, NULL, ENGINE_OPS);
    pool_reset_peak(small.pool);
    run(engine, &x, &y);
    CHECK_INT(live(&small), 2 * value_bytes); /* x and y */
    /* the caller's x, what a node reads and what it writes */
    CHECK_INT(pool_usage(small.pool).peak_bytes, 3 * value_bytes);
    tensor_release(&y);
    CHECK_INT(live(&small), value_bytes);
    finish(engine, &x, &small);
}

TEST(an_output_that_nobody_reads_is_given_back_at_once)
{
    struct small small = small_new();
    struct tensor x = ones(&small, n_floats), y;
    uint32_t input = small_input(&small);
    struct engine *engine;

    for (int i = 0; i < 5; i++)
        (void)small_op(&small, &sum_op, GRAPH_NONE, NULL, input);
    small_output(&small, small_op(&small, &sum_op, GRAPH_NONE, NULL, input));
    engine = small_engine(&small, NULL, ENGINE_OPS);
    pool_reset_peak(small.pool);
    run(engine, &x, &y);
    CHECK_INT(pool_usage(small.pool).peak_bytes, 2 * value_bytes);
    tensor_release(&y);
    finish(engine, &x, &small);
}

TEST(a_kept_value_can_be_read_after_the_run)
{
    struct small small = small_new();
    struct tensor x = ones(&small, n_floats), y;
    uint32_t two[2], four[2], eight;
    struct engine *engine;

    two[0] = two[1] = small_input(&small);
    four[0] = four[1] = small_node(&small, &sum_op, GRAPH_NONE, NULL, two, 2);
    eight = small_node(&small, &sum_op, GRAPH_NONE, NULL, four, 2);
    small_output(&small, small_op(&small, &sum_op, GRAPH_NONE, NULL, eight));
    engine = small_engine(&small, NULL, ENGINE_OPS);
    CHECK_INT(engine_keep(engine, four[0], &err), ASSAY_OK);
    CHECK(engine_kept(engine, four[0]) == NULL); /* nothing ran */
    run(engine, &x, &y);
    CHECK_NEAR(tensor_f32(engine_kept(engine, four[0]))[n_floats - 1], 2, 0);
    CHECK(engine_kept(engine, eight) == NULL);
    tensor_release(&y);
    tensor_f32(&x)[n_floats - 1] = 5;
    run(engine, &x, &y);
    CHECK_NEAR(tensor_f32(engine_kept(engine, four[0]))[n_floats - 1], 10, 0);
    tensor_release(&y);
    CHECK_INT(live(&small), 2 * value_bytes);
    finish(engine, &x, &small);
}

TEST(a_value_that_is_not_there_cannot_be_kept)
{
    struct small small = small_new();
    struct tensor x = {0};
    struct engine *engine;

    small_output(&small, small_input(&small));
    engine = small_engine(&small, NULL, ENGINE_OPS);
    err = (struct error){0};
    CHECK_STATUS(engine_keep(engine, 1, &err), ASSAY_BAD_USAGE, &err);
    CHECK_HAS(err.text, "value 1");
    CHECK(engine_kept(engine, 1) == NULL);
    CHECK(engine_kept(engine, GRAPH_NONE) == NULL);
    finish(engine, &x, &small);
}

TEST(an_input_may_be_an_output_and_a_value_two)
{
    struct small small = small_new();
    struct tensor x = ones(&small, n_floats), y[3];
    uint32_t input = small_input(&small);
    uint32_t sum = small_op(&small, &sum_op, GRAPH_NONE, NULL, input);
    struct engine *engine;

    small_output(&small, input);
    small_output(&small, sum);
    small_output(&small, sum);
    engine = small_engine(&small, NULL, ENGINE_OPS);
    run(engine, &x, y);
    CHECK(y[0].buffer == x.buffer);
    CHECK(y[1].buffer == y[2].buffer);
    CHECK_INT(buffer_references(x.buffer), 2);
    for (int i = 0; i < 3; i++)
        tensor_release(&y[i]);
    CHECK_INT(buffer_references(x.buffer), 1);
    finish(engine, &x, &small);
}

TEST(shapes_may_change_from_run_to_run)
{
    static const int64_t sizes[] = {8, 100, 1, 0, 8};
    struct small small = small_new();
    uint32_t value = small_input(&small);
    struct engine *engine;
    struct tensor x = {0};

    value = small_op(&small, &sum_op, GRAPH_NONE, NULL, value);
    small_output(&small, small_op(&small, &sum_op, GRAPH_NONE, NULL, value));
    engine = small_engine(&small, NULL, ENGINE_OPS);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct tensor y;

        x = ones(&small, sizes[i]);
        run(engine, &x, &y);
        CHECK_INT(tensor_elements(&y), sizes[i]);
        CHECK_INT(engine_cost(engine, 1)->read_bytes, 4 * sizes[i]);
        CHECK_INT(engine_cost(engine, 1)->write_bytes, 4 * sizes[i]);
        tensor_release(&y);
        tensor_release(&x);
    }
    finish(engine, &x, &small);
}

TEST(an_op_may_find_its_shape_in_the_data)
{
    struct small small = small_new();
    struct tensor x = ones(&small, n_floats), y;
    uint32_t value = small_input(&small);
    struct engine *engine;

    value = small_op(&small, &positive_op, GRAPH_NONE, NULL, value);
    small_output(&small, small_op(&small, &sum_op, GRAPH_NONE, NULL, value));
    engine = small_engine(&small, NULL, ENGINE_OPS);
    for (int n = 0; n < 3; n++) {
        tensor_f32(&x)[n] = -1;
        run(engine, &x, &y);
        CHECK_INT(tensor_elements(&y), n_floats - n - 1);
        tensor_release(&y);
    }
    finish(engine, &x, &small);
}

TEST(engines_do_not_disturb_each_other)
{
    struct small small = small_new();
    struct tensor x = ones(&small, n_floats), y[2];
    uint32_t twice[2];
    struct engine *a, *b;

    twice[0] = twice[1] = small_input(&small);
    twice[0] = small_node(&small, &sum_op, GRAPH_NONE, NULL, twice, 2);
    small_output(&small, twice[0]);
    a = small_engine(&small, NULL, ENGINE_OPS);
    b = small_engine(&small, &negative_device, ENGINE_LEAVES);
    CHECK_INT(engine_keep(a, twice[0], &err), ASSAY_OK);
    run(a, &x, &y[0]);
    tensor_f32(&x)[0] = 21;
    run(b, &x, &y[1]);
    CHECK_NEAR(tensor_f32(&y[0])[0], 2, 0);
    CHECK_NEAR(tensor_f32(&y[1])[0], 42, 0);
    CHECK_NEAR(tensor_f32(engine_kept(a, twice[0]))[0], 2, 0);
    CHECK(engine_kept(b, twice[0]) == NULL);
    engine_free(a);
    tensor_release(&y[0]);
    tensor_release(&y[1]);
    finish(b, &x, &small);
}

/* ---- backends --------------------------------------------------------- */

/* A sum of one goes to the backend, a sum of two to the op itself. */
TEST(what_leaves_a_backend_is_dense)
{
    struct small small = small_new();
    struct tensor x = ones(&small, n_floats), y[2];
    uint32_t sums[2], odd;
    struct engine *engine;

    sums[0] = small_op(&small, &sum_op, GRAPH_NONE, NULL, small_input(&small));
    sums[1] = small_op(&small, &sum_op, GRAPH_NONE, NULL, sums[0]);
    odd = small_op(&small, &sum_op, GRAPH_NONE, NULL, sums[1]);
    small_output(&small, odd);
    small_output(&small,
                 small_node(&small, &sum_op, GRAPH_NONE, NULL, sums, 2));
    engine = small_engine(&small, &negative_device, ENGINE_OPS);
    CHECK_INT(engine_keep(engine, sums[0], &err), ASSAY_OK);
    run(engine, &x, y);
    CHECK(y[0].layout == NULL && y[1].layout == NULL);
    CHECK_NEAR(tensor_f32(&y[0])[0], 1, 0);
    CHECK_NEAR(tensor_f32(&y[1])[0], 2, 0);
    CHECK(engine_kept(engine, sums[0])->layout == NULL);
    CHECK_NEAR(tensor_f32(engine_kept(engine, sums[0]))[0], 1, 0);
    tensor_release(&y[0]);
    tensor_release(&y[1]);
    finish(engine, &x, &small);
}

TEST(a_kept_value_is_dense_though_only_the_backend_read_it)
{
    struct small small = small_new();
    struct tensor x = ones(&small, n_floats), y;
    uint32_t value = small_input(&small);
    struct engine *engine;

    value = small_op(&small, &sum_op, GRAPH_NONE, NULL, value);
    small_output(&small, small_op(&small, &sum_op, GRAPH_NONE, NULL, value));
    engine = small_engine(&small, &negative_device, ENGINE_OPS);
    CHECK_INT(engine_keep(engine, value, &err), ASSAY_OK);
    run(engine, &x, &y);
    CHECK(engine_kept(engine, value)->layout == NULL);
    CHECK_NEAR(tensor_f32(engine_kept(engine, value))[0], 1, 0);
    tensor_release(&y);
    finish(engine, &x, &small);
}

TEST(a_backend_of_another_version_is_refused)
{
    struct backend_class other = negative_backend;
    struct device device = {
        .name = "other", .backend = &other, .space = &space_host};
    struct engine_options options = {.device = &device};
    struct small small = small_new();
    struct tensor x = {0};
    struct engine *engine;

    other.api_version = BACKEND_API_VERSION + 1;
    small_output(&small, small_input(&small));
    err = (struct error){0};
    CHECK_STATUS(engine_new(small.graph, small.pool, &options, &engine, &err),
                 ASSAY_UNSUPPORTED, &err);
    CHECK_HAS(err.text, "negative");
    CHECK(engine == NULL);
    finish(engine, &x, &small);
}

/* A sum of the graph's only input, n times. */
static struct small sum_of(size_t n)
{
    struct small small = small_new();
    uint32_t inputs[600], x = small_input(&small);

    for (size_t i = 0; i < n; i++)
        inputs[i] = x;
    small_output(&small,
                 small_node(&small, &sum_op, GRAPH_NONE, NULL, inputs, n));
    return small;
}

/* A detector's export concatenates the boxes of 90 classes. */
TEST(a_node_may_have_hundreds_of_inputs)
{
    struct engine_options options = {0};
    struct small small = sum_of(300);
    struct tensor x = ones(&small, n_floats), y;
    struct engine *engine;

    CHECK_STATUS(engine_new(small.graph, small.pool, &options, &engine, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(engine_run(engine, &x, &y, &err), ASSAY_OK, &err);
    CHECK_NEAR(tensor_f32(&y)[n_floats - 1], 300, 0);
    tensor_release(&y);
    finish(engine, &x, &small);
}

TEST(a_node_with_too_many_inputs_is_refused)
{
    for (int is_training = 0; is_training < 2; is_training++) {
        struct engine_options options = {.backend_options.is_training =
                                             is_training};
        struct small small = sum_of(is_training ? 65 : 513);
        struct tensor none = {0};
        struct engine *engine;

        err = (struct error){0};
        CHECK_STATUS(
            engine_new(small.graph, small.pool, &options, &engine, &err),
            ASSAY_UNSUPPORTED, &err);
        CHECK_HAS(err.text, is_training ? "65 inputs" : "513 inputs");
        finish(engine, &none, &small);
    }
}

/* ---- what a kernel is told -------------------------------------------- */

/* first reads x; second reads first twice; third reads first, second, kept
 * and a weight; fourth reads third, which is an output. */
TEST(an_input_dies_with_its_last_reader)
{
    struct small small = small_new();
    struct shape shape = {.rank = 1, .dims = {n_floats}};
    struct tensor x = ones(&small, n_floats), y[2];
    uint32_t input = small_input(&small), first, kept, weight, second, third;
    struct engine *engine;

    CHECK_INT(graph_parameter(small.graph, GRAPH_NONE, "weight",
                              VALUE_PARAMETER, DTYPE_F32, &shape, &weight,
                              NULL),
              ASSAY_OK);
    CHECK_INT(graph_set_data(small.graph, weight, ones(&small, n_floats), NULL),
              ASSAY_OK);
    first = small_op(&small, &spy_op, GRAPH_NONE, NULL, input);
    kept = small_op(&small, &spy_op, GRAPH_NONE, NULL, input);
    second = small_node(&small, &spy_op, GRAPH_NONE, NULL,
                        (uint32_t[]){first, first}, 2);
    third = small_node(&small, &spy_op, GRAPH_NONE, NULL,
                       (uint32_t[]){weight, first, kept, second}, 4);
    small_output(&small, third);
    small_output(&small, small_op(&small, &spy_op, GRAPH_NONE, NULL, third));
    engine = small_engine(&small, NULL, ENGINE_OPS);
    CHECK_INT(engine_keep(engine, kept, &err), ASSAY_OK);
    n_spied = 0;
    run(engine, &x, y);
    CHECK_INT(n_spied, 5);
    CHECK_INT(spied[0], 0);     /* x is read again */
    CHECK_INT(spied[1], 1);     /* the last to read x */
    CHECK_INT(spied[2], 0);     /* first is read again */
    CHECK_INT(spied[3], 2 | 8); /* first and second; not weight, not kept */
    CHECK_INT(spied[4], 0);     /* third is an output */
    CHECK_NEAR(tensor_f32(&y[0])[0], 5, 0); /* 1 + 1 + 1 + 2 */
    tensor_release(&y[0]);
    tensor_release(&y[1]);
    engine_free(engine);
    tensor_release(&x);
    small_free(&small);
}

/* ---- what goes wrong -------------------------------------------------- */

static void check_failure(uint32_t (*place)(struct small *small),
                          const char *name, const char *text)
{
    struct small small = small_new();
    struct tensor x = ones(&small, n_floats), y;
    uint32_t scope = place(&small), value = small_input(&small);
    struct engine *engine;

    value = small_op(&small, &sum_op, GRAPH_NONE, "before", value);
    small_output(&small, small_op(&small, &broken_op, scope, name, value));
    engine = small_engine(&small, NULL, ENGINE_OPS);
    err = (struct error){0};
    CHECK_STATUS(engine_run(engine, &x, &y, &err), ASSAY_BAD_INPUT, &err);
    CHECK_STR(err.text, text);
    CHECK(y.buffer == NULL);
    CHECK_INT(live(&small), value_bytes);
    finish(engine, &x, &small);
}

static uint32_t place_inside(struct small *small)
{
    uint32_t a = small_module(small, GRAPH_NONE, "a", "A");

    return small_module(small, a, "b", "B");
}

static uint32_t place_nowhere(struct small *small)
{
    (void)small;
    return GRAPH_NONE;
}

TEST(an_error_names_the_node)
{
    check_failure(place_inside, NULL, "a.b (Broken): it cannot be");
    check_failure(place_inside, "op", "a.b.op (Broken): it cannot be");
    check_failure(place_nowhere, NULL, "small (Broken): it cannot be");
}

TEST(an_engine_goes_on_after_a_run_that_failed)
{
    struct small small = small_new();
    struct shape two = {.rank = 2, .dims = {2, 2}};
    struct shape four = {.rank = 4, .dims = {1, 1, 2, 2}};
    struct tensor flat = small_ones(&small, two), x = small_ones(&small, four);
    struct engine *engine;
    struct tensor y;

    small_output(&small, small_conv(&small, GRAPH_NONE, small_input(&small)));
    engine = small_engine(&small, NULL, ENGINE_OPS);
    err = (struct error){0};
    CHECK_STATUS(engine_run(engine, &flat, &y, &err), ASSAY_BAD_INPUT, &err);
    CHECK_HAS(err.text, "conv (Conv2d): ");
    CHECK_HAS(err.text, "2x2");
    run(engine, &x, &y);
    CHECK_NEAR(tensor_f32(&y)[3], 1, 0);
    CHECK_INT(engine_cost(engine, 0)->macs, 4);
    tensor_release(&y);
    tensor_release(&flat);
    engine_free(engine);
    tensor_release(&x);
    small_free(&small);
}

TEST(an_engine_that_finds_no_memory_leaves_nothing_behind)
{
    struct engine_options options = {.device = &negative_device};
    struct small small = small_new();
    enum assay_status st;
    struct tensor x = {0};
    struct engine *engine;
    long nth = 0, before;

    small_output(&small, small_input(&small));
    before = mem_live();
    do {
        mem_fail_at(nth++);
        st = engine_new(small.graph, small.pool, &options, &engine, &err);
        mem_fail_at(-1);
        if (st) {
            CHECK_STATUS(st, ASSAY_NOMEM, &err);
            CHECK(engine == NULL);
            CHECK_INT(mem_live(), before);
        }
    } while (st);
    CHECK(nth > 6);
    finish(engine, &x, &small);
}

TEST(a_run_that_finds_no_memory_gives_everything_back)
{
    struct small small = small_new();
    struct tensor x = ones(&small, n_floats), y;
    uint32_t value = small_input(&small), pair[2];
    struct engine *engine;
    enum assay_status st;
    long nth = 0;

    pair[0] = small_op(&small, &sum_op, GRAPH_NONE, NULL, value);
    pair[1] = small_op(&small, &positive_op, GRAPH_NONE, NULL, value);
    value = small_node(&small, &sum_op, GRAPH_NONE, NULL, pair, 2);
    small_output(&small, small_op(&small, &sum_op, GRAPH_NONE, NULL, value));
    engine = small_engine(&small, &negative_device, ENGINE_OPS);
    do {
        pool_trim(small.pool);
        err = (struct error){0};
        mem_fail_at(nth++);
        st = engine_run(engine, &x, &y, &err);
        mem_fail_at(-1);
        if (st) {
            CHECK_STATUS(st, ASSAY_NOMEM, &err);
            CHECK(y.buffer == NULL);
            CHECK_INT(live(&small), value_bytes);
        }
    } while (st);
    CHECK(nth > 4);
    CHECK_NEAR(tensor_f32(&y)[0], 2, 0);
    tensor_release(&y);
    finish(engine, &x, &small);
}
