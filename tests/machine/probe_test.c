/* tests/machine/probe_test.c - measuring with a clock that the test sets, and
 * with a backend of its own. */
#include "base/mem.h"
#include "machine/machine.h"
#include "ops/convolution/conv2d.h"
#include "ops/ops.h"
#include "test.h"

#include <math.h>

static struct error err;

/* A clock that advances only while tasks run. */
static int64_t now_ns;

static int64_t read_clock(void *context)
{
    (void)context;
    return now_ns;
}

static const struct clock still = {.now_ns = read_clock};

/* Takes the times in the list, and then its last entry. */
struct script {
    const int64_t *ns;
    size_t n, at;
    enum assay_status fails_with;
};

static enum assay_status play(void *context, struct error *error)
{
    struct script *script = context;

    if (script->fails_with)
        return error_set(error, script->fails_with, "no such kernel");
    now_ns += script->ns[script->at < script->n ? script->at : script->n - 1];
    script->at++;
    return ASSAY_OK;
}

static double rate_of(struct script *script, double work, double seconds,
                      int64_t deadline_ns)
{
    struct probe_task task = {
        .run = play, .context = script, .work = work, .seconds = seconds};
    double rate;

    now_ns = 0;
    err = (struct error){0};
    CHECK_STATUS(probe_rate(&task, &still, deadline_ns, &rate, &err), ASSAY_OK,
                 &err);
    return rate;
}

TEST(the_rate_comes_from_the_fastest_run_after_the_first)
{
    static const int64_t ns[] = {10, 4000, 2500, 5000};
    struct script script = {.ns = ns, .n = 4};

    CHECK_NEAR(rate_of(&script, 1e4, 16e-6, INT64_MAX), 4, 1e-12);
    /* 4000 + 2500 + 5000 + 5000 fill the 16 us. */
    CHECK_INT(script.at, 5);
}

TEST(a_slow_task_is_run_only_twice)
{
    static const int64_t ns[] = {7000};
    struct script script = {.ns = ns, .n = 1};

    CHECK_NEAR(rate_of(&script, 7e3, 1e-6, INT64_MAX), 1, 1e-12);
    CHECK_INT(script.at, 2);
}

TEST(the_deadline_ends_a_task_before_its_time)
{
    static const int64_t ns[] = {1000};
    struct script script = {.ns = ns, .n = 1};

    rate_of(&script, 1, 1, 4500);
    CHECK_INT(script.at, 5);
}

TEST(a_task_without_time_has_no_rate)
{
    static const int64_t ns[] = {0};
    struct script script = {.ns = ns, .n = 1};

    CHECK(isnan(rate_of(&script, 1, 1e-9, INT64_MAX)));
}

TEST(a_task_that_fails_ends_the_measuring)
{
    struct script script = {.fails_with = ASSAY_UNSUPPORTED};
    struct probe_task task = {.run = play, .context = &script, .seconds = 1};
    double rate;

    err = (struct error){0};
    CHECK_INT(probe_rate(&task, &still, INT64_MAX, &rate, &err),
              ASSAY_UNSUPPORTED);
    CHECK_STR(err.text, "no such kernel");
    CHECK(isnan(rate));
}

/* ---- the whole probe -------------------------------------------------- */

/* A backend whose kernels only take their time: a nanosecond for every 50
 * FLOP, and 2000 more for each call. */
static const struct backend_class timed;

static enum assay_status make(const struct device *device,
                              const struct graph *graph,
                              const struct backend_options *options,
                              struct backend **out, struct error *error)
{
    struct backend *backend = mem_zalloc(sizeof *backend);

    (void)graph, (void)options;
    *out = backend;
    if (!backend)
        return error_nomem(error, sizeof *backend, "a test");
    *backend = (struct backend){.class = &timed, .device = device};
    return ASSAY_OK;
}

static void release(struct backend *backend)
{
    mem_free(backend);
}

static bool can_run(const struct backend *backend, const struct node *node,
                    const struct tensor *const *inputs)
{
    (void)backend, (void)node, (void)inputs;
    return true;
}

static enum assay_status forward(struct backend *backend,
                                 const struct op_context *context,
                                 const struct node *node, size_t at,
                                 const struct tensor *const *inputs,
                                 struct tensor *outputs, struct error *error)
{
    enum assay_status st = node->op->infer(node, inputs, outputs, error);
    struct shape shape = outputs[0].shape;
    struct cost cost = {0};

    (void)backend, (void)at;
    if (!st)
        st = tensor_new(context->pool, DTYPE_F32, &shape, outputs, error);
    if (!st)
        node->op->cost(node, inputs, outputs, &cost);
    now_ns += (int64_t)(2 * cost.macs / 50) + 2000;
    return st;
}

static const struct backend_class timed = {.name = "timed",
                                           .api_version = BACKEND_API_VERSION,
                                           .make = make,
                                           .free = release,
                                           .can_run = can_run,
                                           .forward = forward};

static const struct device timed_device = {
    .name = "timed", .backend = &timed, .space = &space_host};

static const struct machine_topology small_caches = {
    .cpu = "Made Up",
    .n_cpus = 2,
    .caches = {{.level = 2, .bytes = 1 << 20, .n = 1}},
    .n_caches = 1};

TEST(the_peak_is_the_best_layer_through_the_backend)
{
    struct machine_probe probe = {.device = &timed_device,
                                  .n_threads = 1,
                                  .seconds = 0.2,
                                  .topology = &small_caches,
                                  .available_bytes = NAN,
                                  .memory_bytes = 1 << 16,
                                  .clock = still};
    struct peaks peaks;

    now_ns = 0;
    err = (struct error){0};
    CHECK_STATUS(machine_probe(&probe, &peaks, &err), ASSAY_OK, &err);
    /* The largest layer hides the 2 us per call best. */
    CHECK(peaks.gflops < 50 && peaks.gflops > 49.9);
    /* 16 channels of 4 by 4: 8192 FLOP are 163 ns. */
    CHECK_NEAR(peaks.launch_ns, 2163, 1);
    /* The clock does not advance for memory. */
    CHECK(isnan(peaks.read_gbs) && isnan(peaks.copy_gbs));
}

TEST(memory_is_measured_with_the_real_clock)
{
    struct machine_probe probe = {.device = &timed_device,
                                  .n_threads = 2,
                                  .seconds = 0.02,
                                  .topology = &small_caches,
                                  .available_bytes = 1,
                                  .clock = clock_real()};
    struct peaks peaks;

    CHECK_STATUS(machine_probe(&probe, &peaks, &err), ASSAY_OK, &err);
    CHECK(peaks.read_gbs > 0 && peaks.write_gbs > 0 && peaks.copy_gbs > 0);
    CHECK(!peaks.is_raised);
}

TEST(a_backend_that_cannot_start_is_a_failure_not_a_crash)
{
    long before = mem_live();
    struct machine_probe probe = {.device = &timed_device,
                                  .n_threads = 1,
                                  .seconds = 1e-6,
                                  .topology = &small_caches,
                                  .available_bytes = NAN,
                                  .memory_bytes = 1 << 16,
                                  .clock = still};
    enum assay_status st;
    long nth = 1; /* the first allocation is the memory: it may fail */

    do {
        struct peaks peaks;

        now_ns = 0;
        mem_fail_at(nth++);
        st = machine_probe(&probe, &peaks, NULL);
        mem_fail_at(-1);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    CHECK(nth > 3);
}
