/* predict/campaign_measure.c - see campaign.h: what one test measures. */
#include "predict/campaign.h"

#include "base/doubles.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/scanner.h"
#include "engine/engine.h"
#include "engine/optimizer.h"
#include "graph/survey.h"
#include "models/model_open.h"
#include "passes/fuse.h"
#include "passes/train_pass.h"
#include "predict/step_blocks.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

enum { n_warm_up = 1, least_steps = 3, most_steps = 2000, memory_steps = 2 };

static const double round_ms = 500; /* of measuring latency, per round */
/* A GPU is not shared with what else the machine does, and starting a test on
 * it takes longer than this. */
static const double device_round_ms = N_STEP_BLOCKS * STEP_BLOCK_MS;
static const double tuning_seconds = 20;
/* More than any network needs: what is measured must not depend on how far the
 * choice of kernels came. */
static const double device_tuning_seconds = 60;

/* A network ready to run. */
struct test_subject {
    const struct campaign_test *test;
    struct pool *pool;
    size_t ample_bytes; /* that the pool may hold before it must return any */
    struct graph *graph;
    struct engine *engine;
    struct optimizer *optimizer; /* for training */
    int64_t n_classes;           /* labels are below it */
    struct tensor inputs[4];
    struct tensor *outputs;
    struct arena arena;
};

static void subject_free(struct test_subject *subject)
{
    for (size_t i = 0; i < sizeof subject->inputs / sizeof *subject->inputs;
         i++)
        tensor_release(&subject->inputs[i]);
    optimizer_free(subject->optimizer);
    engine_free(subject->engine);
    graph_free(subject->graph);
    pool_free(subject->pool);
    arena_release(&subject->arena);
}

/* ---- inputs ------------------------------------------------------------- */

/* The shape of a batch of images; sizes that the network leaves open are
 * 224. */
static enum assay_status subject_images(const struct test_subject *subject,
                                        struct shape *images, struct error *err)
{
    const struct shape *declared = graph_input_count(subject->graph)
                                       ? graph_input_shape(subject->graph, 0)
                                       : NULL;

    if (!declared || declared->rank != 4)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "its input is not a batch of images");
    *images = *declared;
    for (int d = 0; d < images->rank; d++) {
        if (images->dims[d] < 0)
            images->dims[d] = d ? 224 : subject->test->batch;
    }
    if (images->dims[0] != subject->test->batch)
        return error_set(err, ASSAY_UNSUPPORTED, "its batch is fixed to %lld",
                         (long long)images->dims[0]);
    return ASSAY_OK;
}

/* As many as the network has scores per image. Call it before the graph is
 * changed for training. */
static enum assay_status subject_classes(struct test_subject *subject,
                                         struct error *err)
{
    struct survey survey = {0};
    const struct shape *scores;
    struct shape images;
    enum assay_status st =
        graph_input_count(subject->graph) == 1
            ? subject_images(subject, &images, err)
            : error_set(
                  err, ASSAY_UNSUPPORTED,
                  "it has %zu inputs; only networks with one can be trained",
                  graph_input_count(subject->graph));

    if (!st)
        st = survey_graph(&survey, subject->graph, &images, err);
    scores = st ? NULL : survey_output_shape(&survey, subject->graph, 0);
    if (!st && (!scores || scores->rank != 2 || scores->dims[1] < 1))
        st = error_set(err, ASSAY_UNSUPPORTED,
                       "it cannot be trained: its first output is not one "
                       "score per class");
    else if (!st)
        subject->n_classes = scores->dims[1];
    survey_release(&survey);
    return st;
}

static void fill_subject(const struct test_subject *subject, size_t i,
                         struct random *random)
{
    const struct tensor *input = &subject->inputs[i];
    size_t n = tensor_elements(input);

    for (size_t k = 0; k < n; k++) {
        if (input->dtype == DTYPE_F32)
            tensor_f32(input)[k] = (float)random_unit(random);
        else if (input->dtype == DTYPE_I64)
            tensor_i64(input)[k] =
                i == 1 ? (int64_t)random_below(random,
                                               (uint64_t)subject->n_classes)
                       : 1;
    }
}

/* Images, and for training one label each and a seed. */
static enum assay_status make_inputs(struct test_subject *subject,
                                     struct error *err)
{
    struct random random = random_seed(1);
    size_t n = graph_input_count(subject->graph);
    struct shape images;
    enum assay_status st = subject_images(subject, &images, err);

    if (!st && n > sizeof subject->inputs / sizeof *subject->inputs)
        st = error_set(err, ASSAY_UNSUPPORTED, "it has %zu inputs", n);
    for (size_t i = 0; !st && i < n; i++) {
        const struct value *value =
            graph_value(subject->graph, graph_input_at(subject->graph, i));
        struct shape shape =
            i ? shape_of(1, i == 1 ? subject->test->batch : 1) : images;

        st = tensor_new(subject->pool, value->dtype, &shape,
                        &subject->inputs[i], err);
        if (!st)
            fill_subject(subject, i, &random);
    }
    return st;
}

/* ---- the model ---------------------------------------------------------- */

/* If memory is short, returns unused memory of the pool to the system at once,
 * so that other allocations succeed and a test runs wherever it fits. If not,
 * keeps it, because waiting for new pages would change which kernels are
 * chosen. */
static void keep_little(void *context, const struct pool_change *change)
{
    const struct test_subject *subject = context;

    (void)change;
    if (pool_usage(subject->pool).held_bytes > subject->ample_bytes)
        pool_trim(subject->pool);
}

/* A part of the limit that leaves room for everything else. */
static size_t find_ample_bytes(void)
{
    struct rlimit data;

    return getrlimit(RLIMIT_DATA, &data) || data.rlim_cur == RLIM_INFINITY
               ? SIZE_MAX
               : (size_t)data.rlim_cur / 8;
}

static enum assay_status open_subject_graph(struct test_subject *subject,
                                            struct error *err)
{
    const struct model_source source = {.name = subject->test->file,
                                        .is_file = true};
    uint32_t owner;
    enum assay_status st = pool_new(&subject->pool, err);

    if (st)
        return st;
    if (subject->test->target == TARGET_MEMORY)
        pool_observe(subject->pool,
                     (struct pool_observer){keep_little, subject});
    owner = pool_set_owner(subject->pool, OWNER_WEIGHTS);
    st = model_open(&source, subject->pool, &subject->graph, err);
    if (!st)
        st = model_load_weights(&source, subject->graph, subject->pool, NULL,
                                err);
    if (!st && subject->test->stage == STAGE_TRAINING)
        st = subject_classes(subject, err);
    if (!st && subject->test->stage == STAGE_TRAINING)
        st = graph_make_training(subject->graph, NULL, err);
    if (!st && subject->test->stage == STAGE_TRAINING)
        st = fuse_training(subject->graph, err);
    else if (!st)
        st = fuse_graph(subject->graph, subject->pool, err);
    pool_set_owner(subject->pool, owner);
    return st;
}

static enum assay_status
open_subject_engine(struct test_subject *subject,
                    const struct campaign_limits *limits, struct error *err)
{
    bool is_training = subject->test->stage == STAGE_TRAINING;
    struct engine_options options = {
        .backend_options = {.n_threads = limits->n_threads,
                            .choices_path = limits->choices_path,
                            .tuning_seconds = tuning_seconds,
                            .is_training = is_training}};
    struct optimizer_options sgd = optimizer_defaults(OPTIMIZER_SGD);
    enum assay_status st = device_find(limits->device, &options.device, err);

    /* As `assay run` measures them. Jobs differ from test to test, so there is
     * nothing to remember. */
    if (!st && !options.device->space->is_host) {
        options.backend_options.tuning_seconds = device_tuning_seconds;
        options.backend_options.choices_path = NULL;
    }
    if (!st)
        st = engine_new(subject->graph, subject->pool, &options,
                        &subject->engine, err);
    sgd.momentum = 0.9;
    sgd.weight_decay = 5e-4;
    if (!st && is_training)
        st = optimizer_new(subject->engine, &sgd, &subject->optimizer, err);
    return st;
}

/* Images are where the engine computes before a step begins, as they are in
 * PyTorch's tests: sending them is not the network's cost. */
static enum assay_status move_images(struct test_subject *subject,
                                     struct error *err)
{
    struct pool *pool = engine_pool(subject->engine);
    struct tensor moved;
    enum assay_status st;

    if (pool_space(pool)->is_host)
        return ASSAY_OK;
    st = tensor_copy(pool, &subject->inputs[0], &moved, err);
    if (st)
        return st;
    tensor_release(&subject->inputs[0]);
    subject->inputs[0] = moved;
    return ASSAY_OK;
}

static enum assay_status open_subject(struct test_subject *subject,
                                      const struct campaign_limits *limits,
                                      struct error *err)
{
    size_t n;
    enum assay_status st = open_subject_graph(subject, err);

    if (!st)
        st = make_inputs(subject, err);
    if (!st)
        st = open_subject_engine(subject, limits, err);
    if (!st)
        st = move_images(subject, err);
    if (st)
        return st;
    n = graph_output_count(subject->graph);
    subject->outputs =
        arena_alloc(&subject->arena, (n + 1) * sizeof *subject->outputs);
    return subject->outputs ? ASSAY_OK
                            : error_nomem(err, n * sizeof *subject->outputs,
                                          "the outputs of a model");
}

/* A step: forward, and for training backward and the update. */
static enum assay_status make_step(struct test_subject *subject, double *ms,
                                   struct error *err)
{
    enum assay_status st = engine_timer_begin(subject->engine, err);

    if (!st)
        st =
            engine_run(subject->engine, subject->inputs, subject->outputs, err);
    if (st)
        return st;
    for (size_t i = 0; i < graph_output_count(subject->graph); i++)
        tensor_release(&subject->outputs[i]);
    if (subject->optimizer) {
        st = engine_backward(subject->engine, err);
        if (!st)
            st = optimizer_step(subject->optimizer, 0.001, err);
    }
    return st ? st : engine_timer_end(subject->engine, ms, err);
}

/* ---- what is measured --------------------------------------------------- */

/* The time of a step that nothing disturbed: the lowest decile, because other
 * load on the machine only ever adds time. */
static double undisturbed(double *steps, size_t n)
{
    doubles_sort(steps, n);
    return steps[n / 10];
}

/* Times of steps for so many milliseconds, at least three; on a GPU in blocks.
 */
static enum assay_status time_steps(struct test_subject *subject, double enough,
                                    const struct block_processors *processors,
                                    double *steps, size_t *n_steps,
                                    struct error *err)
{
    double spent = 0, of_block = STEP_BLOCK_MS;
    enum assay_status st = ASSAY_OK;
    size_t n = 0, block = 0;

    while (!st && n < most_steps && (n < least_steps || spent < enough)) {
        if (processors && of_block >= STEP_BLOCK_MS) {
            block_processors_use(processors, block++);
            of_block = 0;
        }
        st = make_step(subject, &steps[n], err);
        spent += steps[n];
        of_block += steps[n++];
    }
    *n_steps = n;
    return st;
}

static void take_times(struct campaign_result *result, double *steps, size_t n,
                       bool is_host)
{
    const size_t most = sizeof result->steps_ms / sizeof *result->steps_ms;
    struct step_blocks blocks;

    memcpy(result->steps_ms, steps, (n < most ? n : most) * sizeof *steps);
    result->n_steps = n;
    if (is_host) {
        result->latency_ms = undisturbed(steps, n);
        return;
    }
    blocks = step_blocks_of(steps, n);
    result->latency_ms = blocks.least_ms;
    result->is_steady = blocks.is_steady;
}

static enum assay_status measure_latency(struct test_subject *subject,
                                         struct campaign_result *result,
                                         struct error *err)
{
    bool is_host = pool_space(engine_pool(subject->engine))->is_host;
    double *steps = mem_array(most_steps, sizeof *steps);
    struct block_processors processors;
    enum assay_status st;
    size_t n;

    if (!steps)
        return error_nomem(err, most_steps * sizeof *steps, "times of steps");
    if (is_host) {
        st = time_steps(subject, round_ms, NULL, steps, &n, err);
    } else {
        processors = block_processors_find();
        st = time_steps(subject, device_round_ms, &processors, steps, &n, err);
        block_processors_leave(&processors);
    }
    if (!st)
        take_times(result, steps, n, is_host);
    mem_free(steps);
    return st;
}

double campaign_own_mb(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[128];
    uint64_t kb = 0;

    while (file && fgets(line, sizeof line, file)) {
        if (scan_field(line, "VmData", &kb))
            break;
    }
    if (file)
        fclose(file);
    return (double)kb / 1024;
}

/* The memory that a step needs: the private memory of the process outside of
 * the pool, minus what it started with, plus the peak of the pool. Memory used
 * only once, for choosing kernels, does not count. */
static enum assay_status measure_memory_use(struct test_subject *subject,
                                            double idle_mb,
                                            struct campaign_result *result,
                                            struct error *err)
{
    struct pool *pool = engine_pool(subject->engine);
    enum assay_status st = ASSAY_OK;
    struct pool_usage usage;

    pool_reset_peak(pool);
    for (size_t i = 0; !st && i < memory_steps; i++) {
        st = make_step(subject, &result->steps_ms[i], err);
        result->n_steps++;
    }
    usage = pool_usage(pool);
    result->alloc_mb = (double)usage.peak_bytes / 1024 / 1024;
    result->reserved_mb = (double)usage.held_peak_bytes / 1024 / 1024;
    result->used_mb = campaign_own_mb() - idle_mb -
                      (double)usage.held_bytes / 1024 / 1024 + result->alloc_mb;
    if (!pool_space(pool)->is_host)
        result->used_mb = result->alloc_mb;
    return st;
}

/* On a GPU, whose memory only the pool takes, both are known after a few
 * steps. */
static enum assay_status measure_both(struct test_subject *subject,
                                      struct campaign_result *result,
                                      struct error *err)
{
    struct pool *pool = engine_pool(subject->engine);
    enum assay_status st;
    struct pool_usage usage;

    pool_reset_peak(pool);
    st = measure_latency(subject, result, err);
    usage = pool_usage(pool);
    result->alloc_mb = (double)usage.peak_bytes / 1024 / 1024;
    result->reserved_mb = (double)usage.held_peak_bytes / 1024 / 1024;
    result->used_mb = result->alloc_mb;
    result->has_both = true;
    return st;
}

/* What the device has in all, and what it has left. */
static void note_room(struct space *space, struct campaign_result *result)
{
    size_t free_bytes, total_bytes;

    if (space->is_host || !space->room ||
        !space->room(space, &free_bytes, &total_bytes))
        return;
    result->capacity_mb = (double)total_bytes / 1024 / 1024;
    result->free_mb = result->avail_mb = (double)free_bytes / 1024 / 1024;
}

enum assay_status campaign_measure_here(const struct campaign_test *test,
                                        const struct campaign_limits *limits,
                                        struct campaign_result *result,
                                        struct error *err)
{
    double idle_mb = campaign_own_mb(), ms;
    struct test_subject subject = {
        .test = test, .ample_bytes = find_ample_bytes(), .n_classes = 1};
    enum assay_status st = open_subject(&subject, limits, err);

    for (int i = 0; !st && i < n_warm_up; i++)
        st = make_step(&subject, &ms, err);
    if (!st && !pool_space(engine_pool(subject.engine))->is_host)
        st = measure_both(&subject, result, err);
    else if (!st && test->target == TARGET_LATENCY)
        st = measure_latency(&subject, result, err);
    else if (!st)
        st = measure_memory_use(&subject, idle_mb, result, err);
    if (!st)
        note_room(pool_space(engine_pool(subject.engine)), result);
    subject_free(&subject);
    return st;
}
