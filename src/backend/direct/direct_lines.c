/* backend/direct/direct_lines.c - see direct.h: what is done to each line of a
 * matrix on its own. */
#include "backend/direct/direct_internal.h"

/* Numbers below which a second thread costs more than it saves. */
enum { few_numbers = 1 << 13 };

void direct_softmax(const float *x, float *y, int64_t lines, int64_t n)
{
    const struct direct_kernels *kernels = direct_kernels();

#pragma omp parallel for schedule(static) if (lines * n > few_numbers)
    for (int64_t i = 0; i < lines; i++)
        kernels->softmax(x + i * n, y + i * n, n);
}

void direct_normalize(const struct direct_norm *norm, const float *x, float *y,
                      int64_t lines)
{
    const struct direct_kernels *kernels = direct_kernels();
    int64_t n = norm->n;

#pragma omp parallel for schedule(static) if (lines * n > few_numbers)
    for (int64_t i = 0; i < lines; i++)
        kernels->norm(norm, x + i * n, y + i * n);
}
