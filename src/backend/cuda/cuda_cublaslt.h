/* backend/cuda/cuda_cublaslt.h - what we use of cuBLASLt, versions 11 to 13, in
 * declarations of our own (see cuda_driver.h).
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_CUDA_CUDA_CUBLASLT_H
#define BACKEND_CUDA_CUDA_CUBLASLT_H

#include "backend/cuda/cuda_driver.h"

typedef struct lt_context_st *lt_handle;
typedef struct lt_desc_st *lt_desc;
typedef struct lt_layout_st *lt_layout;
typedef struct lt_preference_st *lt_preference;

struct lt_algo {
    uint64_t data[8];
};

struct lt_result {
    struct lt_algo algo;
    size_t workspace_bytes;
    int state; /* 0: good */
    float waves;
    int reserved[4];
};

enum {
    LT_F32 = 0,
    LT_F16 = 2,
    LT_BF16 = 14,
    LT_COMPUTE_F32 = 68,
    LT_COMPUTE_F32_PEDANTIC = 69,
    LT_COMPUTE_TF32 = 77,
    LT_TRANSPOSE = 1,
    LT_DESC_TRANSA = 3,
    LT_DESC_TRANSB = 4,
    LT_DESC_EPILOGUE = 7,
    LT_DESC_BIAS_POINTER = 8,
    LT_EPILOGUE_NONE = 1,
    LT_EPILOGUE_RELU = 2,
    LT_EPILOGUE_BIAS = 4,
    LT_PREFERENCE_WORKSPACE = 1,
    LT_PREFERENCE_REDUCTIONS = 3, /* how parts of a sum may be added up */
    LT_REDUCTION_FLOAT = 2,       /* in the type of the sums */
    LT_REDUCTION_ANY = 7,         /* also in the type of the result */
    LT_LAYOUT_BATCH_COUNT = 5,
    LT_LAYOUT_BATCH_OFFSET = 6,
};

#define LT_LIST(X)                                                             \
    X(cublasLtCreate, (lt_handle * handle))                                    \
    X(cublasLtMatmulDescCreate, (lt_desc * desc, int compute, int scale))      \
    X(cublasLtMatmulDescDestroy, (lt_desc desc))                               \
    X(cublasLtMatmulDescSetAttribute,                                          \
      (lt_desc desc, int attribute, const void *value, size_t bytes))          \
    X(cublasLtMatrixLayoutCreate,                                              \
      (lt_layout * layout, int type, uint64_t rows, uint64_t columns,          \
       int64_t step))                                                          \
    X(cublasLtMatrixLayoutDestroy, (lt_layout layout))                         \
    X(cublasLtMatrixLayoutSetAttribute,                                        \
      (lt_layout layout, int attribute, const void *value, size_t bytes))      \
    X(cublasLtMatmulPreferenceCreate, (lt_preference * preference))            \
    X(cublasLtMatmulPreferenceDestroy, (lt_preference preference))             \
    X(cublasLtMatmulPreferenceSetAttribute,                                    \
      (lt_preference preference, int attribute, const void *value,             \
       size_t bytes))                                                          \
    X(cublasLtMatmulAlgoGetHeuristic,                                          \
      (lt_handle handle, lt_desc desc, lt_layout a, lt_layout b, lt_layout c,  \
       lt_layout d, lt_preference preference, int wanted,                      \
       struct lt_result *results, int *n))                                     \
    X(cublasLtMatmul,                                                          \
      (lt_handle handle, lt_desc desc, const void *alpha, const void *a,       \
       lt_layout a_layout, const void *b, lt_layout b_layout,                  \
       const void *beta, const void *c, lt_layout c_layout, void *d,           \
       lt_layout d_layout, const struct lt_algo *algo, void *workspace,        \
       size_t workspace_bytes, cu_stream stream))

#define LT_MEMBER(name, parameters) int(*name) parameters;
struct lt_api {
    LT_LIST(LT_MEMBER)
};
#undef LT_MEMBER

#endif
