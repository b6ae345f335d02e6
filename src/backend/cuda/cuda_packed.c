/* backend/cuda/cuda_packed.c - see cuda_plan.h: parameters as kernels want
 * them, made once. */
#include "backend/cuda/cuda_plan.h"

#include "base/mem.h"
#include "base/vec.h"

#include <stdio.h>

struct packed_parameter {
    uint32_t value, scale_value;
    enum packed_kind kind;
    enum dtype stored;
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
            at->kind == like->kind && at->stored == like->stored)
            return at;
    }
    return NULL;
}

static size_t packed_elements(const struct tensor *from,
                              const struct packed_parameter *packed)
{
    size_t n = tensor_elements(from);

    return packed->kind == PACKED_WIDE ? n / (size_t)from->shape.dims[1] *
                                             (size_t)cuda_wide(packed->stored)
                                       : n;
}

static enum assay_status packed_launch(struct cuda_call *call,
                                       const struct tensor *from,
                                       const struct tensor *scale_input,
                                       const struct packed_parameter *packed)
{
    struct cuda_device *device = call->cuda->device;
    const int64_t *dims = from->shape.dims;
    cu_pointer x = cuda_at(from), scale = cuda_at(scale_input);
    cu_pointer y = (cu_pointer)(uintptr_t)buffer_data(packed->buffer);
    int64_t n = (int64_t)packed_elements(from, packed);
    int64_t c = dims[1], places = 1, o = dims[1], wide = c;
    struct cuda_grid grid = cuda_grid_for(device, (size_t)n, 4);
    char name[CUDA_NAME];

    for (int i = 2; i < from->shape.rank; i++)
        places *= dims[i];
    if (packed->kind == PACKED_ROWS) {
        snprintf(name, sizeof name, "cast_f32");
        cuda_kernel_name(name, "cast_f32", packed->stored);
        return CUDA_LAUNCH(call, "reorder", name, grid, x, y, n);
    }
    if (packed->kind == PACKED_WEIGHT || packed->kind == PACKED_WIDE) {
        if (packed->kind == PACKED_WIDE)
            wide = cuda_wide(packed->stored);
        cuda_kernel_name(name, "pack_weight", packed->stored);
        return CUDA_LAUNCH(call, "convolution", name, grid, x, scale, y, c,
                           wide, places, n);
    }
    c = dims[0];
    cuda_kernel_name(name, "pack_turned", packed->stored);
    return CUDA_LAUNCH(call, "convolution", name, grid, x, y, c, o, places, n);
}

static enum assay_status packed_make(struct cuda_call *call,
                                     const struct tensor *from,
                                     const struct tensor *scale,
                                     struct packed_parameter packed,
                                     cu_pointer *out)
{
    struct cuda *cuda = call->cuda;
    struct pool *pool = call->context->pool;
    size_t bytes = packed_elements(from, &packed) * dtype_bytes(packed.stored);
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
static bool is_packed_already(const struct tensor *from, enum packed_kind kind)
{
    const struct shape *shape = &from->shape;
    int64_t places = 1;

    for (int i = 2; i < shape->rank; i++)
        places *= shape->dims[i];
    return kind == PACKED_ROWS ||
           (kind == PACKED_WEIGHT && (places == 1 || shape->dims[1] == 1));
}

enum assay_status cuda_packed(struct cuda_call *call, size_t input,
                              size_t scale_input, enum packed_kind kind,
                              enum dtype stored, cu_pointer *out)
{
    const struct node *node = call->node;
    const struct tensor *from = cuda_input(call, input);
    const struct tensor *scale =
        scale_input ? cuda_input(call, scale_input) : NULL;
    struct packed_parameter like = {
        .value = from ? node->inputs[input] : GRAPH_NONE,
        .scale_value = scale ? node->inputs[scale_input] : GRAPH_NONE,
        .kind = kind,
        .stored = stored};
    struct packed_parameter *found;

    *out = 0;
    if (!from)
        return ASSAY_OK;
    if (stored == DTYPE_F32 && !scale && is_packed_already(from, kind)) {
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
