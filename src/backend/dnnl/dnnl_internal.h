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

/* A primitive of a node, good for one shape and layout of its input. */
struct kernel {
    struct kernel *next; /* less recently used */
    struct shape x;
    const struct layout *x_layout;
    dnnl_primitive_t primitive;
    dnnl_memory_desc_t weights, scratch;
    dnnl_memory_desc_t src, dst;           /* of the whole tensors */
    dnnl_memory_desc_t part_src, part_dst; /* as the primitive sees them */
    struct part part;                      /* 0 images: all at once */
    struct candidates candidates;
    const char *how; /* "measured", "remembered", ...; NULL: no choice */
    bool reorders_x, reorders_residual;
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
    struct kernel **kernels; /* a list for each node */
    struct packed *packed;
    size_t n_packed, packed_capacity;
    size_t scratch_bytes; /* what the greediest kernel asked for */
    struct choices *choices;
    int64_t tuning_left_ns;
};

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

enum { MAX_ARGUMENTS = 6 };

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

/* Maps whose channels lie in blocks: element (n, c, p) of n images, c channels
 * and p pixels is at ((n * n_blocks + c / block) * plane + p) * block +
 * c % block. Dense maps have blocks of 1, channels-last ones a single block. */
struct channel_blocks {
    dnnl_format_tag_t tag;
    int64_t images, n_blocks, plane, block;
};

bool layout_blocks(const struct tensor *tensor, struct channel_blocks *blocks);

/* ---- kernel.c: primitives and how they are run -------------------------- */

/* One execution, whatever it computes. */
struct job {
    const struct node *node;
    size_t at; /* the node's index */
    const struct op_context *context;
    /* NULL: has none */
    const struct tensor *x, *weight, *scale, *bias, *residual;
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
/* Hands it to the node; the one that waited longest goes where there are too
 * many. */
void kernel_keep(struct onednn *dn, size_t at, struct kernel *kernel);

/* On data as the primitive sees it. */
enum assay_status kernel_execute(struct onednn *dn, const struct job *job,
                                 const struct kernel *kernel, void *src,
                                 void *dst, struct error *err);
enum assay_status kernel_run(struct onednn *dn, const struct job *job,
                             struct kernel *kernel, struct tensor *y,
                             struct error *err);

/* The post-operations and the scratchpad mode of a job. */
enum assay_status job_attributes(const struct job *job,
                                 dnnl_primitive_attr_t *out, struct error *err);

/* ---- parts.c: large maps, a part after the other ------------------------- */

/* Fills in the descriptor for an algorithm; may refuse. */
typedef dnnl_status_t describe_convolution(const struct job *job,
                                           dnnl_alg_kind_t algorithm,
                                           dnnl_convolution_desc_t *out);

/* The kernel of an algorithm, or one that works in parts where the whole would
 * need more scratch memory than is given to it. */
enum assay_status parts_make(struct onednn *dn, const struct job *job,
                             describe_convolution *describe,
                             dnnl_alg_kind_t algorithm,
                             const char *implementation, struct kernel **out,
                             struct error *err);
enum assay_status parts_run(struct onednn *dn, const struct job *job,
                            const struct kernel *kernel, const struct tensor *x,
                            const struct tensor *y, struct error *err);

/* ---- a function an op ---------------------------------------------------- */

typedef enum assay_status onednn_forward(struct onednn *dn, struct job *job,
                                         const struct tensor *const *inputs,
                                         struct tensor *y, struct error *err);

onednn_forward forward_conv2d, forward_conv_transpose2d, forward_linear,
    forward_max_pool2d, forward_avg_pool2d, forward_adaptive_avg_pool2d,
    forward_relu, forward_activation, forward_clip, forward_sigmoid,
    forward_add, forward_mul, forward_batch_norm, forward_resize_nearest,
    forward_roi_align, forward_concat, forward_dropout;

/* ---- passing.c: the op's own kernel -------------------------------------- */

/* On dense copies of the inputs; y has its type already. */
onednn_forward own_kernel;

/* ---- executed.c: what a kernel computes and moves ------------------------ */

/* Corrects done_flops and done_bytes of the direct algorithm on dense
 * tensors. */
void executed_work(const struct kernel *kernel, const struct node *node,
                   const struct tensor *const *inputs,
                   const struct tensor *outputs, struct cost *cost);

/* ---- tuning.c: which kernel for a convolution ---------------------------- */

enum assay_status tuning_choose(struct onednn *dn, const struct job *job,
                                describe_convolution *describe,
                                struct kernel **out, struct error *err);

/* ---- choices.c: what was measured, remembered in a text file ------------- */

/* Reads the file where there is a good one; path may be NULL. */
enum assay_status choices_open(const char *path, int n_threads,
                               struct choices **out, struct error *err);
/* Writes the file where something is new. */
void choices_save(struct choices *choices);
/* Saves, then frees. Accepts NULL. */
void choices_close(struct choices *choices);
bool choices_find(const struct choices *choices, const char *shape,
                  struct candidates *out);
enum assay_status choices_put(struct choices *choices, const char *shape,
                              const struct candidates *candidates,
                              struct error *err);

#endif
