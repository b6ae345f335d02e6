/* Every op of tests/backend/op_cases.txt computes the same bits, forward and
 * backward, at each instruction level of this processor. */
#include "base/crc32c.h"
#include "base/processor.h"
#include "op_step.h"
#include "ops/ops.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

enum {
    max_steps = 16,
    large_work = 20000000 /* larger cases are skipped: they test nothing new */
};

/* The outputs and gradients of each node of a case. */
struct digests {
    struct op_context context;
    uint32_t outputs[max_steps], gradients[max_steps];
    size_t n;
};

static struct error err;

static uint32_t digest_of(const struct tensor *tensors, size_t n)
{
    uint32_t digest = 0;

    for (size_t i = 0; i < n; i++) {
        if (tensors[i].buffer)
            digest = digest * 31 + crc32c(tensor_data(&tensors[i]),
                                          tensor_bytes(&tensors[i]));
    }
    return digest;
}

/* Fixed numbers of either sign. */
static enum assay_status fill_gradient(const struct op_context *context,
                                       const struct tensor *y,
                                       struct tensor *dy, struct error *why)
{
    enum assay_status st =
        tensor_new(context->pool, DTYPE_F32, &y->shape, dy, why);

    for (size_t i = 0; !st && i < tensor_elements(dy); i++)
        tensor_f32(dy)[i] = (float)((int)(i * 37 % 101) - 50) / 64;
    return st;
}

static enum assay_status digest_wanted(const struct op_context *context,
                                       const struct op_step *step,
                                       const struct tensor *dy, uint64_t wanted,
                                       uint32_t *digest, struct error *why)
{
    const struct tensor *dys[OP_STEP_MAX] = {dy};
    struct tensor dx[OP_STEP_MAX] = {{0}};
    enum assay_status st =
        op_step_backward(step, context, dys, wanted, dx, why);

    *digest = digest_of(dx, OP_STEP_MAX);
    for (size_t i = 0; i < OP_STEP_MAX; i++)
        tensor_release(&dx[i]);
    return st;
}

/* Asks for all gradients, or for the first if other inputs are settings. */
static enum assay_status digest_gradients(const struct op_context *context,
                                          const struct op_step *step,
                                          uint32_t *digest, struct error *why)
{
    uint64_t all = op_step_differentiable(step);
    struct tensor dy = {0};
    enum assay_status st = fill_gradient(context, &step->outputs[0], &dy, why);

    if (!st)
        st = digest_wanted(context, step, &dy, all, digest, NULL);
    if (st == ASSAY_UNSUPPORTED)
        st = digest_wanted(context, step, &dy, 1, digest, why);
    tensor_release(&dy);
    return st;
}

static enum assay_status digest_step(struct op_step *step, void *data,
                                     struct error *why)
{
    struct digests *digests = data;
    size_t at = digests->n++;
    bool has_gradient = step->node->op->backward &&
                        step->outputs[0].dtype == DTYPE_F32 &&
                        op_step_differentiable(step);

    if (at == max_steps)
        return error_set(why, ASSAY_UNSUPPORTED, "a case of many nodes");
    digests->outputs[at] = digest_of(step->outputs, OP_STEP_MAX);
    digests->gradients[at] = 0;
    return has_gradient ? digest_gradients(&digests->context, step,
                                           &digests->gradients[at], why)
                        : ASSAY_OK;
}

static struct digests digest_at(enum processor_level level,
                                const struct op_graph *made, struct pool *pool)
{
    struct digests digests = {.context = {.pool = pool, .n_threads = 1}};

    processor_limit(level);
    CHECK_STATUS(op_steps(made, &digests.context, digest_step, &digests, &err),
                 ASSAY_OK, &err);
    return digests;
}

/* A rough number of multiply-adds. */
static int64_t work_of(const struct op_case *op_case)
{
    return op_case->n * op_case->c * op_case->h * op_case->w * op_case->o *
           op_case->k * op_case->k / op_case->g;
}

/* How many levels differ from the lowest one. */
static int compare_levels(const char *line, struct pool *pool)
{
    enum processor_level highest = processor_limits().hardware;
    struct op_graph made = {0};
    struct op_case op_case;
    struct digests want;
    const char *problem;
    int n_wrong = 0;

    CHECK(op_case_parse(line, &op_case, &problem));
    if (work_of(&op_case) > large_work || op_case.a)
        return 0;
    CHECK_STATUS(op_case_build(&op_case, pool, &made, &err), ASSAY_OK, &err);
    want = digest_at(PROCESSOR_PLAIN, &made, pool);
    for (int i = PROCESSOR_AVX2; i <= (int)highest; i++) {
        struct digests got = digest_at((enum processor_level)i, &made, pool);
        bool is_same =
            got.n == want.n &&
            memcmp(got.outputs, want.outputs, sizeof got.outputs) == 0 &&
            memcmp(got.gradients, want.gradients, sizeof got.gradients) == 0;

        if (!is_same)
            printf("%s differs: %s\n", processor_simd(), line);
        n_wrong += is_same ? 0 : 1;
    }
    op_graph_release(&made);
    return n_wrong;
}

TEST(every_op_computes_the_same_bits_at_every_level)
{
    FILE *file = fopen(TEST_SOURCE_DIR "/tests/backend/op_cases.txt", "r");
    int n_wrong = 0, n_cases = 0;
    struct pool *pool;
    char line[256];

    CHECK(file);
    CHECK_STATUS(pool_new(&pool, &err), ASSAY_OK, &err);
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#' || line[0] == '\0')
            continue;
        n_wrong += compare_levels(line, pool);
        n_cases++;
    }
    fclose(file);
    pool_free(pool);
    CHECK(n_cases > 100);
    CHECK_INT(n_wrong, 0);
}
