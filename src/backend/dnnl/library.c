/* backend/dnnl/library.c - oneDNN's failures, layouts and reorders. */
#include "backend/dnnl/dnnl_internal.h"

#include "base/mem.h"

#include <dnnl_debug.h>
#include <stdio.h>
#include <string.h>

enum assay_status onednn_status(dnnl_status_t status, const char *what,
                                struct error *err)
{
    if (status == dnnl_success)
        return ASSAY_OK;
    return error_set(
        err, status == dnnl_out_of_memory ? ASSAY_NOMEM : ASSAY_UNSUPPORTED,
        "oneDNN could not %s (%s)", what, dnnl_status2str(status));
}

enum assay_status onednn_make(dnnl_primitive_t *primitive,
                              const_dnnl_primitive_desc_t description,
                              const char *what, struct error *err)
{
    static const size_t code_bytes = 4 << 20;
    void *spare = mem_map(code_bytes);

    if (!spare)
        return error_nomem(err, code_bytes, "the code of a kernel");
    mem_unmap(spare, code_bytes);
    return onednn_status(dnnl_primitive_create(primitive, description), what,
                         err);
}

enum assay_status onednn_execute(struct onednn *dn, dnnl_primitive_t primitive,
                                 const struct argument *arguments, size_t n,
                                 struct error *err)
{
    dnnl_exec_arg_t list[MAX_ARGUMENTS] = {{0}};
    dnnl_status_t status = dnnl_success;
    size_t made = 0;

    for (size_t i = 0; i < n && !status; i++) {
        list[made].arg = arguments[i].id;
        status = dnnl_memory_create(&list[made].memory, arguments[i].desc,
                                    dn->engine, arguments[i].data);
        made += !status;
    }
    if (!status)
        status = dnnl_primitive_execute(primitive, dn->stream, (int)made, list);
    if (!status)
        status = dnnl_stream_wait(dn->stream);
    for (size_t i = 0; i < made; i++)
        dnnl_memory_destroy(list[i].memory);
    return onednn_status(status, "run a kernel", err);
}

/* With scratch memory of ours: the library would keep its own. */
static enum assay_status
make_reorder(struct onednn *dn, const dnnl_memory_desc_t *from,
             const dnnl_memory_desc_t *to, dnnl_primitive_t *primitive,
             dnnl_memory_desc_t *scratch, struct error *err)
{
    dnnl_primitive_desc_t description = NULL;
    dnnl_primitive_attr_t attributes = NULL;
    dnnl_status_t status = dnnl_primitive_attr_create(&attributes);
    enum assay_status st;

    if (!status)
        status = dnnl_primitive_attr_set_scratchpad_mode(
            attributes, dnnl_scratchpad_mode_user);
    if (!status)
        status = dnnl_reorder_primitive_desc_create(
            &description, from, dn->engine, to, dn->engine, attributes);
    st = onednn_status(status, "make a reorder", err);
    if (!st)
        st = onednn_make(primitive, description, "make a reorder", err);
    if (!st)
        *scratch = *dnnl_primitive_desc_query_md(description,
                                                 dnnl_query_scratchpad_md, 0);
    dnnl_primitive_desc_destroy(description);
    dnnl_primitive_attr_destroy(attributes);
    return st;
}

enum assay_status onednn_reorder(struct onednn *dn, struct pool *pool,
                                 const dnnl_memory_desc_t *from,
                                 const void *data, const dnnl_memory_desc_t *to,
                                 void *out, struct error *err)
{
    dnnl_memory_desc_t scratch = {0};
    struct argument arguments[] = {
        {.id = DNNL_ARG_FROM, .desc = from, .data = (void *)data},
        {.id = DNNL_ARG_TO, .desc = to, .data = out},
        {.id = DNNL_ARG_SCRATCHPAD, .desc = &scratch}};
    dnnl_primitive_t primitive = NULL;
    struct buffer *memory = NULL;
    enum assay_status st =
        make_reorder(dn, from, to, &primitive, &scratch, err);
    size_t bytes = dnnl_memory_desc_get_size(&scratch);

    if (!st && bytes) {
        st = pool_take(pool, bytes, "a reorder's scratch memory", &memory, err);
        if (!st)
            arguments[2].data = buffer_data(memory);
    }
    if (!st)
        st = onednn_execute(dn, primitive, arguments, bytes ? 3 : 2, err);
    buffer_release(memory);
    dnnl_primitive_destroy(primitive);
    return st;
}

struct dims dims_of(const int64_t *values, int n)
{
    struct dims dims = {{0}};

    for (int i = 0; i < n; i++)
        dims.of[i] = values[i];
    return dims;
}

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

static dnnl_memory_desc_t describe(const struct shape *shape,
                                   dnnl_format_tag_t tag)
{
    dnnl_memory_desc_t desc;

    /* Fails for no shape that infer() lets pass; a zeroed one is refused by
     * whatever is made from it. */
    if (dnnl_memory_desc_init_by_tag(&desc, shape->rank,
                                     dims_of(shape->dims, shape->rank).of,
                                     dnnl_f32, tag))
        memset(&desc, 0, sizeof desc);
    return desc;
}

dnnl_memory_desc_t desc_dense(const struct shape *shape)
{
    return describe(shape, dense_tags[shape->rank]);
}

dnnl_memory_desc_t desc_any(const struct shape *shape)
{
    return describe(shape, dnnl_format_tag_any);
}

dnnl_memory_desc_t desc_of(const struct tensor *tensor)
{
    return tensor->layout ? tensor->layout->desc : desc_dense(&tensor->shape);
}

/* The layouts of maps that have a name and channel blocks. */
static const struct {
    dnnl_format_tag_t tag;
    const char *name;
} named_tags[] = {{dnnl_nchw, "nchw"},
                  {dnnl_nChw16c, "nChw16c"},
                  {dnnl_nChw8c, "nChw8c"},
                  {dnnl_nChw4c, "nChw4c"},
                  {dnnl_nhwc, "nhwc"}};

enum { n_tags = sizeof named_tags / sizeof *named_tags };

/* Its place in the list, or n_tags. */
static size_t find_tag(const dnnl_memory_desc_t *desc)
{
    dnnl_memory_desc_t named;
    size_t i = 0;

    while (i < n_tags &&
           (desc->ndims != 4 ||
            dnnl_memory_desc_init_by_tag(&named, 4, desc->dims, dnnl_f32,
                                         named_tags[i].tag) ||
            !dnnl_memory_desc_equal(desc, &named)))
        i++;
    return i;
}

const char *desc_text(const dnnl_memory_desc_t *desc)
{
    size_t found = find_tag(desc);

    return found < n_tags ? named_tags[found].name : "other";
}

bool desc_like(const dnnl_memory_desc_t *desc, const struct shape *shape,
               dnnl_memory_desc_t *out)
{
    size_t found = find_tag(desc);

    return found < n_tags &&
           !dnnl_memory_desc_init_by_tag(out, 4, dims_of(shape->dims, 4).of,
                                         dnnl_f32, named_tags[found].tag);
}

enum assay_status layout_intern(struct onednn *dn,
                                const dnnl_memory_desc_t *desc,
                                const struct layout **out, struct error *err)
{
    struct layout *layout = dn->layouts;

    while (layout && !dnnl_memory_desc_equal(&layout->desc, desc))
        layout = layout->next;
    if (!layout) {
        layout = arena_alloc(&dn->memory, sizeof *layout);
        if (!layout)
            return error_nomem(err, sizeof *layout, "a layout");
        *layout = (struct layout){.desc = *desc, .next = dn->layouts};
        dn->layouts = layout;
    }
    *out = layout;
    return ASSAY_OK;
}

enum assay_status layout_tensor(struct onednn *dn, struct pool *pool,
                                const dnnl_memory_desc_t *desc,
                                const struct shape *shape, struct tensor *out,
                                struct error *err)
{
    dnnl_memory_desc_t dense = desc_dense(shape);
    enum assay_status st;

    if (dnnl_memory_desc_equal(desc, &dense))
        return tensor_new(pool, DTYPE_F32, shape, out, err);
    *out = (struct tensor){.dtype = DTYPE_F32, .shape = *shape};
    st = layout_intern(dn, desc, &out->layout, err);
    if (!st)
        st = pool_take(pool, dnnl_memory_desc_get_size(desc), "a tensor",
                       &out->buffer, err);
    return st;
}

enum assay_status layout_convert(struct onednn *dn, struct pool *pool,
                                 const struct tensor *tensor,
                                 const dnnl_memory_desc_t *desc,
                                 struct tensor *out, struct error *err)
{
    dnnl_memory_desc_t from = desc_of(tensor);
    enum assay_status st;
    uint32_t owner;

    if (dnnl_memory_desc_equal(&from, desc)) {
        *out = tensor_share(tensor);
        return ASSAY_OK;
    }
    owner = pool_set_owner(pool, OWNER_SCRATCH);
    st = layout_tensor(dn, pool, desc, &tensor->shape, out, err);
    pool_set_owner(pool, owner);
    if (!st)
        st = onednn_reorder(dn, pool, &from, tensor_data(tensor), desc,
                            tensor_data(out), err);
    if (st)
        tensor_release(out);
    return st;
}

size_t layout_elements(const struct tensor *tensor)
{
    return tensor->layout ? dnnl_memory_desc_get_size(&tensor->layout->desc) /
                                sizeof(float)
                          : tensor_elements(tensor);
}

bool layout_blocks(const struct tensor *tensor, struct channel_blocks *blocks)
{
    const int64_t *dims = tensor->shape.dims;
    dnnl_memory_desc_t desc = desc_of(tensor);
    size_t found = find_tag(&desc);

    if (found == n_tags)
        return false;
    blocks->tag = named_tags[found].tag;
    blocks->images = dims[0];
    blocks->plane = dims[2] * dims[3];
    if (desc.format_desc.blocking.inner_nblks)
        blocks->block = desc.format_desc.blocking.inner_blks[0];
    else
        blocks->block = blocks->tag == dnnl_nhwc ? dims[1] : 1;
    blocks->n_blocks = (dims[1] + blocks->block - 1) / blocks->block;
    return true;
}
