/* backend/cuda/cuda_look.c - see struct backend_class: what a GPU is, and what
 * it can do at best, measured. */
#include "backend/cuda/cuda_internal.h"
#include "backend/cuda/cuda_libraries.h"
#include "backend/cuda/cuda_nvml.h"
#include "backend/cuda/cuda_plan.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>

static struct cuda_device *look_device(const struct device *device)
{
    return (struct cuda_device *)(uintptr_t)device;
}

/* ---- what it is ---------------------------------------------------------- */

static void look_libraries(struct device_look *look)
{
    const struct cuda_libraries *libraries = cuda_libraries();

    for (int i = 0; i < N_CUDA_LIBRARIES; i++) {
        const struct cuda_library_class *class = &cuda_library_classes[i];

        (void)cuda_library_open((enum cuda_library)i);
        look->libraries[look->n_libraries++] = (struct device_library){
            .name = class->name,
            .what_for = class->what_for,
            .package = class->package,
            .path = libraries->handles[i] ? libraries->paths[i] : NULL,
            .problem =
                libraries->problems[i][0] ? libraries->problems[i] : NULL};
    }
}

void cuda_look(const struct device *base, struct device_look *look)
{
    struct cuda_device *device = look_device(base);
    int version = 0;

    _Static_assert((int)N_CUDA_LIBRARIES <= (int)DEVICE_MOST_LIBRARIES, "");
    snprintf(look->model, sizeof look->model, "%s", device->model);
    snprintf(look->capability, sizeof look->capability, "%d.%d", device->major,
             device->minor);
    look->n_units = device->n_multiprocessors;
    look->memory_bytes = (double)device->total_bytes;
    (void)cuda_driver()->cuDriverGetVersion(&version);
    snprintf(look->library, sizeof look->library, "CUDA %d.%d", version / 1000,
             version % 1000 / 10);
    cuda_nvml_look(device, look); /* before there is a context of ours */
    look_libraries(look);
    if (!cuda_enter(device, NULL)) {
        size_t free_bytes = 0, total_bytes = 0;

        if (!cuda_driver()->cuMemGetInfo_v2(&free_bytes, &total_bytes))
            look->free_bytes = (double)free_bytes;
    }
    if (device->why_not_pinned.status)
        snprintf(look->unpinned, sizeof look->unpinned, "%.120s",
                 device->why_not_pinned.text);
}

/* ---- what it can do ------------------------------------------------------ */

enum { look_side = 4096, look_runs = 8, look_plans = 4 };

struct look_probe {
    struct cuda_device *device;
    cu_pointer x, w, y, workspace;
    size_t matrix_bytes, workspace_bytes;
    cu_event begin, end;
};

static void look_release(struct look_probe *probe)
{
    const struct driver_api *cu = cuda_driver();
    const cu_pointer held[] = {probe->x, probe->w, probe->y, probe->workspace};

    for (size_t i = 0; i < sizeof held / sizeof *held; i++) {
        if (held[i])
            (void)cu->cuMemFree_v2(held[i]);
    }
    if (probe->begin)
        (void)cu->cuEventDestroy_v2(probe->begin);
    if (probe->end)
        (void)cu->cuEventDestroy_v2(probe->end);
}

static enum assay_status look_prepare(struct look_probe *probe,
                                      struct error *err)
{
    const struct driver_api *cu = cuda_driver();
    cu_result result;

    probe->matrix_bytes = (size_t)look_side * look_side * sizeof(float);
    probe->workspace_bytes = (size_t)32 << 20;
    result = cu->cuMemAlloc_v2(&probe->x, probe->matrix_bytes);
    if (!result)
        result = cu->cuMemAlloc_v2(&probe->w, probe->matrix_bytes);
    if (!result)
        result = cu->cuMemAlloc_v2(&probe->y, probe->matrix_bytes);
    if (!result)
        result = cu->cuMemAlloc_v2(&probe->workspace, probe->workspace_bytes);
    if (!result)
        result = cu->cuEventCreate(&probe->begin, CU_EVENT_DEFAULT);
    if (!result)
        result = cu->cuEventCreate(&probe->end, CU_EVENT_DEFAULT);
    return cuda_check(probe->device, result, "measuring its peaks", err);
}

/* Numbers between a half and one, of both signs, as products of zeros take less
 * power and run faster than those of anything else. */
static enum assay_status look_fill(struct look_probe *probe, bool is_half,
                                   struct error *err)
{
    const struct driver_api *cu = cuda_driver();
    const size_t part = (size_t)1 << 20;
    uint32_t *data = mem_alloc(part), state = 2463534242U;
    cu_result result = 0;

    if (!data)
        return error_nomem(err, part, "the peaks of a GPU");
    for (size_t i = 0; i < part / sizeof *data; i++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        data[i] = is_half ? (state & 0x83ff83ffU) | 0x38003800U
                          : (state & 0x807fffffU) | 0x3f000000U;
    }
    for (size_t at = 0; !result && at < probe->matrix_bytes; at += part) {
        result = cu->cuMemcpyHtoDAsync_v2(probe->x + at, data, part,
                                          probe->device->stream);
        if (!result)
            result = cu->cuMemcpyHtoDAsync_v2(probe->w + at, data, part,
                                              probe->device->stream);
    }
    if (!result)
        result = cu->cuStreamSynchronize(probe->device->stream);
    mem_free(data);
    return cuda_check(probe->device, result, "measuring its peaks", err);
}

typedef enum assay_status look_task(struct look_probe *probe,
                                    const void *context, struct error *err);

/* Milliseconds for one, the mean of some in a row; NaN if it fails. */
static double look_time(struct look_probe *probe, look_task *task,
                        const void *context)
{
    const struct driver_api *cu = cuda_driver();
    struct error ignored = {0};
    float ms = 0;
    bool is_good = task(probe, context, &ignored) == ASSAY_OK &&
                   !cu->cuEventRecord(probe->begin, probe->device->stream);

    for (int i = 0; is_good && i < look_runs; i++)
        is_good = task(probe, context, &ignored) == ASSAY_OK;
    is_good = is_good &&
              !cu->cuEventRecord(probe->end, probe->device->stream) &&
              !cu->cuEventSynchronize(probe->end) &&
              !cu->cuEventElapsedTime(&ms, probe->begin, probe->end);
    return is_good && ms > 0 ? (double)ms / look_runs : NAN;
}

struct look_product {
    struct cuda_job job;
    struct cuda_plan plan;
};

static enum assay_status look_multiply(struct look_probe *probe,
                                       const void *context, struct error *err)
{
    const struct look_product *product = context;
    struct cuda cuda = {.device = probe->device};
    struct cuda_call call = {.cuda = &cuda, .err = err};
    struct cuda_operands operands = {.x = probe->x,
                                     .w = probe->w,
                                     .y = probe->y,
                                     .workspace = probe->workspace};

    return lt_plan_run(&call, &product->job, &product->plan, &operands);
}

static double look_gflops(struct look_probe *probe, enum precision precision)
{
    struct look_product product = {
        .job = {.n = look_side,
                .c = look_side,
                .h = 1,
                .w = 1,
                .o = look_side,
                .kh = 1,
                .kw = 1,
                .oh = 1,
                .ow = 1,
                .stride = {1, 1},
                .dilation = {1, 1},
                .groups = 1,
                .stored = precision == PRECISION_FP16   ? DTYPE_F16
                          : precision == PRECISION_BF16 ? DTYPE_BF16
                                                        : DTYPE_F32,
                .precision = (int32_t)precision}};
    double flops = 2.0 * look_side * look_side * look_side, best = NAN;
    size_t n = 1;

    product.job.made = product.job.stored;
    for (size_t i = 0; i < n && i < look_plans; i++) {
        size_t found = 0;

        if (!lt_plan_make(probe->device, &product.job, i, &found,
                          &product.plan))
            break;
        n = found;
        if (product.plan.workspace_bytes <= probe->workspace_bytes)
            best = fmax(best, flops / 1e6 /
                                  look_time(probe, look_multiply, &product));
        cuda_plan_release(&product.plan);
    }
    return best;
}

static enum assay_status look_copy(struct look_probe *probe,
                                   const void *context, struct error *err)
{
    const cu_pointer *at = context;

    return cuda_check(probe->device,
                      cuda_driver()->cuMemcpyDtoDAsync_v2(
                          at[0], at[1], (size_t)at[2], probe->device->stream),
                      "measuring its peaks", err);
}

/* Beyond what its caches hold. */
static double look_copy_gbs(struct look_probe *probe)
{
    const struct driver_api *cu = cuda_driver();
    const size_t bytes = (size_t)1 << 29;
    cu_pointer at[3] = {0, 0, bytes};
    double ms = NAN;

    if (!cu->cuMemAlloc_v2(&at[0], bytes) && !cu->cuMemAlloc_v2(&at[1], bytes))
        ms = look_time(probe, look_copy, at);
    for (size_t i = 0; i < 2; i++) {
        if (at[i])
            (void)cu->cuMemFree_v2(at[i]);
    }
    return 2 * (double)bytes / 1e6 / ms;
}

static double look_cache_bytes(const struct cuda_device *device)
{
    int bytes = 0;

    return cuda_driver()->cuDeviceGetAttribute(&bytes, CU_ATTRIBUTE_L2_BYTES,
                                               device->handle) ||
                   bytes <= 0
               ? NAN
               : (double)bytes;
}

enum assay_status cuda_measure(const struct device *base,
                               struct device_peaks *peaks, struct error *err)
{
    struct look_probe probe = {.device = look_device(base)};
    enum assay_status st = cuda_enter(probe.device, err);

    *peaks = (struct device_peaks){NAN, NAN, NAN, NAN, NAN};
    if (!st)
        st = look_prepare(&probe, err);
    if (!st)
        st = look_fill(&probe, false, err);
    if (!st) {
        peaks->cache_bytes = look_cache_bytes(probe.device);
        peaks->copy_gbs = look_copy_gbs(&probe);
        peaks->fp32_gflops = look_gflops(&probe, PRECISION_FP32);
        if (probe.device->major >= 8)
            peaks->tf32_gflops = look_gflops(&probe, PRECISION_TF32);
        st = look_fill(&probe, true, err);
    }
    if (!st)
        peaks->fp16_gflops = look_gflops(&probe, PRECISION_FP16);
    look_release(&probe);
    return st;
}
