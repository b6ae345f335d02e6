/* backend/dnnl/dnnl_v2.c - oneDNN 2 behind native_internal.h: memory is
 * described by a struct, an operation by another, and an iterator walks over
 * the implementations of an operation. */
#include "backend/dnnl/native_internal.h"

#include "base/mem.h"

/* ---- memory -------------------------------------------------------------- */

dnnl_status_t native_copy(const void *native, void **out)
{
    dnnl_memory_desc_t *copy = mem_alloc(sizeof *copy);

    *out = copy;
    if (!copy)
        return dnnl_out_of_memory;
    *copy = *(const dnnl_memory_desc_t *)native;
    return dnnl_success;
}

dnnl_status_t native_by_tag(enum dtype dtype, const struct shape *shape,
                            dnnl_format_tag_t tag, void **out)
{
    dnnl_memory_desc_t desc;
    dnnl_status_t status = dnnl_memory_desc_init_by_tag(
        &desc, shape->rank, dims_of(shape->dims, shape->rank).of,
        native_type(dtype), tag);

    *out = NULL;
    return status ? status : native_copy(&desc, out);
}

dnnl_status_t native_by_strides(const struct shape *shape,
                                const int64_t *strides, void **out)
{
    dnnl_memory_desc_t desc;
    dnnl_status_t status = dnnl_memory_desc_init_by_strides(
        &desc, shape->rank, dims_of(shape->dims, shape->rank).of, dnnl_f32,
        dims_of(strides, shape->rank).of);

    *out = NULL;
    return status ? status : native_copy(&desc, out);
}

dnnl_status_t native_part(const void *whole, const struct shape *shape,
                          const int64_t *offsets, void **out)
{
    dnnl_memory_desc_t desc;
    dnnl_status_t status = dnnl_memory_desc_init_submemory(
        &desc, whole, dims_of(shape->dims, shape->rank).of,
        dims_of(offsets, shape->rank).of);

    *out = NULL;
    return status ? status : native_copy(&desc, out);
}

void native_free(void *native)
{
    mem_free(native);
}

dnnl_status_t native_has_tag(const void *native, enum dtype dtype,
                             const struct shape *shape, dnnl_format_tag_t tag,
                             bool *out)
{
    dnnl_memory_desc_t desc;

    *out = !dnnl_memory_desc_init_by_tag(&desc, shape->rank,
                                         dims_of(shape->dims, shape->rank).of,
                                         native_type(dtype), tag) &&
           dnnl_memory_desc_equal(native, &desc);
    return dnnl_success;
}

void native_look(const void *native, struct layout *layout)
{
    const dnnl_memory_desc_t *desc = native;
    const dnnl_blocking_desc_t *blocking = &desc->format_desc.blocking;

    layout->dtype = native_dtype(desc->data_type);
    layout->shape.rank = desc->ndims;
    for (int i = 0; i < desc->ndims; i++)
        layout->shape.dims[i] = desc->dims[i];
    layout->channels = desc->ndims > 1 ? desc->padded_dims[1] : 1;
    layout->is_opaque = desc->format_kind != dnnl_blocked &&
                        desc->format_kind != dnnl_format_kind_any;
    layout->block = 1;
    if (desc->format_kind == dnnl_blocked && blocking->inner_nblks > 0)
        layout->block = blocking->inner_blks[0];
}

/* ---- processors ---------------------------------------------------------- */

const dnnl_cpu_isa_t native_isa_avx512 = dnnl_cpu_isa_avx512_core_bf16;
const dnnl_cpu_isa_t native_isa_all = dnnl_cpu_isa_all;

/* ---- post-operations ----------------------------------------------------- */

dnnl_status_t native_append_sum(dnnl_post_ops_t operations)
{
    return dnnl_post_ops_append_sum(operations, 1);
}

dnnl_status_t native_append_eltwise(dnnl_post_ops_t operations,
                                    dnnl_alg_kind_t kind, float alpha,
                                    float beta)
{
    return dnnl_post_ops_append_eltwise(operations, 1, kind, alpha, beta);
}

/* ---- scales -------------------------------------------------------------- */

const bool native_scales_bias = true;

dnnl_status_t native_set_scales(dnnl_primitive_attr_t attributes,
                                const struct quantisation *quantised)
{
    static const int32_t when_run = DNNL_RUNTIME_S32_VAL;
    dnnl_status_t status = dnnl_success;

    if (quantised->scales)
        status = dnnl_primitive_attr_set_output_scales(
            attributes, quantised->n_scales, 1 << 1, quantised->scales);
    if (!status && quantised->has_zero)
        status = dnnl_primitive_attr_set_zero_points(attributes, DNNL_ARG_SRC,
                                                     1, 0, &when_run);
    return status;
}

int native_scale_argument(enum role role)
{
    return role == ROLE_SRC_ZERO ? DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC : 0;
}

/* ---- descriptors --------------------------------------------------------- */

/* One of the library's, whose first member says which. */
union descriptor {
    dnnl_convolution_desc_t convolution;
    dnnl_deconvolution_desc_t deconvolution;
    dnnl_inner_product_desc_t inner_product;
    dnnl_pooling_desc_t pooling;
};

/* The calls of a convolution, or of a transposed one: they are alike. */
struct convolution_calls {
    __typeof__(dnnl_dilated_convolution_forward_desc_init) *forward;
    __typeof__(dnnl_dilated_convolution_backward_data_desc_init) *data;
    __typeof__(dnnl_dilated_convolution_backward_weights_desc_init) *weights;
};

static const struct convolution_calls convolution_calls = {
    dnnl_dilated_convolution_forward_desc_init,
    dnnl_dilated_convolution_backward_data_desc_init,
    dnnl_dilated_convolution_backward_weights_desc_init};

static const struct convolution_calls deconvolution_calls = {
    dnnl_dilated_deconvolution_forward_desc_init,
    dnnl_dilated_deconvolution_backward_data_desc_init,
    dnnl_dilated_deconvolution_backward_weights_desc_init};

static dnnl_status_t
describe_convolution_v2(const struct convolution_calls *calls,
                        const struct operation *operation,
                        dnnl_convolution_desc_t *out)
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
        return calls->forward(out, operation_kind(operation), kind, src,
                              weights, bias, dst, stride.of, gaps.of, before.of,
                              after.of);
    case DIRECTION_DATA:
        return calls->data(out, kind, dst, weights, src, stride.of, gaps.of,
                           before.of, after.of);
    case DIRECTION_WEIGHTS:
        return calls->weights(out, kind, src, weights, bias, dst, stride.of,
                              gaps.of, before.of, after.of);
    case N_DIRECTIONS:
        break;
    }
    return dnnl_invalid_arguments;
}

static dnnl_status_t describe_inner_product(const struct operation *operation,
                                            dnnl_inner_product_desc_t *out)
{
    const void *src = layout_native(operation->src);
    const void *weights = layout_native(operation->weights);
    const void *bias = layout_native(operation->bias);
    const void *dst = layout_native(operation->dst);

    switch (operation->direction) {
    case DIRECTION_FORWARD:
        return dnnl_inner_product_forward_desc_init(
            out, operation_kind(operation), src, weights, bias, dst);
    case DIRECTION_DATA:
        return dnnl_inner_product_backward_data_desc_init(out, dst, weights,
                                                          src);
    case DIRECTION_WEIGHTS:
        return dnnl_inner_product_backward_weights_desc_init(out, src, weights,
                                                             bias, dst);
    case N_DIRECTIONS:
        break;
    }
    return dnnl_invalid_arguments;
}

static dnnl_status_t describe_pooling(const struct operation *operation,
                                      dnnl_prop_kind_t kind, const void *src,
                                      const void *dst, dnnl_pooling_desc_t *out)
{
    return dnnl_pooling_forward_desc_init(
        out, kind, operation_algorithm(operation), src, dst,
        dims_of(operation->stride, 2).of, dims_of(operation->window, 2).of,
        dims_of(operation->before, 2).of, dims_of(operation->after, 2).of);
}

/* The forward pass decides how the gradient of the output lies. */
static dnnl_status_t describe_unpooling(const struct onednn *dn,
                                        const struct operation *operation,
                                        dnnl_primitive_desc_t *forward,
                                        dnnl_pooling_desc_t *out)
{
    dnnl_status_t status = describe_pooling(operation, dnnl_forward_training,
                                            layout_native(operation->dst),
                                            layout_native(operation->src), out);

    if (!status)
        status =
            dnnl_primitive_desc_create(forward, out, NULL, dn->engine, NULL);
    if (status)
        return status;
    return dnnl_pooling_backward_desc_init(
        out, operation_algorithm(operation), layout_native(operation->dst),
        dnnl_primitive_desc_query_md(*forward, dnnl_query_dst_md, 0),
        dims_of(operation->stride, 2).of, dims_of(operation->window, 2).of,
        dims_of(operation->before, 2).of, dims_of(operation->after, 2).of);
}

static dnnl_status_t describe_operation(const struct onednn *dn,
                                        const struct operation *operation,
                                        dnnl_primitive_desc_t *forward,
                                        union descriptor *out)
{
    switch (operation->kind) {
    case OPERATION_CONVOLUTION:
        return describe_convolution_v2(&convolution_calls, operation,
                                       &out->convolution);
    case OPERATION_DECONVOLUTION:
        return describe_convolution_v2(&deconvolution_calls, operation,
                                       &out->deconvolution);
    case OPERATION_INNER_PRODUCT:
        return describe_inner_product(operation, &out->inner_product);
    case OPERATION_POOLING:
        if (operation->direction == DIRECTION_FORWARD)
            return describe_pooling(operation, operation_kind(operation),
                                    layout_native(operation->src),
                                    layout_native(operation->dst),
                                    &out->pooling);
        return describe_unpooling(dn, operation, forward, &out->pooling);
    }
    return dnnl_invalid_arguments;
}

/* ---- implementations ----------------------------------------------------- */

static dnnl_status_t search_fetch(struct search *search)
{
    search->found = dnnl_primitive_desc_iterator_fetch(search->iterator);
    return search->found ? dnnl_success : dnnl_out_of_memory;
}

dnnl_status_t search_begin(const struct onednn *dn,
                           const struct operation *operation,
                           const_dnnl_primitive_attr_t attributes,
                           struct search *out)
{
    union descriptor *descriptor = mem_alloc(sizeof *descriptor);
    dnnl_status_t status;

    *out = (struct search){.descriptor = descriptor};
    if (!descriptor)
        return dnnl_out_of_memory;
    status = describe_operation(dn, operation, &out->forward, descriptor);
    if (!status)
        status = dnnl_primitive_desc_iterator_create(
            &out->iterator, descriptor, attributes, dn->engine, out->forward);
    return status ? status : search_fetch(out);
}

dnnl_status_t search_next(struct search *search)
{
    dnnl_status_t status;

    dnnl_primitive_desc_destroy(search->found);
    search->found = NULL;
    status = dnnl_primitive_desc_iterator_next(search->iterator);
    if (status)
        return status == dnnl_iterator_ends ? dnnl_unimplemented : status;
    return search_fetch(search);
}

void search_end(struct search *search)
{
    dnnl_primitive_desc_destroy(search->found);
    dnnl_primitive_desc_iterator_destroy(search->iterator);
    dnnl_primitive_desc_destroy(search->forward);
    mem_free(search->descriptor);
    *search = (struct search){0};
}
