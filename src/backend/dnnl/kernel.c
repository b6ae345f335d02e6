/* backend/dnnl/kernel.c - primitives of oneDNN: making, keeping, running. */
#include "backend/dnnl/dnnl_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <string.h>

/* Kernels of a node for different shapes: a detector's last layers see another
 * number of boxes with every photograph. */
enum { max_kernels = 16 };

struct kernel *kernel_find(struct onednn *dn, const struct job *job)
{
    for (struct kernel **link = &dn->kernels[job->at]; *link;
         link = &(*link)->next) {
        struct kernel *kernel = *link;

        if (kernel->x_layout == job->x->layout &&
            shape_equal(&kernel->x, &job->x->shape)) {
            *link = kernel->next;
            kernel->next = dn->kernels[job->at];
            dn->kernels[job->at] = kernel;
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

void kernel_keep(struct onednn *dn, size_t at, struct kernel *kernel)
{
    struct kernel **link = &kernel->next;

    kernel->next = dn->kernels[at];
    dn->kernels[at] = kernel;
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
            dnnl_primitive_desc_iterator_create(&iterator, description,
                                                attributes, dn->engine, NULL),
            "find a kernel", err);
    if (!st)
        st = onednn_status(seek(iterator, implementation, out),
                           "find the kernel wanted", err);
    dnnl_primitive_desc_iterator_destroy(iterator);
    dnnl_primitive_attr_destroy(attributes);
    return st;
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
    kernel->x = job->x->shape;
    kernel->x_layout = job->x->layout;
    kernel->src = kernel->part_src = query(found, dnnl_query_src_md);
    kernel->weights = query(found, dnnl_query_weights_md);
    kernel->dst = kernel->part_dst = query(found, dnnl_query_dst_md);
    kernel->scratch = query(found, dnnl_query_scratchpad_md);
    dnnl_primitive_desc_destroy(found);
    *out = kernel;
    return ASSAY_OK;
}

static enum assay_status take_as(struct pool *pool, uint32_t owner,
                                 size_t bytes, const char *what,
                                 struct buffer **out, struct error *err)
{
    uint32_t before = pool_set_owner(pool, owner);
    enum assay_status st = pool_take(pool, bytes, what, out, err);

    pool_set_owner(pool, before);
    return st;
}

/* What is worth a detour. */
static const size_t large_bytes = 16 << 20;

/* Memory that stays. It is taken in the first pass over new shapes only, so
 * what waits in the pool goes before a large piece comes: a run of one image
 * does not ask for it again, and the warm-up of a longer one does. */
static enum assay_status take_lasting(struct pool *pool, uint32_t owner,
                                      size_t bytes, const char *what,
                                      struct buffer **out, struct error *err)
{
    if (bytes >= large_bytes)
        pool_trim(pool);
    return take_as(pool, owner, bytes, what, out, err);
}

/* As much for every kernel as the greediest has asked for, so that the pool
 * hands the same piece to all. It is back there when the kernel has run: what
 * comes between two of them may have it. */
static enum assay_status take_scratch(struct onednn *dn, struct pool *pool,
                                      size_t bytes, struct buffer **out,
                                      struct error *err)
{
    static const char what[] = "a kernel's scratch memory";

    *out = NULL;
    if (!bytes)
        return ASSAY_OK;
    if (bytes <= dn->scratch_bytes)
        return take_as(pool, OWNER_SCRATCH, dn->scratch_bytes, what, out, err);
    dn->scratch_bytes = bytes;
    return take_lasting(pool, OWNER_SCRATCH, bytes, what, out, err);
}

static enum assay_status
remember_packed(struct onednn *dn, struct packed packed, struct error *err)
{
    struct packed *moved = vec_reserve(dn->packed, &dn->packed_capacity,
                                       dn->n_packed + 1, sizeof *dn->packed);

    if (!moved)
        return error_nomem(err, sizeof *moved, "the list of weights");
    dn->packed = moved;
    dn->packed[dn->n_packed++] = packed;
    return ASSAY_OK;
}

static struct packed *find_packed(struct onednn *dn,
                                  const struct packed *wanted)
{
    for (size_t i = 0; i < dn->n_packed; i++) {
        struct packed *packed = &dn->packed[i];

        if (packed->value == wanted->value &&
            packed->scale_value == wanted->scale_value &&
            packed->layout == wanted->layout)
            return packed;
    }
    return NULL;
}

static enum assay_status prepare_weights(const struct job *job,
                                         struct tensor *out, struct error *err)
{
    if (job->prepare)
        return job->prepare(job, out, err);
    *out = tensor_share(job->weight);
    return ASSAY_OK;
}

/* Reorders large weights as they lie in the graph, some rows at a time, each
 * of which leaves memory when it is done where it lies in a file. False where
 * the kernel's layout cannot be cut so. */
static bool pack_rows(struct onednn *dn, const struct job *job,
                      const struct kernel *kernel, void *packed)
{
    static const int64_t step = 128; /* a multiple of every block of rows */
    struct shape rows = job->weight->shape;
    size_t each = tensor_bytes(job->weight) / (size_t)rows.dims[0];
    dnnl_memory_desc_t whole = desc_dense(&rows), to;
    dnnl_dims_t offsets = {0};

    if (job->prepare || rows.dims[0] % step ||
        tensor_bytes(job->weight) < large_bytes ||
        !dnnl_memory_desc_equal(&job->weight_desc, &whole))
        return false;
    rows.dims[0] = step;
    whole = desc_dense(&rows);
    for (; offsets[0] < job->weight->shape.dims[0]; offsets[0] += step) {
        struct tensor part = *job->weight;

        part.shape = rows;
        part.offset += (size_t)offsets[0] * each;
        if (dnnl_memory_desc_init_submemory(&to, &kernel->weights,
                                            dims_of(rows.dims, rows.rank).of,
                                            offsets) ||
            onednn_reorder(dn, job->context->pool, &whole, tensor_data(&part),
                           &to, packed, NULL))
            return false;
        tensor_unload(&part);
    }
    return true;
}

/* Reorders the job's weights into new memory. The graph keeps them as they
 * came, so that another layout can follow; what lies in a file leaves memory
 * until then. */
static enum assay_status pack(struct onednn *dn, const struct job *job,
                              const struct kernel *kernel,
                              struct buffer **buffer, struct error *err)
{
    struct tensor dense;
    enum assay_status st;

    *buffer = NULL;
    st = take_lasting(job->context->pool, OWNER_PACKED,
                      dnnl_memory_desc_get_size(&kernel->weights),
                      "reordered weights", buffer, err);
    if (!st && pack_rows(dn, job, kernel, buffer_data(*buffer)))
        return ASSAY_OK;
    if (!st)
        st = prepare_weights(job, &dense, err);
    if (st) {
        buffer_release(*buffer);
        return st;
    }
    st = onednn_reorder(dn, job->context->pool, &job->weight_desc,
                        tensor_data(&dense), &kernel->weights,
                        buffer_data(*buffer), err);
    tensor_release(&dense);
    if (st)
        buffer_release(*buffer);
    else
        tensor_unload(job->weight);
    return st;
}

/* The job's weights in the kernel's layout: reordered once, then shared by
 * every node that reads the same parameter in the same way. */
static enum assay_status pack_weights(struct onednn *dn, const struct job *job,
                                      const struct kernel *kernel, void **data,
                                      struct error *err)
{
    struct packed packed = {.value = job->weight_value,
                            .scale_value = job->scale_value};
    const struct packed *found;
    enum assay_status st;

    *data = tensor_data(job->weight);
    if (!job->prepare &&
        dnnl_memory_desc_equal(&job->weight_desc, &kernel->weights))
        return ASSAY_OK;
    st = layout_intern(dn, &kernel->weights, &packed.layout, err);
    if (st)
        return st;
    found = find_packed(dn, &packed);
    if (!found) {
        st = pack(dn, job, kernel, &packed.buffer, err);
        if (st)
            return st;
        st = remember_packed(dn, packed, err);
        if (st) {
            buffer_release(packed.buffer);
            return st;
        }
        found = &packed;
    }
    *data = buffer_data(found->buffer);
    return ASSAY_OK;
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

enum assay_status kernel_execute(struct onednn *dn, const struct job *job,
                                 const struct kernel *kernel, void *src,
                                 void *dst, struct error *err)
{
    struct argument arguments[MAX_ARGUMENTS] = {
        {.id = DNNL_ARG_SRC, .desc = &kernel->part_src, .data = src},
        {.id = DNNL_ARG_DST, .desc = &kernel->part_dst, .data = dst}};
    size_t n = 2, scratch_bytes = dnnl_memory_desc_get_size(&kernel->scratch);
    struct buffer *scratch = NULL;
    enum assay_status st = ASSAY_OK;
    dnnl_memory_desc_t bias;

    if (job->weight) {
        arguments[n].id = DNNL_ARG_WEIGHTS;
        arguments[n].desc = &kernel->weights;
        st = pack_weights(dn, job, kernel, &arguments[n++].data, err);
    }
    if (job->bias) {
        bias = desc_dense(&job->bias->shape);
        arguments[n++] = (struct argument){
            .id = DNNL_ARG_BIAS, .desc = &bias, .data = tensor_data(job->bias)};
    }
    if (!st)
        st = take_scratch(dn, job->context->pool, scratch_bytes, &scratch, err);
    if (scratch)
        arguments[n++] = (struct argument){.id = DNNL_ARG_SCRATCHPAD,
                                           .desc = &kernel->scratch,
                                           .data = buffer_data(scratch)};
    if (!st)
        st = onednn_execute(dn, kernel->primitive, arguments, n, err);
    buffer_release(scratch);
    return st;
}

enum assay_status kernel_run(struct onednn *dn, const struct job *job,
                             struct kernel *kernel, struct tensor *y,
                             struct error *err)
{
    struct tensor x;
    enum assay_status st;

    st = layout_convert(dn, job->context->pool, job->x, &kernel->src, &x, err);
    if (st)
        return st;
    kernel->reorders_x = x.buffer != job->x->buffer;
    st = make_output(dn, job, kernel, y, err);
    if (!st && kernel->part.images)
        st = parts_run(dn, job, kernel, &x, y, err);
    else if (!st)
        st = kernel_execute(dn, job, kernel, tensor_data(&x), tensor_data(y),
                            err);
    tensor_release(&x);
    if (st)
        tensor_release(y);
    return st;
}
