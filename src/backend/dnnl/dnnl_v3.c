/* backend/dnnl/dnnl_v3.c - oneDNN 3 behind native_internal.h: descriptions of
 * memory are handles, and an operation has no descriptor: its first
 * implementation is made at once, and moves on to the next. */
#include "backend/dnnl/native_internal.h"

/* ---- memory -------------------------------------------------------------- */

dnnl_status_t native_copy(const void *native, void **out)
{
    dnnl_memory_desc_t copy = NULL;
    dnnl_status_t status = dnnl_memory_desc_clone(&copy, native);

    *out = copy;
    return status;
}

dnnl_status_t native_by_tag(enum dtype dtype, const struct shape *shape,
                            dnnl_format_tag_t tag, void **out)
{
    dnnl_memory_desc_t desc = NULL;
    dnnl_status_t status = dnnl_memory_desc_create_with_tag(
        &desc, shape->rank, dims_of(shape->dims, shape->rank).of,
        native_type(dtype), tag);

    *out = desc;
    return status;
}

dnnl_status_t native_by_strides(const struct shape *shape,
                                const int64_t *strides, void **out)
{
    dnnl_memory_desc_t desc = NULL;
    dnnl_status_t status = dnnl_memory_desc_create_with_strides(
        &desc, shape->rank, dims_of(shape->dims, shape->rank).of, dnnl_f32,
        dims_of(strides, shape->rank).of);

    *out = desc;
    return status;
}

dnnl_status_t native_part(const void *whole, const struct shape *shape,
                          const int64_t *offsets, void **out)
{
    dnnl_memory_desc_t desc = NULL;
    dnnl_status_t status = dnnl_memory_desc_create_submemory(
        &desc, whole, dims_of(shape->dims, shape->rank).of,
        dims_of(offsets, shape->rank).of);

    *out = desc;
    return status;
}

void native_free(void *native)
{
    dnnl_memory_desc_destroy(native);
}

dnnl_status_t native_has_tag(const void *native, enum dtype dtype,
                             const struct shape *shape, dnnl_format_tag_t tag,
                             bool *out)
{
    void *tagged;
    dnnl_status_t status = native_by_tag(dtype, shape, tag, &tagged);

    *out = !status && dnnl_memory_desc_equal(native, tagged);
    native_free(tagged);
    return status == dnnl_out_of_memory ? status : dnnl_success;
}

void native_look(const void *native, struct layout *layout)
{
    const dnnl_dims_t *dims = NULL, *padded = NULL, *blocks = NULL;
    dnnl_format_kind_t format = dnnl_format_kind_undef;
    dnnl_data_type_t type = dnnl_data_type_undef;
    int n_blocks = 0;

    dnnl_memory_desc_query(native, dnnl_query_data_type, &type);
    layout->dtype = native_dtype(type);
    dnnl_memory_desc_query(native, dnnl_query_ndims_s32, &layout->shape.rank);
    dnnl_memory_desc_query(native, dnnl_query_dims, &dims);
    dnnl_memory_desc_query(native, dnnl_query_padded_dims, &padded);
    dnnl_memory_desc_query(native, dnnl_query_format_kind, &format);
    for (int i = 0; i < layout->shape.rank; i++)
        layout->shape.dims[i] = (*dims)[i];
    layout->channels = layout->shape.rank > 1 ? (*padded)[1] : 1;
    layout->is_opaque =
        format != dnnl_blocked && format != dnnl_format_kind_any;
    layout->block = 1;
    if (format != dnnl_blocked)
        return;
    dnnl_memory_desc_query(native, dnnl_query_inner_nblks_s32, &n_blocks);
    dnnl_memory_desc_query(native, dnnl_query_inner_blks, &blocks);
    if (n_blocks > 0)
        layout->block = (*blocks)[0];
}

/* ---- processors ---------------------------------------------------------- */

const dnnl_cpu_isa_t native_isa_avx512 = dnnl_cpu_isa_avx512_core_fp16;
const dnnl_cpu_isa_t native_isa_all = dnnl_cpu_isa_default;

/* ---- post-operations ----------------------------------------------------- */

dnnl_status_t native_append_sum(dnnl_post_ops_t operations)
{
    return dnnl_post_ops_append_sum(operations, 1, 0, dnnl_data_type_undef);
}

dnnl_status_t native_append_eltwise(dnnl_post_ops_t operations,
                                    dnnl_alg_kind_t kind, float alpha,
                                    float beta)
{
    return dnnl_post_ops_append_eltwise(operations, kind, alpha, beta);
}

/* ---- scales -------------------------------------------------------------- */

const bool native_scales_bias = false;

/* They are those of the weights, one per output channel, which are the first
 * dimension, or the first two where there are groups. */
dnnl_status_t native_set_scales(dnnl_primitive_attr_t attributes,
                                const struct quantisation *quantised)
{
    dnnl_status_t status = dnnl_success;

    if (quantised->scales)
        status = dnnl_primitive_attr_set_scales_mask(
            attributes, DNNL_ARG_WEIGHTS, quantised->has_groups ? 3 : 1);
    if (!status && quantised->has_zero)
        status = dnnl_primitive_attr_set_zero_points_mask(attributes,
                                                          DNNL_ARG_SRC, 0);
    return status;
}

int native_scale_argument(enum role role)
{
    return role == ROLE_SRC_ZERO ? DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC
                                 : DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS;
}

/* ---- operations ---------------------------------------------------------- */

/* The calls of a convolution, or of a transposed one: they are alike. */
struct convolution_calls {
    __typeof__(dnnl_convolution_forward_primitive_desc_create) *forward;
    __typeof__(dnnl_convolution_backward_data_primitive_desc_create) *data;
    __typeof__(dnnl_convolution_backward_weights_primitive_desc_create)
        *weights;
};

static const struct convolution_calls convolution_calls = {
    dnnl_convolution_forward_primitive_desc_create,
    dnnl_convolution_backward_data_primitive_desc_create,
    dnnl_convolution_backward_weights_primitive_desc_create};

static const struct convolution_calls deconvolution_calls = {
    dnnl_deconvolution_forward_primitive_desc_create,
    dnnl_deconvolution_backward_data_primitive_desc_create,
    dnnl_deconvolution_backward_weights_primitive_desc_create};

static dnnl_status_t find_convolution(const struct convolution_calls *calls,
                                      const struct onednn *dn,
                                      const struct operation *operation,
                                      const_dnnl_primitive_attr_t attributes,
                                      dnnl_primitive_desc_t *out)
{
    const void *src = layout_native(operation->src);
    const void *weights = layout_native(operation->weights);
    const void *bias = layout_native(operation->bias);
    const void *dst = layout_native(operation->dst);
    dnnl_alg_kind_t kind = operation_algorithm(operation);
    struct dims stride = dims_of(operation->stride, 2);
    struct dims gaps = dims_of(operation->gaps, 2);
    struct dims before = dims_of(operation->before, 2);
    struct dims after = dims_of(operation->after, 2);

    switch (operation->direction) {
    case DIRECTION_FORWARD:
        return calls->forward(out, dn->engine, operation_kind(operation), kind,
                              src, weights, bias, dst, stride.of, gaps.of,
                              before.of, after.of, attributes);
    case DIRECTION_DATA:
        return calls->data(out, dn->engine, kind, dst, weights, src, stride.of,
                           gaps.of, before.of, after.of, NULL, attributes);
    case DIRECTION_WEIGHTS:
        return calls->weights(out, dn->engine, kind, src, weights, bias, dst,
                              stride.of, gaps.of, before.of, after.of, NULL,
                              attributes);
    case N_DIRECTIONS:
        break;
    }
    return dnnl_invalid_arguments;
}

static dnnl_status_t find_inner_product(const struct onednn *dn,
                                        const struct operation *operation,
                                        const_dnnl_primitive_attr_t attributes,
                                        dnnl_primitive_desc_t *out)
{
    const void *src = layout_native(operation->src);
    const void *weights = layout_native(operation->weights);
    const void *bias = layout_native(operation->bias);
    const void *dst = layout_native(operation->dst);

    switch (operation->direction) {
    case DIRECTION_FORWARD:
        return dnnl_inner_product_forward_primitive_desc_create(
            out, dn->engine, operation_kind(operation), src, weights, bias, dst,
            attributes);
    case DIRECTION_DATA:
        return dnnl_inner_product_backward_data_primitive_desc_create(
            out, dn->engine, dst, weights, src, NULL, attributes);
    case DIRECTION_WEIGHTS:
        return dnnl_inner_product_backward_weights_primitive_desc_create(
            out, dn->engine, src, weights, bias, dst, NULL, attributes);
    case N_DIRECTIONS:
        break;
    }
    return dnnl_invalid_arguments;
}

static dnnl_status_t
find_pooling(const struct onednn *dn, const struct operation *operation,
             dnnl_prop_kind_t kind, const void *src, const void *dst,
             const_dnnl_primitive_attr_t attributes, dnnl_primitive_desc_t *out)
{
    return dnnl_pooling_forward_primitive_desc_create(
        out, dn->engine, kind, operation_algorithm(operation), src, dst,
        dims_of(operation->stride, 2).of, dims_of(operation->window, 2).of,
        dims_of(operation->gaps, 2).of, dims_of(operation->before, 2).of,
        dims_of(operation->after, 2).of, attributes);
}

/* The forward pass decides how the gradient of the output lies. */
static dnnl_status_t find_unpooling(const struct onednn *dn,
                                    const struct operation *operation,
                                    const_dnnl_primitive_attr_t attributes,
                                    struct search *out)
{
    dnnl_status_t status = find_pooling(
        dn, operation, dnnl_forward_training, layout_native(operation->dst),
        layout_native(operation->src), NULL, &out->forward);

    if (status)
        return status;
    return dnnl_pooling_backward_primitive_desc_create(
        &out->found, dn->engine, operation_algorithm(operation),
        layout_native(operation->dst),
        dnnl_primitive_desc_query_md(out->forward, dnnl_query_dst_md, 0),
        dims_of(operation->stride, 2).of, dims_of(operation->window, 2).of,
        dims_of(operation->gaps, 2).of, dims_of(operation->before, 2).of,
        dims_of(operation->after, 2).of, out->forward, attributes);
}

/* ---- implementations ----------------------------------------------------- */

dnnl_status_t search_begin(const struct onednn *dn,
                           const struct operation *operation,
                           const_dnnl_primitive_attr_t attributes,
                           struct search *out)
{
    const void *src = layout_native(operation->src);
    const void *dst = layout_native(operation->dst);

    *out = (struct search){0};
    switch (operation->kind) {
    case OPERATION_CONVOLUTION:
        return find_convolution(&convolution_calls, dn, operation, attributes,
                                &out->found);
    case OPERATION_DECONVOLUTION:
        return find_convolution(&deconvolution_calls, dn, operation, attributes,
                                &out->found);
    case OPERATION_INNER_PRODUCT:
        return find_inner_product(dn, operation, attributes, &out->found);
    case OPERATION_POOLING:
        if (operation->direction != DIRECTION_FORWARD)
            return find_unpooling(dn, operation, attributes, out);
        return find_pooling(dn, operation, operation_kind(operation), src, dst,
                            attributes, &out->found);
    }
    return dnnl_invalid_arguments;
}

dnnl_status_t search_next(struct search *search)
{
    dnnl_status_t status = dnnl_primitive_desc_next_impl(search->found);

    return status == dnnl_last_impl_reached ? dnnl_unimplemented : status;
}

void search_end(struct search *search)
{
    dnnl_primitive_desc_destroy(search->found);
    dnnl_primitive_desc_destroy(search->forward);
    *search = (struct search){0};
}
