/* verify/verify_compare.c - see verify.h: values side by side. */
#include "verify/verify.h"

#include "tensor/convert.h"

#include <math.h>

static double element(const struct tensor *tensor, size_t i)
{
    const char *data = tensor_data(tensor);
    double value;

    convert_elements(tensor->dtype, data + i * dtype_bytes(tensor->dtype),
                     DTYPE_F64, &value, 1);
    return value;
}

static bool is_near(double got, double wanted,
                    const struct verify_options *options)
{
    if (isnan(got) || isnan(wanted))
        return isnan(got) && isnan(wanted);
    if (isinf(got) || isinf(wanted))
        return got == wanted;
    return fabs(got - wanted) <= options->atol + options->rtol * fabs(wanted);
}

void verify_compare(const struct tensor *got, const struct tensor *wanted,
                    const struct verify_options *options,
                    struct verify_output *out)
{
    size_t n = tensor_elements(got);

    out->dtype = got->dtype;
    out->wanted_dtype = wanted->dtype;
    out->shape = got->shape;
    out->wanted_shape = wanted->shape;
    out->is_match =
        got->dtype == wanted->dtype && shape_equal(&got->shape, &wanted->shape);
    for (size_t i = 0; out->is_match && i < n; i++) {
        double a = element(got, i), b = element(wanted, i);

        if (fabs(a - b) > out->largest)
            out->largest = fabs(a - b);
        if (is_near(a, b, options))
            continue;
        if (out->n_different++ == 0) {
            out->at = i;
            out->got = a;
            out->wanted = b;
        }
    }
    if (out->n_different)
        out->is_match = false;
}
