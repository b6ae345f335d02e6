/* See far.h: the engine's own arithmetic, as jobs. */
#include "backend/far_internal.h"

#include "tensor/far_space.h"

static enum assay_status run_fill(struct far_job *job, struct error *err)
{
    return host_math.fill(NULL, &job->context, job->inputs.list[0], job->value,
                          err);
}

static enum assay_status far_fill(struct backend *backend,
                                  const struct op_context *context,
                                  const struct tensor *tensor, float value,
                                  struct error *err)
{
    struct far_job *job;
    enum assay_status st = far_job_new(backend, context, run_fill, &job, err);

    if (!st)
        st = near_add(job->device, &job->inputs, tensor, err);
    if (!st)
        job->value = value;
    return far_job_queue(job, st, err);
}

/* A job on two tensors. */
static enum assay_status
far_pair(struct backend *backend, const struct op_context *context,
         enum assay_status (*run)(struct far_job *job, struct error *err),
         const struct tensor *a, const struct tensor *b, struct error *err)
{
    struct far_job *job;
    enum assay_status st = far_job_new(backend, context, run, &job, err);

    if (!st)
        st = near_add(job->device, &job->inputs, a, err);
    if (!st)
        st = near_add(job->device, &job->inputs, b, err);
    return far_job_queue(job, st, err);
}

static enum assay_status run_convert(struct far_job *job, struct error *err)
{
    return host_math.convert(NULL, &job->context, job->inputs.list[0],
                             job->inputs.list[1], err);
}

static enum assay_status far_convert(struct backend *backend,
                                     const struct op_context *context,
                                     const struct tensor *from,
                                     const struct tensor *to, struct error *err)
{
    return far_pair(backend, context, run_convert, from, to, err);
}

static enum assay_status run_add(struct far_job *job, struct error *err)
{
    return host_math.add(NULL, &job->context, job->inputs.list[0],
                         job->inputs.list[1], err);
}

static enum assay_status far_add(struct backend *backend,
                                 const struct op_context *context,
                                 const struct tensor *sum,
                                 const struct tensor *term, struct error *err)
{
    return far_pair(backend, context, run_add, sum, term, err);
}

static enum assay_status run_spread(struct far_job *job, struct error *err)
{
    return host_math.spread(NULL, &job->context, job->inputs.list[0],
                            job->inputs.list[1], err);
}

static enum assay_status far_spread(struct backend *backend,
                                    const struct op_context *context,
                                    const struct tensor *from,
                                    const struct tensor *to, struct error *err)
{
    return far_pair(backend, context, run_spread, from, to, err);
}

static enum assay_status far_optimizer_job(
    struct backend *backend, const struct op_context *context,
    enum assay_status (*run)(struct far_job *job, struct error *err),
    const struct optimizer_tensors *tensors, struct far_job **out,
    struct error *err)
{
    struct far_job *job;
    enum assay_status st = far_job_new(backend, context, run, out, err);

    if (st)
        return st;
    job = *out;
    st = near_add(job->device, &job->inputs, tensors->parameter, err);
    if (!st)
        st = near_add(job->device, &job->inputs, tensors->gradient, err);
    for (size_t i = 0; !st && i < OPTIMIZER_MAX_STATES; i++)
        st = near_add(job->device, &job->inputs, tensors->states[i], err);
    return st;
}

static struct optimizer_tensors near_optimizer(const struct far_job *job)
{
    const struct tensor *const *list = job->inputs.list;

    return (struct optimizer_tensors){list[0], list[1], {list[2], list[3]}};
}

static enum assay_status run_sgd(struct far_job *job, struct error *err)
{
    struct optimizer_tensors tensors = near_optimizer(job);

    return host_math.sgd(NULL, &job->context, &job->sgd, &tensors, err);
}

static enum assay_status far_sgd(struct backend *backend,
                                 const struct op_context *context,
                                 const struct sgd_factors *factors,
                                 const struct optimizer_tensors *tensors,
                                 struct error *err)
{
    struct far_job *job;
    enum assay_status st =
        far_optimizer_job(backend, context, run_sgd, tensors, &job, err);

    if (!st)
        job->sgd = *factors;
    return far_job_queue(job, st, err);
}

static enum assay_status run_adamw(struct far_job *job, struct error *err)
{
    struct optimizer_tensors tensors = near_optimizer(job);

    return host_math.adamw(NULL, &job->context, &job->adamw, &tensors, err);
}

static enum assay_status far_adamw(struct backend *backend,
                                   const struct op_context *context,
                                   const struct adamw_factors *factors,
                                   const struct optimizer_tensors *tensors,
                                   struct error *err)
{
    struct far_job *job;
    enum assay_status st =
        far_optimizer_job(backend, context, run_adamw, tensors, &job, err);

    if (!st)
        job->adamw = *factors;
    return far_job_queue(job, st, err);
}

static enum assay_status run_square_sum(struct far_job *job, struct error *err)
{
    double sum;
    enum assay_status st = host_math.square_sum(
        NULL, &job->context, job->inputs.list, job->inputs.n, &sum, err);

    *job->sum += sum;
    return st;
}

static enum assay_status far_square_sum(struct backend *backend,
                                        const struct op_context *context,
                                        const struct tensor *const *tensors,
                                        size_t n, double *sum,
                                        struct error *err)
{
    enum assay_status st = ASSAY_OK;

    *sum = 0;
    for (size_t i = 0; !st && i < n; i++) {
        struct far_job *job;

        st = far_job_new(backend, context, run_square_sum, &job, err);
        if (!st)
            st = near_add(job->device, &job->inputs, tensors[i], err);
        if (!st)
            job->sum = sum;
        st = far_job_queue(job, st, err);
    }
    return st ? st : far_wait(device_of(backend)->far, err);
}

static enum assay_status run_is_finite(struct far_job *job, struct error *err)
{
    return host_math.is_finite(NULL, &job->context, job->inputs.list[0],
                               job->is_finite, err);
}

static enum assay_status far_is_finite(struct backend *backend,
                                       const struct op_context *context,
                                       const struct tensor *tensor,
                                       bool *is_finite, struct error *err)
{
    struct far_job *job;
    enum assay_status st =
        far_job_new(backend, context, run_is_finite, &job, err);

    if (!st)
        st = near_add(job->device, &job->inputs, tensor, err);
    if (!st)
        job->is_finite = is_finite;
    st = far_job_queue(job, st, err);
    return st ? st : far_wait(device_of(backend)->far, err);
}

const struct backend_math far_math = {
    .fill = far_fill,
    .convert = far_convert,
    .spread = far_spread,
    .add = far_add,
    .sgd = far_sgd,
    .adamw = far_adamw,
    .square_sum = far_square_sum,
    .is_finite = far_is_finite,
};
