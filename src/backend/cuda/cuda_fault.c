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

enum assay_status cuda_fault_check(struct cuda_device *device,
                                   struct error *err)
{
    volatile int64_t *fault = device->fault;

    if (!fault || !fault[0])
        return ASSAY_OK;
    fault[0] = 0;
    return error_set(err, ASSAY_BAD_INPUT,
                     "index %lld is outside an axis of %lld elements, in "
                     "something that ran on %s before",
                     (long long)fault[1], (long long)fault[2], device->name);
}
