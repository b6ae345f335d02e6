/* backend/cuda/cuda_cudnn.h - what we use of cuDNN's graph interface, versions
 * 8 and 9, in declarations of our own (see cuda_driver.h).
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_CUDA_CUDA_CUDNN_H
#define BACKEND_CUDA_CUDA_CUDNN_H

#include "backend/cuda/cuda_driver.h"

typedef struct cudnn_context_st *cudnn_handle;
typedef void *cudnn_descriptor;

enum {
    CUDNN_DATA_F32 = 0,
    CUDNN_DATA_F16 = 2,
    CUDNN_DATA_BF16 = 9,
};

enum { /* types of attributes */
       CUDNN_TYPE_HANDLE = 0,
       CUDNN_TYPE_DATA_TYPE = 1,
       CUDNN_TYPE_BOOLEAN = 2,
       CUDNN_TYPE_INT64 = 3,
       CUDNN_TYPE_FLOAT = 4,
       CUDNN_TYPE_DOUBLE = 5,
       CUDNN_TYPE_VOID_PTR = 6,
       CUDNN_TYPE_CONVOLUTION_MODE = 7,
       CUDNN_TYPE_HEUR_MODE = 8,
       CUDNN_TYPE_NUMERICAL_NOTE = 11,
       CUDNN_TYPE_POINTWISE_MODE = 14,
       CUDNN_TYPE_DESCRIPTOR = 15,
};

enum { /* kinds of descriptors */
       CUDNN_POINTWISE = 0,
       CUDNN_CONVOLUTION = 1,
       CUDNN_ENGINE = 2,
       CUDNN_ENGINECFG = 3,
       CUDNN_ENGINEHEUR = 4,
       CUDNN_PLAN = 5,
       CUDNN_OPERATION_CONVOLUTION = 10,
       CUDNN_OPERATION_WEIGHTS = 11,
       CUDNN_OPERATION_DATA = 12,
       CUDNN_OPERATION_POINTWISE = 13,
       CUDNN_OPERATIONGRAPH = 15,
       CUDNN_VARIANT_PACK = 16,
       CUDNN_TENSOR = 17,
};

enum { /* attributes */
       CUDNN_POINTWISE_MODE = 0,
       CUDNN_POINTWISE_PRECISION = 1,
       CUDNN_POINTWISE_RELU_UPPER = 4,
       CUDNN_CONVOLUTION_COMPUTE_TYPE = 100,
       CUDNN_CONVOLUTION_MODE = 101,
       CUDNN_CONVOLUTION_DILATIONS = 102,
       CUDNN_CONVOLUTION_STRIDES = 103,
       CUDNN_CONVOLUTION_AFTER = 104,
       CUDNN_CONVOLUTION_BEFORE = 105,
       CUDNN_CONVOLUTION_DIMENSIONS = 106,
       CUDNN_ENGINEHEUR_MODE = 200,
       CUDNN_ENGINEHEUR_GRAPH = 201,
       CUDNN_ENGINEHEUR_RESULTS = 202,
       CUDNN_ENGINECFG_ENGINE = 300,
       CUDNN_PLAN_HANDLE = 400,
       CUDNN_PLAN_ENGINECFG = 401,
       CUDNN_PLAN_WORKSPACE = 402,
       /* The first of six of a convolution, in this order; so many for
        * those of its gradients. */
       CUDNN_FORWARD_ALPHA = 700,
       CUDNN_FORWARD_BETA = 701,
       CUDNN_FORWARD_CONVOLUTION = 702,
       CUDNN_FORWARD_W = 703,
       CUDNN_FORWARD_X = 704,
       CUDNN_FORWARD_Y = 705,
       CUDNN_DATA_MORE = 6,
       CUDNN_WEIGHTS_MORE = 12,
       CUDNN_OP_POINTWISE = 750,
       CUDNN_OP_POINTWISE_X = 751,
       CUDNN_OP_POINTWISE_B = 752,
       CUDNN_OP_POINTWISE_Y = 753,
       CUDNN_GRAPH_HANDLE = 800,
       CUDNN_GRAPH_OPERATIONS = 801,
       CUDNN_TENSOR_ALIGNMENT = 900,
       CUDNN_TENSOR_TYPE = 901,
       CUDNN_TENSOR_DIMENSIONS = 902,
       CUDNN_TENSOR_STRIDES = 903,
       CUDNN_TENSOR_ID = 906,
       CUDNN_TENSOR_IS_VIRTUAL = 907,
       CUDNN_PACK_IDS = 1000,
       CUDNN_PACK_POINTERS = 1001,
       CUDNN_PACK_WORKSPACE = 1003,
       CUDNN_ENGINE_INDEX = 1301,
       CUDNN_ENGINE_NOTES = 1303,
};

enum { /* values */
       CUDNN_CROSS_CORRELATION = 1,
       CUDNN_ADD = 0,
       CUDNN_RELU = 100,
       CUDNN_HEUR_A = 3,
       CUDNN_HEUR_FALLBACK = 2,
       CUDNN_HEUR_INSTANT = 0,
       CUDNN_NOTE_TENSOR_CORE = 0,
       CUDNN_NOTE_DOWN_CONVERT = 1,
       CUDNN_NOTE_REDUCED_SUMS = 2, /* in fewer bits than float32 has */
       CUDNN_NOTE_NONDETERMINISTIC = 4,
       CUDNN_NOTE_WINOGRAD_4X4 = 6, /* and larger tiles up to: */
       CUDNN_NOTE_WINOGRAD_13X13 = 8,
       CUDNN_N_NOTES = 16,
};

#define CUDNN_LIST(X)                                                          \
    X(cudnnCreate, (cudnn_handle * handle))                                    \
    X(cudnnSetStream, (cudnn_handle handle, cu_stream stream))                 \
    X(cudnnBackendCreateDescriptor, (int kind, cudnn_descriptor *descriptor))  \
    X(cudnnBackendDestroyDescriptor, (cudnn_descriptor descriptor))            \
    X(cudnnBackendFinalize, (cudnn_descriptor descriptor))                     \
    X(cudnnBackendSetAttribute, (cudnn_descriptor descriptor, int attribute,   \
                                 int type, int64_t n, const void *values))     \
    X(cudnnBackendGetAttribute,                                                \
      (cudnn_descriptor descriptor, int attribute, int type, int64_t room,     \
       int64_t *n, void *values))                                              \
    X(cudnnBackendExecute,                                                     \
      (cudnn_handle handle, cudnn_descriptor plan, cudnn_descriptor pack))

#define CUDNN_MEMBER(name, parameters) int(*name) parameters;
struct cudnn_api {
    CUDNN_LIST(CUDNN_MEMBER)
};
#undef CUDNN_MEMBER

#endif
