/* What engine/engine.h promises on a device with memory and a queue of its own:
 * what moves and what does not, types, failures that show late. */
#include "backend/far.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "ops/math/cast.h"
#include "picky_op.h"
#include "small_graph.h"

#include <math.h>
#include <string.h>

static struct error err;

enum { n_floats = 6 };

struct scene {
    struct far_device *far;
    struct small small;
    struct engine *engine;
    struct tensor x, y;
};

static struct scene scene_new(const char *refused)
{
    struct scene scene = {.far = far_device_new(refused), .small = small_new()};

    err = (struct error){0};
    scene.x = small_ones(&scene.small, shape_of(2, (int64_t)2, (int64_t)3));
    for (size_t i = 0; i < n_floats; i++)
        tensor_f32(&scene.x)[i] = (float)i - 2;
    return scene;
}

static void scene_run(struct scene *scene)
{
    if (!scene->engine)
        scene->engine =
            small_engine(&scene->small, far_device(scene->far), ENGINE_MODULES);
    tensor_release(&scene->y);
    CHECK_STATUS(engine_run(scene->engine, &scene->x, &scene->y, &err),
                 ASSAY_OK, &err);
    CHECK(tensor_is_on_host(&scene->y));
}

static void scene_free(struct scene *scene)
{
    tensor_release(&scene->x);
    tensor_release(&scene->y);
    engine_free(scene->engine);
    small_free(&scene->small);
    far_device_free(scene->far);
}

/* A row of ops in modules "a", "b", ...; the value of the last. */
static uint32_t chain(struct scene *scene, const struct op_class *const *ops,
                      size_t n, uint32_t x)
{
    for (size_t i = 0; i < n; i++) {
        char name[] = {(char)('a' + i), 0};

        x = small_op(&scene->small, ops[i],
                     small_module(&scene->small, GRAPH_NONE, name, "Module"),
                     NULL, x);
    }
    return x;
}

static void check_moves(const struct scene *scene, const char *want)
{
    struct str text = {0};
    struct sink sink = sink_to_str(&text);

    engine_explain_moves(scene->engine, &sink);
    CHECK_STR(str_text(&text), want);
    str_release(&text);
}

/* ---- the timer -------------------------------------------------------------
 */

TEST(a_step_is_timed_by_the_clock_of_the_device)
{
    static const struct op_class *const ops[] = {&op_relu, &op_relu};
    struct scene scene = scene_new(NULL);
    uint32_t x = small_input(&scene.small);
    int64_t before_ns, after_ns, marks_ns[2];
    double ms = -1;

    small_output(&scene.small, chain(&scene, ops, 2, x));
    scene_run(&scene);
    before_ns = clock_monotonic_ns();
    CHECK_STATUS(engine_timer_begin(scene.engine, &err), ASSAY_OK, &err);
    scene_run(&scene);
    CHECK_STATUS(engine_timer_end(scene.engine, &ms, &err), ASSAY_OK, &err);
    after_ns = clock_monotonic_ns();
    far_device_marks(scene.far, marks_ns);
    CHECK(before_ns <= marks_ns[0] && marks_ns[0] < marks_ns[1] &&
          marks_ns[1] <= after_ns);
    CHECK_NEAR(ms, (double)(marks_ns[1] - marks_ns[0]) / 1e6, 0);
    scene_free(&scene);
}

/* It has no marks. */
TEST(a_step_on_the_host_is_timed_by_the_hosts_clock)
{
    struct small small = small_new();
    uint32_t x = small_input(&small);
    struct engine *engine;
    int64_t before_ns = clock_monotonic_ns();
    double ms = -1;

    small_output(&small, small_op(&small, &op_relu, GRAPH_NONE, NULL, x));
    engine = small_engine(&small, &device_portable, ENGINE_MODULES);
    CHECK_STATUS(engine_timer_begin(engine, &err), ASSAY_OK, &err);
    CHECK_STATUS(engine_timer_end(engine, &ms, &err), ASSAY_OK, &err);
    CHECK(ms >= 0 && ms <= (double)(clock_monotonic_ns() - before_ns) / 1e6);
    engine_free(engine);
    small_free(&small);
}

/* ---- moves -----------------------------------------------------------------
 */

TEST(only_inputs_and_outputs_move_where_the_device_runs_all)
{
    static const struct op_class *const ops[] = {&op_relu, &op_tanh, &op_relu};
    struct scene scene = scene_new(NULL);

    small_output(&scene.small,
                 chain(&scene, ops, 3, small_input(&scene.small)));
    for (int i = 0; i < 2; i++) {
        scene_run(&scene);
        CHECK_NEAR(tensor_f32(&scene.y)[5], tanh(3), 1e-6);
        check_moves(&scene, "\nmoves\n"
                            "  an input: 24 bytes to the device, for a (ReLU)\n"
                            "  c (ReLU): 24 bytes to the host, for the "
                            "outputs\n");
    }
    scene_free(&scene);
}

TEST(a_refused_op_costs_one_move_out_and_one_back)
{
    static const struct op_class *const ops[] = {&op_relu, &op_tanh, &op_relu};
    struct scene scene = scene_new("Tanh");

    small_output(&scene.small,
                 chain(&scene, ops, 3, small_input(&scene.small)));
    scene_run(&scene);
    CHECK_NEAR(tensor_f32(&scene.y)[5], tanh(3), 1e-6);
    check_moves(&scene, "\nmoves\n"
                        "  an input: 24 bytes to the device, for a (ReLU)\n"
                        "  a (ReLU): 24 bytes to the host, for b (Tanh)\n"
                        "  b (Tanh): 24 bytes to the device, for c (ReLU)\n"
                        "  c (ReLU): 24 bytes to the host, for the outputs\n");
    scene_free(&scene);
}

TEST(a_value_that_several_read_on_the_host_moves_once)
{
    struct scene scene = scene_new("Tanh Sigmoid Add");
    uint32_t x = small_input(&scene.small), two[2];

    x = small_op(&scene.small, &op_relu, GRAPH_NONE, "first", x);
    two[0] = small_op(&scene.small, &op_tanh, GRAPH_NONE, "second", x);
    two[1] = small_op(&scene.small, &op_sigmoid, GRAPH_NONE, "third", x);
    small_output(&scene.small,
                 small_node(&scene.small, &op_add, GRAPH_NONE, "sum", two, 2));
    scene_run(&scene);
    CHECK_NEAR(tensor_f32(&scene.y)[5], tanh(3) + 1 / (1 + exp(-3)), 1e-6);
    check_moves(&scene,
                "\nmoves\n"
                "  an input: 24 bytes to the device, for small.first (ReLU)\n"
                "  small.first (ReLU): 24 bytes to the host, for small.second "
                "(Tanh)\n");
    scene_free(&scene);
}

TEST(nothing_moves_on_the_host)
{
    static const struct op_class *const ops[] = {&op_relu, &op_tanh};
    struct scene scene = scene_new(NULL);

    small_output(&scene.small,
                 chain(&scene, ops, 2, small_input(&scene.small)));
    scene.engine = small_engine(&scene.small, NULL, ENGINE_MODULES);
    scene_run(&scene);
    check_moves(&scene, "");
    scene_free(&scene);
}

static uint32_t add_shape(struct scene *scene, uint32_t x)
{
    struct shape_of_attrs attrs = {.start = 0, .end = 2};
    struct node_description shape = {.op = &op_shape_of,
                                     .attrs = &attrs,
                                     .scope = GRAPH_NONE,
                                     .name = "shape",
                                     .inputs = &x,
                                     .n_inputs = 1,
                                     .n_outputs = 1};
    uint32_t out;

    CHECK_INT(graph_node_add(scene->small.graph, &shape, &out, NULL), ASSAY_OK);
    return out;
}

/* Reshape to what Shape says of another value: integers that the host needs. */
TEST(shapes_are_computed_on_the_host_and_move_nothing)
{
    struct scene scene = scene_new(NULL);
    uint32_t x = small_input(&scene.small), inputs[2];

    inputs[0] = small_op(&scene.small, &op_relu, GRAPH_NONE, "first", x);
    inputs[1] = add_shape(&scene, inputs[0]);
    inputs[0] =
        small_node(&scene.small, &op_reshape, GRAPH_NONE, "view", inputs, 2);
    small_output(&scene.small, small_op(&scene.small, &op_relu, GRAPH_NONE,
                                        "last", inputs[0]));
    scene_run(&scene);
    CHECK_INT(scene.y.shape.rank, 2);
    check_moves(&scene,
                "\nmoves\n"
                "  an input: 24 bytes to the device, for small.first (ReLU)\n"
                "  small.last (ReLU): 24 bytes to the host, for the outputs\n");
    scene_free(&scene);
}

TEST(an_input_that_is_on_the_device_already_stays_there)
{
    static const struct op_class *const ops[] = {&op_relu};
    struct scene scene = scene_new(NULL);
    struct tensor there;

    small_output(&scene.small,
                 chain(&scene, ops, 1, small_input(&scene.small)));
    scene.engine =
        small_engine(&scene.small, far_device(scene.far), ENGINE_MODULES);
    CHECK_STATUS(tensor_copy(engine_pool(scene.engine), &scene.x, &there, &err),
                 ASSAY_OK, &err);
    tensor_release(&scene.x);
    scene.x = there;
    scene_run(&scene);
    CHECK_NEAR(tensor_f32(&scene.y)[5], 3, 0);
    check_moves(&scene, "\nmoves\n"
                        "  a (ReLU): 24 bytes to the host, for the outputs\n");
    scene_free(&scene);
}

/* ---- weights ---------------------------------------------------------------
 */

TEST(weights_go_to_the_device_once_and_again_when_they_changed)
{
    struct scene scene = scene_new(NULL);
    uint32_t x = small_input(&scene.small), weight;
    uint64_t first, second;

    small_output(&scene.small, small_conv(&scene.small, GRAPH_NONE, x));
    weight = graph_find_value(scene.small.graph, "conv.weight");
    tensor_release(&scene.x);
    scene.x = small_ones(&scene.small, shape_of(4, (int64_t)1, (int64_t)1,
                                                (int64_t)1, (int64_t)1));
    scene_run(&scene);
    first = far_device_jobs(scene.far);
    scene_run(&scene);
    second = far_device_jobs(scene.far) - first;
    CHECK_INT(second, 1); /* the convolution; copies are not counted */
    CHECK_NEAR(*tensor_f32(&scene.y), 1, 0);
    *tensor_f32(&graph_value(scene.small.graph, weight)->data) = 7;
    scene_run(&scene);
    CHECK_NEAR(*tensor_f32(&scene.y), 1, 0);
    engine_parameters_changed(scene.engine);
    scene_run(&scene);
    CHECK_NEAR(*tensor_f32(&scene.y), 7, 0);
    scene_free(&scene);
}

/* ---- what is seen from outside ---------------------------------------------
 */

TEST(kept_values_come_to_the_host)
{
    static const struct op_class *const ops[] = {&op_relu, &op_tanh};
    struct scene scene = scene_new(NULL);
    uint32_t kept = chain(&scene, ops, 1, small_input(&scene.small));

    small_output(&scene.small, chain(&scene, ops + 1, 1, kept));
    scene.engine =
        small_engine(&scene.small, far_device(scene.far), ENGINE_MODULES);
    CHECK_STATUS(engine_keep(scene.engine, kept, &err), ASSAY_OK, &err);
    scene_run(&scene);
    CHECK(tensor_is_on_host(engine_kept(scene.engine, kept)));
    CHECK_NEAR(tensor_f32(engine_kept(scene.engine, kept))[5], 3, 0);
    CHECK_NEAR(tensor_f32(engine_kept(scene.engine, kept))[0], 0, 0);
    scene_free(&scene);
}

TEST(the_engines_pool_is_the_devices_memory)
{
    static const struct op_class *const ops[] = {&op_relu};
    struct scene scene = scene_new(NULL);

    small_output(&scene.small,
                 chain(&scene, ops, 1, small_input(&scene.small)));
    scene_run(&scene);
    CHECK(pool_space(engine_pool(scene.engine)) ==
          far_device(scene.far)->space);
    CHECK(pool_usage(engine_pool(scene.engine)).peak_bytes > 0);
    scene_free(&scene);
}

/* ---- types -----------------------------------------------------------------
 */

TEST(what_knows_float32_alone_runs_there_on_other_types)
{
    struct scene scene = scene_new(NULL);
    struct tensor wide;
    uint32_t x;

    CHECK_INT(graph_input(scene.small.graph, "x", DTYPE_F64, &x, NULL),
              ASSAY_OK);
    small_output(&scene.small,
                 small_op(&scene.small, &op_relu, GRAPH_NONE, "only", x));
    CHECK_INT(op_relu.is_f32, true);
    CHECK_STATUS(
        tensor_new(scene.small.pool, DTYPE_F64, &scene.x.shape, &wide, &err),
        ASSAY_OK, &err);
    for (size_t i = 0; i < n_floats; i++)
        ((double *)tensor_data(&wide))[i] = i ? (double)i : -5;
    tensor_release(&scene.x);
    scene.x = wide;
    scene_run(&scene);
    CHECK_INT(scene.y.dtype, DTYPE_F64);
    CHECK_NEAR(((double *)tensor_data(&scene.y))[2], 2, 0);
    CHECK_NEAR(((double *)tensor_data(&scene.y))[0], 0, 0);
    scene_free(&scene);
}

/* ---- failures --------------------------------------------------------------
 */

TEST(a_kernel_that_fails_late_fails_the_run_and_the_next_one_works)
{
    static const struct op_class *const ops[] = {&op_relu, &picky_op, &op_relu};
    struct scene scene = scene_new(NULL);

    small_output(&scene.small,
                 chain(&scene, ops, 3, small_input(&scene.small)));
    scene_run(&scene);
    tensor_release(&scene.y);
    tensor_f32(&scene.x)[0] = 9;
    CHECK_INT(engine_run(scene.engine, &scene.x, &scene.y, &err),
              ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "nine cannot be");
    CHECK(!scene.y.buffer);
    tensor_f32(&scene.x)[0] = 4;
    err = (struct error){0};
    scene_run(&scene);
    CHECK_NEAR(*tensor_f32(&scene.y), 4, 0);
    scene_free(&scene);
}

TEST(an_engine_without_memory_leaves_nothing_on_the_device)
{
    static const struct op_class *const ops[] = {&op_relu, &op_tanh, &op_relu};
    struct scene scene = scene_new("Tanh");
    struct engine_options options = {.device = far_device(scene.far)};
    enum assay_status st;
    struct engine *engine;
    long nth = 0;

    small_output(&scene.small,
                 chain(&scene, ops, 3, small_input(&scene.small)));
    do {
        mem_fail_at(nth++);
        engine = NULL;
        st = engine_new(scene.small.graph, scene.small.pool, &options, &engine,
                        NULL);
        if (!st)
            st = engine_run(engine, &scene.x, &scene.y, NULL);
        mem_fail_at(-1);
        tensor_release(&scene.y);
        engine_free(engine);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    scene_free(&scene);
}

TEST(the_first_value_that_is_not_finite_is_found_on_the_device)
{
    struct engine_options options = {
        .backend_options = {.n_threads = 1, .is_training = true}};
    struct scene scene = scene_new(NULL);
    uint32_t x = small_input(&scene.small);
    char text[200];

    x = small_conv(&scene.small, GRAPH_NONE, x);
    x = small_op(&scene.small, &op_relu, GRAPH_NONE, "next", x);
    small_output(&scene.small,
                 small_op(&scene.small, &small_total_op, GRAPH_NONE, "sum", x));
    tensor_release(&scene.x);
    scene.x = small_ones(&scene.small, shape_of(4, (int64_t)1, (int64_t)1,
                                                (int64_t)1, (int64_t)2));
    tensor_f32(&scene.x)[1] = INFINITY;
    options.device = far_device(scene.far);
    CHECK_STATUS(engine_new(scene.small.graph, scene.small.pool, &options,
                            &scene.engine, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(
        engine_find_not_finite(scene.engine, &scene.x, text, sizeof text, &err),
        ASSAY_OK, &err);
    CHECK_STR(text, "conv (Conv2d)");
    scene_free(&scene);
}

/* ---- passes as one launch --------------------------------------------------
 */

/* An engine that may replay, and a few runs with other inputs each. */
static void run_often(struct scene *scene, const bool *is_replayed, size_t n)
{
    struct engine_options options = {.device = far_device(scene->far),
                                     .may_replay = true};

    CHECK_STATUS(engine_new(scene->small.graph, scene->small.pool, &options,
                            &scene->engine, &err),
                 ASSAY_OK, &err);
    for (size_t i = 0; i < n; i++) {
        tensor_f32(&scene->x)[5] = (float)i;
        scene_run(scene);
        CHECK_INT(engine_was_replayed(scene->engine), is_replayed[i]);
        CHECK_NEAR(tensor_f32(&scene->y)[5], tanh((double)i), 1e-6);
        CHECK_NEAR(tensor_f32(&scene->y)[0], 0, 0);
    }
}

TEST(a_pass_over_sizes_that_were_seen_is_one_launch)
{
    static const struct op_class *const ops[] = {&op_relu, &op_tanh, &op_relu};
    static const bool is_replayed[] = {false, true, true, true};
    struct scene scene = scene_new(NULL);
    uint64_t n_jobs;

    small_output(&scene.small,
                 chain(&scene, ops, 3, small_input(&scene.small)));
    run_often(&scene, is_replayed, 4);
    n_jobs = far_device_jobs(scene.far);
    scene_run(&scene);
    CHECK_INT(far_device_jobs(scene.far) - n_jobs, 3);
    engine_parameters_changed(scene.engine);
    scene_run(&scene);
    CHECK(!engine_was_replayed(scene.engine));
    scene_free(&scene);
}

TEST(a_pass_that_the_host_has_a_part_in_is_launched_one_by_one)
{
    static const struct op_class *const ops[] = {&op_relu, &op_tanh, &op_relu};
    static const bool is_replayed[] = {false, false, false};
    struct scene scene = scene_new("Tanh");

    small_output(&scene.small,
                 chain(&scene, ops, 3, small_input(&scene.small)));
    run_often(&scene, is_replayed, 3);
    scene_free(&scene);
}

TEST(values_that_are_kept_are_there_after_a_replay)
{
    static const struct op_class *const ops[] = {&op_relu, &op_tanh};
    struct scene scene = scene_new(NULL);
    struct engine_options options = {.device = far_device(scene.far),
                                     .may_replay = true};
    uint32_t middle, x = small_input(&scene.small);

    middle = chain(&scene, ops, 1, x);
    small_output(&scene.small, chain(&scene, ops + 1, 1, middle));
    CHECK_STATUS(engine_new(scene.small.graph, scene.small.pool, &options,
                            &scene.engine, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(engine_keep(scene.engine, middle, &err), ASSAY_OK, &err);
    for (int i = 0; i < 3; i++) {
        tensor_f32(&scene.x)[5] = (float)i + 7;
        scene_run(&scene);
        CHECK(engine_kept(scene.engine, middle));
        CHECK_NEAR(tensor_f32(engine_kept(scene.engine, middle))[5], i + 7, 0);
    }
    CHECK(engine_was_replayed(scene.engine));
    scene_free(&scene);
}

/* ---- lists whose length is data --------------------------------------------
 */

static enum assay_status infer_positive(const struct node *node,
                                        const struct tensor *const *inputs,
                                        struct tensor *outputs,
                                        struct error *error)
{
    (void)node, (void)error;
    outputs[0].dtype = DTYPE_F32;
    outputs[0].shape = inputs[0]->shape;
    outputs[1].dtype = DTYPE_I64;
    outputs[1].shape = shape_of(1, (int64_t)1);
    return ASSAY_OK;
}

/* The numbers of a vector that are positive, in order, and how many. */
static enum assay_status run_positive(const struct op_context *context,
                                      const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs,
                                      struct error *error)
{
    int64_t n = 0;

    (void)context, (void)node, (void)error;
    memset(tensor_data(&outputs[0]), 0, tensor_bytes(&outputs[0]));
    for (size_t i = 0; i < tensor_elements(inputs[0]); i++) {
        if (tensor_f32(inputs[0])[i] > 0)
            tensor_f32(&outputs[0])[n++] = tensor_f32(inputs[0])[i];
    }
    *(int64_t *)tensor_data(&outputs[1]) = n;
    return ASSAY_OK;
}

static const struct op_class positive_op = {.name = "Positive",
                                            .min_inputs = 1,
                                            .max_inputs = 1,
                                            .min_outputs = 2,
                                            .max_outputs = 2,
                                            .infer = infer_positive,
                                            .forward = run_positive};

/* A graph whose first output is the list of an input's positive numbers, or
 * what an op makes of it; the count is an output where it is asked for. */
static void lists_graph(struct scene *scene, const struct op_class *after,
                        bool has_count)
{
    uint32_t x = small_input(&scene->small), made[2];
    struct node_description node = {.op = &positive_op,
                                    .scope = GRAPH_NONE,
                                    .inputs = &x,
                                    .n_inputs = 1,
                                    .n_outputs = 2};
    struct engine_options options = {.device = far_device(scene->far),
                                     .may_replay = true};

    far_device_lists(scene->far, &positive_op);
    CHECK_STATUS(graph_node_add(scene->small.graph, &node, made, &err),
                 ASSAY_OK, &err);
    small_output(&scene->small, after ? small_op(&scene->small, after,
                                                 GRAPH_NONE, "after", made[0])
                                      : made[0]);
    if (has_count)
        small_output(&scene->small, made[1]);
    CHECK_STATUS(engine_new(scene->small.graph, scene->small.pool, &options,
                            &scene->engine, &err),
                 ASSAY_OK, &err);
}

/* Runs on six numbers of which n are positive: 1, 2, ... */
static void lists_run(struct scene *scene, int64_t n, bool has_count)
{
    struct tensor x, y[2] = {{0}};

    x = small_ones(&scene->small, shape_of(1, (int64_t)n_floats));
    for (int64_t i = 0; i < n_floats; i++)
        tensor_f32(&x)[i] = i < n ? (float)(i + 1) : -1;
    CHECK_STATUS(engine_run(scene->engine, &x, y, &err), ASSAY_OK, &err);
    CHECK_INT(y[0].shape.dims[0], n);
    for (int64_t i = 0; i < n; i++)
        CHECK_NEAR(tensor_f32(&y[0])[i], (double)(i + 1), 0);
    if (has_count)
        CHECK_INT(*(const int64_t *)tensor_data(&y[1]), n);
    tensor_release(&x);
    tensor_release(&y[0]);
    tensor_release(&y[1]);
}

static void lists_check(bool has_count)
{
    static const int64_t lengths[] = {4, 4, 2, 6, 0, 1};
    struct scene scene = scene_new(NULL);

    lists_graph(&scene, NULL, has_count);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        lists_run(&scene, lengths[i], has_count);
        CHECK_INT(engine_was_replayed(scene.engine), i > 0);
    }
    scene_free(&scene);
}

TEST(a_list_of_a_pass_that_is_one_launch_is_as_long_as_its_data)
{
    lists_check(true);
}

TEST(a_list_is_cut_by_a_count_that_nobody_else_reads)
{
    lists_check(false);
}

TEST(a_pass_with_a_result_of_unknown_length_is_launched_one_by_one)
{
    struct scene scene = scene_new(NULL);

    lists_graph(&scene, &op_relu, false);
    for (int64_t n = 1; n < 4; n++) {
        lists_run(&scene, n, false);
        CHECK(!engine_was_replayed(scene.engine));
    }
    scene_free(&scene);
}

/* A list, handed out, that an op reads whose result nobody wants. */
static void lists_read(struct scene *scene)
{
    struct engine_options options = {.device = far_device(scene->far),
                                     .may_replay = true};
    uint32_t x = small_input(&scene->small), made[2];
    struct node_description node = {.op = &positive_op,
                                    .scope = GRAPH_NONE,
                                    .inputs = &x,
                                    .n_inputs = 1,
                                    .n_outputs = 2};

    far_device_lists(scene->far, &positive_op);
    CHECK_STATUS(graph_node_add(scene->small.graph, &node, made, &err),
                 ASSAY_OK, &err);
    small_op(&scene->small, &op_tanh, GRAPH_NONE, "after", made[0]);
    small_output(&scene->small, made[0]);
    CHECK_STATUS(engine_new(scene->small.graph, scene->small.pool, &options,
                            &scene->engine, &err),
                 ASSAY_OK, &err);
}

static uint64_t bytes_read_after(const struct scene *scene)
{
    return engine_cost(scene->engine, 1)->read_bytes;
}

TEST(a_list_has_its_room_also_where_the_pass_is_launched_one_by_one)
{
    struct scene scene = scene_new(NULL);

    lists_read(&scene);
    engine_allow_replay(scene.engine, false);
    for (int64_t n = 0; n < 4; n++) {
        lists_run(&scene, n, false);
        CHECK_INT(bytes_read_after(&scene), n_floats * sizeof(float));
    }
    engine_allow_replay(scene.engine, true);
    lists_run(&scene, 2, false);
    lists_run(&scene, 3, false);
    CHECK(engine_was_replayed(scene.engine));
    scene_free(&scene);
}

TEST(a_list_that_the_host_reads_is_cut_before)
{
    struct scene scene = scene_new("Tanh");

    lists_read(&scene);
    for (int64_t n = 1; n < 4; n++) {
        lists_run(&scene, n, false);
        CHECK_INT(bytes_read_after(&scene), (size_t)n * sizeof(float));
        CHECK(!engine_was_replayed(scene.engine));
    }
    scene_free(&scene);
}

TEST(small_results_come_with_one_copy)
{
    struct scene scene = scene_new(NULL);
    struct tensor y[2] = {{0}};
    uint32_t x = small_input(&scene.small);

    small_output(&scene.small,
                 small_op(&scene.small, &op_relu, GRAPH_NONE, "a", x));
    small_output(&scene.small,
                 small_op(&scene.small, &op_neg, GRAPH_NONE, "b", x));
    scene.engine =
        small_engine(&scene.small, far_device(scene.far), ENGINE_MODULES);
    CHECK_STATUS(engine_run(scene.engine, &scene.x, y, &err), ASSAY_OK, &err);
    CHECK(y[0].buffer == y[1].buffer);
    CHECK_NEAR(tensor_f32(&y[0])[0], 0, 0);
    CHECK_NEAR(tensor_f32(&y[1])[0], 2, 0);
    check_moves(&scene,
                "\nmoves\n"
                "  an input: 24 bytes to the device, for small.a (ReLU)\n"
                "  small.a (ReLU): 24 bytes to the host, for the outputs\n"
                "  small.b (Neg): 24 bytes to the host, for the outputs\n");
    tensor_release(&y[0]);
    tensor_release(&y[1]);
    scene_free(&scene);
}

static void lists_run_without_memory(long nth)
{
    struct scene scene = scene_new(NULL);
    struct tensor x, y = {0};
    enum assay_status st;

    lists_graph(&scene, NULL, false);
    lists_run(&scene, 3, false);
    x = small_ones(&scene.small, shape_of(1, (int64_t)n_floats));
    mem_fail_at(nth);
    st = engine_run(scene.engine, &x, &y, &err);
    mem_fail_at(-1);
    CHECK(st == ASSAY_OK || st == ASSAY_NOMEM);
    tensor_release(&x);
    tensor_release(&y);
    lists_run(&scene, 2, false);
    scene_free(&scene);
}

TEST(recording_a_list_without_memory_leaves_nothing_behind)
{
    for (long nth = 0; nth < 40; nth++)
        lists_run_without_memory(nth);
}
