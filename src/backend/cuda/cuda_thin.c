/* backend/cuda/cuda_thin.c - see cuda_plan.h: the gradient of a product's
 * weights where it has few columns and many rows, as the heads of detectors
 * have. */
#include "backend/cuda/cuda_plan.h"

enum { most_columns = 16, thin_threads = 256 };

/* As many as fill the GPU twice, of at least 64 rows. */
static int64_t thin_blocks(const struct cuda_device *device, int64_t rows)
{
    int64_t most = 2 * (int64_t)device->n_multiprocessors;
    int64_t blocks = (rows + 63) / 64;

    return blocks < most ? blocks : most;
}

static int64_t thin_rows(const struct cuda_job *job)
{
    return job->n * job->oh * job->ow;
}

bool thin_plan_make(const struct cuda_device *device,
                    const struct cuda_job *job, struct cuda_plan *plan)
{
    int64_t blocks = thin_blocks(device, thin_rows(job));

    *plan = (struct cuda_plan){0};
    if (job->way != WAY_WEIGHTS || !cuda_job_is_product(job) ||
        job->o > most_columns)
        return false;
    *plan = (struct cuda_plan){
        .kind = PLAN_THIN,
        .name = "thin",
        .kernel = "thin product",
        .workspace_bytes = (size_t)(blocks * job->o * job->c) * sizeof(float)};
    return true;
}

enum assay_status thin_plan_run(struct cuda_call *call,
                                const struct cuda_job *job,
                                const struct cuda_operands *operands)
{
    struct cuda_device *device = call->cuda->device;
    struct cuda_operands at = *operands;
    int64_t rows = thin_rows(job), blocks = thin_blocks(device, rows);
    int64_t each = (rows + blocks - 1) / blocks, n = job->o * job->c;
    int c = (int)job->c, n_out = (int)job->o, n_blocks = (int)blocks;
    struct cuda_grid grid = {
        (unsigned)((job->c + thin_threads - 1) / thin_threads),
        (unsigned)blocks, 1, thin_threads, 0};
    enum dtype stored = (enum dtype)job->stored;
    char name[CUDA_NAME];
    enum assay_status st = CUDA_LAUNCH(
        call, "gradient", cuda_kernel_name(name, "thin_weights", stored), grid,
        at.x, at.y, rows, each, c, n_out, at.workspace);

    if (st)
        return st;
    return CUDA_LAUNCH(
        call, "gradient", cuda_kernel_name(name, "thin_finish", stored),
        cuda_grid_for(device, (size_t)n, 1), at.workspace, n_blocks, n, at.w);
}
