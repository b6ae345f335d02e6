/* backend/cuda/cuda_cupti.h - what we use of CUPTI, which records when kernels
 * and copies ran, in declarations of our own.
 *
 * Only the beginnings of its records are declared: these have been the same
 * since CUDA 11.1, while more was added at their ends. Versions that nobody has
 * looked at are refused; then events between the ops tell the times.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_CUDA_CUDA_CUPTI_H
#define BACKEND_CUDA_CUDA_CUPTI_H

#include "backend/cuda/cuda_activity.h"

#include <stddef.h>
#include <stdint.h>

enum cupti_kind {
    CUPTI_KIND_MEMCPY = 1,
    CUPTI_KIND_MEMSET = 2,
    CUPTI_KIND_DRIVER = 4,
    CUPTI_KIND_RUNTIME = 5,
    CUPTI_KIND_KERNEL = 10, /* CONCURRENT_KERNEL */
    CUPTI_KIND_EXTERNAL = 39,
};

enum {
    CUPTI_COPY_IN = 1,   /* MEMCPY_KIND_HTOD */
    CUPTI_COPY_OUT = 2,  /* MEMCPY_KIND_DTOH */
    CUPTI_OUR_TAGS = 3,  /* EXTERNAL_CORRELATION_KIND_CUSTOM0 */
    CUPTI_MAX_LIMIT = 12 /* no more records in a buffer */
};

struct cupti_kernel {
    uint32_t kind;
    uint32_t unused_1[3];
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t shared[2];
    uint32_t local[2];
    uint32_t correlation;
};

struct cupti_copy { /* and a memset, but for copy_kind */
    uint32_t kind;
    uint8_t copy_kind, unused_1[3];
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t correlation;
};

struct cupti_call {
    uint32_t kind;
    uint32_t function;
    uint64_t start, end;
    uint32_t process, thread;
    uint32_t correlation;
};

struct cupti_external {
    uint32_t kind;
    uint32_t whose;
    uint64_t id;
    uint32_t correlation;
};

_Static_assert(offsetof(struct cupti_kernel, start) == 16 &&
                   offsetof(struct cupti_kernel, device) == 40 &&
                   offsetof(struct cupti_kernel, correlation) == 92,
               "as CUpti_ActivityKernel5 to 11 begin");
_Static_assert(offsetof(struct cupti_copy, start) == 16 &&
                   offsetof(struct cupti_copy, device) == 32 &&
                   offsetof(struct cupti_copy, correlation) == 44,
               "as CUpti_ActivityMemcpy4 to 6 and Memset3 and 4 begin");
_Static_assert(offsetof(struct cupti_call, start) == 8 &&
                   offsetof(struct cupti_call, correlation) == 32,
               "as CUpti_ActivityAPI begins");
_Static_assert(offsetof(struct cupti_external, id) == 8 &&
                   offsetof(struct cupti_external, correlation) == 16,
               "as CUpti_ActivityExternalCorrelation is");

/* Whether records of this version of the library are known: those of CUDA 11.8
 * to 13.2. */
bool cupti_is_known(uint32_t version);

/* Takes a record into the book; its times are offset_ns ahead of
 * CLOCK_MONOTONIC. Records of other kinds and other devices are passed over,
 * and so are those without times. */
void cupti_take(struct cuda_activities *book, const void *record,
                uint32_t device, int64_t offset_ns);

/* ---- the library: cuda_cupti.c --------------------------------------------
 *
 * It records for the whole process, and for one device at a time. */

struct cuda_device;

/* Whether what is launched from now on is recorded, beginning with the first
 * call for true. The answer is whether CUPTI tells the times of this device:
 * false where it is not there, is of an unknown version, is used by others or
 * recorded nothing where something ran. */
bool cuda_cupti_watch(struct cuda_device *device, bool is_watched);
bool cuda_cupti_is_used(const struct cuda_device *device);

/* What this thread launches from now on is for the tag; 0: for nobody. */
void cuda_cupti_tag(uint32_t tag);

/* While the host waits for the device: takes in what CUPTI has so far. */
void cuda_cupti_take_in(const struct cuda_device *device);

/* Once the device is done: reports what ran. n_launched: how many ops were
 * launched since the last time. */
void cuda_cupti_visit(struct cuda_device *device, uint64_t n_launched,
                      queue_visit *visit, void *context);

/* "CUPTI 130001"; where it is not used, why not. */
const char *cuda_cupti_text(void);

#endif
