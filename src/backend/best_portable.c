/* backend/best_portable.c - the fastest backend of a build without oneDNN. */
#include "backend/backend.h"

const struct backend_class *backend_best(void)
{
    return &backend_portable;
}
