/* backend/dnnl/int8_numbers.c - see int8_internal.h: what a convolution or a
 * product of integers reads besides the map: scales, zeros, bias, weights. */
#include "backend/dnnl/int8_internal.h"

bool integer_is_byte(const struct tensor *tensor)
{
    return tensor && (tensor->dtype == DTYPE_U8 || tensor->dtype == DTYPE_I8);
}

int integer_byte(const struct tensor *tensor, size_t i)
{
    if (!tensor)
        return 0;
    return tensor->dtype == DTYPE_U8 ? ((const uint8_t *)tensor_data(tensor))[i]
                                     : ((const int8_t *)tensor_data(tensor))[i];
}

int integer_zero(const struct tensor *zeros, int64_t c)
{
    return integer_byte(zeros,
                        zeros && tensor_elements(zeros) > 1 ? (size_t)c : 0);
}

double integer_scale(const struct integer_job *job, int64_t c)
{
    const struct tensor *scales = job->inputs[QLINEAR_W_SCALE];
    size_t at = tensor_elements(scales) > 1 ? (size_t)c : 0;

    return (double)*tensor_f32(job->inputs[QLINEAR_X_SCALE]) *
           (double)tensor_f32(scales)[at];
}

const struct tensor *integer_bias(const struct integer_job *job)
{
    return job->job.node->n_inputs > QLINEAR_BIAS ? job->inputs[QLINEAR_BIAS]
                                                  : NULL;
}

double integer_bias_at(const struct integer_job *job, int64_t c)
{
    const struct tensor *bias = integer_bias(job);

    if (!bias)
        return 0;
    if (bias->dtype == DTYPE_F32)
        return (double)tensor_f32(bias)[c];
    return ((const int32_t *)tensor_data(bias))[c] * integer_scale(job, c);
}

int integer_weight(const struct integer_job *job, int64_t o, int64_t i,
                   int64_t each)
{
    const struct tensor *w = job->inputs[QLINEAR_W];
    size_t at = job->is_matrix ? (size_t)(i * job->weight.dims[0] + o)
                               : (size_t)(o * each + i);

    return integer_byte(w, at) - integer_zero(job->inputs[QLINEAR_W_ZERO], o);
}

int64_t integer_weights_each(const struct integer_job *job)
{
    return job->weight.dims[1] * job->weight.dims[2] * job->weight.dims[3];
}

void integer_weights_range(const struct integer_job *job, int *low, int *high)
{
    int64_t each = integer_weights_each(job);

    *low = *high = 0;
    for (int64_t o = 0; o < job->weight.dims[0]; o++) {
        for (int64_t i = 0; i < each; i++) {
            int w = integer_weight(job, o, i, each);

            *low = w < *low ? w : *low;
            *high = w > *high ? w : *high;
        }
    }
}
