/* tests/cli/made_up_gpu.c - stands in for libcuda.so.1, NVRTC and NVML in tests
 * of messages: a GPU whose memory is the host's and whose kernels do nothing.
 *
 * The environment says what is wrong with it:
 *
 *     MADE_UP_INIT    what cuInit() returns
 *     MADE_UP_GPUS    how many there are (1)
 *     MADE_UP_MAJOR   its compute capability is this and .0 (9)
 *     MADE_UP_MIB     its memory (16384)
 *     MADE_UP_LAUNCHES  kernels that run; the next fails, and all after it
 *     MADE_UP_GRAPHS  graphs that are launched; the next fails, and all after
 * it MADE_UP_OTHERS  other processes on it, of 1 GiB and 20 % each (0) */
#include "backend/cuda/cuda_driver.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    invalid_value = 1,
    not_initialized = 3,
    no_device = 100,
    bad_address = 700
};

static size_t held_bytes;
static long n_launched;
static pid_t started_in; /* a process forked from it cannot use the driver */
static char one_of_each[64]; /* contexts, streams, events, modules */

static long setting(const char *name, long otherwise)
{
    const char *text = getenv(name);

    return text ? strtol(text, NULL, 10) : otherwise;
}

static size_t made_up_bytes(void)
{
    return (size_t)setting("MADE_UP_MIB", 16384) << 20;
}

/* What a call returns once a kernel has failed. */
static cu_result state(void)
{
    const char *most = getenv("MADE_UP_LAUNCHES");

    return most && n_launched > strtol(most, NULL, 10) ? bad_address : 0;
}

/* ---- the driver ------------------------------------------------------------
 */

#define DECLARE(name, parameters) cu_result name parameters;
DRIVER_LIST(DECLARE)
#undef DECLARE

cu_result cuInit(unsigned flags)
{
    (void)flags;
    if (!started_in)
        started_in = getpid();
    return (cu_result)setting("MADE_UP_INIT", 0);
}

cu_result cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

cu_result cuGetErrorName(cu_result result, const char **text)
{
    *text = result == no_device         ? "CUDA_ERROR_NO_DEVICE"
            : result == invalid_value   ? "CUDA_ERROR_INVALID_VALUE"
            : result == not_initialized ? "CUDA_ERROR_NOT_INITIALIZED"
            : result == bad_address     ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : result == CU_ERROR_SYSTEM_DRIVER_MISMATCH
                ? "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"
                : "CUDA_ERROR_UNKNOWN";
    return 0;
}

cu_result cuGetErrorString(cu_result result, const char **text)
{
    *text = result == no_device       ? "no CUDA-capable device is detected"
            : result == invalid_value ? "invalid argument"
            : result == bad_address ? "an illegal memory access was encountered"
            : result == CU_ERROR_SYSTEM_DRIVER_MISMATCH
                ? "system has unsupported display driver / cuda driver "
                  "combination"
                : "unknown error";
    return 0;
}

cu_result cuDeviceGetCount(int *n)
{
    *n = (int)setting("MADE_UP_GPUS", 1);
    return 0;
}

cu_result cuDeviceGet(cu_device *device, int i)
{
    *device = i;
    return 0;
}

cu_result cuDeviceGetName(char *text, int size, cu_device device)
{
    (void)device;
    snprintf(text, (size_t)size, "Made Up GPU");
    return 0;
}

cu_result cuDeviceGetAttribute(int *value, int attribute, cu_device device)
{
    (void)device;
    *value = attribute == CU_ATTRIBUTE_MAJOR ? (int)setting("MADE_UP_MAJOR", 9)
             : attribute == CU_ATTRIBUTE_CAN_MAP         ? 1
             : attribute == CU_ATTRIBUTE_MULTIPROCESSORS ? 4
                                                         : 0;
    return 0;
}

cu_result cuDeviceTotalMem_v2(size_t *bytes, cu_device device)
{
    (void)device;
    *bytes = made_up_bytes();
    return 0;
}

cu_result cuDeviceGetPCIBusId(char *text, int size, cu_device device)
{
    (void)device;
    snprintf(text, (size_t)size, "0000:00:00.0");
    return 0;
}

cu_result cuDevicePrimaryCtxRetain(cu_context *context, cu_device device)
{
    (void)device;
    *context = (cu_context)(void *)one_of_each;
    return started_in == getpid() ? 0 : not_initialized;
}

cu_result cuCtxSetCurrent(cu_context context)
{
    (void)context;
    return 0;
}

/* ---- memory ----------------------------------------------------------------
 */

cu_result cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    *total = made_up_bytes();
    *free_bytes = *total - held_bytes;
    return 0;
}

static cu_result take(size_t bytes)
{
    if (bytes > made_up_bytes() - held_bytes)
        return CU_ERROR_OUT_OF_MEMORY;
    held_bytes += bytes;
    return 0;
}

cu_result cuMemAlloc_v2(cu_pointer *at, size_t bytes)
{
    cu_result result = take(bytes);

    if (!result)
        *at = (cu_pointer)(uintptr_t)calloc(1, bytes);
    return result;
}

cu_result cuMemFree_v2(cu_pointer at)
{
    free((void *)(uintptr_t)at);
    return 0;
}

cu_result cuMemAddressReserve(cu_pointer *at, size_t bytes, size_t alignment,
                              cu_pointer wanted, unsigned long long flags)
{
    void *made = mmap(NULL, bytes, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    (void)alignment, (void)wanted, (void)flags;
    *at = (cu_pointer)(uintptr_t)made;
    return made == MAP_FAILED ? CU_ERROR_OUT_OF_MEMORY : 0;
}

cu_result cuMemCreate(cu_allocation_handle *handle, size_t bytes,
                      const struct cu_allocation *wanted,
                      unsigned long long flags)
{
    (void)wanted, (void)flags;
    *handle = bytes;
    return take(bytes);
}

cu_result cuMemMap(cu_pointer at, size_t bytes, size_t offset,
                   cu_allocation_handle handle, unsigned long long flags)
{
    (void)offset, (void)handle, (void)flags;
    return mprotect((void *)(uintptr_t)at, bytes, PROT_READ | PROT_WRITE) ? 1
                                                                          : 0;
}

cu_result cuMemSetAccess(cu_pointer at, size_t bytes,
                         const struct cu_access *access, size_t n)
{
    (void)at, (void)bytes, (void)access, (void)n;
    return 0;
}

cu_result cuMemUnmap(cu_pointer at, size_t bytes)
{
    held_bytes -= bytes;
    (void)madvise((void *)(uintptr_t)at, bytes, MADV_DONTNEED);
    return mprotect((void *)(uintptr_t)at, bytes, PROT_NONE) ? 1 : 0;
}

cu_result cuMemAddressFree(cu_pointer at, size_t bytes)
{
    return munmap((void *)(uintptr_t)at, bytes) ? 1 : 0;
}

cu_result cuMemRelease(cu_allocation_handle handle)
{
    (void)handle;
    return 0;
}

cu_result cuMemHostAlloc(void **at, size_t bytes, unsigned flags)
{
    (void)flags;
    *at = calloc(1, bytes);
    return 0;
}

cu_result cuMemFreeHost(void *at)
{
    free(at);
    return 0;
}

cu_result cuMemcpyHtoDAsync_v2(cu_pointer to, const void *from, size_t bytes,
                               cu_stream stream)
{
    (void)stream;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return state();
}

cu_result cuMemcpyDtoHAsync_v2(void *to, cu_pointer from, size_t bytes,
                               cu_stream stream)
{
    (void)stream;
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return state();
}

cu_result cuMemcpyDtoDAsync_v2(cu_pointer to, cu_pointer from, size_t bytes,
                               cu_stream stream)
{
    (void)stream;
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return state();
}

cu_result cuMemsetD8Async(cu_pointer to, unsigned char value, size_t bytes,
                          cu_stream stream)
{
    (void)stream;
    memset((void *)(uintptr_t)to, value, bytes);
    return state();
}

/* ---- what is queued --------------------------------------------------------
 */

cu_result cuStreamCreate(cu_stream *stream, unsigned flags)
{
    (void)flags;
    *stream = (cu_stream)(void *)one_of_each;
    return 0;
}

cu_result cuStreamSynchronize(cu_stream stream)
{
    (void)stream;
    return state();
}

cu_result cuStreamWaitEvent(cu_stream stream, cu_event event, unsigned flags)
{
    (void)stream;
    (void)event;
    (void)flags;
    return state();
}

cu_result cuEventCreate(cu_event *event, unsigned flags)
{
    struct timespec *made = calloc(1, sizeof *made);

    (void)flags;
    *event = (cu_event)(void *)made;
    return 0;
}

cu_result cuEventDestroy_v2(cu_event event)
{
    free(event);
    return 0;
}

cu_result cuEventRecord(cu_event event, cu_stream stream)
{
    (void)stream;
    clock_gettime(CLOCK_MONOTONIC, (struct timespec *)(void *)event);
    return state();
}

cu_result cuEventSynchronize(cu_event event)
{
    (void)event;
    return state();
}

cu_result cuEventQuery(cu_event event)
{
    (void)event;
    return state();
}

cu_result cuEventElapsedTime(float *ms, cu_event start, cu_event end)
{
    struct timespec a = *(struct timespec *)(void *)start;
    struct timespec b = *(struct timespec *)(void *)end;

    *ms = (float)((double)(b.tv_sec - a.tv_sec) * 1e3 +
                  (double)(b.tv_nsec - a.tv_nsec) / 1e6);
    return state();
}

cu_result cuModuleLoadData(cu_module *module, const void *image)
{
    (void)image;
    *module = (cu_module)(void *)one_of_each;
    return 0;
}

cu_result cuModuleGetFunction(cu_function *function, cu_module module,
                              const char *name)
{
    (void)module, (void)name;
    *function = (cu_function)(void *)one_of_each;
    return 0;
}

cu_result cuFuncSetAttribute(cu_function function, int attribute, int value)
{
    (void)function, (void)attribute, (void)value;
    return 0;
}

/* As every GPU wants them. */
static bool is_grid(unsigned x, unsigned y, unsigned z, unsigned threads)
{
    return x && x < 1U << 31 && y && y < 1U << 16 && z && z < 1U << 16 &&
           threads && threads <= 1024;
}

cu_result cuLaunchKernel(cu_function function, unsigned grid_x, unsigned grid_y,
                         unsigned grid_z, unsigned block_x, unsigned block_y,
                         unsigned block_z, unsigned shared_bytes,
                         cu_stream stream, void **arguments, void **extra)
{
    (void)function, (void)shared_bytes, (void)stream, (void)arguments;
    (void)extra;
    if (!is_grid(grid_x, grid_y, grid_z, block_x * block_y * block_z))
        return invalid_value;
    n_launched++;
    return state();
}

cu_result cuStreamBeginCapture_v2(cu_stream stream, int mode)
{
    (void)stream, (void)mode;
    return state();
}

cu_result cuStreamEndCapture(cu_stream stream, cu_graph *graph)
{
    (void)stream;
    *graph = (cu_graph)(void *)one_of_each;
    return state();
}

cu_result cuGraphGetNodes(cu_graph graph, cu_graph_node *nodes, size_t *n)
{
    (void)graph, (void)nodes;
    *n = 0;
    return 0;
}

cu_result cuGraphInstantiateWithFlags(cu_graph_exec *exec, cu_graph graph,
                                      unsigned long long flags)
{
    (void)graph, (void)flags;
    *exec = (cu_graph_exec)(void *)one_of_each;
    return 0;
}

cu_result cuGraphLaunch(cu_graph_exec exec, cu_stream stream)
{
    static long n_graphs;
    const char *most = getenv("MADE_UP_GRAPHS");

    (void)exec, (void)stream;
    if (most && ++n_graphs > strtol(most, NULL, 10))
        return bad_address;
    return state();
}

cu_result cuGraphExecDestroy(cu_graph_exec exec)
{
    (void)exec;
    return 0;
}

cu_result cuGraphDestroy(cu_graph graph)
{
    (void)graph;
    return 0;
}

/* ---- NVRTC: every file of kernels becomes a few bytes ----------------------
 */

#define DECLARE(name, parameters) int name parameters;
NVRTC_LIST(DECLARE)
#undef DECLARE

int nvrtcVersion(int *major, int *minor)
{
    *major = 13;
    *minor = 0;
    return 0;
}

int nvrtcCreateProgram(nvrtc_program *program, const char *source,
                       const char *name, int n_headers,
                       const char *const *headers,
                       const char *const *header_names)
{
    (void)source, (void)name, (void)n_headers, (void)headers,
        (void)header_names;
    *program = (nvrtc_program)(void *)one_of_each;
    return 0;
}

int nvrtcCompileProgram(nvrtc_program program, int n_options,
                        const char *const *options)
{
    (void)program, (void)n_options, (void)options;
    return 0;
}

int nvrtcGetProgramLogSize(nvrtc_program program, size_t *bytes)
{
    (void)program;
    *bytes = 1;
    return 0;
}

int nvrtcGetProgramLog(nvrtc_program program, char *log)
{
    (void)program;
    *log = '\0';
    return 0;
}

int nvrtcGetCUBINSize(nvrtc_program program, size_t *bytes)
{
    (void)program;
    *bytes = sizeof one_of_each;
    return 0;
}

int nvrtcGetCUBIN(nvrtc_program program, char *cubin)
{
    (void)program;
    memset(cubin, 'x', sizeof one_of_each);
    return 0;
}

int nvrtcDestroyProgram(nvrtc_program *program)
{
    *program = NULL;
    return 0;
}

/* ---- NVML ------------------------------------------------------------------
 */

struct made_up_process {
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance, compute_instance;
};

struct made_up_share {
    unsigned pid;
    unsigned long long at_us;
    unsigned sm, memory, encoder, decoder;
};

int nvmlInit_v2(void);
int nvmlDeviceGetProcessUtilization(void *device, struct made_up_share *list,
                                    unsigned *n, unsigned long long since_us);
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device);
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *n,
                                            struct made_up_process *list);
int nvmlDeviceGetTotalEnergyConsumption(void *device,
                                        unsigned long long *millijoules);

int nvmlInit_v2(void)
{
    return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device)
{
    (void)bus;
    *device = one_of_each;
    return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *n,
                                            struct made_up_process *list)
{
    unsigned others = (unsigned)setting("MADE_UP_OTHERS", 0);

    (void)device;
    for (unsigned i = 0; i < others && i < *n; i++)
        list[i] = (struct made_up_process){.pid = 1 + i, .used_bytes = 1 << 30};
    *n = others;
    return 0;
}

/* Each is listed twice; the older one does not count. */
int nvmlDeviceGetProcessUtilization(void *device, struct made_up_share *list,
                                    unsigned *n, unsigned long long since_us)
{
    unsigned others = (unsigned)setting("MADE_UP_OTHERS", 0);

    (void)device, (void)since_us;
    for (unsigned i = 0; i < 2 * others && i < *n; i++)
        list[i] = (struct made_up_share){
            .pid = 1 + i / 2, .at_us = 100 + i % 2, .sm = i % 2 ? 20 : 90};
    *n = 2 * others;
    return 0;
}

/* 100 W since the machine began. */
int nvmlDeviceGetTotalEnergyConsumption(void *device,
                                        unsigned long long *millijoules)
{
    struct timespec now;

    (void)device;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *millijoules = ((unsigned long long)now.tv_sec * 1000 +
                    (unsigned long long)now.tv_nsec / 1000000) *
                   100;
    return 0;
}
