/* backend/dnnl/int8_internal.h - kernels for integers of 8 bits.
 *
 * Maps of integers lie with their channels last, as all of oneDNN's int8
 * kernels take them. What these ops do to float32 maps in that order is here
 * as well.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_DNNL_INT8_INTERNAL_H
#define BACKEND_DNNL_INT8_INTERNAL_H

#include "backend/dnnl/dnnl_internal.h"
#include "ops/product/quantize.h"

/* Makes all outputs, which have types and shapes. */
typedef enum assay_status int8_forward_op(struct onednn *dn, struct job *job,
                                          const struct tensor *const *inputs,
                                          struct tensor *outputs,
                                          struct error *err);

int8_forward_op int8_conv, int8_matmul, int8_quantize, int8_dequantize,
    int8_dynamic, int8_lookup, int8_binary, int8_concat, int8_split,
    int8_max_pool, int8_resize;

/* Whether the kernel takes such inputs. */
typedef bool int8_takes_op(const struct onednn *dn, const struct node *node,
                           const struct tensor *const *inputs);

int8_takes_op int8_conv_takes, int8_matmul_takes, int8_quantize_takes,
    int8_dequantize_takes, int8_dynamic_takes, int8_lookup_takes,
    int8_binary_takes, int8_concat_takes, int8_split_takes, int8_map_takes,
    int8_resize_takes;

/* The layout of a map with its channels last. */
const struct layout *int8_layout(struct onednn *dn, enum dtype dtype,
                                 const struct shape *shape);
/* Whether a tensor is a map in that layout. */
bool int8_is_last(const struct tensor *tensor);

/* ---- QLinearConv and QLinearMatMul --------------------------------------- */

/* See int8_conv.c. */
enum integer_way { WAY_DEPTHWISE, WAY_PRODUCT, WAY_FUSED, WAY_SUMS, WAY_FLOAT };

/* What a kernel on integers keeps. */
struct integer_numbers {
    enum integer_way way;
    int32_t src_zero;
    int64_t channels; /* of the result */
    bool has_ones;    /* one channel more, of ones */
    bool has_bias;
    float *scales, *bias;        /* WAY_FUSED: as the primitive takes them */
    float *moves;                /* has_ones: times the sum of all inputs */
    struct depthwise *depthwise; /* WAY_DEPTHWISE */
    struct product *product;     /* WAY_PRODUCT */
};

/* One execution. `job` first: prepare() gets it back. */
struct integer_job {
    struct job job;
    const struct tensor *const *inputs;
    struct fitted_window window;
    int64_t groups;
    struct quantized_finish finish;
    struct shape weight; /* [o, c / groups, kh, kw] */
    bool is_matrix;      /* the weight is [c, o] */
    struct integer_numbers *numbers;
};

/* ---- int8_numbers.c: what they read besides the map ---------------------- */

bool integer_is_byte(const struct tensor *tensor);
/* Element i; 0 without a tensor. */
int integer_byte(const struct tensor *tensor, size_t i);
/* One for all, or one per channel. */
int integer_zero(const struct tensor *zeros, int64_t c);
/* Of a channel's sums. In double: products of scales are rounded once, at the
 * end. */
double integer_scale(const struct integer_job *job, int64_t c);
/* NULL: has none. */
const struct tensor *integer_bias(const struct integer_job *job);
/* In the unit of the result before it is rounded to steps. */
double integer_bias_at(const struct integer_job *job, int64_t c);
/* Weight i of the `each` of an output channel, minus its zero. */
int integer_weight(const struct integer_job *job, int64_t o, int64_t i,
                   int64_t each);
int64_t integer_weights_each(const struct integer_job *job);
/* The least and the largest, or 0. */
void integer_weights_range(const struct integer_job *job, int *low, int *high);

/* ---- int8_sums.c: from sums to results ----------------------------------- */

/* So many numbers a thread holds between an activation and their rounding. The
 * channels of a pixel must fit. */
enum { INTEGER_PIECE = 4096 };

/* Sums, their channels last, become y: scaled, with the bias and the
 * activation, rounded where y has a scale. */
void integer_finish(struct integer_job *job, const struct tensor *sums,
                    const struct tensor *y);

/* ---- int8_own.c: what our own kernels have in common ----------------------
 */

/* All weights, minus their zeros, as [output][i]. */
void integer_take_weights(const struct integer_job *job, int16_t *weights);
/* Scales and biases in steps of the result, into job->numbers. */
void integer_take_scales(const struct integer_job *job);
/* Whether all sums in steps of the result are far below 2^31, beyond which they
 * would not become integers. */
bool integer_sums_are_small(const struct integer_job *job);
/* Makes a kernel that is ours and keeps it, with job->numbers. */
enum assay_status integer_own_kernel(struct onednn *dn,
                                     const struct integer_job *job,
                                     enum dtype result, const char *kind,
                                     const char *name, struct kernel **out,
                                     struct error *err);

/* ---- int8_product.c: one group, or matrices -------------------------------
 */

/* Whether it is such a convolution or product, its results are rounded at once,
 * and this processor has a kernel for it; fits_bytes: its weights are within
 * int8. */
bool product_fits(const struct integer_job *job, bool fits_bytes);
/* Makes the kernel and keeps it, with job->numbers once it is ASSAY_OK. */
enum assay_status product_kernel(struct onednn *dn,
                                 const struct integer_job *job,
                                 enum dtype result, struct kernel **out,
                                 struct error *err);
void product_free(struct product *product);
/* From maps with their channels last to such a map. */
enum assay_status product_run(const struct integer_job *job, const uint8_t *x,
                              uint8_t *y, struct error *err);

/* ---- int8_depthwise.c: every channel on its own -------------------------- */

/* Whether it is such a convolution, its results are rounded at once, and this
 * processor has a kernel for it; fits_bytes: its weights are within int8. */
bool depthwise_fits(const struct integer_job *job, bool fits_bytes);
/* Makes the kernel and keeps it, with job->numbers once it is ASSAY_OK. */
enum assay_status depthwise_kernel(struct onednn *dn,
                                   const struct integer_job *job,
                                   enum dtype result, struct kernel **out,
                                   struct error *err);
void depthwise_free(struct depthwise *dw);
/* From maps with their channels last to such a map. */
void depthwise_run(const struct depthwise *dw,
                   const struct fitted_window *window, int64_t n_images,
                   const uint8_t *x, uint8_t *y);

/* ---- int8_add.c ---------------------------------------------------------- */

/* A sum of two rows; false: there is no kernel for it. */
bool int8_add_row(const struct qlinear_row *row);

/* ---- int8_turn.c --------------------------------------------------------- */

/* Turns a map of bytes from one of the two orders into the other; false where
 * the layouts are others. */
bool int8_turn(const struct layout *from, const void *data,
               const struct layout *to, void *out);

#endif
