/* backend/dnnl/packed.c - weights as kernels want them.
 *
 * Outside of training they are reordered once and kept. In training they are
 * other ones after every step: each kernel gets a copy of its own that goes
 * when it has run, which takes as long and no memory that lasts. */
#include "backend/dnnl/grouped.h"
#include "backend/dnnl/own_winograd.h"

#include "base/processor.h"
#include "base/vec.h"

/* What is worth a detour. */
static const size_t large_bytes = 16 << 20;

enum assay_status take_lasting(struct pool *pool, uint32_t owner, size_t bytes,
                               const char *what, struct buffer **out,
                               struct error *err)
{
    enum assay_status st;
    uint32_t before;

    if (bytes >= large_bytes)
        pool_trim(pool);
    before = pool_set_owner(pool, owner);
    st = pool_take(pool, bytes, what, out, err);
    pool_set_owner(pool, before);
    return st;
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

    if (job->prepare || rows.dims[0] % step ||
        tensor_bytes(job->weight) < large_bytes ||
        job->weight_layout != layout_dense(dn, &rows))
        return false;
    rows.dims[0] = step;
    for (int64_t i = 0; i < job->weight->shape.dims[0]; i += step) {
        struct tensor part = *job->weight;

        part.shape = rows;
        part.offset += (size_t)i * each;
        if (onednn_reorder_rows(dn, job->context->pool, layout_dense(dn, &rows),
                                tensor_data(&part), kernel->weights, i, packed,
                                NULL))
            return false;
        tensor_unload(&part);
    }
    return true;
}

/* The graph's weights as the kernel reads them. */
static enum assay_status pack_dense(struct onednn *dn, const struct job *job,
                                    const struct kernel *kernel,
                                    const struct tensor *dense, void *packed,
                                    struct error *err)
{
    const void *weights = tensor_data(dense);

    if (kernel->primitive)
        return onednn_reorder(dn, job->context->pool, job->weight_layout,
                              weights, kernel->weights, packed, err);
    if (kernel->winograd)
        own_winograd_pack(kernel, weights, packed);
    else if (kernel->direct)
        own_direct_pack(kernel, weights, packed);
    else if (kernel->grouped)
        grouped_pack(kernel, weights, packed);
    else
        dense_pack(job, kernel, weights, packed);
    return ASSAY_OK;
}

/* Reorders the job's weights into memory of that owner. The graph keeps them
 * as they came, so that another layout can follow. */
static enum assay_status pack(struct onednn *dn, const struct job *job,
                              const struct kernel *kernel, uint32_t owner,
                              struct buffer **buffer, struct error *err)
{
    size_t bytes = kernel->weights->bytes;
    struct pool *pool = job->context->pool;
    struct tensor dense = {0};
    enum assay_status st;

    if (owner == OWNER_PACKED)
        st = take_lasting(pool, owner, bytes, "reordered weights", buffer, err);
    else
        st = pool_take_scratch(pool, bytes, "reordered weights", buffer, err);
    if (st)
        return st;
    if (owner == OWNER_PACKED && dn->may_unload && kernel->primitive &&
        pack_rows(dn, job, kernel, buffer_data(*buffer)))
        return ASSAY_OK;
    st = prepare_weights(job, &dense, err);
    if (!st)
        st = pack_dense(dn, job, kernel, &dense, buffer_data(*buffer), err);
    tensor_release(&dense);
    if (st) {
        buffer_release(*buffer);
        *buffer = NULL;
    }
    return st;
}

/* Packs and keeps. What lies in a file leaves memory until it is asked for
 * again. */
static enum assay_status pack_lasting(struct onednn *dn, const struct job *job,
                                      const struct kernel *kernel,
                                      struct packed *packed, struct error *err)
{
    enum assay_status st =
        pack(dn, job, kernel, OWNER_PACKED, &packed->buffer, err);

    if (st)
        return st;
    if (dn->may_unload)
        tensor_unload(job->weight);
    st = remember_packed(dn, *packed, err);
    if (st)
        buffer_release(packed->buffer);
    return st;
}

/* Kept ones are shared by every node that reads the same parameter in the same
 * way. */
static enum assay_status get_lasting(struct onednn *dn, const struct job *job,
                                     const struct kernel *kernel,
                                     struct buffer **held, struct error *err)
{
    struct packed packed = {.value = job->weight_value,
                            .scale_value = job->scale_value,
                            .layout = kernel->weights};
    const struct packed *found = find_packed(dn, &packed);

    if (!found) {
        enum assay_status st = pack_lasting(dn, job, kernel, &packed, err);
        if (st)
            return st;
        found = &packed;
    }
    *held = found->buffer;
    buffer_share(*held);
    return ASSAY_OK;
}

enum assay_status packed_get(struct onednn *dn, const struct job *job,
                             const struct kernel *kernel, struct buffer **held,
                             void **data, struct error *err)
{
    enum assay_status st;

    *held = NULL;
    *data = NULL;
    if (!job->weight)
        return ASSAY_OK;
    *data = tensor_data(job->weight);
    if (!job->prepare && job->weight_layout == kernel->weights)
        return ASSAY_OK;
    if (dn->options.is_training)
        st = pack(dn, job, kernel, OWNER_SCRATCH, held, err);
    else
        st = get_lasting(dn, job, kernel, held, err);
    if (!st)
        *data = buffer_data(*held);
    return st;
}

void packed_evict(struct onednn *dn, const struct job *job,
                  const struct kernel *kernel)
{
    struct packed wanted = {.value = job->weight_value,
                            .scale_value = job->scale_value,
                            .layout = kernel->weights};
    const struct packed *found = job->weight ? find_packed(dn, &wanted) : NULL;

    if (found)
        processor_evict(buffer_data(found->buffer), kernel->weights->bytes);
    else if (job->weight && !dn->options.is_training)
        processor_evict(tensor_data(job->weight), tensor_bytes(job->weight));
}

void packed_drop(struct onednn *dn, size_t from, const struct kernel *winner)
{
    size_t kept = from;

    for (size_t i = from; i < dn->n_packed; i++) {
        if (dn->packed[i].layout == winner->weights)
            dn->packed[kept++] = dn->packed[i];
        else
            buffer_release(dn->packed[i].buffer);
    }
    dn->n_packed = kept;
}

void packed_forget(struct onednn *dn)
{
    for (size_t i = 0; i < dn->n_packed; i++)
        buffer_release(dn->packed[i].buffer);
    dn->n_packed = 0;
}
