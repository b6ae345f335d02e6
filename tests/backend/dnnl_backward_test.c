/* oneDNN's backward kernels against the portable ones, on the cases that
 * forward kernels are compared by (op_cases.txt), each from the same inputs,
 * outputs and gradients. */
#include "base/crc32c.h"
#include "base/processor.h"
#include "base/random.h"
#include "base/str.h"
#include "op_step.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct error err;
static struct pool *pool;

/* Winograd 4x3 multiplies by transforms that cost it two digits, more where a
 * sum goes over all pixels. */
static const struct mode {
    const char *name, *algorithm;
    size_t scratch_bytes;
    double tolerance;
} direct = {"direct", "direct", 0, 2e-5},
  winograd = {"winograd", "winograd", 0, 1e-3},
  in_parts = {"winograd, in parts", "winograd", 1, 1e-3};

struct checker {
    const struct mode *mode;
    const char *line;
    struct backend *backend;
    struct op_context context;
    struct random random;
    int n_wrong, n_checks;
    bool is_digest; /* nothing is compared, but counted in: */
    uint32_t digest;
    /* Called when all is checked, where it is not NULL. */
    void (*after)(struct checker *checker, const struct op_graph *made);
    struct str text; /* for that */
};

/* One node as the backend runs it. */
struct fast_step {
    const struct node *node;
    size_t at;
    const struct tensor *inputs[OP_STEP_MAX];
    struct tensor outputs[OP_STEP_MAX];
    struct tensor saved;
};

static void release_all(struct tensor *tensors, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tensor_release(&tensors[i]);
    memset(tensors, 0, n * sizeof *tensors);
}

static struct tensor dense_copy(struct checker *checker,
                                const struct tensor *from)
{
    struct tensor out;

    if (!from->layout)
        return tensor_share(from);
    CHECK_STATUS(checker->backend->class->to_dense(
                     checker->backend, &checker->context, from, &out, &err),
                 ASSAY_OK, &err);
    return out;
}

static struct tensor zeros_of(const struct shape *shape)
{
    struct tensor out;

    CHECK_STATUS(tensor_new(pool, DTYPE_F32, shape, &out, &err), ASSAY_OK,
                 &err);
    memset(tensor_data(&out), 0, tensor_bytes(&out));
    return out;
}

/* The largest difference against the largest value. */
static double difference(const struct tensor *got, const struct tensor *want)
{
    double largest = 0, worst = 0;

    if (!shape_equal(&got->shape, &want->shape))
        return INFINITY;
    for (size_t i = 0; i < tensor_elements(want); i++) {
        double w = (double)tensor_f32(want)[i];
        double off = fabs((double)tensor_f32(got)[i] - w);

        largest = fmax(largest, fabs(w));
        worst = off > worst || isnan(off) ? off : worst;
    }
    return largest > 0 ? worst / largest : worst;
}

static void complain(struct checker *checker, const struct node *node,
                     const char *what, size_t input, double off)
{
    checker->n_wrong++;
    printf("%s: %s of input %zu is off by %.2g (%s): %s\n", node->op->name,
           what, input, off, checker->mode->name, checker->line);
}

static void digest_all(struct checker *checker, const struct tensor *tensors,
                       size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct tensor dense;

        if (!tensors[i].buffer)
            continue;
        dense = dense_copy(checker, &tensors[i]);
        checker->digest = checker->digest * 31 +
                          crc32c(tensor_data(&dense), tensor_bytes(&dense));
        tensor_release(&dense);
    }
}

/* ---- forward --------------------------------------------------------------
 */

static void run_forward(struct checker *checker, struct fast_step *step,
                        bool is_again)
{
    struct op_context context = checker->context;

    context.saved = &step->saved;
    context.is_again = is_again;
    CHECK_STATUS(checker->backend->class->forward(
                     checker->backend, &context, step->node, step->at,
                     step->inputs, step->outputs, &err),
                 ASSAY_OK, &err);
}

/* Dropped outputs are made again from what was saved. */
static void check_again(struct checker *checker, const struct fast_step *step)
{
    struct fast_step again = *step;

    memset(again.outputs, 0, sizeof again.outputs);
    run_forward(checker, &again, true);
    CHECK(again.saved.buffer == step->saved.buffer);
    for (size_t i = 0; i < step->node->n_outputs; i++) {
        struct tensor a = dense_copy(checker, &step->outputs[i]);
        struct tensor b = dense_copy(checker, &again.outputs[i]);

        if (memcmp(tensor_data(&a), tensor_data(&b), tensor_bytes(&a)))
            complain(checker, step->node, "a second pass", i, 1);
        tensor_release(&a);
        tensor_release(&b);
    }
    release_all(again.outputs, OP_STEP_MAX);
}

/* ---- backward -------------------------------------------------------------
 */

/* In the layout of the output: added to zeros that have it. */
static struct tensor blocked_gradient(struct checker *checker,
                                      const struct fast_step *step,
                                      const struct tensor *dy)
{
    struct fast_step zeros = *step;

    memset(zeros.outputs, 0, sizeof zeros.outputs);
    run_forward(checker, &zeros, true);
    if (buffer_references(zeros.outputs[0].buffer) > 1) { /* it handed x on */
        release_all(zeros.outputs, OP_STEP_MAX);
        return tensor_share(dy);
    }
    memset(tensor_data(&zeros.outputs[0]), 0,
           buffer_bytes(zeros.outputs[0].buffer));
    CHECK_STATUS(
        checker->backend->class->accumulate(checker->backend, &checker->context,
                                            &zeros.outputs[0], dy, &err),
        ASSAY_OK, &err);
    release_all(zeros.outputs + 1, OP_STEP_MAX - 1);
    return zeros.outputs[0];
}

static void run_backward(struct checker *checker, const struct fast_step *step,
                         const struct tensor *dy, uint64_t wanted,
                         struct tensor *dx)
{
    struct backend *backend = checker->backend;
    struct op_reads reads =
        backend->class->backward_reads(backend, step->node, wanted);
    struct tensor inputs[OP_STEP_MAX], outputs[OP_STEP_MAX];
    const struct tensor *seen[OP_STEP_MAX] = {NULL}, *dys[OP_STEP_MAX] = {dy};

    memset(dx, 0, OP_STEP_MAX * sizeof *dx);
    for (size_t i = 0; i < step->node->n_inputs; i++) {
        if (!step->inputs[i])
            continue;
        inputs[i] = *step->inputs[i];
        if (!(reads.inputs >> i & 1))
            inputs[i].buffer = NULL;
        seen[i] = &inputs[i];
    }
    for (size_t i = 0; i < step->node->n_outputs; i++) {
        outputs[i] = step->outputs[i];
        if (!(reads.outputs >> i & 1))
            outputs[i].buffer = NULL;
    }
    CHECK_STATUS(backend->class->backward(
                     backend, &checker->context, step->node, step->at,
                     &(struct op_backward){.inputs = seen,
                                           .outputs = outputs,
                                           .saved = &step->saved,
                                           .dy = dys,
                                           .dx = dx,
                                           .wanted = wanted},
                     &err),
                 ASSAY_OK, &err);
}

/* What the portable kernel makes of dense copies of the same. */
static void run_portable(struct checker *checker, const struct fast_step *fast,
                         const struct tensor *dy, uint64_t wanted,
                         struct tensor *dx)
{
    struct op_step step = {.node = fast->node};
    struct tensor inputs[OP_STEP_MAX] = {{0}};
    const struct tensor *dys[OP_STEP_MAX] = {dy};

    for (size_t i = 0; i < fast->node->n_inputs; i++) {
        if (!fast->inputs[i])
            continue;
        inputs[i] = dense_copy(checker, fast->inputs[i]);
        step.inputs[i] = &inputs[i];
    }
    CHECK_STATUS(op_step_forward(&step, &checker->context, true, &err),
                 ASSAY_OK, &err);
    /* A value next to a kink must be on the same side of it for both. */
    for (size_t i = 0; i < fast->node->n_outputs; i++) {
        tensor_release(&step.outputs[i]);
        step.outputs[i] = dense_copy(checker, &fast->outputs[i]);
    }
    CHECK_STATUS(
        op_step_backward(&step, &checker->context, dys, wanted, dx, &err),
        ASSAY_OK, &err);
    op_step_release(&step);
    release_all(inputs, OP_STEP_MAX);
}

static void check_wanted(struct checker *checker, const struct fast_step *step,
                         const struct tensor *dy, uint64_t wanted,
                         const struct tensor *want)
{
    struct tensor got[OP_STEP_MAX];

    run_backward(checker, step, dy, wanted, got);
    for (size_t i = 0; i < step->node->n_inputs; i++) {
        struct tensor dx;
        double off;

        if (!(wanted >> i & 1)) {
            CHECK(got[i].buffer == NULL);
            continue;
        }
        dx = got[i].buffer ? dense_copy(checker, &got[i])
                           : zeros_of(&want[i].shape); /* left out */
        off = difference(&dx, &want[i]);
        checker->n_checks++;
        if (!(off <= checker->mode->tolerance))
            complain(checker, step->node, "the gradient", i, off);
        tensor_release(&dx);
    }
    release_all(got, OP_STEP_MAX);
}

/* Inputs that a loss can depend on: both kernels have to say what they read of
 * the others. */
static uint64_t wanted_of(const struct fast_step *step)
{
    uint64_t wanted = 0;

    for (size_t i = 0; i < step->node->n_inputs; i++) {
        if (step->inputs[i] && step->inputs[i]->dtype == DTYPE_F32)
            wanted |= (uint64_t)1 << i;
    }
    return wanted;
}

static struct tensor random_gradient(struct checker *checker,
                                     const struct shape *shape)
{
    struct tensor dy;

    CHECK_STATUS(tensor_new(pool, DTYPE_F32, shape, &dy, &err), ASSAY_OK, &err);
    for (size_t i = 0; i < tensor_elements(&dy); i++)
        tensor_f32(&dy)[i] = (float)random_normal(&checker->random);
    return dy;
}

/* Outputs, and all gradients at once, from a gradient that is the sum of two
 * and in the layout of the output. */
static void digest_node(struct checker *checker, const struct fast_step *step)
{
    struct tensor dy = random_gradient(checker, &step->outputs[0].shape);
    struct tensor sum = blocked_gradient(checker, step, &dy);
    struct tensor dx[OP_STEP_MAX];

    if (sum.buffer != dy.buffer)
        CHECK_STATUS(checker->backend->class->accumulate(
                         checker->backend, &checker->context, &sum, &dy, &err),
                     ASSAY_OK, &err);
    digest_all(checker, step->outputs, step->node->n_outputs);
    run_backward(checker, step, &sum, wanted_of(step), dx);
    digest_all(checker, dx, step->node->n_inputs);
    release_all(dx, OP_STEP_MAX);
    tensor_release(&sum);
    tensor_release(&dy);
}

/* All gradients at once, from one that may not be written to; then each, from
 * one that may be and is in the layout of the output. */
static void check_node(struct checker *checker, const struct fast_step *step)
{
    uint64_t all = wanted_of(step);
    struct tensor dy, kept, want[OP_STEP_MAX];

    if (!step->node->op->backward ||
        !checker->backend->class->can_backward(checker->backend, step->node))
        return;
    if (checker->is_digest) {
        digest_node(checker, step);
        return;
    }
    check_again(checker, step);
    dy = random_gradient(checker, &step->outputs[0].shape);
    run_portable(checker, step, &dy, all, want);
    kept = tensor_share(&dy);
    check_wanted(checker, step, &dy, all, want);
    for (size_t i = 0; i < step->node->n_inputs; i++) {
        struct tensor blocked;

        if (!(all >> i & 1))
            continue;
        blocked = blocked_gradient(checker, step, &dy);
        check_wanted(checker, step, &blocked, (uint64_t)1 << i, want);
        tensor_release(&blocked);
    }
    release_all(want, OP_STEP_MAX);
    tensor_release(&kept);
    tensor_release(&dy);
}

/* ---- a case, the file ------------------------------------------------------
 */

static void bind_inputs(const struct graph *graph, const struct tensor *values,
                        struct fast_step *step)
{
    for (size_t i = 0; i < step->node->n_inputs; i++) {
        uint32_t value = step->node->inputs[i];

        step->inputs[i] = value == GRAPH_NONE ? NULL : &values[value];
        if (step->inputs[i] && !values[value].buffer)
            step->inputs[i] = &graph_value(graph, value)->data;
    }
}

static void check_graph(struct checker *checker, const struct op_graph *made)
{
    struct tensor values[64] = {{0}};
    size_t n = graph_value_count(made->graph);

    CHECK(n <= sizeof values / sizeof *values);
    for (size_t i = 0; i < graph_input_count(made->graph); i++)
        values[graph_input_at(made->graph, i)] = tensor_share(&made->inputs[i]);
    for (size_t i = 0; i < graph_node_count(made->graph); i++) {
        struct fast_step step = {.node = graph_node(made->graph, i), .at = i};

        bind_inputs(made->graph, values, &step);
        if (!checker->backend->class->can_run(checker->backend, step.node,
                                              step.inputs))
            break;
        run_forward(checker, &step, false);
        check_node(checker, &step);
        for (size_t k = 0; k < step.node->n_outputs; k++)
            values[step.node->outputs[k]] = step.outputs[k];
        tensor_release(&step.saved);
    }
    release_all(values, n);
}

static void check_line(struct checker *checker, const char *line,
                       const struct backend_options *options)
{
    struct op_graph made = {0};
    struct op_case op_case;
    const char *problem;

    checker->line = line;
    CHECK(op_case_parse(line, &op_case, &problem));
    if (op_case.large || op_case.a)
        return;
    CHECK_STATUS(op_case_build(&op_case, pool, &made, &err), ASSAY_OK, &err);
    CHECK_STATUS(backend_dnnl.make(device_cpu(), made.graph, options,
                                   &checker->backend, &err),
                 ASSAY_OK, &err);
    check_graph(checker, &made);
    if (checker->after)
        checker->after(checker, &made);
    backend_dnnl.free(checker->backend);
    op_graph_release(&made);
}

static struct backend_options options_of(const struct mode *mode)
{
    return (struct backend_options){.n_threads = 2,
                                    .is_training = true,
                                    .algorithm = mode->algorithm,
                                    .scratch_bytes = mode->scratch_bytes};
}

/* The cases that hold a word; all where it is NULL. */
static void do_cases(struct checker *checker, const char *word)
{
    struct backend_options options = options_of(checker->mode);
    FILE *file = fopen(TEST_SOURCE_DIR "/tests/backend/op_cases.txt", "r");
    char line[256];

    CHECK(file);
    CHECK_STATUS(pool_new(&pool, &err), ASSAY_OK, &err);
    checker->context = (struct op_context){.pool = pool, .n_threads = 2};
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != '#' && line[0] != '\0' && (!word || strstr(line, word)))
            check_line(checker, line, &options);
    }
    fclose(file);
    CHECK_INT(pool_usage(pool).live_bytes, 0);
    pool_free(pool);
}

static void check_cases(const struct mode *mode, const char *word)
{
    struct checker checker = {.mode = mode, .random = random_seed(3)};

    do_cases(&checker, word);
    CHECK(checker.n_checks > 100);
    CHECK_INT(checker.n_wrong, 0);
}

static uint32_t digest_cases(const struct mode *mode)
{
    struct checker checker = {
        .mode = mode, .random = random_seed(3), .is_digest = true};

    do_cases(&checker, NULL);
    return checker.digest;
}

TEST(direct_gradients_are_those_of_the_portable_kernels)
{
    check_cases(&direct, NULL);
}

/* oneDNN's kernels are the same ones at each level of ours, so that every bit
 * is. */
TEST(our_own_loops_make_the_same_bits_at_every_level)
{
    enum processor_level highest = processor_level(), level = highest;
    uint32_t want = digest_cases(&direct);

    CHECK(want != 0);
    while (level > PROCESSOR_SSE41) {
        processor_limit(--level);
        CHECK_INT(digest_cases(&direct), want);
    }
    processor_limit(highest);
}

TEST(winograd_gradients_are_those_of_the_portable_kernels)
{
    check_cases(&winograd, "k=3 p=");
}

TEST(gradients_made_in_parts_are_those_of_the_portable_kernels)
{
    check_cases(&in_parts, "k=3 p=1");
}

/* ---- what goes from one training to the next --------------------------------
 */

static void write_choices(struct checker *checker, const struct op_graph *made)
{
    struct sink sink = sink_to_str(&checker->text);

    (void)made;
    checker->backend->class->choices(checker->backend, &sink);
}

static void explain_last(struct checker *checker, const struct op_graph *made)
{
    struct sink sink = sink_to_str(&checker->text);
    size_t last = graph_node_count(made->graph) - 1;

    checker->backend->class->explain(
        checker->backend, graph_node(made->graph, last), last, &sink);
}

static void check_one(struct checker *checker,
                      const struct backend_options *options)
{
    static const char line[] = "conv2d c=64 h=28 w=28 o=64 k=3 p=1 blocked";

    CHECK_STATUS(pool_new(&pool, &err), ASSAY_OK, &err);
    checker->context = (struct op_context){.pool = pool, .n_threads = 2};
    checker->random = random_seed(3);
    check_line(checker, line, options);
    pool_free(pool);
}

TEST(a_training_goes_on_with_the_kernels_it_began_with)
{
    struct backend_options options = {.n_threads = 2,
                                      .is_training = true,
                                      .tries_last_resorts = true,
                                      .tuning_seconds = 1e-9};
    struct checker first = {.mode = &winograd, .after = write_choices};
    struct checker second = {.mode = &winograd, .after = explain_last};

    check_one(&first, &options);
    CHECK_HAS(str_text(&first.text), "\ttraining n1 c64 h28 w28 o64 k3x3 ");
    CHECK_HAS(str_text(&first.text), "\tbackward data n1 c64 ");
    CHECK_HAS(str_text(&first.text), "\tbackward weights n1 c64 ");
    options.tuning_seconds = 20;
    options.choices_text = str_text(&first.text);
    check_one(&second, &options);
    CHECK_HAS(str_text(&second.text), ", remembered");
    CHECK(!strstr(str_text(&second.text), ", measured"));
    CHECK(!strstr(str_text(&second.text), "rule of thumb"));
    str_release(&first.text);
    str_release(&second.text);
}

/* ---- sums
 * -------------------------------------------------------------------- */

static struct tensor number(float value)
{
    struct shape one = shape_of(1, (int64_t)1);
    struct tensor out;

    CHECK_STATUS(tensor_new(pool, DTYPE_F32, &one, &out, &err), ASSAY_OK, &err);
    *tensor_f32(&out) = value;
    return out;
}

/* a + a, where others hold a too or nobody does. */
static float add_to_itself(struct backend *backend, float a, bool is_held)
{
    struct op_context context = {.pool = pool, .n_threads = 2};
    struct tensor sum = number(a), dx = number(a), held = {0};
    float result;

    if (is_held)
        held = tensor_share(&sum);
    CHECK_STATUS(backend->class->accumulate(backend, &context, &sum, &dx, &err),
                 ASSAY_OK, &err);
    if (is_held)
        CHECK(*tensor_f32(&held) == a);
    result = *tensor_f32(&sum);
    tensor_release(&held);
    tensor_release(&sum);
    tensor_release(&dx);
    return result;
}

static struct backend *backend_of(struct graph **graph, bool is_training)
{
    struct backend_options options = {.n_threads = 2,
                                      .is_training = is_training};
    struct backend *backend;

    CHECK_STATUS(pool_new(&pool, &err), ASSAY_OK, &err);
    CHECK_STATUS(graph_new(graph, &err), ASSAY_OK, &err);
    CHECK_STATUS(
        backend_dnnl.make(device_cpu(), *graph, &options, &backend, &err),
        ASSAY_OK, &err);
    return backend;
}

static void end(struct backend *backend, struct graph *graph)
{
    backend->class->free(backend);
    graph_free(graph);
    pool_free(pool);
}

TEST(a_gradient_that_others_hold_is_not_added_to)
{
    struct graph *graph;
    struct backend *backend = backend_of(&graph, true);

    CHECK(add_to_itself(backend, 3, false) == 6);
    CHECK(add_to_itself(backend, 3, true) == 6);
    end(backend, graph);
}

TEST(in_training_numbers_next_to_0_are_0_until_the_pass_is_over)
{
    struct graph *graph;
    struct backend *backend = backend_of(&graph, true);
    volatile float tiny = 1e-40F;

#ifdef __x86_64__
    CHECK(add_to_itself(backend, tiny, false) == 0);
#endif
    backend->class->pass_over(backend);
    CHECK(tiny * 2 > 0);
    end(backend, graph);
    backend = backend_of(&graph, false);
    CHECK(add_to_itself(backend, tiny, false) > 0);
    end(backend, graph);
}
