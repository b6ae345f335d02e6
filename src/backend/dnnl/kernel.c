/* backend/dnnl/kernel.c - primitives of oneDNN: making, keeping, running. */
#include "backend/dnnl/dnnl_internal.h"

#include "base/mem.h"

#include <string.h>

/* Kernels of a node for different shapes: a detector's last layers see another
 * number of boxes with every photograph. */
enum { max_kernels = 16 };

struct kernel **kernel_list(const struct onednn *dn, enum direction direction,
                            size_t at)
{
    return &dn->kernels[(size_t)direction * graph_node_count(dn->graph) + at];
}

struct kernel *kernel_find(struct onednn *dn, const struct job *job)
{
    struct kernel **list = kernel_list(dn, job->direction, job->at);

    for (struct kernel **link = list; *link; link = &(*link)->next) {
        struct kernel *kernel = *link;

        if (kernel->x_layout == job->x->layout &&
            kernel->makes_bias == (job->bias_gradient != NULL) &&
            shape_equal(&kernel->x, &job->x->shape) &&
            shape_equal(&kernel->y, &job->y)) {
            *link = kernel->next;
            kernel->next = *list;
            *list = kernel;
            return kernel;
        }
    }
    return NULL;
}

void kernel_free(struct kernel *kernel)
{
    if (!kernel)
        return;
    dnnl_primitive_destroy(kernel->primitive);
    mem_free(kernel);
}

void kernel_keep(struct onednn *dn, const struct job *job,
                 struct kernel *kernel)
{
    struct kernel **list = kernel_list(dn, job->direction, job->at);
    struct kernel **link = &kernel->next;

    kernel->next = *list;
    *list = kernel;
    for (int i = 1; i < max_kernels && *link; i++)
        link = &(*link)->next;
    while (*link) {
        struct kernel *old = *link;

        *link = old->next;
        kernel_free(old);
    }
}

static dnnl_status_t append_operations(const struct job *job,
                                       dnnl_primitive_attr_t attributes)
{
    dnnl_post_ops_t operations;
    dnnl_status_t status = dnnl_post_ops_create(&operations);

    if (status)
        return status;
    if (job->residual)
        status = dnnl_post_ops_append_sum(operations, 1);
    if (!status && job->has_relu && job->relu_limit > 0)
        status = dnnl_post_ops_append_eltwise(operations, 1, dnnl_eltwise_clip,
                                              0, job->relu_limit);
    else if (!status && job->has_relu)
        status = dnnl_post_ops_append_eltwise(operations, 1, dnnl_eltwise_relu,
                                              0, 0);
    if (!status)
        status = dnnl_primitive_attr_set_post_ops(attributes, operations);
    dnnl_post_ops_destroy(operations);
    return status;
}

enum assay_status job_attributes(const struct job *job,
                                 dnnl_primitive_attr_t *out, struct error *err)
{
    dnnl_status_t status = dnnl_primitive_attr_create(out);

    if (!status)
        status = dnnl_primitive_attr_set_scratchpad_mode(
            *out, dnnl_scratchpad_mode_user);
    if (!status)
        status = append_operations(job, *out);
    return onednn_status(status, "describe what is fused", err);
}

static dnnl_memory_desc_t query(const_dnnl_primitive_desc_t description,
                                dnnl_query_t what)
{
    const dnnl_memory_desc_t *found =
        dnnl_primitive_desc_query_md(description, what, 0);

    return found ? *found : (dnnl_memory_desc_t){0};
}

/* Moves the iterator to the implementation of that name. */
static dnnl_status_t seek(dnnl_primitive_desc_iterator_t found,
                          const char *implementation,
                          dnnl_primitive_desc_t *out)
{
    for (;;) {
        dnnl_primitive_desc_t description =
            dnnl_primitive_desc_iterator_fetch(found);
        const char *name = "";
        dnnl_status_t status;

        if (!description)
            return dnnl_out_of_memory;
        dnnl_primitive_desc_query(description, dnnl_query_impl_info_str, 0,
                                  (void *)&name);
        if (!implementation || strcmp(name, implementation) == 0) {
            *out = description;
            return dnnl_success;
        }
        dnnl_primitive_desc_destroy(description);
        status = dnnl_primitive_desc_iterator_next(found);
        if (status)
            return status == dnnl_iterator_ends ? dnnl_unimplemented : status;
    }
}

static enum assay_status find_implementation(
    struct onednn *dn, const struct job *job, const_dnnl_op_desc_t description,
    const char *implementation, dnnl_primitive_desc_t *out, struct error *err)
{
    dnnl_primitive_desc_iterator_t iterator = NULL;
    dnnl_primitive_attr_t attributes = NULL;
    enum assay_status st = job_attributes(job, &attributes, err);

    if (!st)
        st = onednn_status(
            dnnl_primitive_desc_iterator_create(
                &iterator, description, attributes, dn->engine, job->hint),
            "find a kernel", err);
    if (!st)
        st = onednn_status(seek(iterator, implementation, out),
                           "find the kernel wanted", err);
    dnnl_primitive_desc_iterator_destroy(iterator);
    dnnl_primitive_attr_destroy(attributes);
    return st;
}

/* What each direction reads and makes, by the library's names. */
static const struct {
    dnnl_query_t src, weights, dst;
    int src_argument, weights_argument, dst_argument;
} names[N_DIRECTIONS] = {
    [DIRECTION_FORWARD] = {dnnl_query_src_md, dnnl_query_weights_md,
                           dnnl_query_dst_md, DNNL_ARG_SRC, DNNL_ARG_WEIGHTS,
                           DNNL_ARG_DST},
    [DIRECTION_DATA] = {dnnl_query_diff_dst_md, dnnl_query_weights_md,
                        dnnl_query_diff_src_md, DNNL_ARG_DIFF_DST,
                        DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC},
    [DIRECTION_WEIGHTS] = {dnnl_query_src_md, dnnl_query_diff_weights_md,
                           dnnl_query_diff_dst_md, DNNL_ARG_SRC,
                           DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST},
};

static void describe_kernel(const struct job *job,
                            const_dnnl_primitive_desc_t found,
                            struct kernel *kernel)
{
    kernel->x = job->x->shape;
    kernel->y = job->y;
    kernel->x_layout = job->x->layout;
    kernel->makes_bias = job->bias_gradient != NULL;
    kernel->src = kernel->part_src = query(found, names[job->direction].src);
    kernel->weights = query(found, names[job->direction].weights);
    kernel->dst = kernel->part_dst = query(found, names[job->direction].dst);
    kernel->scratch = query(found, dnnl_query_scratchpad_md);
    kernel->workspace = query(found, dnnl_query_workspace_md);
}

enum assay_status kernel_make(struct onednn *dn, const struct job *job,
                              const_dnnl_op_desc_t description,
                              const char *implementation, struct kernel **out,
                              struct error *err)
{
    struct kernel *kernel = mem_zalloc(sizeof *kernel);
    dnnl_primitive_desc_t found = NULL;
    enum assay_status st;

    *out = NULL;
    if (!kernel)
        return error_nomem(err, sizeof *kernel, "a kernel");
    st = find_implementation(dn, job, description, implementation, &found, err);
    if (!st)
        st = onednn_make(&kernel->primitive, found, "make a kernel", err);
    if (st) {
        dnnl_primitive_desc_destroy(found);
        kernel_free(kernel);
        return st;
    }
    describe_kernel(job, found, kernel);
    dnnl_primitive_desc_destroy(found);
    *out = kernel;
    return ASSAY_OK;
}

enum assay_status kernel_make_kept(struct onednn *dn, const struct job *job,
                                   const_dnnl_op_desc_t description,
                                   struct kernel **out, struct error *err)
{
    enum assay_status st = kernel_make(dn, job, description, NULL, out, err);

    if (!st)
        kernel_keep(dn, job, *out);
    return st;
}

/* As much for every kernel as the greediest has asked for, so that the pool
 * hands the same piece to all; one that asks for more than kernels should, or
 * for next to nothing (room for a bias in whole blocks), gets a piece of its
 * own. It is back there when the kernel has run: what comes between two of them
 * may have it. */
static enum assay_status take_scratch(struct onednn *dn, struct pool *pool,
                                      size_t bytes, struct buffer **out,
                                      struct error *err)
{
    static const char what[] = "a kernel's scratch memory";
    static const size_t next_to_nothing = 256 << 10;
    size_t common = parts_limit(dn);

    *out = NULL;
    if (!bytes)
        return ASSAY_OK;
    if (bytes > dn->scratch_bytes) {
        dn->scratch_bytes = bytes;
        return take_lasting(pool, OWNER_SCRATCH, bytes, what, out, err);
    }
    if (bytes <= next_to_nothing)
        common = bytes;
    if (common > dn->scratch_bytes)
        common = dn->scratch_bytes;
    return pool_take_scratch(pool, bytes > common ? bytes : common, what, out,
                             err);
}

/* The output, which holds the residual where there is one: its own memory
 * where nobody else needs it, a copy otherwise. */
static enum assay_status make_output(struct onednn *dn, const struct job *job,
                                     struct kernel *kernel, struct tensor *y,
                                     struct error *err)
{
    dnnl_memory_desc_t desc;
    enum assay_status st;

    if (job->residual) {
        desc = desc_of(job->residual);
        kernel->reorders_residual =
            !dnnl_memory_desc_equal(&desc, &kernel->dst);
        if (job->may_take_residual && !kernel->reorders_residual) {
            *y = tensor_share(job->residual);
            return ASSAY_OK;
        }
    }
    st = layout_tensor(dn, job->context->pool, &kernel->dst, &job->y, y, err);
    if (!st && job->residual)
        st = onednn_reorder(dn, job->context->pool, &desc,
                            tensor_data(job->residual), &kernel->dst,
                            tensor_data(y), err);
    return st;
}

/* Adds the bias, or its gradient, and what passes from the forward pass to
 * the backward one. */
static size_t add_extras(const struct job *job, const struct kernel *kernel,
                         dnnl_memory_desc_t *bias, struct argument *arguments)
{
    const struct tensor *given = job->bias;
    size_t n = 0;

    if (job->direction == DIRECTION_WEIGHTS)
        given = job->bias_gradient;
    if (given && job->direction != DIRECTION_DATA) {
        *bias = desc_dense(&given->shape);
        arguments[n++] = (struct argument){
            .id = job->direction == DIRECTION_FORWARD ? DNNL_ARG_BIAS
                                                      : DNNL_ARG_DIFF_BIAS,
            .desc = bias,
            .data = tensor_data(given)};
    }
    if (job->workspace)
        arguments[n++] = (struct argument){.id = DNNL_ARG_WORKSPACE,
                                           .desc = &kernel->workspace,
                                           .data = tensor_data(job->workspace)};
    return n;
}

enum assay_status kernel_execute(struct onednn *dn, const struct job *job,
                                 const struct kernel *kernel,
                                 const struct operands *operands,
                                 struct error *err)
{
    struct argument arguments[MAX_ARGUMENTS] = {
        {.id = names[job->direction].src_argument,
         .desc = &kernel->part_src,
         .data = operands->src},
        {.id = names[job->direction].dst_argument,
         .desc = &kernel->part_dst,
         .data = operands->dst}};
    size_t n = 2, scratch_bytes = dnnl_memory_desc_get_size(&kernel->scratch);
    struct buffer *scratch = NULL;
    enum assay_status st =
        take_scratch(dn, job->context->pool, scratch_bytes, &scratch, err);
    dnnl_memory_desc_t bias;

    if (st)
        return st;
    if (operands->weights)
        arguments[n++] =
            (struct argument){.id = names[job->direction].weights_argument,
                              .desc = &kernel->weights,
                              .data = operands->weights};
    n += add_extras(job, kernel, &bias, arguments + n);
    if (scratch)
        arguments[n++] = (struct argument){.id = DNNL_ARG_SCRATCHPAD,
                                           .desc = &kernel->scratch,
                                           .data = buffer_data(scratch)};
    st = onednn_execute(dn, kernel->primitive, arguments, n, err);
    buffer_release(scratch);
    return st;
}

/* From x to y: forward, or backward from the gradient of the output to that
 * of the input. */
static enum assay_status run_through(struct onednn *dn, const struct job *job,
                                     struct kernel *kernel, struct tensor *y,
                                     struct error *err)
{
    struct buffer *held = NULL;
    struct operands operands;
    struct tensor x;
    enum assay_status st =
        layout_convert(dn, job->context->pool, job->x, &kernel->src, &x, err);

    if (st)
        return st;
    kernel->reorders_x = x.buffer != job->x->buffer;
    st = make_output(dn, job, kernel, y, err);
    if (!st)
        st = packed_get(dn, job, kernel, &held, &operands.weights, err);
    if (!st && kernel->part.images) {
        st = parts_run(dn, job, kernel, operands.weights, &x, y, err);
    } else if (!st) {
        operands.src = tensor_data(&x);
        operands.dst = tensor_data(y);
        st = kernel_execute(dn, job, kernel, &operands, err);
    }
    buffer_release(held);
    tensor_release(&x);
    if (st)
        tensor_release(y);
    return st;
}

/* The gradient of the weights, as the graph holds them. */
static enum assay_status run_to_weights(struct onednn *dn,
                                        const struct job *job,
                                        struct kernel *kernel,
                                        struct tensor *dw, struct error *err)
{
    struct pool *pool = job->context->pool;
    bool is_direct =
        dnnl_memory_desc_equal(&job->weight_desc, &kernel->weights);
    struct buffer *packed = NULL;
    struct tensor x = {0}, dy = {0};
    enum assay_status st;

    st = tensor_new(pool, DTYPE_F32, &job->weight->shape, dw, err);
    if (!st)
        st = layout_convert(dn, pool, job->x, &kernel->src, &x, err);
    if (!st)
        st = layout_convert(dn, pool, job->dy, &kernel->dst, &dy, err);
    if (!st && !is_direct)
        st =
            pool_take_scratch(pool, dnnl_memory_desc_get_size(&kernel->weights),
                              "a gradient of weights", &packed, err);
    if (!st) {
        struct operands operands = {.src = tensor_data(&x),
                                    .weights = is_direct ? tensor_data(dw)
                                                         : buffer_data(packed),
                                    .dst = tensor_data(&dy)};

        kernel->reorders_x = x.buffer != job->x->buffer;
        st = kernel_execute(dn, job, kernel, &operands, err);
    }
    if (!st && !is_direct &&
        !unblock_weights(&kernel->weights, buffer_data(packed),
                         &job->weight_desc, tensor_data(dw)))
        st = onednn_reorder(dn, pool, &kernel->weights, buffer_data(packed),
                            &job->weight_desc, tensor_data(dw), err);
    buffer_release(packed);
    tensor_release(&dy);
    tensor_release(&x);
    if (st)
        tensor_release(dw);
    return st;
}

enum assay_status kernel_run(struct onednn *dn, const struct job *job,
                             struct kernel *kernel, struct tensor *y,
                             struct error *err)
{
    if (job->direction == DIRECTION_WEIGHTS)
        return run_to_weights(dn, job, kernel, y, err);
    return run_through(dn, job, kernel, y, err);
}
