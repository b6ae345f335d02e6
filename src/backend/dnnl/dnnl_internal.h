/* backend/dnnl/dnnl_internal.h - what the files of the oneDNN backend share.
 *
 * They speak of layouts, operations and kernels as this header does. oneDNN's
 * own C interface, in its versions, is known to the files of native_internal.h
 * only. One thread at a time, as the engine promises.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_DNNL_DNNL_INTERNAL_H
#define BACKEND_DNNL_DNNL_INTERNAL_H

#include "backend/activation.h"
#include "backend/backend.h"
#include "backend/dnnl/race.h"
#include "base/arena.h"
#include "ops/convolution/conv2d.h"
#include "ops/op_lanes.h"
#include "ops/product/dense.h"

struct dnnl_engine;
struct dnnl_primitive;
struct dnnl_stream;

/* Orders of elements that have a name. The channel blocks of a map are: of 1
 * (dense), of 16, 8 or 4, a single one (channels last). */
enum order {
    ORDER_OTHER,
    ORDER_ANY,          /* left to the kernel */
    ORDER_DENSE,        /* last dimension fastest */
    ORDER_BLOCKS_OF_16, /* nChw16c */
    ORDER_BLOCKS_OF_8,
    ORDER_BLOCKS_OF_4,
    ORDER_CHANNELS_LAST, /* nhwc */
    ORDER_WEIGHTS_16X16, /* of [o,c,kh,kw], 16 inputs by 16 outputs */
    ORDER_WINOGRAD_4X3,  /* weights as our own kernels transform them */
    ORDER_WINOGRAD_2X3,
    ORDER_WINOGRAD_2X3_BY_2, /* for a stride of 2 */
    ORDER_WINOGRAD_2X5,
    ORDER_GROUPED,      /* weights for grouped.c */
    ORDER_DIRECT,       /* weights for own_direct.c */
    ORDER_DENSE_PANELS, /* weights for own_dense.c */
    ORDER_DENSE_HALVES  /* the same, for products of halves */
};

/* How the elements of a tensor lie in memory. Interned: equal ones are one
 * pointer, valid as long as the backend. Of float32, save for maps of integers
 * (int8_internal.h), numbers that are stored in bf16 (bf16.c), what a kernel
 * leaves for the backward pass and its scratch memory. */
struct layout {
    enum dtype dtype;
    struct shape shape;
    enum order order;
    size_t bytes;
    int64_t channels; /* with those that fill up the last block */
    int64_t block;    /* elements of the innermost block; 1: there are none */
    bool is_opaque;   /* not even blocks: Winograd's weights */
    bool is_pending;  /* begins a struct pending (channel_affine.h) */
    void *native;     /* the library's own description; NULL: of a scalar, or
                         ours alone */
    struct layout *next;
};

/* A parameter of the model as a kernel wants it, scaled where it is. */
struct packed {
    uint32_t value, scale_value; /* GRAPH_NONE: not scaled */
    const struct layout *layout;
    struct buffer *buffer;
};

/* How much of the output a primitive makes at a time. */
struct part {
    int64_t images, rows;
};

/* What a primitive computes. Backward to the data, what it reads (x, src) is
 * the gradient of the node's output, and what it makes (y, dst) that of its
 * input. Backward to the weights it reads both x and the gradient (dst). */
enum direction {
    DIRECTION_FORWARD,
    DIRECTION_DATA,
    DIRECTION_WEIGHTS,
    N_DIRECTIONS
};

struct direct;
struct grouped;
struct own_winograd;

/* What runs a node, good for one shape and layout of its input. */
struct kernel {
    struct kernel *next; /* less recently used */
    struct shape x, y;
    const struct layout *x_layout;
    /* One of these; none for own_dense.c and int8_own.c. */
    struct dnnl_primitive *primitive;
    struct own_winograd *winograd;
    struct grouped *grouped;
    struct direct *direct;
    const struct layout *weights, *scratch, *workspace; /* NULL: has none */
    const struct layout *src, *dst;           /* of the whole tensors */
    const struct layout *part_src, *part_dst; /* as the primitive sees them */
    struct part part;                         /* 0 images: all at once */
    struct candidates candidates;
    const char *how; /* "measured", "remembered", ...; NULL: no choice */
    bool reorders_x, reorders_residual;
    bool makes_bias;        /* backward to the weights: to the bias, too */
    bool leaves_activation; /* which is applied to its output */
    struct integer_numbers *integers; /* of int8_conv.c; NULL: has none */
};

struct choices;
struct integer_numbers;
struct pending;
struct places;

/* A reorder that is used again. */
struct made_reorder {
    struct made_reorder *next;
    const struct layout *from, *to, *scratch; /* scratch NULL: needs none */
    struct dnnl_primitive *primitive;
};

enum { N_LAYOUT_LISTS = 256, N_REORDER_LISTS = 64, MAX_REORDERS = 512 };

struct onednn {
    struct backend base; /* first: the engine sees this */
    const struct graph *graph;
    struct backend_options options;
    struct dnnl_engine *engine;
    struct dnnl_stream *stream;
    struct arena memory;
    struct layout *layouts[N_LAYOUT_LISTS];         /* by their shape */
    struct made_reorder *reorders[N_REORDER_LISTS]; /* of maps */
    size_t n_reorders;
    struct made_memory *memories; /* of library.c */
    uint64_t n_runs;              /* of primitives */
    struct kernel **kernels;      /* a list for each direction and node */
    /* In training: of the first input of each node when it ran last. */
    const struct layout **x_layouts;
    struct packed *packed;
    size_t n_packed, packed_capacity;
    size_t scratch_bytes; /* what the greediest kernel asked for */
    struct choices *choices;
    struct places *places;    /* NULL: nothing is concatenated yet */
    struct pending **pending; /* of each node; NULL: there was none yet */
    int64_t tuning_left_ns;
    unsigned float_settings; /* of the caller, while denormals are flushed */
    bool flushes;
    bool may_unload; /* weights are as they were loaded: see tensor_unload() */
    /* For each value whether the kernel that makes it stores it in bf16; NULL:
     * everything is float32. */
    bool *narrow;
};

/* ---- dnnl_backend.c ------------------------------------------------------ */

/* Whether there is a kernel for the node, in float32. */
bool onednn_has_kernel(const struct onednn *dn, const struct node *node);
/* Whatever runs kernels begins with this: how many threads there are and how
 * they take numbers next to 0 belongs to the calling thread. */
void onednn_enter(struct onednn *dn);

/* ---- cpu_limit.c: how wide oneDNN may compute --------------------------- */

/* Passes ASSAY_CPU on; before anything else is asked of oneDNN. */
enum assay_status onednn_limit(struct error *err);
/* What ONEDNN_MAX_CPU_ISA limits it to; NULL where something else does. */
const char *onednn_limit_word(void);
/* Whether it has instructions for bf16. */
bool onednn_has_bf16(void);

/* ---- denormals.c --------------------------------------------------------- */

/* In training, from the first kernel of a pass to its end. */
void denormals_flush(struct onednn *dn);
void denormals_restore(struct onednn *dn);

/* ---- start_threads.c ----------------------------------------------------- */

/* ASSAY_NOMEM where there is no room for so many threads; below 1 is 1. */
enum assay_status onednn_start_threads(int n_threads, struct error *err);

/* ---- library.c: what is asked of oneDNN ---------------------------------- */

/* "oneDNN 2.6.3", and what limits it. */
void onednn_version(char *text, size_t size);

enum assay_status onednn_open(struct onednn *dn, struct error *err);
void onednn_close(struct onednn *dn); /* accepts one that is not open */

enum operation_kind {
    OPERATION_CONVOLUTION,
    OPERATION_DECONVOLUTION,
    OPERATION_INNER_PRODUCT,
    OPERATION_POOLING
};

enum algorithm {
    ALGORITHM_DIRECT, /* of convolutions */
    ALGORITHM_WINOGRAD,
    ALGORITHM_MAX, /* of poolings */
    ALGORITHM_MEAN,
    ALGORITHM_MEAN_WITH_PADDING
};

/* How the sums of an operation on integers become its results. */
struct quantisation {
    const float *scales; /* of the sums, one per channel; NULL: none */
    int64_t n_scales;
    bool has_groups; /* the weights' first dimension is of groups */
    bool has_zero;   /* of src, given when it runs */
    /* Results, after the activation, are multiplied by unit, rounded and moved
     * by shift. */
    float unit, shift;
};

/* What a primitive is to compute. Layouts are ORDER_ANY where the kernel may
 * choose; src and dst are what a job's x and y are (see enum direction). */
struct operation {
    enum operation_kind kind;
    enum direction direction;
    bool is_training; /* forward: leaves what the backward pass needs */
    enum algorithm algorithm;
    const struct layout *src, *dst;
    const struct layout *weights, *bias; /* NULL: has none */
    int64_t window[2];                   /* of a pooling */
    int64_t stride[2], before[2], after[2];
    int64_t gaps[2]; /* between the places of a kernel; 0: none */
    /* Then, in this order: */
    bool adds; /* what dst held */
    bool has_relu;
    float relu_limit;                     /* 0: none */
    enum conv2d_activation activation;    /* instead of a ReLU */
    float slope;                          /* of a LeakyReLU */
    const struct quantisation *quantised; /* NULL: of float32 */
};

/* Winograd's kernels have no activation but a ReLU; what is left is up to the
 * caller. */
bool operation_leaves_activation(const struct operation *operation);

/* Called for each implementation of an operation, the library's favourite
 * first, with the layout of the node's output, or of the gradient of that.
 * False ends it. The name is good for the call. */
typedef bool visit_implementation(const char *name, const struct layout *y,
                                  void *context);

/* One that has no implementation, as Winograd's in version 3, visits none. */
enum assay_status onednn_list(struct onednn *dn,
                              const struct operation *operation,
                              visit_implementation *visit, void *context,
                              struct error *err);

/* Makes the primitive and puts it into the kernel with its layouts.
 * implementation NULL: the library's first; otherwise the one of that name. If
 * it cannot be made, the next that can.
 * ASSAY_NOMEM where there is too little memory to try: the library's generator
 * of code does not survive that. */
enum assay_status onednn_make(struct onednn *dn,
                              const struct operation *operation,
                              const char *implementation, struct kernel *kernel,
                              struct error *err);
void onednn_destroy(struct dnnl_primitive *primitive); /* accepts NULL */

/* What a primitive reads and writes. */
enum role {
    ROLE_SRC,
    ROLE_WEIGHTS,
    ROLE_BIAS,
    ROLE_DST,
    ROLE_WORKSPACE,
    ROLE_SCRATCH,
    ROLE_SCALES,
    ROLE_SRC_ZERO,
    N_ROLES
};

struct argument {
    enum role role;
    const struct layout *layout;
    void *data;
};

enum assay_status onednn_execute(struct onednn *dn,
                                 struct dnnl_primitive *primitive,
                                 enum direction direction,
                                 const struct argument *arguments, size_t n,
                                 struct error *err);
/* See backend.h; one step of each matrix must be 1. */
bool onednn_multiply(const struct op_context *context,
                     const struct float_product *product);

/* ---- reorders.c ---------------------------------------------------------- */

enum assay_status onednn_reorder(struct onednn *dn, struct pool *pool,
                                 const struct layout *from, const void *data,
                                 const struct layout *to, void *out,
                                 struct error *err);
/* Reorders all of `from` to the rows from `first` on of `to`. */
enum assay_status onednn_reorder_rows(struct onednn *dn, struct pool *pool,
                                      const struct layout *from,
                                      const void *data, const struct layout *to,
                                      int64_t first, void *out,
                                      struct error *err);

/* ---- layout.c ------------------------------------------------------------ */

/* These always answer. Where there is no memory for a new layout, it is one
 * that is equal to no other, and whatever is to be made from it fails with
 * ASSAY_NOMEM: see layout_check(). */
const struct layout *layout_dense(struct onednn *dn, const struct shape *shape);
const struct layout *layout_any(struct onednn *dn, const struct shape *shape);
const struct layout *
layout_ordered(struct onednn *dn, const struct shape *shape, enum order order);
const struct layout *layout_typed(struct onednn *dn, enum dtype dtype,
                                  const struct shape *shape, enum order order);
const struct layout *layout_strided(struct onednn *dn,
                                    const struct shape *shape,
                                    const int64_t *strides);
const struct layout *layout_of(struct onednn *dn, const struct tensor *tensor);
/* The order and type of another, for this shape; NULL where it has no name or
 * is none of maps. */
const struct layout *layout_like(struct onednn *dn, const struct layout *layout,
                                 const struct shape *shape);
/* Of weights that lie as none of the library's do. The shape has the groups
 * first where there are several: nodes may share weights, but in other groups
 * they lie otherwise. */
const struct layout *layout_transformed(struct onednn *dn,
                                        const struct shape *shape,
                                        enum order order, size_t bytes);
/* Of what the library describes; *out is NULL where that is nothing. */
enum assay_status layout_intern(struct onednn *dn, const void *native,
                                const struct layout **out, struct error *err);
void layout_forget_all(struct onednn *dn);

enum assay_status layout_check(const struct layout *layout, struct error *err);
size_t layout_bytes(const struct layout *layout); /* of NULL: 0 */
/* "nchw", "nhwc" or "nChw16c"; "dense" if it is not a map, "other" if there is
 * no common name for it. */
const char *layout_text(const struct layout *layout);

/* A tensor of a layout, its padding not yet zeroed. One that is stored in bf16
 * is of float32 to whoever does not ask for its layout. */
enum assay_status layout_tensor(struct pool *pool, const struct layout *layout,
                                const struct shape *shape, struct tensor *out,
                                struct error *err);
/* A copy, or where nothing has to be done a share, in that layout. */
enum assay_status layout_convert(struct onednn *dn, struct pool *pool,
                                 const struct tensor *tensor,
                                 const struct layout *layout,
                                 struct tensor *out, struct error *err);

/* Elements with those that fill up the last block. */
size_t layout_elements(const struct tensor *tensor);

/* Maps whose channels lie in blocks: element (n, c, p) of n images, c channels
 * and p pixels is at ((n * n_blocks + c / block) * plane + p) * block +
 * c % block. Dense maps have blocks of 1, channels-last ones a single block. */
struct channel_blocks {
    enum order order;
    int64_t images, n_blocks, plane, block;
};

bool layout_blocks(const struct tensor *tensor, struct channel_blocks *blocks);

/* Blocks as wide as this processor's vectors, which its kernels read and
 * leave. */
enum order layout_own_blocks(void);

/* Elements below which a second thread costs more than it saves. */
enum { parallel_elements = 1 << 15 };

/* ---- channel_moves.c ----------------------------------------------------- */

/* Copies n channels of blocked maps that differ in their channels alone, from
 * the channel `first` of one to the channel `at` of the other. */
void move_channels(const struct tensor *from, int64_t first,
                   const struct tensor *to, int64_t at, int64_t n);
/* What comes after the last channel of a blocked map is zero, or else kernels
 * would add it in. */
void clear_last_lanes(const struct tensor *map);

/* ---- kernel.c: primitives and how they are run -------------------------- */

/* One execution, whatever it computes. */
struct job {
    const struct node *node;
    size_t at; /* the node's index */
    enum direction direction;
    bool is_training; /* forward */
    const struct op_context *context;
    /* NULL: has none */
    const struct tensor *x, *weight, *scale, *bias, *residual;
    const struct tensor *dy; /* backward to the weights */
    struct tensor *bias_gradient;
    uint32_t weight_value, scale_value;
    const struct layout *weight_layout; /* of the data as the graph holds it */
    /* Makes the weights of weight_layout; NULL: they are there. */
    enum assay_status (*prepare)(const struct job *job, struct tensor *out,
                                 struct error *err);
    struct shape y;
    bool has_relu;
    float relu_limit;                  /* 0: none */
    enum conv2d_activation activation; /* instead of a ReLU */
    float slope;
    bool may_take_residual; /* its memory may become the output's */
    bool is_band;           /* x holds the rows around it: none are added */
    /* What the forward pass leaves for the backward one; NULL: nothing. */
    struct tensor *workspace;
    /* Where x is channels of several maps: the PickChannels and its inputs. */
    const struct node *pick;
    const struct tensor *const *maps;
};

/* The kernel of the node for the job's input, or NULL. */
struct kernel *kernel_find(struct onednn *dn, const struct job *job);

/* What the job computes besides: direction, residual, ReLU. */
void job_complete(const struct job *job, struct operation *operation);
struct activation job_activation(const struct job *job);

/* For the job's shapes, without anything that runs. NULL: out of memory. */
struct kernel *kernel_new(const struct job *job);
/* Maps in blocks as wide as vectors, as our own kernels read and leave them. */
void kernel_set_blocks(struct onednn *dn, const struct job *job,
                       struct kernel *kernel);
/* Whether the layouts of the maps and the weights could be made. */
enum assay_status kernel_check_layouts(const struct kernel *kernel,
                                       struct error *err);
/* The only candidate, not measured, for the caller to name. */
struct candidate *kernel_sole_candidate(struct kernel *kernel, const char *how);
/* Completes the operation. implementation NULL: the library's first; otherwise
 * the one of that name. */
enum assay_status kernel_make(struct onednn *dn, const struct job *job,
                              const struct operation *operation,
                              const char *implementation, struct kernel **out,
                              struct error *err);
void kernel_free(struct kernel *kernel); /* accepts NULL */
/* The library's first, handed to the node. */
enum assay_status kernel_make_kept(struct onednn *dn, const struct job *job,
                                   const struct operation *operation,
                                   struct kernel **out, struct error *err);
/* Hands it to the node; the one that waited longest goes where there are too
 * many. */
void kernel_keep(struct onednn *dn, const struct job *job,
                 struct kernel *kernel);

/* Data as the primitive sees it. */
struct operands {
    void *src, *weights, *dst;
};

enum assay_status kernel_execute(struct onednn *dn, const struct job *job,
                                 const struct kernel *kernel,
                                 const struct operands *operands,
                                 struct error *err);
enum assay_status kernel_run(struct onednn *dn, const struct job *job,
                             struct kernel *kernel, struct tensor *y,
                             struct error *err);

/* The kernels of a node in one direction, the one that ran last first. */
struct kernel **kernel_list(const struct onednn *dn, enum direction direction,
                            size_t at);

/* ---- parts.c: large maps, a part after the other ------------------------- */

/* Fills in the operation, its algorithm aside; false where it cannot. */
typedef bool describe_convolution(struct onednn *dn, const struct job *job,
                                  struct operation *out);

/* One of the ways to compute a convolution. */
struct variant {
    describe_convolution *describe;
    enum algorithm algorithm;
    const char *implementation; /* the library's name of it */
};

/* The scratch memory that kernels should do with. */
size_t parts_limit(const struct onednn *dn);

/* The kernel of a variant, or one that works in parts where the whole would
 * need more scratch memory than is given to it. */
enum assay_status parts_make(struct onednn *dn, const struct job *job,
                             const struct variant *variant, struct kernel **out,
                             struct error *err);
enum assay_status parts_run(struct onednn *dn, const struct job *job,
                            const struct kernel *kernel, void *weights,
                            const struct tensor *x, const struct tensor *y,
                            struct error *err);
/* The sum of what the parts add to the gradient of the weights, and of the bias
 * where one is wanted. */
enum assay_status parts_run_to_weights(struct onednn *dn, const struct job *job,
                                       const struct kernel *kernel,
                                       const struct operands *whole,
                                       struct error *err);

/* ---- packed.c: weights as kernels want them ------------------------------ */

/* The job's weights in the kernel's layout. *held is to be released after
 * use; NULL where they are the graph's own. */
enum assay_status packed_get(struct onednn *dn, const struct job *job,
                             const struct kernel *kernel, struct buffer **held,
                             void **data, struct error *err);
/* Takes what the job's kernel reads of them out of the processor's caches. */
void packed_evict(struct onednn *dn, const struct job *job,
                  const struct kernel *kernel);
/* Drops what was packed from the index on, for other kernels than this. */
void packed_drop(struct onednn *dn, size_t from, const struct kernel *winner);
/* Drops all. */
void packed_forget(struct onednn *dn);

/* Memory that stays. It is taken in the first pass over new shapes only, so
 * what waits in the pool goes before a large piece comes: a run of one image
 * does not ask for it again, and the warm-up of a longer one does. */
enum assay_status take_lasting(struct pool *pool, uint32_t owner, size_t bytes,
                               const char *what, struct buffer **out,
                               struct error *err);
/* ---- unblock.c ----------------------------------------------------------- */

/* The weights' gradient as the graph holds it; false where the layouts are
 * others than it knows. */
bool unblock_weights(const struct layout *from, const float *data,
                     const struct layout *to, float *out);

/* ---- bf16.c: products of bf16 -------------------------------------------- */

/* Marks the values to store in bf16, if bf16 was asked for. ASSAY_UNSUPPORTED
 * if the processor has no instructions for it. */
enum assay_status bf16_start(struct onednn *dn, struct error *err);
/* What products are computed in: DTYPE_BF16 or DTYPE_F32. */
enum dtype bf16_factors(const struct onednn *dn);
/* What a convolution's result is stored in. */
enum dtype bf16_result(const struct onednn *dn, const struct job *job);
/* Whether the node's kernel takes what is stored in bf16. */
bool bf16_takes(const struct node *node);
/* For another: the inputs in float32, in the same order of elements. To be
 * released with passing_release(), also after a failure. */
enum assay_status bf16_widen(struct onednn *dn, const struct job *job,
                             const struct tensor *const *inputs,
                             struct tensor *own, const struct tensor **list,
                             struct error *err);
void bf16_add(const uint16_t *a, const uint16_t *b, uint16_t *to, size_t n);

/* ---- convolution.c ------------------------------------------------------- */

/* What a job of a Conv2d says about its weights. */
void conv2d_set_weight(struct onednn *dn, struct job *job,
                       const struct tensor *const *inputs);
/* That, and all else that it says of a forward pass. */
void conv2d_set_job(struct onednn *dn, struct job *job,
                    const struct tensor *const *inputs);
/* The node's kernel for the job, chosen where there is none yet. */
enum assay_status conv2d_kernel(struct onednn *dn, const struct job *job,
                                struct kernel **out, struct error *err);

/* ---- int8_ops.c, int8_conv.c: integers ----------------------------------- */

/* Whether a kernel of int8_internal.h takes the node. */
bool onednn_takes_int8(const struct onednn *dn, const struct node *node,
                       const struct tensor *const *inputs);
/* Makes all outputs; they have their types and shapes. */
enum assay_status onednn_run_int8(struct onednn *dn, struct job *job,
                                  const struct tensor *const *inputs,
                                  struct tensor *outputs, struct error *err);
/* What a kernel on integers takes besides. */
size_t integer_arguments(struct onednn *dn, const struct kernel *kernel,
                         struct argument *arguments);
void integer_numbers_free(struct integer_numbers *numbers); /* accepts NULL */

/* Whether the library multiplies a bias by the scales, as it does the sums. */
bool onednn_scales_bias(void);
/* Whether products of 8 bits are summed without an intermediate sum that is
 * too narrow for them. */
bool onednn_sums_exactly(void);

/* ---- inner_product.c ----------------------------------------------------- */

/* How kernels get the weights of a Linear. */
const struct layout *linear_weight(struct onednn *dn,
                                   const struct shape *shape);

/* ---- own_dense.c: matrices by constant weights --------------------------- */

/* Whether it takes the job, whose weights are set. */
bool dense_takes(const struct onednn *dn, const struct job *job);
/* Of a job with weights and bias; plus NULL: nothing is added. */
enum assay_status dense_run(struct onednn *dn, const struct job *job,
                            const struct tensor *plus,
                            enum dense_activation activation, struct tensor *y,
                            struct error *err);
bool dense_has(const struct kernel *kernel);
void dense_pack(const struct job *job, const struct kernel *kernel,
                const float *weights, float *packed);
uint64_t dense_flops(const struct kernel *kernel); /* 0: not in halves */

/* ---- transposed.c -------------------------------------------------------- */

/* The graph holds weights as [c,o,kh,kw], oneDNN counts [o,c,kh,kw]. */
const struct layout *transposed_weight(struct onednn *dn,
                                       const struct shape *w);
/* The node's kernel for the job, made where there is none yet. bias: what it
 * adds or, backward to the weights, makes; NULL: none. */
enum assay_status transposed_kernel(struct onednn *dn, const struct job *job,
                                    const struct tensor *bias,
                                    struct kernel **out, struct error *err);

/* ---- one function per op ------------------------------------------------- */

typedef enum assay_status onednn_forward(struct onednn *dn, struct job *job,
                                         const struct tensor *const *inputs,
                                         struct tensor *y, struct error *err);

onednn_forward forward_conv2d, forward_conv_transpose2d, forward_linear,
    forward_dense, forward_matmul, forward_max_pool2d, forward_avg_pool2d,
    forward_adaptive_avg_pool2d, forward_reduce_mean, forward_relu,
    forward_activation, forward_clip, forward_sigmoid, forward_add, forward_sum,
    forward_mul, forward_batch_norm, forward_batch_norm_training,
    forward_local_response_norm, forward_resize_nearest, forward_resize,
    forward_roi_align, forward_anchor_grid, forward_concat,
    forward_pick_channels, forward_pick_conv2d, forward_dropout,
    forward_transpose, forward_gather, forward_softmax, forward_layer_norm,
    forward_attention;

/* lines.c: not the means and deviations that a LayerNorm may make too. */
bool lines_make_all(const struct node *node);

typedef enum assay_status onednn_backward(struct onednn *dn, struct job *job,
                                          const struct op_backward *pass,
                                          struct error *err);

onednn_backward backward_conv2d, backward_conv_transpose2d, backward_linear,
    backward_max_pool2d, backward_avg_pool2d, backward_adaptive_avg_pool2d,
    backward_relu, backward_clip, backward_add, backward_mul, backward_concat,
    backward_resize_nearest, backward_dropout, backward_batch_norm,
    backward_batch_norm_training, backward_activation, backward_roi_align;

struct op_reads reads_conv2d(const struct node *node, uint64_t wanted);
struct op_reads reads_conv_transpose2d(const struct node *node,
                                       uint64_t wanted);
struct op_reads reads_linear(const struct node *node, uint64_t wanted);
struct op_reads reads_mul(const struct node *node, uint64_t wanted);
struct op_reads reads_batch_norm(const struct node *node, uint64_t wanted);
struct op_reads reads_batch_norm_training(const struct node *node,
                                          uint64_t wanted);

/* ---- backward_ops.c: the backward pass behind the interface -------------- */

bool onednn_can_backward(const struct backend *backend,
                         const struct node *node);
struct op_reads onednn_backward_reads(const struct backend *backend,
                                      const struct node *node, uint64_t wanted);
enum assay_status onednn_run_backward(struct backend *backend,
                                      const struct op_context *context,
                                      const struct node *node, size_t at,
                                      const struct op_backward *pass,
                                      struct error *err);

/* ---- elementwise.c ------------------------------------------------------- */

/* The memory of x, where it is an input that dies here, or new memory of its
 * layout. */
enum assay_status reuse_or_make(struct onednn *dn, const struct job *job,
                                const struct tensor *x, size_t input,
                                struct tensor *y, struct error *err);
/* The job's x where its layout has channel blocks; otherwise a dense copy, put
 * into *own. */
enum assay_status get_blocked(struct onednn *dn, const struct job *job,
                              struct tensor *own, const struct tensor **x,
                              struct channel_blocks *blocks, struct error *err);

/* ---- elementwise_backward.c ---------------------------------------------- */

enum assay_status onednn_accumulate(struct backend *backend,
                                    const struct op_context *context,
                                    struct tensor *sum, const struct tensor *dx,
                                    struct error *err);

/* A gradient in that layout to read, and memory for what is made of it: its
 * own, where nobody else has it. */
enum assay_status gradient_like(struct onednn *dn, const struct job *job,
                                const struct tensor *given,
                                const struct layout *layout, struct tensor *dy,
                                struct tensor *dx, struct error *err);

/* dx = dy where low < y < high, else 0. dx may be dy. */
void pass_between(const float *dy, const float *y, float low, float high,
                  float *dx, size_t n);

/* The gradient of what a fused ReLU was applied to; without one, a share of
 * the gradient of the output. limit 0: none. */
enum assay_status gradient_before_relu(struct onednn *dn, const struct job *job,
                                       const struct op_backward *pass,
                                       bool has_relu, float limit,
                                       struct tensor *dy, struct error *err);

/* ---- passing.c: the op's own kernel -------------------------------------- */

/* On dense copies of the inputs; y has its type already. */
onednn_forward own_kernel;
/* Copies, or shares, of the first n inputs in that order of elements. The
 * caller releases them with passing_release(), also after a failure. */
enum assay_status passing_convert(struct onednn *dn, const struct job *job,
                                  const struct tensor *const *inputs, size_t n,
                                  enum order order, struct tensor *own,
                                  const struct tensor **list,
                                  struct error *err);
void passing_release(struct tensor *own, size_t n);
/* The layout of the first blocked one among n maps; false where none is, or
 * its channels are last. */
bool passing_find_blocks(const struct tensor *const *inputs, size_t n,
                         struct channel_blocks *blocks);
/* Of an op with one output. */
onednn_backward own_backward;

/* ---- executed.c: what a kernel computes and moves ------------------------ */

/* Correct done_flops and done_bytes of the direct algorithm on dense tensors,
 * for a node that just ran: the kernel that ran last is the first of its
 * node's. */
void executed_forward(const struct onednn *dn, const struct node *node,
                      size_t at, const struct tensor *const *inputs,
                      const struct tensor *outputs, struct cost *cost);
void executed_backward(const struct onednn *dn, const struct node *node,
                       size_t at, const struct op_backward *pass,
                       struct cost *cost);

/* ---- pool_blocks.c ------------------------------------------------------- */

/* Windows as oneDNN describes them: `after` is what has to follow the input so
 * that the last one fits. */
struct windows {
    enum algorithm algorithm;
    int64_t kernel[2], stride[2], before[2], after[2];
};

/* Whether pool_blocks() can do the job: means, for inference, of a map that is
 * dense or in blocks as wide as the processor's vectors. */
bool pool_takes(const struct job *job, const struct windows *windows);
enum assay_status pool_blocks(struct onednn *dn, const struct job *job,
                              const struct windows *windows, struct tensor *y,
                              struct error *err);

/* ---- own_direct.c: convolutions of 1x1, or of each channel --------------- */

/* Whether it takes the job without a contest. */
bool own_direct_takes(const struct onednn *dn, const struct job *job);
/* Adds the one that can do the job, if it has to win it. */
void own_direct_list(const struct onednn *dn, const struct job *job,
                     struct candidates *list);
/* Whether a candidate is one of ours. */
bool own_direct_has(const char *name);
enum assay_status own_direct_make(struct onednn *dn, const struct job *job,
                                  struct kernel **out, struct error *err);
/* Pairs of channels that are multiplied at each place. */
uint64_t own_direct_pairs(const struct kernel *kernel);
void own_direct_pack(const struct kernel *kernel, const float *weights,
                     float *packed);
void own_direct_run(const struct job *job, const struct kernel *kernel,
                    const struct operands *operands, void *scratch);
/* Whether the kernel does what is pending of the job's x. */
bool own_direct_completes(const struct job *job, const struct kernel *kernel);

/* ---- tuning.c: which kernel for a convolution ---------------------------- */

enum assay_status tuning_choose(struct onednn *dn, const struct job *job,
                                describe_convolution *describe,
                                struct kernel **out, struct error *err);

/* ---- contest.c: kernels that run against each other ---------------------- */

/* Runs the kernels of the candidates in turns, notes their times and moves the
 * winner to the front of both lists. *is_complete: all were measured, and were
 * not disturbed; the times are forgotten otherwise, and the first one stays. */
enum assay_status contest_run(struct onednn *dn, const struct job *job,
                              struct candidates *list, struct kernel **kernels,
                              bool *is_complete, struct error *err);

/* ---- choices.c: what was measured, remembered in a text file ------------- */

/* Reads the file where there is a good one, then the text; both may be NULL. */
enum assay_status choices_open(const char *path, const char *text,
                               int n_threads, struct choices **out,
                               struct error *err);
/* Writes the file where something is new. */
void choices_save(struct choices *choices);
/* Saves, then frees. Accepts NULL. */
void choices_close(struct choices *choices);
/* All, also those that were not measured. */
void choices_write(const struct choices *choices, struct sink *sink);
bool choices_find(const struct choices *choices, const char *shape,
                  struct candidates *out);
/* The first candidate is the choice; its time is negative where it was made
 * without measuring: the file gets those that were. */
enum assay_status choices_put(struct choices *choices, const char *shape,
                              const struct candidates *candidates,
                              struct error *err);

#endif
