/* backend/dnnl/layout.c - how tensors lie in memory, interned, and tensors that
 * lie so. */
#include "backend/dnnl/native_internal.h"

#include "backend/dnnl/channel_affine.h"
#include "backend/dnnl/int8_internal.h"
#include "base/mem.h"
#include "base/processor.h"

#include <string.h>

/* Stands for one that there was no memory for. */
static const struct layout layout_missing;

static const dnnl_format_tag_t dense_tags[SHAPE_MAX_RANK + 1] = {
    dnnl_format_tag_undef,
    dnnl_a,
    dnnl_ab,
    dnnl_abc,
    dnnl_abcd,
    dnnl_abcde,
    dnnl_abcdef,
    dnnl_abcdefg,
    dnnl_abcdefgh};

/* Of four dimensions. Small shapes may lie in several orders at once: the
 * first of them is theirs. */
static const struct {
    enum order order;
    dnnl_format_tag_t tag;
    const char *name;
} named_orders[] = {{ORDER_DENSE, dnnl_nchw, "nchw"},
                    {ORDER_BLOCKS_OF_16, dnnl_nChw16c, "nChw16c"},
                    {ORDER_BLOCKS_OF_8, dnnl_nChw8c, "nChw8c"},
                    {ORDER_BLOCKS_OF_4, dnnl_nChw4c, "nChw4c"},
                    {ORDER_CHANNELS_LAST, dnnl_nhwc, "nhwc"},
                    {ORDER_WEIGHTS_16X16, dnnl_ABcd16b16a, "other"}};

enum { n_named_orders = sizeof named_orders / sizeof *named_orders };

static dnnl_format_tag_t layout_tag(int rank, enum order order)
{
    if (order == ORDER_ANY)
        return dnnl_format_tag_any;
    if (order == ORDER_DENSE)
        return dense_tags[rank];
    for (size_t i = 0; rank == 4 && i < n_named_orders; i++) {
        if (named_orders[i].order == order)
            return named_orders[i].tag;
    }
    return dnnl_format_tag_undef;
}

static const struct {
    enum dtype dtype;
    dnnl_data_type_t type;
} native_types[] = {{DTYPE_F32, dnnl_f32},
                    {DTYPE_BF16, dnnl_bf16},
                    {DTYPE_U8, dnnl_u8},
                    {DTYPE_I8, dnnl_s8},
                    {DTYPE_I32, dnnl_s32}};

enum { n_native_types = sizeof native_types / sizeof *native_types };

dnnl_data_type_t native_type(enum dtype dtype)
{
    for (size_t i = 0; i < n_native_types; i++) {
        if (native_types[i].dtype == dtype)
            return native_types[i].type;
    }
    return dnnl_f32;
}

enum dtype native_dtype(dnnl_data_type_t type)
{
    for (size_t i = 0; i < n_native_types; i++) {
        if (native_types[i].type == type)
            return native_types[i].dtype;
    }
    return DTYPE_F32;
}

static struct layout **layout_list(struct onednn *dn, const struct shape *shape)
{
    uint64_t hash = (uint64_t)shape->rank;

    for (int i = 0; i < shape->rank; i++)
        hash = (hash ^ (uint64_t)shape->dims[i]) * 0x9e3779b97f4a7c15;
    return &dn->layouts[(hash >> 32) % N_LAYOUT_LISTS];
}

/* ---- interning ----------------------------------------------------------- */

/* The first order that it has; false where there is no memory to tell. */
static bool layout_set_order(struct layout *layout)
{
    size_t n = layout->shape.rank == 4 ? n_named_orders : 1;

    layout->order = ORDER_OTHER;
    for (size_t i = 0; layout->order == ORDER_OTHER && i < n; i++) {
        enum order order = named_orders[i].order;
        bool has_order;

        if (native_has_tag(layout->native, layout->dtype, &layout->shape,
                           layout_tag(layout->shape.rank, order), &has_order))
            return false;
        if (has_order)
            layout->order = order;
    }
    return true;
}

static struct layout *layout_find_native(struct onednn *dn,
                                         const struct shape *shape,
                                         const void *native)
{
    struct layout *layout = *layout_list(dn, shape);

    while (layout &&
           !(layout->native && dnnl_memory_desc_equal(layout->native, native)))
        layout = layout->next;
    return layout;
}

/* Takes the description over, whatever comes of it. NULL without memory. */
static const struct layout *layout_take(struct onednn *dn, void *native,
                                        bool is_any)
{
    struct layout looked = {.native = native}, *layout, **list;

    native_look(native, &looked);
    layout = layout_find_native(dn, &looked.shape, native);
    if (layout) {
        native_free(native);
        return layout;
    }
    looked.order = ORDER_ANY;
    if (is_any || layout_set_order(&looked))
        layout = arena_alloc(&dn->memory, sizeof *layout);
    if (!layout) {
        native_free(native);
        return NULL;
    }
    list = layout_list(dn, &looked.shape);
    looked.bytes = dnnl_memory_desc_get_size(native);
    looked.next = *list;
    *layout = looked;
    *list = layout;
    return layout;
}

enum assay_status layout_intern(struct onednn *dn, const void *native,
                                const struct layout **out, struct error *err)
{
    struct layout looked = {0};
    void *copy;

    *out = NULL;
    if (native)
        native_look(native, &looked);
    if (looked.shape.rank == 0)
        return ASSAY_OK;
    *out = layout_find_native(dn, &looked.shape, native);
    if (!*out && !native_copy(native, &copy))
        *out = layout_take(dn, copy, false);
    return *out ? ASSAY_OK : error_nomem(err, sizeof **out, "a layout");
}

void layout_forget_all(struct onednn *dn)
{
    for (size_t i = 0; i < N_LAYOUT_LISTS; i++) {
        for (struct layout *at = dn->layouts[i]; at; at = at->next)
            native_free(at->native);
        dn->layouts[i] = NULL;
    }
}

/* ---- by shape and order -------------------------------------------------- */

/* A number, of which the library knows nothing. */
static const struct layout *layout_scalar(struct onednn *dn)
{
    static const struct shape scalar;
    struct layout **list = layout_list(dn, &scalar);
    struct layout *layout = *list;

    while (layout && layout->shape.rank > 0)
        layout = layout->next;
    if (layout)
        return layout;
    layout = arena_alloc(&dn->memory, sizeof *layout);
    if (!layout)
        return &layout_missing;
    *layout = (struct layout){.order = ORDER_DENSE,
                              .bytes = sizeof(float),
                              .channels = 1,
                              .block = 1,
                              .next = *list};
    *list = layout;
    return layout;
}

const struct layout *layout_typed(struct onednn *dn, enum dtype dtype,
                                  const struct shape *shape, enum order order)
{
    const struct layout *layout = *layout_list(dn, shape);
    void *native;

    if (shape->rank == 0)
        return layout_scalar(dn);
    while (layout && (layout->order != order || layout->dtype != dtype ||
                      !shape_equal(&layout->shape, shape)))
        layout = layout->next;
    /* Fails for no shape that infer() lets pass. */
    if (!layout &&
        !native_by_tag(dtype, shape, layout_tag(shape->rank, order), &native))
        layout = layout_take(dn, native, order == ORDER_ANY);
    return layout ? layout : &layout_missing;
}

const struct layout *layout_ordered(struct onednn *dn,
                                    const struct shape *shape, enum order order)
{
    return layout_typed(dn, DTYPE_F32, shape, order);
}

const struct layout *layout_dense(struct onednn *dn, const struct shape *shape)
{
    return layout_ordered(dn, shape, ORDER_DENSE);
}

const struct layout *layout_any(struct onednn *dn, const struct shape *shape)
{
    return layout_ordered(dn, shape, ORDER_ANY);
}

const struct layout *layout_strided(struct onednn *dn,
                                    const struct shape *shape,
                                    const int64_t *strides)
{
    const struct layout *layout = NULL;
    void *native;

    if (!native_by_strides(shape, strides, &native))
        layout = layout_take(dn, native, false);
    return layout ? layout : &layout_missing;
}

const struct layout *layout_of(struct onednn *dn, const struct tensor *tensor)
{
    return tensor->layout
               ? tensor->layout
               : layout_typed(dn, tensor->dtype, &tensor->shape, ORDER_DENSE);
}

/* Whether it is one of a map in channel blocks. */
static bool layout_is_map(const struct layout *layout)
{
    return layout->shape.rank == 4 && layout->order >= ORDER_DENSE &&
           layout->order <= ORDER_CHANNELS_LAST;
}

const struct layout *layout_like(struct onednn *dn, const struct layout *layout,
                                 const struct shape *shape)
{
    return layout_is_map(layout)
               ? layout_typed(dn, layout->dtype, shape, layout->order)
               : NULL;
}

const struct layout *layout_transformed(struct onednn *dn,
                                        const struct shape *shape,
                                        enum order order, size_t bytes)
{
    struct layout **list = layout_list(dn, shape);
    struct layout *layout = *list;

    while (layout && (layout->order != order || layout->bytes != bytes ||
                      !shape_equal(&layout->shape, shape)))
        layout = layout->next;
    if (layout)
        return layout;
    layout = arena_alloc(&dn->memory, sizeof *layout);
    if (!layout)
        return &layout_missing;
    *layout = (struct layout){.shape = *shape,
                              .order = order,
                              .bytes = bytes,
                              .channels = shape->dims[1],
                              .block = 1,
                              .is_opaque = true,
                              .next = *list};
    *list = layout;
    return layout;
}

/* ---- what is asked of one ------------------------------------------------ */

enum assay_status layout_check(const struct layout *layout, struct error *err)
{
    if (layout == &layout_missing)
        return error_nomem(err, sizeof *layout, "a layout");
    return ASSAY_OK;
}

size_t layout_bytes(const struct layout *layout)
{
    return layout ? layout->bytes : 0;
}

const void *layout_native(const struct layout *layout)
{
    return layout ? layout->native : NULL;
}

const char *layout_text(const struct layout *layout)
{
    for (size_t i = 0; layout_is_map(layout) && i < n_named_orders; i++) {
        if (named_orders[i].order == layout->order)
            return named_orders[i].name;
    }
    return layout->order == ORDER_DENSE ? "dense" : "other";
}

/* ---- tensors ------------------------------------------------------------- */

enum assay_status layout_tensor(struct pool *pool, const struct layout *layout,
                                const struct shape *shape, struct tensor *out,
                                struct error *err)
{
    enum assay_status st = layout_check(layout, err);
    bool is_narrow = layout->dtype == DTYPE_BF16;

    if (!st && layout->order == ORDER_DENSE && !is_narrow)
        return tensor_new(pool, layout->dtype, shape, out, err);
    *out = (struct tensor){.dtype = is_narrow ? DTYPE_F32 : layout->dtype,
                           .shape = *shape};
    if (st)
        return st;
    out->layout = layout;
    return pool_take(pool, layout->bytes, "a tensor", &out->buffer, err);
}

/* Does what is left to do first. */
static enum assay_status convert_pending(struct onednn *dn, struct pool *pool,
                                         const struct tensor *tensor,
                                         const struct layout *layout,
                                         struct tensor *out, struct error *err)
{
    uint32_t owner = pool_set_owner(pool, OWNER_SCRATCH);
    struct tensor ready;
    enum assay_status st = pending_apply(pool, tensor, &ready, err);

    pool_set_owner(pool, owner);
    if (!st)
        st = layout_convert(dn, pool, &ready, layout, out, err);
    tensor_release(&ready);
    return st;
}

enum assay_status layout_convert(struct onednn *dn, struct pool *pool,
                                 const struct tensor *tensor,
                                 const struct layout *layout,
                                 struct tensor *out, struct error *err)
{
    const struct layout *from = layout_of(dn, tensor);
    enum assay_status st = layout_check(from, err);
    uint32_t owner;

    *out = (struct tensor){0};
    if (st)
        return st;
    if (from == layout) {
        *out = tensor_share(tensor);
        return ASSAY_OK;
    }
    if (from->is_pending)
        return convert_pending(dn, pool, tensor, layout, out, err);
    owner = pool_set_owner(pool, OWNER_SCRATCH);
    st = layout_tensor(pool, layout, &tensor->shape, out, err);
    pool_set_owner(pool, owner);
    if (!st && !int8_turn(from, tensor_data(tensor), layout, tensor_data(out)))
        st = onednn_reorder(dn, pool, from, tensor_data(tensor), layout,
                            tensor_data(out), err);
    if (st)
        tensor_release(out);
    return st;
}

size_t layout_elements(const struct tensor *tensor)
{
    const struct layout *layout = tensor->layout;

    return layout ? layout->bytes / dtype_bytes(layout->dtype)
                  : tensor_elements(tensor);
}

enum order layout_own_blocks(void)
{
    return processor_level() >= PROCESSOR_AVX512 ? ORDER_BLOCKS_OF_16
                                                 : ORDER_BLOCKS_OF_8;
}

bool layout_blocks(const struct tensor *tensor, struct channel_blocks *blocks)
{
    const struct layout *layout = tensor->layout;
    const int64_t *dims = tensor->shape.dims;

    if (layout ? !layout_is_map(layout) : tensor->shape.rank != 4)
        return false;
    *blocks = (struct channel_blocks){.order = ORDER_DENSE,
                                      .images = dims[0],
                                      .plane = dims[2] * dims[3],
                                      .block = 1};
    if (layout) {
        blocks->order = layout->order;
        blocks->block =
            layout->order == ORDER_CHANNELS_LAST ? dims[1] : layout->block;
    }
    blocks->n_blocks = (dims[1] + blocks->block - 1) / blocks->block;
    return true;
}
