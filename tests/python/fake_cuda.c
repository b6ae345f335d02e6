/* fake_cuda.c - stands in for the CUDA driver, libcuda.so.1, in tests of device
 * times: a device that reaches every event so many milliseconds after it was
 * recorded. */
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { SUCCESS, NO_MEMORY = 2, NOT_READY = 600 };

static const int64_t late_ns = 30000000;
static char context_of_all;

static int64_t fake_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int cuEventCreate(void **event, unsigned flags);
int cuEventRecord(void *event, void *stream);
int cuEventQuery(void *event);
int cuEventElapsedTime(float *ms, void *from, void *to);
int cuStreamIsCapturing(void *stream, int *answer);
int cuCtxGetCurrent(void **context);
int cuCtxSetCurrent(void *context);
int cuCtxSynchronize(void);

int cuEventCreate(void **event, unsigned flags)
{
    (void)flags;
    *event = calloc(1, sizeof(int64_t));
    return *event ? SUCCESS : NO_MEMORY;
}

int cuEventRecord(void *event, void *stream)
{
    (void)stream;
    *(int64_t *)event = fake_now() + late_ns;
    return SUCCESS;
}

int cuEventQuery(void *event)
{
    return fake_now() >= *(int64_t *)event ? SUCCESS : NOT_READY;
}

int cuEventElapsedTime(float *ms, void *from, void *to)
{
    if (cuEventQuery(from) || cuEventQuery(to))
        return NOT_READY;
    *ms = (float)((double)(*(int64_t *)to - *(int64_t *)from) / 1e6);
    return SUCCESS;
}

int cuStreamIsCapturing(void *stream, int *answer)
{
    (void)stream;
    *answer = 0;
    return SUCCESS;
}

int cuCtxGetCurrent(void **context)
{
    *context = &context_of_all;
    return SUCCESS;
}

int cuCtxSetCurrent(void *context)
{
    return context == &context_of_all ? SUCCESS : NOT_READY;
}

/* What was launched before has run then. */
int cuCtxSynchronize(void)
{
    const struct timespec pause = {.tv_nsec = late_ns};

    nanosleep(&pause, NULL);
    return SUCCESS;
}
