/* backend/dnnl/dnnl_internal.h - what the files of the oneDNN backend share.
 *
 * oneDNN 2's C interface is known in this folder only. One thread at a time,
 * as the engine promises.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_DNNL_DNNL_INTERNAL_H
#define BACKEND_DNNL_DNNL_INTERNAL_H

#include "backend/backend.h"
#include "base/arena.h"
#include "ops/op_lanes.h"

#include <dnnl.h>

/* A description of oneDNN's, interned: equal ones are one pointer. */
struct layout {
    dnnl_memory_desc_t desc;
    struct layout *next;
};

/* A parameter of the model as a kernel wants it, scaled where it is. */
struct packed {
    uint32_t value, scale_value; /* GRAPH_NONE: not scaled */
    const struct layout *layout;
    struct buffer *buffer;
};

/* One candidate for a convolution: "winograd jit_wino_4x3:avx512_core". */
enum { CANDIDATE_NAME = 64, MAX_CANDIDATES = 4 };

struct candidate {
    char name[CANDIDATE_NAME];
    double ms; /* negative: was not measured */
};

/* Those that were compared, the chosen one first. */
struct candidates {
    struct candidate items[MAX_CANDIDATES];
    size_t n;
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

/* A primitive of a node, good for one shape and layout of its input. */
struct kernel {
    struct kernel *next; /* less recently used */
    struct shape x, y;
    const struct layout *x_layout;
    dnnl_primitive_t primitive;
    dnnl_memory_desc_t weights, scratch, workspace;
    dnnl_memory_desc_t src, dst;           /* of the whole tensors */
    dnnl_memory_desc_t part_src, part_dst; /* as the primitive sees them */
    struct part part;                      /* 0 images: all at once */
    struct candidates candidates;
    const char *how; /* "measured", "remembered", ...; NULL: no choice */
    bool reorders_x, reorders_residual;
    bool makes_bias; /* backward to the weights: to the bias, too */
};

struct choices;

struct onednn {
    struct backend base; /* first: the engine sees this */
    const struct graph *graph;
    struct backend_options options;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    struct arena memory;
    struct layout *layouts;
    struct kernel **kernels; /* a list for each direction and node */
    /* In training: of the first input of each node when it ran last. */
    const struct layout **x_layouts;
    struct packed *packed;
    size_t n_packed, packed_capacity;
    size_t scratch_bytes; /* what the greediest kernel asked for */
    struct choices *choices;
    int64_t tuning_left_ns;
    unsigned float_settings; /* of the caller, while denormals are flushed */
    bool flushes;
    bool may_unload; /* weights are as they were loaded: see tensor_unload() */
};

/* ---- dnnl_backend.c ------------------------------------------------------ */

/* Whatever runs kernels begins with this: how many threads there are and how
 * they take numbers next to 0 belongs to the calling thread. */
void onednn_enter(struct onednn *dn);

/* ---- cpu_limit.c: how wide oneDNN may compute --------------------------- */

/* Passes ASSAY_CPU on; before anything else is asked of oneDNN. */
enum assay_status onednn_limit(struct error *err);
/* What ONEDNN_MAX_CPU_ISA limits it to; NULL where something else does. */
const char *onednn_limit_word(void);

/* ---- denormals.c --------------------------------------------------------- */

/* In training, from the first kernel of a pass to its end. */
void denormals_flush(struct onednn *dn);
void denormals_restore(struct onednn *dn);

/* ---- library.c: oneDNN's failures, layouts, reorders -------------------- */

/* ASSAY_NOMEM where there is no room for so many threads; below 1 is 1. */
enum assay_status onednn_start_threads(int n_threads, struct error *err);

/* Makes a kernel's code; ASSAY_NOMEM where there is too little memory to try:
 * the library's generator does not survive that. */
enum assay_status onednn_make(dnnl_primitive_t *primitive,
                              const_dnnl_primitive_desc_t description,
                              const char *what, struct error *err);

/* "oneDNN could not WHAT (unimplemented)"; ASSAY_OK where it could. */
enum assay_status onednn_status(dnnl_status_t status, const char *what,
                                struct error *err);

struct argument {
    int id; /* DNNL_ARG_... */
    const dnnl_memory_desc_t *desc;
    void *data;
};

enum { MAX_ARGUMENTS = 8 };

enum assay_status onednn_execute(struct onednn *dn, dnnl_primitive_t primitive,
                                 const struct argument *arguments, size_t n,
                                 struct error *err);
enum assay_status onednn_reorder(struct onednn *dn, struct pool *pool,
                                 const dnnl_memory_desc_t *from,
                                 const void *data, const dnnl_memory_desc_t *to,
                                 void *out, struct error *err);

/* Arrays of oneDNN's length: dims_of(attrs->stride, 2).of */
struct dims {
    dnnl_dims_t of;
};
struct dims dims_of(const int64_t *values, int n);

/* Of float32, last dimension fastest. */
dnnl_memory_desc_t desc_dense(const struct shape *shape);
/* Left to the kernel. */
dnnl_memory_desc_t desc_any(const struct shape *shape);
dnnl_memory_desc_t desc_of(const struct tensor *tensor);
/* The layout of one by its name, for another shape; false where it has none. */
bool desc_like(const dnnl_memory_desc_t *desc, const struct shape *shape,
               dnnl_memory_desc_t *out);
/* "nchw", "nhwc", "nChw16c"; "other" for what has no common name. */
const char *desc_text(const dnnl_memory_desc_t *desc);

enum assay_status layout_intern(struct onednn *dn,
                                const dnnl_memory_desc_t *desc,
                                const struct layout **out, struct error *err);

/* A tensor of a description, its padding not yet zeroed. */
enum assay_status layout_tensor(struct onednn *dn, struct pool *pool,
                                const dnnl_memory_desc_t *desc,
                                const struct shape *shape, struct tensor *out,
                                struct error *err);
/* A copy, or where nothing has to be done a share, in that description. */
enum assay_status layout_convert(struct onednn *dn, struct pool *pool,
                                 const struct tensor *tensor,
                                 const dnnl_memory_desc_t *desc,
                                 struct tensor *out, struct error *err);

/* Elements with those that fill up the last block. */
size_t layout_elements(const struct tensor *tensor);

/* Maps whose channels lie in blocks: element (n, c, p) of n images, c channels
 * and p pixels is at ((n * n_blocks + c / block) * plane + p) * block +
 * c % block. Dense maps have blocks of 1, channels-last ones a single block. */
struct channel_blocks {
    dnnl_format_tag_t tag;
    int64_t images, n_blocks, plane, block;
};

bool layout_blocks(const struct tensor *tensor, struct channel_blocks *blocks);

/* Elements below which a second thread costs more than it saves. */
enum { parallel_elements = 1 << 15 };

/* ---- channel_moves.c ----------------------------------------------------- */

/* Copies n channels of blocked maps that differ in their channels alone, from
 * the channel `first` of one to the channel `at` of the other. */
void move_channels(const struct tensor *from, int64_t first,
                   const struct tensor *to, int64_t at, int64_t n);
/* What lies behind the last channel of a blocked map is zero, or else kernels
 * would add it in. */
void clear_last_lanes(const struct tensor *map);

/* ---- kernel.c: primitives and how they are run -------------------------- */

/* One execution, whatever it computes. */
struct job {
    const struct node *node;
    size_t at; /* the node's index */
    enum direction direction;
    dnnl_prop_kind_t kind; /* forward: of inference, or of training */
    const struct op_context *context;
    /* NULL: has none */
    const struct tensor *x, *weight, *scale, *bias, *residual;
    const struct tensor *dy; /* backward to the weights */
    struct tensor *bias_gradient;
    uint32_t weight_value, scale_value;
    dnnl_memory_desc_t weight_desc; /* of the data as the graph holds it */
    /* Makes the weights that weight_desc describes; NULL: they are there. */
    enum assay_status (*prepare)(const struct job *job, struct tensor *out,
                                 struct error *err);
    struct shape y;
    bool has_relu;
    float relu_limit;       /* 0: none */
    bool may_take_residual; /* its memory may become the output's */
    bool is_band;           /* x holds the rows around it: none are added */
    /* What the forward pass leaves for the backward one; NULL: nothing. */
    struct tensor *workspace;
    const_dnnl_primitive_desc_t hint; /* of the forward pass; may be NULL */
};

/* The kernel of the node for the job's input, or NULL. */
struct kernel *kernel_find(struct onednn *dn, const struct job *job);

/* From an operation descriptor of oneDNN's. implementation NULL: the library's
 * first; otherwise the one of that name. */
enum assay_status kernel_make(struct onednn *dn, const struct job *job,
                              const_dnnl_op_desc_t description,
                              const char *implementation, struct kernel **out,
                              struct error *err);
void kernel_free(struct kernel *kernel); /* accepts NULL */
/* The library's first, handed to the node. */
enum assay_status kernel_make_kept(struct onednn *dn, const struct job *job,
                                   const_dnnl_op_desc_t description,
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

/* The post-operations and the scratchpad mode of a job. */
enum assay_status job_attributes(const struct job *job,
                                 dnnl_primitive_attr_t *out, struct error *err);

/* ---- parts.c: large maps, a part after the other ------------------------- */

/* Fills in the descriptor for an algorithm; may refuse. */
typedef dnnl_status_t describe_convolution(const struct job *job,
                                           dnnl_alg_kind_t algorithm,
                                           dnnl_convolution_desc_t *out);

/* The scratch memory that kernels should do with. */
size_t parts_limit(const struct onednn *dn);

/* The kernel of an algorithm, or one that works in parts where the whole would
 * need more scratch memory than is given to it. */
enum assay_status parts_make(struct onednn *dn, const struct job *job,
                             describe_convolution *describe,
                             dnnl_alg_kind_t algorithm,
                             const char *implementation, struct kernel **out,
                             struct error *err);
enum assay_status parts_run(struct onednn *dn, const struct job *job,
                            const struct kernel *kernel, void *weights,
                            const struct tensor *x, const struct tensor *y,
                            struct error *err);

/* ---- packed.c: weights as kernels want them ------------------------------ */

/* The job's weights in the kernel's layout. *held is to be released after
 * use; NULL where they are the graph's own. */
enum assay_status packed_get(struct onednn *dn, const struct job *job,
                             const struct kernel *kernel, struct buffer **held,
                             void **data, struct error *err);
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
bool unblock_weights(const dnnl_memory_desc_t *from, const float *data,
                     const dnnl_memory_desc_t *to, float *out);

/* ---- convolution.c ------------------------------------------------------- */

/* What a job of a Conv2d says about its weights. */
void conv2d_set_weight(struct job *job, const struct tensor *const *inputs);
/* The node's kernel for the job, chosen where there is none yet. */
enum assay_status conv2d_kernel(struct onednn *dn, const struct job *job,
                                struct kernel **out, struct error *err);

/* ---- inner_product.c ----------------------------------------------------- */

/* How kernels get the weights of a Linear. */
dnnl_memory_desc_t linear_weight(const struct onednn *dn,
                                 const struct shape *shape);

/* ---- transposed.c -------------------------------------------------------- */

/* The graph holds weights as [c,o,kh,kw], oneDNN counts [o,c,kh,kw]. */
enum assay_status transposed_weight(const struct shape *w,
                                    struct shape *logical,
                                    dnnl_memory_desc_t *out, struct error *err);

/* ---- a function an op ---------------------------------------------------- */

typedef enum assay_status onednn_forward(struct onednn *dn, struct job *job,
                                         const struct tensor *const *inputs,
                                         struct tensor *y, struct error *err);

onednn_forward forward_conv2d, forward_conv_transpose2d, forward_linear,
    forward_max_pool2d, forward_avg_pool2d, forward_adaptive_avg_pool2d,
    forward_relu, forward_activation, forward_clip, forward_sigmoid,
    forward_add, forward_mul, forward_batch_norm, forward_batch_norm_training,
    forward_resize_nearest, forward_roi_align, forward_concat, forward_dropout;

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

/* ---- backward_ops.c: the backward pass behind the interface
 * ------------------ */

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
/* ---- channel_affine.c ---------------------------------------------------- */

struct channel_affine {
    const float *scale, *shift; /* a number for every channel */
    const float *plus;          /* a map of the same layout; NULL: none */
    bool has_relu;              /* cut off at high */
    float high;
};

/* to = from * scale + shift + plus, then the ReLU; `to` may be `from`. */
void affine_channels(const struct channel_blocks *blocks,
                     const struct channel_affine *by, const float *from,
                     float *to);

/* ---- elementwise_backward.c ---------------------------------------------- */

enum assay_status onednn_accumulate(struct backend *backend,
                                    const struct op_context *context,
                                    struct tensor *sum, const struct tensor *dx,
                                    struct error *err);

/* A gradient in that layout to read, and memory for what is made of it: its
 * own, where nobody else has it. */
enum assay_status gradient_like(struct onednn *dn, const struct job *job,
                                const struct tensor *given,
                                const dnnl_memory_desc_t *desc,
                                struct tensor *dy, struct tensor *dx,
                                struct error *err);

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
/* The fastest; a direct one that is as fast within 5 % of it, as it needs less
 * memory. 0 where nothing was measured. */
size_t contest_winner(const struct candidates *list);

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
