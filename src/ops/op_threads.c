/* ops/op_threads.c - see op_threads.h. */
#include "ops/op_threads.h"

#ifdef _OPENMP
#include <omp.h>

int op_threads(const struct op_context *context)
{
    return context->n_threads > 1 ? context->n_threads : 1;
}

int op_thread(void)
{
    return omp_get_thread_num();
}

#else

int op_threads(const struct op_context *context)
{
    (void)context;
    return 1;
}

int op_thread(void)
{
    return 0;
}
#endif
