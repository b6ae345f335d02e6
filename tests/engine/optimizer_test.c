/* tests/engine/optimizer_test.c - what engine/optimizer.h promises: the same
 * steps as torch.optim, which make_optimizer_steps.py takes. */
#include "base/mem.h"
#include "engine/optimizer.h"
#include "formats/weights/checkpoint.h"
#include "small_graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { n_steps = 5, no_torch = 77, no_python = 127 };

static struct error err;

/* ---- PyTorch's steps ---------------------------------------------------- */

static struct checkpoint *torch_steps(void)
{
    static const char script[] =
        TEST_SOURCE_DIR "/tests/engine/make_optimizer_steps.py";
    const char *path = test_path("steps.pth");
    struct checkpoint *steps = NULL;
    char command[2048];
    int status;

    if (access(path, R_OK)) {
        snprintf(command, sizeof command, "/usr/bin/python3 %s %s", script,
                 path);
        status = system(command);
        if (WIFEXITED(status) && (WEXITSTATUS(status) == no_torch ||
                                  WEXITSTATUS(status) == no_python))
            SKIP("torch: /usr/bin/python3 has none (Debian: python3-torch)");
        CHECK_INT(status, 0);
    }
    CHECK_STATUS(checkpoint_open(path, &steps, &err), ASSAY_OK, &err);
    return steps;
}

static struct tensor golden(const struct checkpoint *steps, struct pool *pool,
                            const char *format, const char *name, int step)
{
    struct tensor tensor = {0};
    char key[64];
    size_t i = 0;

    snprintf(key, sizeof key, format, name, step);
    if (!checkpoint_find(steps, key, &i))
        print_error("no %s\n", key);
    CHECK_STATUS(checkpoint_load(steps, i, pool, &tensor, &err), ASSAY_OK,
                 &err);
    return tensor;
}

/* The largest difference, relative to the largest value. */
static double distance(const struct tensor *a, const struct tensor *b)
{
    double most = 0, size = 0;

    CHECK(shape_equal(&a->shape, &b->shape));
    for (size_t i = 0; i < tensor_elements(a); i++) {
        most = fmax(most, fabs((double)tensor_f32(a)[i] - tensor_f32(b)[i]));
        size = fmax(size, fabs((double)tensor_f32(b)[i]));
    }
    return most / size;
}

/* ---- one parameter ------------------------------------------------------ */

struct subject {
    struct small small;
    struct engine *engine;
    struct optimizer *optimizer;
    uint32_t weight;
};

static void subject_make(struct subject *subject,
                         const struct optimizer_options *options,
                         const struct tensor *start, int n_threads)
{
    struct engine_options with = {.backend_options = {.n_threads = n_threads}};
    struct tensor data;
    uint32_t scope;

    subject->small = small_new();
    scope = small_module(&subject->small, GRAPH_NONE, "fc", "Linear");
    CHECK_INT(graph_parameter(subject->small.graph, scope, "weight",
                              VALUE_PARAMETER, DTYPE_F32, &start->shape,
                              &subject->weight, NULL),
              ASSAY_OK);
    CHECK_INT(
        tensor_new(subject->small.pool, DTYPE_F32, &start->shape, &data, NULL),
        ASSAY_OK);
    memcpy(tensor_data(&data), tensor_data(start), tensor_bytes(start));
    CHECK_INT(graph_set_data(subject->small.graph, subject->weight, data, NULL),
              ASSAY_OK);
    CHECK_STATUS(engine_new(subject->small.graph, subject->small.pool, &with,
                            &subject->engine, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(
        optimizer_new(subject->engine, options, &subject->optimizer, &err),
        ASSAY_OK, &err);
}

static void subject_free(struct subject *subject)
{
    optimizer_free(subject->optimizer);
    engine_free(subject->engine);
    small_free(&subject->small);
}

/* Without data where nothing is remembered. */
static struct tensor state_of(const struct subject *subject, size_t i)
{
    struct tensor state;

    CHECK_STATUS(optimizer_read_state(subject->optimizer, subject->weight, i,
                                      &state, &err),
                 ASSAY_OK, &err);
    return state;
}

static const struct tensor *subject_data(const struct subject *subject)
{
    return &graph_value(subject->small.graph, subject->weight)->data;
}

struct steps_case {
    const char *name;
    double learning_rate;
    struct optimizer_options options;
};

static struct steps_case steps_case(const char *name)
{
    struct optimizer_options sgd = optimizer_defaults(OPTIMIZER_SGD);
    struct optimizer_options adamw = optimizer_defaults(OPTIMIZER_ADAMW);
    struct steps_case cases[] = {
        {"sgd_plain", 0.1, sgd},     {"sgd_decay", 0.1, sgd},
        {"sgd_momentum", 0.02, sgd}, {"sgd_nesterov", 0.02, sgd},
        {"adamw", 1e-3, adamw},      {"adamw_all", 0.01, adamw},
    };
    size_t i = 0;

    cases[1].options.weight_decay = 0.05;
    cases[2].options.momentum = cases[3].options.momentum = 0.9;
    cases[2].options.weight_decay = cases[3].options.weight_decay = 1e-4;
    cases[3].options.is_nesterov = true;
    cases[5].options.beta1 = 0.8;
    cases[5].options.beta2 = 0.95;
    cases[5].options.eps = 1e-3;
    cases[5].options.weight_decay = 0.1;
    while (strcmp(cases[i].name, name) != 0)
        i++;
    return cases[i];
}

/* Takes the steps [from, to) and compares each with PyTorch's. */
static void take_steps(struct subject *subject, const struct steps_case *one,
                       const struct checkpoint *steps, int from, int to)
{
    for (int step = from; step < to; step++) {
        struct tensor gradient = golden(steps, subject->small.pool,
                                        "%s.%d.gradient", one->name, step);
        struct tensor want = golden(steps, subject->small.pool,
                                    "%s.%d.parameter", one->name, step);
        double rate = one->learning_rate * (1 + step) / n_steps;

        CHECK_STATUS(optimizer_change(subject->optimizer, subject->weight,
                                      &gradient, rate, &err),
                     ASSAY_OK, &err);
        CHECK_NEAR(distance(subject_data(subject), &want), 0, 1e-6);
        tensor_release(&gradient);
        tensor_release(&want);
    }
}

static void check_states(const struct subject *subject,
                         const struct steps_case *one,
                         const struct checkpoint *steps)
{
    const char *name;

    for (size_t i = 0;
         (name = optimizer_state_name(subject->optimizer, i)) != NULL; i++) {
        struct tensor want, state;
        char format[64];

        snprintf(format, sizeof format, "%%s.%s", name);
        want = golden(steps, subject->small.pool, format, one->name, 0);
        state = state_of(subject, i);
        CHECK_NEAR(distance(&state, &want), 0, 1e-6);
        tensor_release(&state);
        tensor_release(&want);
    }
    CHECK_INT(optimizer_steps(subject->optimizer, subject->weight), n_steps);
}

static void compare_with_torch(const char *name, int n_threads)
{
    struct checkpoint *steps = torch_steps();
    struct steps_case one = steps_case(name);
    struct subject subject;
    struct pool *pool;
    struct tensor start;

    CHECK_INT(pool_new(&pool, NULL), ASSAY_OK);
    start = golden(steps, pool, "%s.start", name, 0);
    subject_make(&subject, &one.options, &start, n_threads);
    take_steps(&subject, &one, steps, 0, n_steps);
    check_states(&subject, &one, steps);
    tensor_release(&start);
    subject_free(&subject);
    checkpoint_free(steps);
    pool_free(pool);
}

TEST(sgd_without_momentum_steps_as_pytorch)
{
    compare_with_torch("sgd_plain", 1);
    compare_with_torch("sgd_decay", 2);
}

TEST(sgd_with_momentum_steps_as_pytorch)
{
    compare_with_torch("sgd_momentum", 2);
}

TEST(sgd_with_nesterov_momentum_steps_as_pytorch)
{
    compare_with_torch("sgd_nesterov", 1);
}

TEST(adamw_steps_as_pytorch)
{
    compare_with_torch("adamw", 1);
    compare_with_torch("adamw_all", 2);
}

/* ---- the state ---------------------------------------------------------- */

static void copy_state(const struct subject *from, const struct subject *to)
{
    struct tensor held[OPTIMIZER_MAX_STATES] = {{0}};
    const struct tensor *states[OPTIMIZER_MAX_STATES];

    for (size_t i = 0; optimizer_state_name(from->optimizer, i); i++) {
        held[i] = state_of(from, i);
        states[i] = &held[i];
    }
    CHECK_STATUS(
        optimizer_restore(to->optimizer, to->weight,
                          optimizer_steps(from->optimizer, from->weight),
                          states, &err),
        ASSAY_OK, &err);
    for (size_t i = 0; i < OPTIMIZER_MAX_STATES; i++)
        tensor_release(&held[i]);
}

/* Steps of random numbers; the same for the same step. */
static void step_on(const struct subject *subject, int step)
{
    struct tensor gradient;
    const struct tensor *data = subject_data(subject);

    CHECK_INT(tensor_new(subject->small.pool, DTYPE_F32, &data->shape,
                         &gradient, NULL),
              ASSAY_OK);
    for (size_t i = 0; i < tensor_elements(&gradient); i++)
        tensor_f32(&gradient)[i] = sinf((float)(i + 17 * (size_t)step));
    CHECK_STATUS(optimizer_change(subject->optimizer, subject->weight,
                                  &gradient, 0.01, &err),
                 ASSAY_OK, &err);
    tensor_release(&gradient);
}

static void continue_elsewhere(const char *name)
{
    struct steps_case one = steps_case(name);
    struct small ground = small_new();
    struct tensor start = small_ones(&ground, shape_of(1, (int64_t)100));
    struct subject whole, second;

    subject_make(&whole, &one.options, &start, 1);
    step_on(&whole, 0);
    step_on(&whole, 1);
    subject_make(&second, &one.options, subject_data(&whole), 1);
    copy_state(&whole, &second);
    step_on(&whole, 2);
    step_on(&second, 2);
    CHECK(memcmp(tensor_data(subject_data(&whole)),
                 tensor_data(subject_data(&second)),
                 tensor_bytes(&start)) == 0);
    subject_free(&whole);
    subject_free(&second);
    tensor_release(&start);
    small_free(&ground);
}

TEST(a_restored_state_goes_on_bit_for_bit)
{
    continue_elsewhere("sgd_momentum");
    continue_elsewhere("adamw");
}

TEST(a_state_of_another_shape_is_refused)
{
    struct steps_case one = steps_case("sgd_momentum");
    struct small ground = small_new();
    struct tensor start = small_ones(&ground, shape_of(1, (int64_t)8));
    struct tensor other = small_ones(&ground, shape_of(1, (int64_t)9));
    const struct tensor *states[] = {&other};
    struct subject subject;

    err = (struct error){0};
    subject_make(&subject, &one.options, &start, 1);
    CHECK_INT(
        optimizer_restore(subject.optimizer, subject.weight, 1, states, &err),
        ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "momentum_buffer of fc.weight");
    CHECK(!state_of(&subject, 0).buffer);
    subject_free(&subject);
    tensor_release(&start);
    tensor_release(&other);
    small_free(&ground);
}

TEST(the_pool_counts_the_state_as_the_optimizers)
{
    struct steps_case one = steps_case("adamw");
    struct small ground = small_new();
    struct tensor start = small_ones(&ground, shape_of(1, (int64_t)4096));
    struct subject subject;

    subject_make(&subject, &one.options, &start, 1);
    step_on(&subject, 0);
    CHECK_INT(pool_peak_of(subject.small.pool, OWNER_OPTIMIZER),
              2 * 4096 * sizeof(float));
    subject_free(&subject);
    tensor_release(&start);
    small_free(&ground);
}

TEST(a_parameter_that_cannot_be_trained_is_named)
{
    struct optimizer_options options = optimizer_defaults(OPTIMIZER_SGD);
    struct small small = small_new();
    uint32_t scope = small_module(&small, GRAPH_NONE, "fc", "Linear"), value;
    struct shape shape = shape_of(1, (int64_t)3);
    struct optimizer *optimizer;
    struct engine *engine;

    err = (struct error){0};
    CHECK_INT(graph_parameter(small.graph, scope, "weight", VALUE_PARAMETER,
                              DTYPE_F16, &shape, &value, NULL),
              ASSAY_OK);
    engine = small_engine(&small, NULL, ENGINE_MODULES);
    CHECK_INT(optimizer_new(engine, &options, &optimizer, &err),
              ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, "fc.weight is float16");
    graph_freeze(small.graph, value);
    CHECK_STATUS(optimizer_new(engine, &options, &optimizer, &err), ASSAY_OK,
                 &err);
    optimizer_free(optimizer);
    engine_free(engine);
    small_free(&small);
}

TEST(nesterov_without_momentum_is_refused)
{
    struct optimizer_options options = optimizer_defaults(OPTIMIZER_SGD);
    struct small small = small_new();
    struct engine *engine = small_engine(&small, NULL, ENGINE_MODULES);
    struct optimizer *optimizer;

    err = (struct error){0};
    options.is_nesterov = true;
    CHECK_INT(optimizer_new(engine, &options, &optimizer, &err),
              ASSAY_BAD_USAGE);
    CHECK_HAS(err.text, "momentum above 0");
    engine_free(engine);
    small_free(&small);
}
