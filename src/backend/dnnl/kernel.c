/* backend/dnnl/kernel.c - kernels of nodes, primitives of oneDNN or our own:
 * making, keeping, running. */
#include "backend/dnnl/own_winograd.h"

#include "backend/dnnl/concat_places.h"
#include "backend/dnnl/grouped.h"
#include "base/mem.h"
#include "ops/math/unary_math.h"

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
    onednn_destroy(kernel->primitive);
    mem_free(kernel->winograd);
    mem_free(kernel->grouped);
    mem_free(kernel->direct);
    integer_numbers_free(kernel->integers);
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

void job_complete(const struct job *job, struct operation *operation)
{
    operation->direction = job->direction;
    operation->is_training = job->is_training;
    operation->adds = job->residual != NULL;
    operation->has_relu = job->has_relu;
    operation->relu_limit = job->relu_limit;
    operation->activation = job->activation;
    operation->slope = job->slope;
}

struct activation job_activation(const struct job *job)
{
    return (struct activation){.has_relu = job->has_relu,
                               .relu_limit = job->relu_limit,
                               .kind = job->activation,
                               .slope = job->slope};
}

struct kernel *kernel_new(const struct job *job)
{
    struct kernel *kernel = mem_zalloc(sizeof *kernel);

    if (!kernel)
        return NULL;
    kernel->x = job->x->shape;
    kernel->y = job->y;
    kernel->x_layout = job->x->layout;
    return kernel;
}

void kernel_set_blocks(struct onednn *dn, const struct job *job,
                       struct kernel *kernel)
{
    enum order order = layout_own_blocks();

    kernel->src = layout_ordered(dn, &job->x->shape, order);
    kernel->dst = layout_ordered(dn, &job->y, order);
    kernel->part_src = kernel->src;
    kernel->part_dst = kernel->dst;
}

enum assay_status kernel_check_layouts(const struct kernel *kernel,
                                       struct error *err)
{
    enum assay_status st = layout_check(kernel->src, err);

    if (!st)
        st = layout_check(kernel->dst, err);
    return st ? st : layout_check(kernel->weights, err);
}

struct candidate *kernel_sole_candidate(struct kernel *kernel, const char *how)
{
    struct candidate *sole = &kernel->candidates.items[0];

    kernel->how = how;
    kernel->candidates.n = 1;
    sole->ms = -1;
    return sole;
}

enum assay_status kernel_make(struct onednn *dn, const struct job *job,
                              const struct operation *operation,
                              const char *implementation, struct kernel **out,
                              struct error *err)
{
    struct kernel *kernel = kernel_new(job);
    struct operation complete = *operation;
    enum assay_status st;

    *out = NULL;
    if (!kernel)
        return error_nomem(err, sizeof *kernel, "a kernel");
    job_complete(job, &complete);
    st = onednn_make(dn, &complete, implementation, kernel, err);
    if (st) {
        kernel_free(kernel);
        return st;
    }
    kernel->makes_bias = job->bias_gradient != NULL;
    kernel->leaves_activation = operation_leaves_activation(&complete);
    *out = kernel;
    return ASSAY_OK;
}

enum assay_status kernel_make_kept(struct onednn *dn, const struct job *job,
                                   const struct operation *operation,
                                   struct kernel **out, struct error *err)
{
    enum assay_status st = kernel_make(dn, job, operation, NULL, out, err);

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
    const struct layout *layout = NULL;
    enum assay_status st;

    if (job->residual) {
        layout = layout_of(dn, job->residual);
        kernel->reorders_residual = layout != kernel->dst;
        if (job->may_take_residual && !kernel->reorders_residual) {
            *y = tensor_share(job->residual);
            return ASSAY_OK;
        }
    }
    st = places_tensor(dn, job, kernel->dst, y, err);
    if (!st && job->residual)
        st = onednn_reorder(dn, job->context->pool, layout,
                            tensor_data(job->residual), kernel->dst,
                            tensor_data(y), err);
    return st;
}

/* Adds the bias, or its gradient, and what passes from the forward pass to
 * the backward one. */
static size_t add_extras(struct onednn *dn, const struct job *job,
                         const struct kernel *kernel,
                         struct argument *arguments)
{
    const struct tensor *given = job->bias;
    size_t n = 0;

    if (job->direction == DIRECTION_WEIGHTS)
        given = job->bias_gradient;
    if (given && job->direction != DIRECTION_DATA)
        arguments[n++] =
            (struct argument){.role = ROLE_BIAS,
                              .layout = layout_dense(dn, &given->shape),
                              .data = tensor_data(given)};
    if (job->workspace)
        arguments[n++] = (struct argument){.role = ROLE_WORKSPACE,
                                           .layout = kernel->workspace,
                                           .data = tensor_data(job->workspace)};
    return n;
}

/* False: the kernel is not one of our own. */
static bool run_own(const struct job *job, const struct kernel *kernel,
                    const struct operands *operands, void *scratch)
{
    if (kernel->grouped)
        grouped_run(job, kernel, operands, scratch);
    else if (kernel->direct)
        own_direct_run(job, kernel, operands, scratch);
    else if (kernel->winograd)
        own_winograd_run(job, kernel, operands, scratch);
    else
        return false;
    return true;
}

enum assay_status kernel_execute(struct onednn *dn, const struct job *job,
                                 const struct kernel *kernel,
                                 const struct operands *operands,
                                 struct error *err)
{
    struct argument arguments[N_ROLES] = {
        {.role = ROLE_SRC, .layout = kernel->part_src, .data = operands->src},
        {.role = ROLE_DST, .layout = kernel->part_dst, .data = operands->dst}};
    struct buffer *scratch = NULL;
    size_t n = 2;
    enum assay_status st = take_scratch(
        dn, job->context->pool, layout_bytes(kernel->scratch), &scratch, err);

    if (st)
        return st;
    if (run_own(job, kernel, operands, scratch ? buffer_data(scratch) : NULL)) {
        buffer_release(scratch);
        return ASSAY_OK;
    }
    if (operands->weights)
        arguments[n++] = (struct argument){.role = ROLE_WEIGHTS,
                                           .layout = kernel->weights,
                                           .data = operands->weights};
    n += add_extras(dn, job, kernel, arguments + n);
    n += integer_arguments(dn, kernel, arguments + n);
    if (scratch)
        arguments[n++] = (struct argument){.role = ROLE_SCRATCH,
                                           .layout = kernel->scratch,
                                           .data = buffer_data(scratch)};
    st = onednn_execute(dn, kernel->primitive, job->direction, arguments, n,
                        err);
    buffer_release(scratch);
    return st;
}

/* What a kernel without it left to do. */
static void apply_activation(const struct job *job, const struct tensor *y)
{
    struct unary_attrs attrs = {.alpha = (double)job->slope};
    struct node node = {.op = conv2d_activation_op(job->activation),
                        .attrs = &attrs};

    unary_run_f32(job->context, &node, tensor_f32(y), tensor_f32(y),
                  layout_elements(y));
    clear_last_lanes(y); /* a Sigmoid of 0 is not 0 */
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
    enum assay_status st = ASSAY_OK;

    if (own_direct_completes(job, kernel))
        x = tensor_share(job->x);
    else
        st = layout_convert(dn, job->context->pool, job->x, kernel->src, &x,
                            err);
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
    if (!st && kernel->leaves_activation)
        apply_activation(job, y);
    else if (!st && !kernel->primitive && job->activation == CONV2D_SIGMOID)
        clear_last_lanes(y); /* other activations of 0 are 0 */
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
    bool is_direct = job->weight_layout == kernel->weights;
    struct buffer *packed = NULL;
    struct tensor x = {0}, dy = {0};
    enum assay_status st;

    st = tensor_new(pool, DTYPE_F32, &job->weight->shape, dw, err);
    if (!st)
        st = layout_convert(dn, pool, job->x, kernel->src, &x, err);
    if (!st)
        st = layout_convert(dn, pool, job->dy, kernel->dst, &dy, err);
    if (!st && !is_direct)
        st = pool_take_scratch(pool, kernel->weights->bytes,
                               "a gradient of weights", &packed, err);
    if (!st) {
        struct operands operands = {.src = tensor_data(&x),
                                    .weights = is_direct ? tensor_data(dw)
                                                         : buffer_data(packed),
                                    .dst = tensor_data(&dy)};

        kernel->reorders_x = x.buffer != job->x->buffer;
        st = kernel->part.images
                 ? parts_run_to_weights(dn, job, kernel, &operands, err)
                 : kernel_execute(dn, job, kernel, &operands, err);
    }
    if (!st && !is_direct &&
        !unblock_weights(kernel->weights, buffer_data(packed),
                         job->weight_layout, tensor_data(dw)))
        st = onednn_reorder(dn, pool, kernel->weights, buffer_data(packed),
                            job->weight_layout, tensor_data(dw), err);
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
