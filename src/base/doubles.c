/* base/doubles.c - see doubles.h. */
#include "base/doubles.h"

#include <stdlib.h>

static int doubles_compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

void doubles_sort(double *values, size_t n)
{
    qsort(values, n, sizeof *values, doubles_compare);
}
