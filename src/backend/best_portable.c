/* backend/best_portable.c - the host of a build without oneDNN. */
#include "backend/backend.h"

const struct device *device_cpu(void)
{
    static const struct device cpu = {
        .name = "cpu", .backend = &backend_portable, .space = &space_host};

    return &cpu;
}
