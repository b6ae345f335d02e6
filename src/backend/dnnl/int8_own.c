/* backend/dnnl/int8_own.c - see int8_internal.h: what our own kernels on
 * integers have in common. */
#include "backend/dnnl/int8_internal.h"

#include <math.h>
#include <stdio.h>

void integer_take_weights(const struct integer_job *job, int16_t *weights)
{
    int64_t each = integer_weights_each(job);

    for (int64_t i = 0; i < job->weight.dims[0] * each; i++)
        weights[i] = (int16_t)integer_weight(job, i / each, i % each, each);
}

void integer_take_scales(const struct integer_job *job)
{
    struct integer_numbers *numbers = job->numbers;
    double step = (double)*tensor_f32(job->inputs[QLINEAR_Y_SCALE]);

    for (int64_t c = 0; c < numbers->channels; c++) {
        numbers->scales[c] = (float)(integer_scale(job, c) / step);
        numbers->bias[c] = (float)(integer_bias_at(job, c) / step);
    }
}

bool integer_sums_are_small(const struct integer_job *job)
{
    static const double most = 1 << 30;
    double step = (double)*tensor_f32(job->inputs[QLINEAR_Y_SCALE]);
    int64_t each = integer_weights_each(job);
    int low, high;

    integer_weights_range(job, &low, &high);
    high = -low > high ? -low : high;
    if (255.0 * high * (double)each >= most || !(step > 0))
        return false;
    for (int64_t o = 0; o < job->weight.dims[0]; o++) {
        double sum = 255.0 * high * (double)each * integer_scale(job, o) +
                     fabs(integer_bias_at(job, o));

        if (!(sum / step < most))
            return false;
    }
    return true;
}

enum assay_status integer_own_kernel(struct onednn *dn,
                                     const struct integer_job *job,
                                     enum dtype result, const char *kind,
                                     const char *name, struct kernel **out,
                                     struct error *err)
{
    const struct job *own = &job->job;
    struct kernel *kernel = kernel_new(own);
    struct candidate *candidate;

    *out = kernel;
    if (!kernel)
        return error_nomem(err, sizeof *kernel, "a kernel");
    kernel->src = int8_layout(dn, own->x->dtype, &own->x->shape);
    kernel->dst = int8_layout(dn, result, &own->y);
    kernel->integers = job->numbers;
    candidate = kernel_sole_candidate(kernel, "one step");
    snprintf(candidate->name, sizeof candidate->name, "integers %s:%s", kind,
             name);
    kernel_keep(dn, own, kernel);
    return ASSAY_OK;
}
