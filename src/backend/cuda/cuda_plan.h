/* backend/cuda/cuda_plan.h - convolutions and products: jobs, the plans that
 * can do them, and the choice among those.
 *
 * A linear layer is a convolution of a map of one place: both are one kind of
 * job. What comes after the sums (bias, residual, ReLU) is part of it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_CUDA_CUDA_PLAN_H
#define BACKEND_CUDA_CUDA_PLAN_H

#include "backend/cuda/cuda_internal.h"

/* What is made of the other two: y of x and w in the forward pass, and then the
 * gradients of x or of w, where y is that of the output. */
enum cuda_way { WAY_FORWARD, WAY_DATA, WAY_WEIGHTS };

/* Compared byte by byte: begin with zeros. Maps are [n,h,w,c], weights
 * [o,kh,kw,c / groups], all of the stored type but for y. */
struct cuda_job {
    int64_t n, c, h, w;
    int64_t o, kh, kw, oh, ow;
    int64_t stride[2], before[2], after[2], dilation[2], groups;
    int32_t stored;    /* enum dtype */
    int32_t precision; /* enum precision */
    int32_t has_bias, has_residual;
    int32_t has_relu;
    float relu_limit;   /* 0: none */
    int32_t activation; /* enum conv2d_activation, instead of a ReLU */
    float slope;        /* of a LeakyReLU */
    int64_t way;        /* enum cuda_way; but for the first, nothing follows the
                           sums, except that the residual is added to a gradient
                           of x */
    int64_t made;       /* enum dtype: how y is stored, and the bias; float32
                           where it is not `stored`, without a residual */
};

enum plan_kind {
    PLAN_NONE,
    PLAN_CUDNN,
    PLAN_CUBLASLT,
    PLAN_THIN, /* weights of a product with few columns */
    PLAN_DEPTHWISE,
    PLAN_DEPTHWISE_SMALL, /* for few places */
    PLAN_DIRECT
};

enum { PLAN_NAME = 48 };

struct cuda_plan {
    enum plan_kind kind;
    char name[PLAN_NAME];   /* "cudnn fused 0": what it is remembered by */
    char kernel[PLAN_NAME]; /* "cuDNN engine 41": for people */
    size_t workspace_bytes;
    bool is_bare;  /* an epilogue of ours follows */
    bool is_whole; /* also an activation that is no ReLU is part of it */
    struct cudnn_plan *cudnn;
    struct lt_plan *lt;
};

struct cuda_operands {
    cu_pointer x, w, bias, residual, y; /* 0: none; bias is of the type of
                                           y; one of x, w and y is made */
    cu_pointer workspace;
};

void cuda_plan_release(struct cuda_plan *plan); /* accepts {0} */
/* Our own kernel, which is slow and does any job. */
bool cuda_plan_direct(const struct cuda_job *job, struct cuda_plan *plan);
/* Queues the job. */
enum assay_status cuda_plan_run(struct cuda_call *call,
                                const struct cuda_job *job,
                                const struct cuda_plan *plan,
                                const struct cuda_operands *operands);

/* cuda_convolution.c: the job of a node that is a convolution; y is the shape
 * of its output. */
struct cuda_job cuda_conv_job(const struct cuda_call *call,
                              const struct layout *layout,
                              const struct shape *y);
/* x and y padded where they are to be, and the job with those channels. x stays
 * padded if it is; what a depthwise convolution makes is padded as x is. */
void cuda_conv_pad(const struct cuda_call *call, struct cuda_job *job,
                   const struct layout **x_layout,
                   const struct layout **y_layout);
/* The weights, with the channels of the job. */
enum assay_status cuda_conv_weight(struct cuda_call *call,
                                   const struct cuda_job *job, cu_pointer *out);
/* y[rows,columns] = x[rows,summed] w[columns,summed]^T */
struct cuda_job cuda_product_job(const struct cuda_call *call,
                                 enum dtype stored, int64_t rows,
                                 int64_t summed, int64_t columns);
/* Fills struct cuda, decides. */
enum assay_status cuda_find_deciding(struct cuda *cuda, struct error *err);
/* cuda_padding.c: whether the op reads padded maps where its line in the table
 * says any layout; the others get copies. */
bool cuda_takes_padded(const struct op_class *op);
/* Fills struct cuda, pads. */
enum assay_status cuda_find_padded(struct cuda *cuda, struct error *err);
/* Whether what a node makes is to be padded: by a convolution that is not
 * padded yet, and any map that has its layout, without padding. */
bool cuda_pads_output(const struct cuda_call *call, const struct cuda_job *job);
bool cuda_pads_map(const struct cuda_call *call, const struct tensor *y);
/* The same of a value that somebody else makes. */
bool cuda_pads_value(const struct cuda *cuda, uint32_t value, int64_t channels,
                     enum dtype stored);
/* Chooses a plan and queues it. */
enum assay_status cuda_job_do(struct cuda_call *call,
                              const struct cuda_job *job,
                              const struct cuda_operands *operands);

/* Whether it is a product of two matrices. */
bool cuda_job_is_product(const struct cuda_job *job);

/* ---- cuda_cudnn.c ---------------------------------------------------------
 */

/* "9.13.1"; "" where there is none. */
const char *cuda_cudnn_version(void);
/* What cuDNN's rules suggest for a job, fused or without what comes after the
 * sums: asking for that takes longer than making a plan. NULL: nothing. */
struct cudnn_list;
struct cudnn_list *cudnn_list_open(struct cuda_device *device,
                                   const struct cuda_job *job, bool is_fused);
/* The next one that works; false: there is none, or no list. */
bool cudnn_list_next(struct cudnn_list *list, struct cuda_plan *plan);
void cudnn_list_close(struct cudnn_list *list); /* accepts NULL */
/* The i-th suggestion; false: it does not work. */
bool cudnn_plan_make(struct cuda_device *device, const struct cuda_job *job,
                     bool is_fused, size_t i, struct cuda_plan *plan);
void cudnn_plan_free(struct cudnn_plan *plan); /* accepts NULL */
enum assay_status cudnn_plan_run(struct cuda_call *call,
                                 const struct cuda_plan *plan,
                                 const struct cuda_operands *operands);

/* ---- cuda_cublaslt.c ------------------------------------------------------
 */

/* Whether it was found and works. */
bool cuda_lt_is_there(void);
/* The same for a job that is a product. */
bool lt_plan_make(struct cuda_device *device, const struct cuda_job *job,
                  size_t i, size_t *n, struct cuda_plan *plan);
void lt_plan_free(struct lt_plan *plan); /* accepts NULL */
enum assay_status lt_plan_run(struct cuda_call *call,
                              const struct cuda_job *job,
                              const struct cuda_plan *plan,
                              const struct cuda_operands *operands);

/* ---- cuda_thin.c ----------------------------------------------------------
 */

/* False: the job is another one. */
bool thin_plan_make(const struct cuda_device *device,
                    const struct cuda_job *job, struct cuda_plan *plan);
enum assay_status thin_plan_run(struct cuda_call *call,
                                const struct cuda_job *job,
                                const struct cuda_operands *operands);

/* ---- cuda_depthwise.c -----------------------------------------------------
 */

/* False: the job is another one. */
bool depthwise_plan_make(const struct cuda_device *device,
                         const struct cuda_job *job, bool is_small,
                         struct cuda_plan *plan);
/* Whether the small one is to be preferred where nothing is measured. */
bool depthwise_is_small(const struct cuda_device *device,
                        const struct cuda_job *job);
enum assay_status depthwise_plan_run(struct cuda_call *call,
                                     const struct cuda_job *job, bool is_small,
                                     const struct cuda_operands *operands);

/* ---- cuda_choice.c --------------------------------------------------------
 */

/* What was chosen for a job, in a list of a node. */
struct cuda_chosen {
    struct cuda_job job;
    struct cuda_plan plan;
    struct cuda_chosen *next;
    char others[400]; /* what the others took, for --explain */
};

/* cuda_contest.c: the fastest plan for a job, as long as there is time to
 * measure. Whether it was measured; then `times` has what each candidate
 * took. */
bool cuda_contest(struct cuda_call *call, const struct cuda_job *job,
                  const struct cuda_operands *operands, struct cuda_plan *best,
                  struct str *times);

/* The plan for a job: the one it had before, the one that was remembered, or
 * the fastest of the candidates, while there is time to measure. `operands` are
 * used to measure: what the job makes is overwritten. */
enum assay_status cuda_choose(struct cuda_call *call,
                              const struct cuda_job *job,
                              const struct cuda_operands *operands,
                              const struct cuda_chosen **out);

/* Choices of all processes on this GPU: from the cache, and back to it. */
struct cuda_choices;
enum assay_status cuda_choices_open(struct cuda *cuda, struct error *err);
void cuda_choices_store(struct cuda *cuda);
/* All of this backend, for one that is to choose the same. */
void cuda_choices_text(const struct cuda *cuda, struct sink *sink);
void cuda_choices_close(struct cuda *cuda);

/* ---- cuda_packed.c --------------------------------------------------------
 */

enum packed_kind {
    PACKED_WEIGHT, /* [o,c,kh,kw] as [o,kh,kw,c], scaled */
    PACKED_ROWS,   /* in its order: biases, weights of products */
    PACKED_TURNED  /* [c,o,kh,kw] of transposed convolutions as [kh,kw,o,c] */
};

struct packing {
    enum packed_kind kind;
    enum dtype stored;
    /* With zeros up to so many outputs and channels, of a vector up to so many
     * elements and 1; 0: none are added. Not of turned ones. */
    int64_t rows, columns;
};

static inline struct packing cuda_packing(enum packed_kind kind,
                                          enum dtype stored)
{
    return (struct packing){.kind = kind, .stored = stored};
}

/* A parameter as kernels want it; kept until the parameters change.
 * scale_input: 0, or that of one factor for each output channel. */
enum assay_status cuda_packed(struct cuda_call *call, size_t input,
                              size_t scale_input, struct packing packing,
                              cu_pointer *out);
void cuda_packed_forget(struct cuda *cuda);

#endif
