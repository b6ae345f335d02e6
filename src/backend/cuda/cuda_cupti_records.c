/* backend/cuda/cuda_cupti_records.c - see cuda_cupti.h: from CUPTI's records to
 * the book. */
#include "backend/cuda/cuda_cupti.h"

#include <string.h>

bool cupti_is_known(uint32_t version)
{
    /* Counted up until CUDA 12.9, two digits each of CUDA's version since. */
    enum { cuda_11_8 = 18, cuda_12_9_1 = 28 };
    enum { cuda_13_0 = 130000, cuda_13_3 = 130300 };

    return (version >= cuda_11_8 && version <= cuda_12_9_1) ||
           (version >= cuda_13_0 && version < cuda_13_3);
}

/* Where records of calls and of the device tell the time. */
static int64_t cupti_ns(uint64_t time, int64_t offset_ns)
{
    return time ? (int64_t)time - offset_ns : 0;
}

static void cupti_take_ran(struct cuda_activities *book, enum queue_work work,
                           uint32_t correlation, uint64_t start, uint64_t end,
                           int64_t offset_ns)
{
    struct cuda_activity activity = {.correlation = correlation,
                                     .work = work,
                                     .begin_ns = cupti_ns(start, offset_ns),
                                     .end_ns = cupti_ns(end, offset_ns)};

    if (start && end)
        cuda_activity_ran(book, &activity);
}

static enum queue_work cupti_copy_work(const struct cupti_copy *copy)
{
    if (copy->kind == CUPTI_KIND_MEMCPY && copy->copy_kind == CUPTI_COPY_IN)
        return QUEUE_COPY_IN;
    if (copy->kind == CUPTI_KIND_MEMCPY && copy->copy_kind == CUPTI_COPY_OUT)
        return QUEUE_COPY_OUT;
    return QUEUE_KERNEL;
}

void cupti_take(struct cuda_activities *book, const void *record,
                uint32_t device, int64_t offset_ns)
{
    struct cupti_kernel kernel;
    struct cupti_external external;
    struct cupti_copy copy;
    struct cupti_call call;
    uint32_t kind;

    memcpy(&kind, record, sizeof kind);
    switch (kind) {
    case CUPTI_KIND_KERNEL:
        memcpy(&kernel, record, sizeof kernel);
        if (kernel.device == device)
            cupti_take_ran(book, QUEUE_KERNEL, kernel.correlation, kernel.start,
                           kernel.end, offset_ns);
        break;
    case CUPTI_KIND_MEMCPY:
    case CUPTI_KIND_MEMSET:
        memcpy(&copy, record, sizeof copy);
        if (copy.device == device)
            cupti_take_ran(book, cupti_copy_work(&copy), copy.correlation,
                           copy.start, copy.end, offset_ns);
        break;
    case CUPTI_KIND_DRIVER:
    case CUPTI_KIND_RUNTIME:
        memcpy(&call, record, sizeof call);
        cuda_activity_called(book, call.correlation,
                             cupti_ns(call.start, offset_ns));
        break;
    case CUPTI_KIND_EXTERNAL:
        memcpy(&external, record, sizeof external);
        if (external.whose == CUPTI_OUR_TAGS)
            cuda_activity_tagged(book, external.correlation,
                                 (uint32_t)external.id);
        break;
    default:
        break;
    }
}
