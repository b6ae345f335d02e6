/* backend/cuda/cuda_device.c - see cuda_internal.h: the driver and its GPUs. */
#include "backend/cuda/cuda_internal.h"

#include "backend/cuda/cuda_libraries.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

/* The oldest that the kernels are made for: Volta. */
enum { oldest_major = 7, oldest_minor = 0 };

static struct {
    struct driver_api api;
    struct cuda_device *devices[CUDA_MAX_DEVICES];
    size_t n;
    struct error why_none;
    pthread_once_t once;
} driver = {.once = PTHREAD_ONCE_INIT};

const struct driver_api *cuda_driver(void)
{
    return &driver.api;
}

/* ---- failures ------------------------------------------------------------ */

static const char *result_text(cu_result result, const char **name)
{
    const char *text = "unknown failure";

    *name = "?";
    if (driver.api.cuGetErrorName)
        (void)driver.api.cuGetErrorName(result, name);
    if (driver.api.cuGetErrorString)
        (void)driver.api.cuGetErrorString(result, &text);
    return text;
}

enum assay_status cuda_check(struct cuda_device *device, cu_result result,
                             const char *doing, struct error *err)
{
    const char *name, *text;

    if (!result)
        return ASSAY_OK;
    text = result_text(result, &name);
    if (result == CU_ERROR_OUT_OF_MEMORY)
        return error_set(err, ASSAY_NOMEM, "%s on %s (%s): out of memory",
                         doing, device->name, device->model);
    return error_set(err, ASSAY_IO, "%s on %s (%s): %s (%s)", doing,
                     device->name, device->model, text ? text : "?",
                     name ? name : "?");
}

/* ---- finding ------------------------------------------------------------- */

static void device_describe(struct cuda_device *device)
{
    const struct driver_api *cu = &driver.api;

    (void)cu->cuDeviceGetName(device->model, sizeof device->model,
                              device->handle);
    (void)cu->cuDeviceGetAttribute(&device->major, CU_ATTRIBUTE_MAJOR,
                                   device->handle);
    (void)cu->cuDeviceGetAttribute(&device->minor, CU_ATTRIBUTE_MINOR,
                                   device->handle);
    (void)cu->cuDeviceGetAttribute(&device->n_multiprocessors,
                                   CU_ATTRIBUTE_MULTIPROCESSORS,
                                   device->handle);
    (void)cu->cuDeviceTotalMem_v2(&device->total_bytes, device->handle);
}

static void device_add(int i)
{
    struct cuda_device *device = mem_zalloc(sizeof *device);

    if (!device)
        return;
    if (driver.api.cuDeviceGet(&device->handle, i)) {
        mem_free(device);
        return;
    }
    device_describe(device);
    if (device->major < oldest_major) {
        (void)error_set(&driver.why_none, ASSAY_UNSUPPORTED,
                        "cuda:%d (%s) has compute capability %d.%d; the "
                        "oldest that kernels are made for is %d.%d",
                        i, device->model, device->major, device->minor,
                        oldest_major, oldest_minor);
        mem_free(device);
        return;
    }
    snprintf(device->name, sizeof device->name, "cuda:%d", i);
    device->space = cuda_space;
    device->space.name = device->name;
    device->base = (struct device){.name = device->name,
                                   .backend = &backend_cuda,
                                   .space = &device->space};
    pthread_mutex_init(&device->lock, NULL);
    driver.devices[driver.n++] = device;
}

#define DRIVER_NAME(name, parameters) #name,
static const char *const driver_names[] = {DRIVER_LIST(DRIVER_NAME)};
#undef DRIVER_NAME

static void find_devices(void)
{
    struct error *why = &driver.why_none;
    void *library = cuda_library_open(CUDA_DRIVER);
    const char *missing, *name;
    cu_result result;
    int n = 0;

    if (!library) {
        (void)cuda_library_missing(CUDA_DRIVER, why);
        return;
    }
    if (!cuda_library_fill(library, driver_names,
                           sizeof driver_names / sizeof *driver_names,
                           &driver.api, &missing)) {
        (void)error_set(why, ASSAY_UNSUPPORTED,
                        "NVIDIA's driver is too old: it has no %s; version "
                        "520 (CUDA 11.8) or newer is needed",
                        missing);
        return;
    }
    result = driver.api.cuInit(0);
    if (!result)
        result = driver.api.cuDeviceGetCount(&n);
    if (result) {
        const char *text = result_text(result, &name);

        (void)error_set(why, ASSAY_UNSUPPORTED,
                        "NVIDIA's driver finds no GPU that works: %s (%s)",
                        text ? text : "?", name ? name : "?");
        return;
    }
    for (int i = 0; i < n && driver.n < CUDA_MAX_DEVICES; i++)
        device_add(i);
    if (!n)
        (void)error_set(why, ASSAY_UNSUPPORTED,
                        "NVIDIA's driver shows no GPU; CUDA_VISIBLE_DEVICES "
                        "may hide them");
}

const struct device *cuda_device_at(size_t i)
{
    (void)pthread_once(&driver.once, find_devices);
    return i < driver.n ? &driver.devices[i]->base : NULL;
}

enum assay_status cuda_why_none(struct error *err)
{
    (void)cuda_device_at(0);
    if (!driver.why_none.status)
        return ASSAY_OK;
    return error_set(err, driver.why_none.status, "%s", driver.why_none.text);
}

/* ---- starting ------------------------------------------------------------ */

static enum assay_status device_start(struct cuda_device *device,
                                      struct error *err)
{
    const struct driver_api *cu = &driver.api;
    enum assay_status st;

    st = cuda_check(
        device, cu->cuDevicePrimaryCtxRetain(&device->context, device->handle),
        "starting", err);
    if (!st)
        st = cuda_check(device, cu->cuCtxSetCurrent(device->context),
                        "starting", err);
    if (!st)
        st = cuda_check(
            device, cu->cuStreamCreate(&device->stream, CU_STREAM_NON_BLOCKING),
            "making a stream", err);
    if (!st)
        st = cuda_memory_new(device, err);
    if (!st)
        st = cuda_timing_new(device, err);
    device->is_started = !st;
    return st;
}

enum assay_status cuda_enter(struct cuda_device *device, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    pthread_mutex_lock(&device->lock);
    if (!device->is_started)
        st = device_start(device, err);
    pthread_mutex_unlock(&device->lock);
    if (!st)
        st = cuda_check(device, driver.api.cuCtxSetCurrent(device->context),
                        "using it", err);
    return st;
}
