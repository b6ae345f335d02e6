/* Backward kernels of a GPU against the portable ones, on op cases from a text
 * file.
 *
 *     cuda_gradients FILE [WORD]
 *
 * WORD: only lines that contain it. Exits with 1 if a gradient is off in one of
 * the precisions, and with 77 where there is no GPU. Each node runs forward on
 * the GPU, from the inputs and with the gradients that the portable kernel
 * gets. Nodes that the GPU has no backward kernel for are counted. */
#include "op_step.h"

#include "base/random.h"
#include "ops/norm/batch_norm.h"
#include "ops/ops.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct pool *host_pool, *gpu_pool;
static const struct device *gpu;

/* Relative to the largest value of a gradient, which may be a sum over all
 * places of a map. */
static const struct mode {
    const char *name;
    enum precision precision;
    double tolerance;
} modes[] = {{"fp32", PRECISION_FP32, 1e-4}, {"tf32", PRECISION_TF32, 2e-2}};

enum { n_modes = sizeof modes / sizeof *modes };

struct checker {
    const struct op_graph *made;
    const char *line;
    const struct mode *mode;
    struct backend *backend;
    struct op_context context; /* on the GPU */
    struct random random;
    int n_checks, n_sums, n_wrong, n_on_host;
};

static void release_all(struct tensor *tensors)
{
    for (size_t i = 0; i < OP_STEP_MAX; i++)
        tensor_release(&tensors[i]);
    memset(tensors, 0, OP_STEP_MAX * sizeof *tensors);
}

/* Dense and on the host. */
static enum assay_status bring_back(struct checker *checker,
                                    const struct tensor *from,
                                    struct tensor *out, struct error *err)
{
    struct backend *backend = checker->backend;
    struct tensor dense = tensor_share(from);
    enum assay_status st = ASSAY_OK;

    if (from->layout) {
        tensor_release(&dense);
        st = backend->class->to_dense(backend, &checker->context, from, &dense,
                                      err);
    }
    if (!st)
        st = tensor_copy(host_pool, &dense, out, err);
    tensor_release(&dense);
    return st;
}

static double difference(const struct tensor *got, const struct tensor *want)
{
    double largest = 0, worst = 0;

    for (size_t i = 0; i < tensor_elements(want); i++) {
        double w = (double)tensor_f32(want)[i];
        double g = got->buffer ? (double)tensor_f32(got)[i] : 0;

        largest = fmax(largest, fabs(w));
        worst = fabs(g - w) > worst || isnan(g - w) ? fabs(g - w) : worst;
    }
    return largest > 0 ? worst / largest : worst;
}

/* Statistics and the scale of a folded norm have no gradients on a GPU. */
static uint64_t wanted_of(const struct op_step *step)
{
    uint64_t wanted = op_step_differentiable(step);

    if (step->node->op == &op_batch_norm ||
        step->node->op == &op_batch_norm_training)
        wanted &= ~(OP_INPUT(BATCH_NORM_MEAN) | OP_INPUT(BATCH_NORM_VARIANCE));
    return wanted;
}

static size_t index_of(const struct graph *graph, const struct node *node)
{
    size_t i = 0;

    while (graph_node(graph, i) != node)
        i++;
    return i;
}

/* A node as the GPU runs it. */
struct gpu_step {
    struct tensor inputs[OP_STEP_MAX], outputs[OP_STEP_MAX], saved;
    const struct tensor *list[OP_STEP_MAX];
};

static void gpu_release(struct gpu_step *on_gpu)
{
    release_all(on_gpu->inputs);
    release_all(on_gpu->outputs);
    tensor_release(&on_gpu->saved);
}

/* Runs the node, and gives what it made to the portable step: a value next to a
 * kink must be on the same side of it for both. */
static enum assay_status gpu_forward(struct checker *checker,
                                     struct op_step *step,
                                     struct gpu_step *on_gpu, struct error *err)
{
    struct op_context context = checker->context;
    enum assay_status st = ASSAY_OK;

    context.saved = &on_gpu->saved;
    for (size_t i = 0; !st && i < step->node->n_inputs; i++) {
        bool is_number = step->node->op->host_inputs >> i & 1;

        if (!step->inputs[i])
            continue;
        st = tensor_copy(is_number ? host_pool : gpu_pool, step->inputs[i],
                         &on_gpu->inputs[i], err);
        on_gpu->list[i] = &on_gpu->inputs[i];
    }
    if (!st)
        st = checker->backend->class->forward(
            checker->backend, &context, step->node,
            index_of(checker->made->graph, step->node), on_gpu->list,
            on_gpu->outputs, err);
    for (size_t i = 0; !st && i < step->node->n_outputs; i++) {
        tensor_release(&step->outputs[i]);
        step->outputs[i] = (struct tensor){0};
        st = bring_back(checker, &on_gpu->outputs[i], &step->outputs[i], err);
    }
    return st;
}

static enum assay_status gpu_backward(struct checker *checker,
                                      const struct op_step *step,
                                      const struct gpu_step *on_gpu,
                                      const struct tensor *dy, uint64_t wanted,
                                      struct tensor *dx, struct tensor *sums,
                                      struct error *err)
{
    const struct backend_class *class = checker->backend->class;
    struct op_reads reads =
        class->backward_reads(checker->backend, step->node, wanted);
    struct tensor inputs[OP_STEP_MAX], outputs[OP_STEP_MAX], own;
    const struct tensor *seen[OP_STEP_MAX] = {NULL}, *dys[OP_STEP_MAX] = {NULL};
    enum assay_status st = tensor_copy(gpu_pool, dy, &own, err);

    dys[0] = &own;
    for (size_t i = 0; i < step->node->n_inputs; i++) {
        inputs[i] = on_gpu->inputs[i];
        if (!(reads.inputs >> i & 1))
            inputs[i].buffer = NULL;
        seen[i] = on_gpu->list[i] ? &inputs[i] : NULL;
    }
    for (size_t i = 0; i < step->node->n_outputs; i++) {
        outputs[i] = on_gpu->outputs[i];
        if (!(reads.outputs >> i & 1))
            outputs[i].buffer = NULL;
    }
    if (!st)
        st = class->backward(checker->backend, &checker->context, step->node,
                             index_of(checker->made->graph, step->node),
                             &(struct op_backward){.inputs = seen,
                                                   .outputs = outputs,
                                                   .saved = &on_gpu->saved,
                                                   .dy = dys,
                                                   .dx = dx,
                                                   .wanted = wanted,
                                                   .sums = sums},
                             err);
    tensor_release(&own);
    return st;
}

static enum assay_status compare(struct checker *checker,
                                 const struct op_step *step, size_t input,
                                 const struct tensor *got,
                                 const struct tensor *want, struct error *err)
{
    struct tensor dense = {0};
    enum assay_status st =
        got->buffer ? bring_back(checker, got, &dense, err) : ASSAY_OK;
    double off = st ? 0 : difference(&dense, want);

    checker->n_checks++;
    if (!(off <= checker->mode->tolerance)) {
        checker->n_wrong++;
        printf("%s: the gradient of input %zu is off by %.2g, at most %.2g "
               "(%s): %s\n",
               step->node->op->name, input, off, checker->mode->tolerance,
               checker->mode->name, checker->line);
    }
    tensor_release(&dense);
    return st;
}

static enum assay_status random_like(struct checker *checker,
                                     const struct shape *shape,
                                     struct tensor *out, struct error *err)
{
    enum assay_status st = tensor_new(host_pool, DTYPE_F32, shape, out, err);

    for (size_t i = 0; !st && i < tensor_elements(out); i++)
        tensor_f32(out)[i] = (float)random_normal(&checker->random);
    return st;
}

static void twice(const struct tensor *x)
{
    for (size_t i = 0; i < tensor_elements(x); i++)
        tensor_f32(x)[i] *= 2;
}

/* Once more, with what was found as the gradients that the inputs have already:
 * those that a kernel adds to are twice as large. Doubles `want`. */
static enum assay_status
check_sums(struct checker *checker, const struct op_step *step,
           const struct gpu_step *on_gpu, const struct tensor *dy,
           uint64_t wanted, const struct tensor *found,
           const struct tensor *want, struct error *err)
{
    struct tensor got[OP_STEP_MAX] = {{0}}, sums[OP_STEP_MAX] = {{0}};
    enum assay_status st;

    for (size_t i = 0; i < step->node->n_inputs; i++) {
        if (found[i].buffer)
            sums[i] = tensor_share(&found[i]);
    }
    st = gpu_backward(checker, step, on_gpu, dy, wanted, got, sums, err);
    for (size_t i = 0; !st && i < step->node->n_inputs; i++) {
        if (!(wanted >> i & 1) || !found[i].buffer || sums[i].buffer)
            continue;
        twice(&want[i]);
        checker->n_sums++;
        st = compare(checker, step, i, &got[i], &want[i], err);
    }
    release_all(got);
    release_all(sums);
    return st;
}

/* Each gradient alone, then all at once, then added to what there is. */
static enum assay_status check_gradients(struct checker *checker,
                                         const struct op_step *step,
                                         const struct gpu_step *on_gpu,
                                         struct error *err)
{
    struct op_context host = {.pool = host_pool, .n_threads = 2};
    uint64_t all = wanted_of(step);
    struct tensor dy, want[OP_STEP_MAX] = {{0}};
    const struct tensor *dys[OP_STEP_MAX] = {&dy};
    enum assay_status st =
        random_like(checker, &step->outputs[0].shape, &dy, err);

    if (!st)
        st = op_step_backward(step, &host, dys, all, want, err);
    for (size_t k = step->node->n_inputs + 1; !st && k-- > 0;) {
        uint64_t wanted = k ? OP_INPUT(k - 1) & all : all;
        struct tensor got[OP_STEP_MAX] = {{0}};

        if (!wanted)
            continue;
        st = gpu_backward(checker, step, on_gpu, &dy, wanted, got, NULL, err);
        for (size_t i = 0; !st && i < step->node->n_inputs; i++) {
            if (wanted >> i & 1)
                st = compare(checker, step, i, &got[i], &want[i], err);
        }
        if (!st && !k)
            st = check_sums(checker, step, on_gpu, &dy, wanted, got, want, err);
        release_all(got);
    }
    release_all(want);
    tensor_release(&dy);
    return st;
}

static enum assay_status check_step(struct op_step *step, void *data,
                                    struct error *err)
{
    struct checker *checker = data;
    struct backend *backend = checker->backend;
    struct gpu_step on_gpu = {.saved = {0}};
    enum assay_status st;

    if (!step->node->op->backward || step->node->op->is_view)
        return ASSAY_OK;
    if (!backend->class->can_backward(backend, step->node) ||
        !backend->class->can_run(backend, step->node, step->inputs)) {
        checker->n_on_host++;
        return ASSAY_OK;
    }
    st = gpu_forward(checker, step, &on_gpu, err);
    if (!st)
        st = check_gradients(checker, step, &on_gpu, err);
    gpu_release(&on_gpu);
    return st;
}

static enum assay_status check_graph(struct checker *checker, struct error *err)
{
    struct backend_options options = {.precision = checker->mode->precision,
                                      .is_plain = true,
                                      .is_training = true,
                                      .n_threads = 2};
    struct op_context host = {.pool = host_pool, .n_threads = 2};
    enum assay_status st = gpu->backend->make(gpu, checker->made->graph,
                                              &options, &checker->backend, err);

    checker->context = (struct op_context){.pool = gpu_pool, .n_threads = 2};
    checker->random = random_seed(1);
    if (!st)
        st = op_steps(checker->made, &host, check_step, checker, err);
    gpu->backend->free(checker->backend);
    checker->backend = NULL;
    return st;
}

static void do_line(struct checker *checker)
{
    struct error err = {0};
    struct op_graph made = {0};
    struct op_case op_case;
    const char *problem;
    enum assay_status st;

    if (!op_case_parse(checker->line, &op_case, &problem)) {
        printf("%s: %s\n", problem, checker->line);
        checker->n_wrong++;
        return;
    }
    /* What is fused for inference alone has no gradient. */
    if (op_case.large || op_case.a)
        return;
    st = op_case_build(&op_case, host_pool, &made, &err);
    checker->made = &made;
    for (size_t i = 0; !st && i < n_modes; i++) {
        checker->mode = &modes[i];
        st = check_graph(checker, &err);
    }
    if (st) {
        printf("%s: %s\n", err.text, checker->line);
        checker->n_wrong++;
    }
    op_graph_release(&made);
}

static int do_file(FILE *file, const char *word)
{
    struct checker checker = {.n_checks = 0};
    char line[256];

    checker.line = line;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != '#' && line[0] != '\0' && (!word || strstr(line, word)))
            do_line(&checker);
    }
    printf("%d gradients, %d of them added to others, %d wrong, %d nodes on "
           "the host\n",
           checker.n_checks, checker.n_sums, checker.n_wrong,
           checker.n_on_host);
    return checker.n_wrong || checker.n_checks == 0 ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct error err = {0};
    FILE *file;
    int result;

    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc < 2) {
        fprintf(stderr, "usage: cuda_gradients FILE [WORD]\n");
        return 2;
    }
    if (device_find("cuda:0", &gpu, &err)) {
        printf("skipped: %s\n", err.text);
        return 77;
    }
    file = fopen(argv[1], "r");
    if (!file || pool_new(&host_pool, &err) ||
        pool_new_in(gpu->space, &gpu_pool, &err)) {
        perror(argv[1]);
        return 2;
    }
    result = do_file(file, argc > 2 ? argv[2] : NULL);
    pool_free(gpu_pool);
    pool_free(host_pool);
    fclose(file);
    return result;
}
