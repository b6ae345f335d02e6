/* backend/direct/direct_lines.c - see direct.h: what is done to each line of a
 * matrix on its own. */
#include "backend/direct/direct_internal.h"

/* Numbers below which a second thread costs more than it saves. */
enum { few_numbers = 1 << 13 };

/* Lines that are shorter than a vector, as many at once as it has numbers;
 * answers how many that were. */
static int64_t softmax_together(const struct direct_kernels *kernels,
                                const float *x, float *y, int64_t lines,
                                int64_t n)
{
    int64_t at_once = kernels->lanes, groups = lines / at_once;

    if (n >= at_once)
        return 0;
#pragma omp parallel for schedule(static) if (lines * n > few_numbers)
    for (int64_t i = 0; i < groups; i++)
        kernels->softmax_short(x + i * at_once * n, y + i * at_once * n, n);
    return groups * at_once;
}

void direct_softmax(const float *x, float *y, int64_t lines, int64_t n)
{
    const struct direct_kernels *kernels = direct_kernels();
    int64_t done = softmax_together(kernels, x, y, lines, n);

#pragma omp parallel for schedule(static) if ((lines - done) * n > few_numbers)
    for (int64_t i = done; i < lines; i++)
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
