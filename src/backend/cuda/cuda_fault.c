/* backend/cuda/cuda_fault.c - see cuda_internal.h: what a kernel found wrong
 * with its input. The host learns it for nothing where it waits anyway. */
#include "backend/cuda/cuda_internal.h"

#include <string.h>

enum { fault_bytes = 64, CU_HOST_DEVICE_MAP = 2 };

enum assay_status cuda_fault_word(struct cuda_device *device, cu_pointer *at,
                                  struct error *err)
{
    void *made = NULL;
    enum assay_status st = ASSAY_OK;

    if (!device->fault)
        st = cuda_check(device,
                        cuda_driver()->cuMemHostAlloc(&made, fault_bytes,
                                                      CU_HOST_DEVICE_MAP),
                        "taking pinned memory", err);
    if (st)
        return st;
    if (made) {
        memset(made, 0, fault_bytes);
        device->fault = made;
    }
    *at = (cu_pointer)(uintptr_t)device->fault;
    return ASSAY_OK;
}

enum assay_status cuda_fault_told(const struct cuda_device *device,
                                  int64_t *words, struct error *err)
{
    volatile int64_t *fault = words;

    if (!fault || !fault[0])
        return ASSAY_OK;
    fault[0] = 0;
    return error_set(err, ASSAY_BAD_INPUT,
                     "index %lld is outside an axis of %lld elements, in "
                     "something that ran on %s before",
                     (long long)fault[1], (long long)fault[2], device->name);
}

enum assay_status cuda_fault_check(struct cuda_device *device,
                                   struct error *err)
{
    return cuda_fault_told(device, device->fault, err);
}

void cuda_fault_keep(struct cuda_device *device, int64_t *words)
{
    static const size_t bytes = CUDA_FAULT_WORDS * sizeof *words;
    cu_pointer at = (cu_pointer)(uintptr_t)device->fault;

    memset(words, 0, bytes);
    if (!device->fault)
        return;
    (void)cuda_driver()->cuMemcpyDtoHAsync_v2(words, at, bytes, device->stream);
    (void)cuda_driver()->cuMemsetD8Async(at, 0, bytes, device->stream);
}
