/* backend/devices.c - see device.h: the devices of this build and machine. */
#include "backend/device.h"

#include "backend/cuda/cuda_devices.h"

#include <stdio.h>
#include <string.h>

const struct device *device_at(size_t i)
{
    return i == 0 ? device_cpu() : cuda_device_at(i - 1);
}

static void devices_list(char *text, size_t size)
{
    size_t used = 0;

    text[0] = 0;
    for (size_t i = 0; device_at(i) && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 i ? ", " : "", device_at(i)->name);
}

enum assay_status device_find(const char *name, const struct device **out,
                              struct error *err)
{
    bool is_any = name && strcmp(name, "auto") == 0;
    char names[128];

    *out = device_cpu();
    if (is_any && device_at(1))
        *out = device_at(1);
    if (!name || is_any)
        return ASSAY_OK;
    for (size_t i = 0; (*out = device_at(i)); i++) {
        if (strcmp((*out)->name, name) == 0)
            return ASSAY_OK;
    }
    if (strncmp(name, "cuda", 4) == 0 && !device_at(1) && cuda_why_none(err)) {
        error_context(err, "%.40s cannot be used", name);
        return ASSAY_UNSUPPORTED;
    }
    devices_list(names, sizeof names);
    return error_set(err, ASSAY_BAD_USAGE,
                     "there is no device '%.40s'; available: %s", name, names);
}
