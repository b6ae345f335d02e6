/* backend/cuda/cuda_cublaslt.c - see cuda_plan.h: products by cuBLASLt, with
 * bias, residual and ReLU in the same kernel.
 *
 * Its matrices are column by column: what is [m,k] by rows for us is [k,m] for
 * it. So y^T [o,m] = w [k,o]^T x [k,m], and the bias goes along the rows; of
 * the gradients, dx^T [k,m] = w [k,o] dy [o,m], and dw [k,o] = x [k,m]
 * dy [o,m]^T. */
#include "backend/cuda/cuda_cublaslt.h"

#include "backend/cuda/cuda_libraries.h"
#include "backend/cuda/cuda_plan.h"
#include "base/mem.h"

#include <stdio.h>

enum { most_algos = 8 };

static const size_t most_workspace = (size_t)32 << 20;

static struct {
    struct lt_api api;
    bool is_there;
    pthread_once_t once;
    pthread_mutex_t lock;
    lt_handle handles[CUDA_MAX_DEVICES];
    const struct cuda_device *devices[CUDA_MAX_DEVICES];
} lt = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

#define LT_NAME(name, parameters) #name,
static const char *const lt_names[] = {LT_LIST(LT_NAME)};
#undef LT_NAME

static void lt_open(void)
{
    void *library = cuda_library_open(CUDA_CUBLASLT);
    const char *missing;

    lt.is_there =
        library &&
        cuda_library_fill(library, lt_names, sizeof lt_names / sizeof *lt_names,
                          &lt.api, &missing);
}

bool cuda_lt_is_there(void)
{
    (void)pthread_once(&lt.once, lt_open);
    return lt.is_there;
}

static lt_handle lt_handle_of(const struct cuda_device *device)
{
    lt_handle handle = NULL;
    size_t i = 0;

    (void)pthread_once(&lt.once, lt_open);
    if (!lt.is_there)
        return NULL;
    pthread_mutex_lock(&lt.lock);
    while (i < CUDA_MAX_DEVICES - 1 && lt.devices[i] && lt.devices[i] != device)
        i++;
    if (!lt.devices[i] && !lt.api.cublasLtCreate(&handle)) {
        lt.devices[i] = device;
        lt.handles[i] = handle;
    }
    handle = lt.devices[i] == device ? lt.handles[i] : NULL;
    pthread_mutex_unlock(&lt.lock);
    return handle;
}

/* ---- plans --------------------------------------------------------------- */

struct lt_plan {
    lt_handle handle;
    lt_desc desc;
    lt_layout a, b, d;
    struct lt_result result;
};

void lt_plan_free(struct lt_plan *plan)
{
    if (!plan)
        return;
    if (plan->desc)
        (void)lt.api.cublasLtMatmulDescDestroy(plan->desc);
    if (plan->a)
        (void)lt.api.cublasLtMatrixLayoutDestroy(plan->a);
    if (plan->b)
        (void)lt.api.cublasLtMatrixLayoutDestroy(plan->b);
    if (plan->d)
        (void)lt.api.cublasLtMatrixLayoutDestroy(plan->d);
    mem_free(plan);
}

static int lt_type(int stored)
{
    return stored == DTYPE_F16    ? LT_F16
           : stored == DTYPE_BF16 ? LT_BF16
                                  : LT_F32;
}

static int lt_compute(const struct cuda_job *job)
{
    if (job->stored != DTYPE_F32)
        return LT_COMPUTE_F32;
    return job->precision == PRECISION_TF32 ? LT_COMPUTE_TF32
                                            : LT_COMPUTE_F32_PEDANTIC;
}

/* It has no limit for a ReLU: what follows the sums is a kernel of ours then.
 */
static bool lt_is_bare(const struct cuda_job *job)
{
    return job->has_relu && job->relu_limit > 0;
}

static int lt_epilogue(const struct cuda_job *job)
{
    int epilogue = (job->has_relu ? LT_EPILOGUE_RELU : 0) |
                   (job->has_bias ? LT_EPILOGUE_BIAS : 0);

    return epilogue && !lt_is_bare(job) ? epilogue : LT_EPILOGUE_NONE;
}

static bool lt_describe(struct lt_plan *plan, const struct cuda_job *job)
{
    uint64_t m = (uint64_t)(job->n * job->oh * job->ow);
    uint64_t k = (uint64_t)job->c, o = (uint64_t)job->o;
    bool is_forward = job->way == WAY_FORWARD, is_w = job->way == WAY_WEIGHTS;
    int type = lt_type(job->stored), epilogue = lt_epilogue(job);
    int made = is_forward ? lt_type((int)job->made) : type;
    int32_t a_turned = is_forward ? LT_TRANSPOSE : 0;
    int32_t b_turned = is_w ? LT_TRANSPOSE : 0;
    uint64_t b_rows = is_forward ? k : o, d_rows = is_forward ? o : k;

    return !lt.api.cublasLtMatmulDescCreate(&plan->desc, lt_compute(job),
                                            LT_F32) &&
           !lt.api.cublasLtMatmulDescSetAttribute(plan->desc, LT_DESC_TRANSA,
                                                  &a_turned, sizeof a_turned) &&
           !lt.api.cublasLtMatmulDescSetAttribute(plan->desc, LT_DESC_TRANSB,
                                                  &b_turned, sizeof b_turned) &&
           !lt.api.cublasLtMatmulDescSetAttribute(plan->desc, LT_DESC_EPILOGUE,
                                                  &epilogue, sizeof epilogue) &&
           !lt.api.cublasLtMatrixLayoutCreate(&plan->a, type, k, is_w ? m : o,
                                              (int64_t)k) &&
           !lt.api.cublasLtMatrixLayoutCreate(&plan->b, type, b_rows, m,
                                              (int64_t)b_rows) &&
           !lt.api.cublasLtMatrixLayoutCreate(&plan->d, made, d_rows,
                                              is_w ? o : m, (int64_t)d_rows);
}

/* The i-th way that cuBLASLt suggests. A long sum may be computed in parts: in
 * 16 bits, these are not to be added in the type of the result. */
static bool lt_pick(struct lt_plan *plan, const struct cuda_job *job, size_t i,
                    size_t *n)
{
    uint32_t reductions =
        job->stored == DTYPE_F32 ? LT_REDUCTION_ANY : LT_REDUCTION_FLOAT;
    struct lt_result results[most_algos];
    lt_preference preference;
    int found = 0;

    if (lt.api.cublasLtMatmulPreferenceCreate(&preference))
        return false;
    (void)lt.api.cublasLtMatmulPreferenceSetAttribute(
        preference, LT_PREFERENCE_WORKSPACE, &most_workspace,
        sizeof most_workspace);
    (void)lt.api.cublasLtMatmulPreferenceSetAttribute(
        preference, LT_PREFERENCE_REDUCTIONS, &reductions, sizeof reductions);
    if (lt.api.cublasLtMatmulAlgoGetHeuristic(
            plan->handle, plan->desc, plan->a, plan->b, plan->d, plan->d,
            preference, most_algos, results, &found))
        found = 0;
    (void)lt.api.cublasLtMatmulPreferenceDestroy(preference);
    *n = (size_t)found;
    if (i >= *n || results[i].state)
        return false;
    plan->result = results[i];
    return true;
}

bool lt_plan_make(struct cuda_device *device, const struct cuda_job *job,
                  size_t i, size_t *n, struct cuda_plan *plan)
{
    lt_handle handle = lt_handle_of(device);
    struct lt_plan *made = NULL;

    *n = 0;
    *plan = (struct cuda_plan){0};
    if (handle && cuda_job_is_product(job))
        made = mem_zalloc(sizeof *made);
    if (!made)
        return false;
    made->handle = handle;
    if (!lt_describe(made, job) || !lt_pick(made, job, i, n)) {
        lt_plan_free(made);
        return false;
    }
    plan->kind = PLAN_CUBLASLT;
    plan->lt = made;
    plan->workspace_bytes = made->result.workspace_bytes;
    plan->is_bare = lt_is_bare(job);
    snprintf(plan->name, sizeof plan->name, "cublaslt %zu", i);
    snprintf(plan->kernel, sizeof plan->kernel, "cuBLASLt %zu", i);
    return true;
}

enum assay_status lt_plan_run(struct cuda_call *call,
                              const struct cuda_job *job,
                              const struct cuda_plan *plan,
                              const struct cuda_operands *operands)
{
    const struct lt_plan *made = plan->lt;
    struct cuda_device *device = call->cuda->device;
    cu_pointer a = job->way == WAY_WEIGHTS ? operands->x : operands->w;
    cu_pointer b = job->way == WAY_FORWARD ? operands->x : operands->y;
    cu_pointer made_at = job->way == WAY_FORWARD ? operands->y
                         : job->way == WAY_DATA  ? operands->x
                                                 : operands->w;
    void *bias = (void *)(uintptr_t)operands->bias;
    void *d = (void *)(uintptr_t)made_at;
    bool adds = job->has_residual && !plan->is_bare;
    const void *c = adds ? (const void *)(uintptr_t)operands->residual : d;
    float one = 1, beta = adds ? 1.0f : 0.0f;
    int result = 0;

    if (job->has_bias && !plan->is_bare)
        result = lt.api.cublasLtMatmulDescSetAttribute(
            made->desc, LT_DESC_BIAS_POINTER, &bias, sizeof bias);
    if (!result)
        result = lt.api.cublasLtMatmul(
            made->handle, made->desc, &one, (void *)(uintptr_t)a, made->a,
            (void *)(uintptr_t)b, made->b, &beta, c, made->d, d, made->d,
            &made->result.algo, (void *)(uintptr_t)operands->workspace,
            plan->workspace_bytes, device->stream);
    if (!result)
        return ASSAY_OK;
    return error_set(call->err, ASSAY_IO, "%s failed on %s with status %d",
                     plan->kernel, device->name, result);
}
