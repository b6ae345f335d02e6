/* backend/cuda/cuda_layout.c - see cuda_internal.h: how tensors are stored, and
 * from one way to another. */
#include "backend/cuda/cuda_internal.h"

#include "backend/cuda/cuda_walk.h"
#include "base/mem.h"

#include <stdio.h>

static const struct layout layouts[N_CUDA_ORDERS][3] = {
    [CUDA_ROWS] = {{CUDA_ROWS, DTYPE_F32},
                   {CUDA_ROWS, DTYPE_F16},
                   {CUDA_ROWS, DTYPE_BF16}},
    [CUDA_CHANNELS_LAST] = {{CUDA_CHANNELS_LAST, DTYPE_F32},
                            {CUDA_CHANNELS_LAST, DTYPE_F16},
                            {CUDA_CHANNELS_LAST, DTYPE_BF16}},
    [CUDA_CHANNELS_PADDED] = {{CUDA_CHANNELS_PADDED, DTYPE_F32},
                              {CUDA_CHANNELS_PADDED, DTYPE_F16},
                              {CUDA_CHANNELS_PADDED, DTYPE_BF16}},
};

const struct layout *cuda_layout(enum cuda_order order, enum dtype stored)
{
    int i = stored == DTYPE_F16 ? 1 : stored == DTYPE_BF16 ? 2 : 0;

    return order == CUDA_ROWS && !i ? NULL : &layouts[order][i];
}

static enum dtype precision_dtype(enum precision precision)
{
    if (precision == PRECISION_FP16)
        return DTYPE_F16;
    return precision == PRECISION_BF16 ? DTYPE_BF16 : DTYPE_F32;
}

const struct layout *cuda_own_layout(const struct cuda *cuda, int rank)
{
    return cuda_layout(rank == 4 ? CUDA_CHANNELS_LAST : CUDA_ROWS,
                       precision_dtype(cuda->precision));
}

struct tensor cuda_as_stored(const struct tensor *x)
{
    struct tensor stored = *x;

    if (cuda_is_padded(x)) {
        stored.shape.dims[1] = cuda_padded(x->shape.dims[1], cuda_stored(x));
        stored.layout = cuda_layout(CUDA_CHANNELS_LAST, cuda_stored(x));
    }
    return stored;
}

/* ---- memory -------------------------------------------------------------- */

enum assay_status cuda_tensor_new(struct cuda_call *call,
                                  const struct shape *shape,
                                  const struct layout *layout,
                                  struct tensor *out)
{
    struct tensor made = {
        .dtype = DTYPE_F32, .shape = *shape, .layout = layout};
    enum dtype stored = layout ? layout->stored : DTYPE_F32;
    struct tensor all = cuda_as_stored(&made);
    enum assay_status st;
    size_t n;

    *out = (struct tensor){0};
    if (!shape_elements(&all.shape, &n))
        return error_set(call->err, ASSAY_NOMEM,
                         "out of memory: a tensor is too large");
    st = pool_take(call->context->pool, n * dtype_bytes(stored), "a tensor",
                   &made.buffer, call->err);
    if (!st)
        *out = made;
    return st;
}

enum assay_status cuda_output(struct cuda_call *call, size_t i,
                              const struct layout *layout)
{
    struct tensor *output = &call->outputs[i];
    struct shape shape = output->shape;

    if (output->dtype == DTYPE_F32)
        return cuda_tensor_new(call, &shape, layout, output);
    return tensor_new(call->context->pool, output->dtype, &shape, output,
                      call->err);
}

enum assay_status cuda_scratch(struct cuda_call *call, size_t bytes,
                               struct buffer **out)
{
    return pool_take_scratch(call->context->pool, bytes, "scratch of a kernel",
                             out, call->err);
}

enum assay_status cuda_desk(struct cuda_call *call, size_t bytes,
                            const char *what, void **out)
{
    struct cuda *cuda = call->cuda;

    if (cuda->desk_bytes < bytes) {
        mem_free(cuda->desk);
        cuda->desk = mem_alloc(bytes);
        cuda->desk_bytes = cuda->desk ? bytes : 0;
    }
    *out = cuda->desk;
    return cuda->desk || !bytes ? ASSAY_OK
                                : error_nomem(call->err, bytes, what);
}

/* ---- from one to another ------------------------------------------------- */

static const char *stored_name(enum dtype stored)
{
    return stored == DTYPE_F16 ? "f16" : stored == DTYPE_BF16 ? "bf16" : "f32";
}

const char *cuda_kernel_name(char text[CUDA_NAME], const char *name,
                             enum dtype stored)
{
    snprintf(text, CUDA_NAME, "%s_%s", name, stored_name(stored));
    return text;
}

/* Whether both orders have the elements at the same places. */
static bool is_same_order(const struct tensor *x, enum cuda_order order)
{
    const int64_t *dims = x->shape.dims;

    if (cuda_order(x) == order || order == CUDA_CHANNELS_PADDED ||
        cuda_is_padded(x))
        return cuda_order(x) == order;
    return dims[1] == 1 || dims[2] * dims[3] == 1;
}

/* From rows to padded: one thread for a place. */
static enum assay_status layout_widen(struct cuda_call *call,
                                      const struct tensor *from,
                                      const struct tensor *to)
{
    const int64_t *dims = from->shape.dims;
    int c = (int)dims[1], wide = (int)cuda_padded(c, cuda_stored(to));
    int64_t plane = dims[2] * dims[3], n = dims[0] * plane;
    cu_pointer x = cuda_at(from), y = cuda_at(to);
    char name[CUDA_NAME];

    snprintf(name, sizeof name, "widen_%s_%s", stored_name(cuda_stored(from)),
             stored_name(cuda_stored(to)));
    return CUDA_LAUNCH(call, "reorder", name,
                       cuda_grid_for(call->cuda->device, (size_t)n, 1), x, y, n,
                       plane, c, wide);
}

/* To or from padded maps. */
static enum assay_status layout_pad(struct cuda_call *call,
                                    const struct tensor *from,
                                    const struct tensor *to)
{
    const struct shape *shape = &from->shape;
    struct tensor x_all = cuda_as_stored(from), y_all = cuda_as_stored(to);
    int64_t n = (int64_t)tensor_elements(&y_all);
    int c = (int)shape->dims[1], in_x = (int)x_all.shape.dims[1];
    int in_y = (int)y_all.shape.dims[1];
    cu_pointer x = cuda_at(from), y = cuda_at(to);
    char name[CUDA_NAME];

    if (cuda_order(to) == CUDA_ROWS)
        return cuda_copy_view(call, shape->rank, shape->dims,
                              cuda_view_of(from), cuda_view_of(to));
    if (cuda_order(from) == CUDA_ROWS)
        return layout_widen(call, from, to);
    if (cuda_stored(from) == cuda_stored(to)) {
        struct cuda_rows rows = {n / in_y, c < in_y ? c : in_y, in_y, in_x,
                                 in_y};
        size_t bytes = dtype_bytes(cuda_stored(to));

        if (cuda_are_short_rows(&rows, bytes))
            return cuda_copy_rows(call, &rows, bytes, x, y);
    }
    snprintf(name, sizeof name, "pad_%s_%s", stored_name(cuda_stored(from)),
             stored_name(cuda_stored(to)));
    return CUDA_LAUNCH(call, "reorder", name,
                       cuda_grid_for(call->cuda->device, (size_t)n, 4), x, y, n,
                       c, in_x, in_y);
}

static enum assay_status layout_reorder(struct cuda_call *call,
                                        const struct tensor *from,
                                        const struct tensor *to)
{
    struct cuda_device *device = call->cuda->device;
    bool is_turned = !is_same_order(from, cuda_order(to));
    cu_pointer x = cuda_at(from), y = cuda_at(to);
    int64_t n = (int64_t)tensor_elements(from), matrices, rows, columns;
    struct cuda_grid grid = cuda_grid_for(device, (size_t)n, 4);
    char name[CUDA_NAME];

    snprintf(name, sizeof name, "%s_%s_%s", is_turned ? "turn" : "cast",
             stored_name(cuda_stored(from)), stored_name(cuda_stored(to)));
    if (!n)
        return ASSAY_OK;
    if (cuda_is_padded(from) || cuda_is_padded(to))
        return layout_pad(call, from, to);
    if (!is_turned)
        return CUDA_LAUNCH(call, "reorder", name, grid, x, y, n);
    matrices = from->shape.dims[0];
    rows = from->shape.dims[1];
    columns = from->shape.dims[2] * from->shape.dims[3];
    if (cuda_order(from) == CUDA_CHANNELS_LAST) {
        rows = columns;
        columns = from->shape.dims[1];
    }
    return CUDA_LAUNCH(call, "reorder", name, grid, x, y, matrices, rows,
                       columns);
}

enum assay_status cuda_in_layout(struct cuda_call *call,
                                 const struct tensor *from,
                                 const struct layout *layout,
                                 struct tensor *out)
{
    enum dtype stored = layout ? layout->stored : DTYPE_F32;
    enum cuda_order order = layout ? layout->order : CUDA_ROWS;
    enum assay_status st;

    if (from->dtype != DTYPE_F32 || from->layout == layout ||
        (cuda_stored(from) == stored && is_same_order(from, order))) {
        *out = tensor_share(from);
        out->layout = from->dtype == DTYPE_F32 ? layout : NULL;
        return ASSAY_OK;
    }
    st = cuda_tensor_new(call, &from->shape, layout, out);
    if (!st)
        st = layout_reorder(call, from, out);
    if (st)
        tensor_release(out);
    return st;
}
