/* backend/cuda/cuda_packed.c - see cuda_plan.h: parameters as kernels want
 * them, made once. */
#include "backend/cuda/cuda_plan.h"

#include "base/vec.h"

#include <stdio.h>

struct packed_parameter {
    uint32_t value, scale_value;
    struct packing packing;
    struct buffer *buffer;
};

void cuda_packed_forget(struct cuda *cuda)
{
    for (size_t i = 0; i < cuda->n_packed; i++)
        buffer_release(cuda->packed[i].buffer);
    cuda->n_packed = 0;
}

static struct packed_parameter *packed_find(struct cuda *cuda,
                                            const struct packed_parameter *like)
{
    for (size_t i = 0; i < cuda->n_packed; i++) {
        struct packed_parameter *at = &cuda->packed[i];

        if (at->value == like->value && at->scale_value == like->scale_value &&
            at->packing.kind == like->packing.kind &&
            at->packing.stored == like->packing.stored &&
            at->packing.rows == like->packing.rows &&
            at->packing.columns == like->packing.columns)
            return at;
    }
    return NULL;
}

/* A vector is a matrix of one column. */
static int64_t columns_of(const struct tensor *from)
{
    return from->shape.rank > 1 ? from->shape.dims[1] : 1;
}

static int64_t places_of(const struct tensor *from)
{
    int64_t places = 1;

    for (int i = 2; i < from->shape.rank; i++)
        places *= from->shape.dims[i];
    return places;
}

/* Whether zeros are added. */
static bool packing_pads(const struct tensor *from,
                         const struct packing *packing)
{
    return (packing->rows && packing->rows != from->shape.dims[0]) ||
           (packing->columns && packing->columns != columns_of(from));
}

static size_t packed_elements(const struct tensor *from,
                              const struct packing *packing)
{
    if (!packing_pads(from, packing))
        return tensor_elements(from);
    return (size_t)(packing->rows * packing->columns * places_of(from));
}

static enum assay_status packed_launch(struct cuda_call *call,
                                       const struct tensor *from,
                                       const struct tensor *scale_input,
                                       const struct packed_parameter *packed)
{
    const struct packing *packing = &packed->packing;
    cu_pointer x = cuda_at(from), scale = cuda_at(scale_input);
    cu_pointer y = (cu_pointer)(uintptr_t)buffer_data(packed->buffer);
    int64_t n = (int64_t)packed_elements(from, packing);
    int64_t rows = from->shape.dims[0], c = columns_of(from);
    int64_t places = places_of(from), wide = c;
    struct cuda_grid grid = cuda_grid_for(call->cuda->device, (size_t)n, 4);
    char name[CUDA_NAME];

    if (packing_pads(from, packing))
        wide = packing->columns;
    else if (packing->kind == PACKED_ROWS)
        return CUDA_LAUNCH(call, "reorder",
                           cuda_kernel_name(name, "cast_f32", packing->stored),
                           grid, x, y, n);
    if (packing->kind == PACKED_TURNED)
        return CUDA_LAUNCH(
            call, "convolution",
            cuda_kernel_name(name, "pack_turned", packing->stored), grid, x, y,
            rows, c, places, n);
    return CUDA_LAUNCH(call, "convolution",
                       cuda_kernel_name(name, "pack_weight", packing->stored),
                       grid, x, scale, y, rows, c, wide, places, n);
}

static enum assay_status packed_make(struct cuda_call *call,
                                     const struct tensor *from,
                                     const struct tensor *scale,
                                     struct packed_parameter packed,
                                     cu_pointer *out)
{
    struct cuda *cuda = call->cuda;
    struct pool *pool = call->context->pool;
    size_t bytes = packed_elements(from, &packed.packing) *
                   dtype_bytes(packed.packing.stored);
    uint32_t owner = pool_set_owner(pool, OWNER_PACKED);
    enum assay_status st =
        pool_take(pool, bytes, "weights", &packed.buffer, call->err);

    pool_set_owner(pool, owner);
    if (!st && tensor_elements(from))
        st = packed_launch(call, from, scale, &packed);
    if (!st && !vec_grow(&cuda->packed, &cuda->packed_capacity,
                         cuda->n_packed + 1, sizeof *cuda->packed))
        st = error_nomem(call->err, sizeof *cuda->packed, "weights");
    if (st) {
        buffer_release(packed.buffer);
        return st;
    }
    cuda->packed[cuda->n_packed++] = packed;
    *out = (cu_pointer)(uintptr_t)buffer_data(packed.buffer);
    return ASSAY_OK;
}

/* A weight that is computed changes with every run, and is not kept. */
static void packed_drop(struct cuda *cuda, struct packed_parameter *packed)
{
    buffer_release(packed->buffer);
    *packed = cuda->packed[--cuda->n_packed];
}

/* Whether it already has this order in memory. */
static bool is_packed_already(const struct tensor *from,
                              const struct packing *packing)
{
    if (packing_pads(from, packing) || packing->stored != DTYPE_F32)
        return false;
    return packing->kind == PACKED_ROWS ||
           (packing->kind == PACKED_WEIGHT &&
            (places_of(from) == 1 || columns_of(from) == 1));
}

enum assay_status cuda_packed(struct cuda_call *call, size_t input,
                              size_t scale_input, struct packing packing,
                              cu_pointer *out)
{
    const struct node *node = call->node;
    const struct tensor *from = cuda_input(call, input);
    const struct tensor *scale =
        scale_input ? cuda_input(call, scale_input) : NULL;
    struct packed_parameter like = {
        .value = from ? node->inputs[input] : GRAPH_NONE,
        .scale_value = scale ? node->inputs[scale_input] : GRAPH_NONE,
        .packing = packing};
    struct packed_parameter *found;

    *out = 0;
    if (!from)
        return ASSAY_OK;
    if (!packing_pads(from, &packing))
        like.packing = cuda_packing(packing.kind, packing.stored);
    if (!scale && is_packed_already(from, &packing)) {
        *out = cuda_at(from);
        return ASSAY_OK;
    }
    found = packed_find(call->cuda, &like);
    if (found &&
        graph_value(call->cuda->graph, like.value)->kind == VALUE_COMPUTED) {
        packed_drop(call->cuda, found);
        found = NULL;
    }
    if (!found)
        return packed_make(call, from, scale, like, out);
    *out = (cu_pointer)(uintptr_t)buffer_data(found->buffer);
    return ASSAY_OK;
}
