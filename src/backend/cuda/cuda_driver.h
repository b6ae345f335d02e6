/* backend/cuda/cuda_driver.h - what we use of the CUDA driver and its
 * libraries, in declarations of our own.
 *
 * Nothing of CUDA is needed to build: libraries are opened at run time
 * (cuda_libraries.c), and their functions are called through these tables.
 * Types and values are those of the public interfaces, which do not change
 * within the versions that are asked for.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_CUDA_CUDA_DRIVER_H
#define BACKEND_CUDA_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

/* ---- the driver: libcuda.so.1 -------------------------------------------- */

typedef int cu_result; /* 0 is success */
typedef int cu_device;
typedef uint64_t cu_pointer;
typedef struct cu_context_st *cu_context;
typedef struct cu_stream_st *cu_stream;
typedef struct cu_event_st *cu_event;
typedef struct cu_module_st *cu_module;
typedef struct cu_function_st *cu_function;
typedef struct cu_graph_st *cu_graph;
typedef struct cu_graph_exec_st *cu_graph_exec;
typedef struct cu_graph_node_st *cu_graph_node;

enum {
    CU_ERROR_INVALID_VALUE = 1,
    CU_ERROR_OUT_OF_MEMORY = 2,
    CU_ERROR_NO_DEVICE = 100,
    CU_ERROR_NOT_READY = 600,
    CU_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
};

enum {
    CU_ATTRIBUTE_MAX_SHARED_PER_BLOCK_OPTIN = 97,
    CU_ATTRIBUTE_CLOCK_KHZ = 13,
    CU_ATTRIBUTE_MULTIPROCESSORS = 16,
    CU_ATTRIBUTE_MEMORY_CLOCK_KHZ = 36,
    CU_ATTRIBUTE_MEMORY_BUS_BITS = 37,
    CU_ATTRIBUTE_L2_BYTES = 38,
    CU_ATTRIBUTE_MAJOR = 75,
    CU_ATTRIBUTE_MINOR = 76,
    CU_ATTRIBUTE_CAN_MAP = 102, /* memory at addresses that were reserved */
};

enum {
    CU_STREAM_NON_BLOCKING = 1,
    CU_EVENT_DEFAULT = 0,
    CU_EVENT_NO_TIMING = 2,
    CU_CAPTURE_RELAXED = 2,
    CU_FUNCTION_MAX_DYNAMIC_SHARED = 8,
};

/* What is mapped at reserved addresses. */
enum {
    CU_ALLOCATION_PINNED = 1,
    CU_LOCATION_DEVICE = 1,
    CU_ACCESS_READ_WRITE = 3,
};

typedef unsigned long long cu_allocation_handle;

struct cu_location {
    int type, id;
};

struct cu_allocation { /* CUmemAllocationProp */
    int type, handle_types;
    struct cu_location location;
    void *windows;
    unsigned char flags[8];
};

struct cu_access { /* CUmemAccessDesc */
    struct cu_location location;
    int flags;
};

#define DRIVER_LIST(X)                                                         \
    X(cuInit, (unsigned flags))                                                \
    X(cuDriverGetVersion, (int *version))                                      \
    X(cuGetErrorName, (cu_result result, const char **text))                   \
    X(cuGetErrorString, (cu_result result, const char **text))                 \
    X(cuDeviceGetCount, (int *n))                                              \
    X(cuDeviceGet, (cu_device * device, int i))                                \
    X(cuDeviceGetName, (char *text, int size, cu_device device))               \
    X(cuDeviceGetAttribute, (int *value, int attribute, cu_device device))     \
    X(cuDeviceTotalMem_v2, (size_t * bytes, cu_device device))                 \
    X(cuDeviceGetPCIBusId, (char *text, int size, cu_device device))           \
    X(cuDevicePrimaryCtxRetain, (cu_context * context, cu_device device))      \
    X(cuCtxSetCurrent, (cu_context context))                                   \
    X(cuMemGetInfo_v2, (size_t * free, size_t * total))                        \
    X(cuMemAlloc_v2, (cu_pointer * at, size_t bytes))                          \
    X(cuMemFree_v2, (cu_pointer at))                                           \
    X(cuMemAddressReserve, (cu_pointer * at, size_t bytes, size_t alignment,   \
                            cu_pointer wanted, unsigned long long flags))      \
    X(cuMemCreate,                                                             \
      (cu_allocation_handle * handle, size_t bytes,                            \
       const struct cu_allocation *wanted, unsigned long long flags))          \
    X(cuMemMap, (cu_pointer at, size_t bytes, size_t offset,                   \
                 cu_allocation_handle handle, unsigned long long flags))       \
    X(cuMemSetAccess,                                                          \
      (cu_pointer at, size_t bytes, const struct cu_access *access, size_t n)) \
    X(cuMemUnmap, (cu_pointer at, size_t bytes))                               \
    X(cuMemAddressFree, (cu_pointer at, size_t bytes))                         \
    X(cuMemRelease, (cu_allocation_handle handle))                             \
    X(cuMemHostAlloc, (void **at, size_t bytes, unsigned flags))               \
    X(cuMemFreeHost, (void *at))                                               \
    X(cuMemcpyHtoDAsync_v2,                                                    \
      (cu_pointer to, const void *from, size_t bytes, cu_stream stream))       \
    X(cuMemcpyDtoHAsync_v2,                                                    \
      (void *to, cu_pointer from, size_t bytes, cu_stream stream))             \
    X(cuMemcpyDtoDAsync_v2,                                                    \
      (cu_pointer to, cu_pointer from, size_t bytes, cu_stream stream))        \
    X(cuMemsetD8Async,                                                         \
      (cu_pointer to, unsigned char value, size_t bytes, cu_stream stream))    \
    X(cuStreamCreate, (cu_stream * stream, unsigned flags))                    \
    X(cuStreamSynchronize, (cu_stream stream))                                 \
    X(cuStreamWaitEvent, (cu_stream stream, cu_event event, unsigned flags))   \
    X(cuEventCreate, (cu_event * event, unsigned flags))                       \
    X(cuEventDestroy_v2, (cu_event event))                                     \
    X(cuEventRecord, (cu_event event, cu_stream stream))                       \
    X(cuEventSynchronize, (cu_event event))                                    \
    X(cuEventQuery, (cu_event event))                                          \
    X(cuEventElapsedTime, (float *ms, cu_event start, cu_event end))           \
    X(cuModuleLoadData, (cu_module * module, const void *image))               \
    X(cuModuleGetFunction,                                                     \
      (cu_function * function, cu_module module, const char *name))            \
    X(cuFuncSetAttribute, (cu_function function, int attribute, int value))    \
    X(cuLaunchKernel, (cu_function function, unsigned grid_x, unsigned grid_y, \
                       unsigned grid_z, unsigned block_x, unsigned block_y,    \
                       unsigned block_z, unsigned shared_bytes,                \
                       cu_stream stream, void **arguments, void **extra))      \
    X(cuStreamBeginCapture_v2, (cu_stream stream, int mode))                   \
    X(cuStreamEndCapture, (cu_stream stream, cu_graph * graph))                \
    X(cuGraphGetNodes, (cu_graph graph, cu_graph_node * nodes, size_t * n))    \
    X(cuGraphInstantiateWithFlags,                                             \
      (cu_graph_exec * exec, cu_graph graph, unsigned long long flags))        \
    X(cuGraphLaunch, (cu_graph_exec exec, cu_stream stream))                   \
    X(cuGraphExecDestroy, (cu_graph_exec exec))                                \
    X(cuGraphDestroy, (cu_graph graph))

#define DRIVER_MEMBER(name, parameters) cu_result(*name) parameters;
struct driver_api {
    DRIVER_LIST(DRIVER_MEMBER)
};
#undef DRIVER_MEMBER

/* ---- NVRTC: libnvrtc.so ---------------------------------------------------
 */

typedef struct nvrtc_program_st *nvrtc_program;

#define NVRTC_LIST(X)                                                          \
    X(nvrtcVersion, (int *major, int *minor))                                  \
    X(nvrtcCreateProgram,                                                      \
      (nvrtc_program * program, const char *source, const char *name,          \
       int n_headers, const char *const *headers,                              \
       const char *const *header_names))                                       \
    X(nvrtcCompileProgram,                                                     \
      (nvrtc_program program, int n_options, const char *const *options))      \
    X(nvrtcGetProgramLogSize, (nvrtc_program program, size_t * bytes))         \
    X(nvrtcGetProgramLog, (nvrtc_program program, char *log))                  \
    X(nvrtcGetCUBINSize, (nvrtc_program program, size_t * bytes))              \
    X(nvrtcGetCUBIN, (nvrtc_program program, char *cubin))                     \
    X(nvrtcDestroyProgram, (nvrtc_program * program))

#define NVRTC_MEMBER(name, parameters) int(*name) parameters;
struct nvrtc_api {
    NVRTC_LIST(NVRTC_MEMBER)
};
#undef NVRTC_MEMBER

#endif
