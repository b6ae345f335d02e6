/* predict/hollow_device.c - see hollow_device.h. */
#include "predict/hollow_device.h"

#include "backend/backend.h"
#include "base/mem.h"
#include "base/vec.h"
#include "ops/convolution/conv2d.h"
#include "ops/norm/batch_norm.h"
#include "ops/ops.h"

#include <string.h>

enum { wide = 4 }; /* channels that are loaded together */

/* ---- memory without bytes ------------------------------------------------ */

static atomic_size_t next_address = 1 << 20;

static void *hollow_take(struct space *space, size_t bytes)
{
    size_t step = (bytes / SPACE_ALIGNMENT + 1) * SPACE_ALIGNMENT;

    (void)space;
    return (void *)(uintptr_t)atomic_fetch_add(&next_address, step);
}

static void hollow_give(struct space *space, void *data, size_t bytes)
{
    (void)space, (void)data, (void)bytes;
}

static enum assay_status hollow_copy(struct space *space, void *to,
                                     const void *from, size_t bytes,
                                     struct error *err)
{
    (void)space, (void)to, (void)from, (void)bytes, (void)err;
    return ASSAY_OK;
}

static enum assay_status hollow_copy_out(struct space *space, void *to,
                                         const void *from, size_t bytes,
                                         struct error *err)
{
    (void)space, (void)from, (void)err;
    memset(to, 0, bytes);
    return ASSAY_OK;
}

static enum assay_status hollow_clear(struct space *space, void *to,
                                      size_t bytes, struct error *err)
{
    (void)space, (void)to, (void)bytes, (void)err;
    return ASSAY_OK;
}

static struct space hollow_space = {.name = "hollow",
                                    .keeps = true,
                                    .keeps_recorded = true,
                                    .take = hollow_take,
                                    .take_lasting = hollow_take,
                                    .give = hollow_give,
                                    .copy_in = hollow_copy,
                                    .copy_out = hollow_copy_out,
                                    .copy_within = hollow_copy,
                                    .clear = hollow_clear};

/* ---- arithmetic that does nothing ---------------------------------------- */

static enum assay_status hollow_fill(struct backend *backend,
                                     const struct op_context *context,
                                     const struct tensor *tensor, float value,
                                     struct error *err)
{
    (void)backend, (void)context, (void)tensor, (void)value, (void)err;
    return ASSAY_OK;
}

static enum assay_status hollow_add(struct backend *backend,
                                    const struct op_context *context,
                                    const struct tensor *sum,
                                    const struct tensor *term,
                                    struct error *err)
{
    (void)backend, (void)context, (void)sum, (void)term, (void)err;
    return ASSAY_OK;
}

static enum assay_status hollow_sgd(struct backend *backend,
                                    const struct op_context *context,
                                    const struct sgd_factors *factors,
                                    const struct optimizer_tensors *tensors,
                                    struct error *err)
{
    (void)backend, (void)context, (void)factors, (void)tensors, (void)err;
    return ASSAY_OK;
}

static const struct backend_math hollow_math = {.fill = hollow_fill,
                                                .convert = hollow_add,
                                                .add = hollow_add,
                                                .sgd = hollow_sgd};

/* ---- the backend --------------------------------------------------------- */

/* A copy of a weight, with its sizes as kernels want them. */
struct hollow_packed {
    uint32_t value;
    size_t bytes;
    struct buffer *buffer;
};

struct hollow {
    struct backend base;
    const struct graph *graph;
    bool is_training;
    bool *in_lanes; /* one per value: whether a map has whole lanes */
    struct hollow_packed *packed;
    size_t n_packed, packed_capacity;
};

/* A call of a kernel. */
struct hollow_call {
    struct hollow *hollow;
    const struct op_context *context;
    const struct node *node;
    struct error *err;
};

static struct hollow *hollow_of(struct backend *backend)
{
    return (struct hollow *)backend;
}

static void hollow_forget(struct backend *backend)
{
    struct hollow *hollow = hollow_of(backend);

    for (size_t i = 0; i < hollow->n_packed; i++)
        buffer_release(hollow->packed[i].buffer);
    hollow->n_packed = 0;
}

/* As cuda_pass_over(). */
static void hollow_pass_over(struct backend *backend)
{
    if (hollow_of(backend)->is_training)
        hollow_forget(backend);
}

static void hollow_free(struct backend *backend)
{
    if (!backend)
        return;
    hollow_forget(backend);
    mem_free(hollow_of(backend)->packed);
    mem_free(hollow_of(backend)->in_lanes);
    mem_free(backend);
}

/* ---- maps ---------------------------------------------------------------- */

static int64_t whole_lanes(int64_t channels)
{
    return (channels + wide - 1) / wide * wide;
}

/* As cuda_takes_padded() has it. */
static bool takes_lanes(const struct node *node)
{
    switch (node->op->counted) {
    case COUNTED_CONV:
    case COUNTED_RELU:
    case COUNTED_ACTIVATION:
    case COUNTED_ADD:
    case COUNTED_CONCAT:
    case COUNTED_MAX_POOL:
    case COUNTED_AVG_POOL:
        return true;
    default:
        return node->op == &op_batch_norm_training;
    }
}

/* Where all who read a value take lanes. */
static void find_lane_readers(struct hollow *hollow)
{
    const struct graph *graph = hollow->graph;

    for (uint32_t i = 0; i < graph_value_count(graph); i++)
        hollow->in_lanes[i] = graph_value(graph, i)->kind == VALUE_COMPUTED &&
                              graph_use_count(graph, i) > 0;
    for (size_t i = 0; i < graph_output_count(graph); i++)
        hollow->in_lanes[graph_output_at(graph, i, NULL)] = false;
    for (size_t i = 0; i < graph_node_count(graph); i++) {
        const struct node *node = graph_node(graph, i);

        for (size_t k = 0; !takes_lanes(node) && k < node->n_inputs; k++) {
            if (node->inputs[k] != GRAPH_NONE)
                hollow->in_lanes[node->inputs[k]] = false;
        }
    }
}

/* Whether what a node makes has lanes: convolutions, norms and concatenations
 * begin with them where the readers take them, what others make is as they read
 * it. A depthwise convolution is one of those, and none of other groups. */
static bool makes_lanes(const struct hollow *hollow, const struct node *node)
{
    bool as_read = node->n_inputs && node->inputs[0] != GRAPH_NONE &&
                   hollow->in_lanes[node->inputs[0]];
    const int64_t *w;

    if (!takes_lanes(node))
        return false;
    if (node->op == &op_conv2d && conv2d_attrs(node)->groups > 1) {
        w = graph_value(hollow->graph, node->inputs[CONV2D_WEIGHT])->shape.dims;
        return as_read && w[0] == conv2d_attrs(node)->groups && w[1] == 1;
    }
    return node->op->counted == COUNTED_CONV ||
                   node->op->counted == COUNTED_CONCAT ||
                   node->op == &op_batch_norm_training
               ? hollow->in_lanes[node->outputs[0]]
               : as_read;
}

static void hollow_find_lanes(struct hollow *hollow)
{
    find_lane_readers(hollow);
    for (size_t i = 0; i < graph_node_count(hollow->graph); i++) {
        const struct node *node = graph_node(hollow->graph, i);

        if (node->n_outputs)
            hollow->in_lanes[node->outputs[0]] = makes_lanes(hollow, node);
    }
}

/* A single channel is left alone. */
static int64_t lanes_of(bool is_in_lanes, int64_t channels)
{
    return is_in_lanes && channels > 1 ? whole_lanes(channels) : channels;
}

static enum assay_status hollow_map(const struct op_context *context,
                                    bool is_in_lanes, const struct tensor *like,
                                    struct tensor *out, struct error *err)
{
    struct shape shape = like->shape, stored = shape;
    enum assay_status st;

    if (shape.rank == 4)
        stored.dims[1] = lanes_of(is_in_lanes, shape.dims[1]);
    st = tensor_new(context->pool, like->dtype, &stored, out, err);
    out->shape = shape;
    return st;
}

static enum assay_status hollow_output(struct hollow_call *call, size_t i,
                                       struct tensor *out)
{
    struct tensor like = *out;

    return hollow_map(call->context,
                      call->hollow->in_lanes[call->node->outputs[i]], &like,
                      out, call->err);
}

static enum assay_status hollow_scratch(struct hollow_call *call, size_t bytes)
{
    struct buffer *buffer = NULL;
    enum assay_status st = ASSAY_OK;

    if (bytes)
        st = pool_take_scratch(call->context->pool, bytes, "scratch", &buffer,
                               call->err);
    buffer_release(buffer);
    return st;
}

/* ---- convolutions -------------------------------------------------------- */

/* Linear layers have them in the same order. */
enum { X = CONV2D_X, WEIGHT = CONV2D_WEIGHT, BIAS = CONV2D_BIAS };

static bool reads_images(const struct hollow_call *call, const struct tensor *x)
{
    return graph_value(call->hollow->graph, call->node->inputs[X])->kind ==
               VALUE_INPUT &&
           x->shape.rank == 4;
}

static size_t hollow_image_bytes(const struct tensor *x, int64_t channels)
{
    const int64_t *dims = x->shape.dims;

    return (size_t)(dims[0] * channels * dims[2] * dims[3]) * sizeof(float);
}

/* As cuda_conv_is_narrow() has it: few outputs are not worth whole lanes. */
static bool widens_images(const struct tensor *w)
{
    enum { worthwhile = 16 };

    return w->shape.rank == 4 && w->shape.dims[0] >= worthwhile;
}

/* What a weight, or its gradient, takes with the channels beside each other in
 * the lanes of the maps; 0: it lies so already. */
static size_t turned_bytes(const struct hollow_call *call,
                           const struct tensor *x, const struct tensor *w)
{
    const struct node *node = call->node;
    const bool *in_lanes = call->hollow->in_lanes;
    const int64_t *dims = w->shape.dims;
    int64_t places = dims[2] * dims[3];
    int64_t rows = lanes_of(in_lanes[node->outputs[0]], dims[0]);
    int64_t columns = lanes_of(
        reads_images(call, x) ? widens_images(w) : in_lanes[node->inputs[X]],
        dims[1]);

    if (node->op == &op_conv2d && conv2d_attrs(node)->groups > 1)
        columns = dims[1];
    if (rows == dims[0] && columns == dims[1] && (places == 1 || columns == 1))
        return 0;
    return (size_t)(rows * columns * places) * sizeof(float);
}

/* The weights of a layer as its kernel wants them. */
static enum assay_status hollow_pack(struct hollow_call *call,
                                     const struct tensor *x,
                                     const struct tensor *w, bool is_scaled)
{
    struct hollow *hollow = call->hollow;
    struct hollow_packed packed = {.value = call->node->inputs[WEIGHT],
                                   .bytes = turned_bytes(call, x, w)};
    uint32_t owner;
    enum assay_status st;

    if (!packed.bytes && is_scaled)
        packed.bytes = tensor_bytes(w);
    if (!packed.bytes)
        return ASSAY_OK;
    for (size_t i = 0; i < hollow->n_packed; i++) {
        if (hollow->packed[i].value == packed.value)
            return ASSAY_OK;
    }
    owner = pool_set_owner(call->context->pool, OWNER_PACKED);
    st = pool_take(call->context->pool, packed.bytes, "weights", &packed.buffer,
                   call->err);
    pool_set_owner(call->context->pool, owner);
    if (!st && !vec_grow(&hollow->packed, &hollow->packed_capacity,
                         hollow->n_packed + 1, sizeof *hollow->packed))
        st = error_nomem(call->err, sizeof packed, "weights");
    if (st)
        buffer_release(packed.buffer);
    else
        hollow->packed[hollow->n_packed++] = packed;
    return st;
}

/* Images come with their channels apart, and are copied. */
static size_t copied_bytes(const struct hollow_call *call,
                           const struct tensor *x, const struct tensor *w)
{
    int64_t channels = x->shape.rank == 4 ? x->shape.dims[1] : 0;

    if (!reads_images(call, x) || channels == 1)
        return 0;
    return hollow_image_bytes(x, widens_images(w) ? whole_lanes(channels)
                                                  : channels);
}

/* What the library's kernels for images took on an H200: as much as the copy
 * of them, but for a single image and few outputs. */
static enum assay_status hollow_conv(struct hollow_call *call,
                                     const struct tensor *const *inputs,
                                     struct tensor *outputs)
{
    bool is_scaled =
        call->node->op == &op_conv2d && conv2d_scale(call->node, inputs);
    enum assay_status st = hollow_output(call, 0, &outputs[0]);
    size_t copied = copied_bytes(call, inputs[X], inputs[WEIGHT]);
    struct buffer *copy = NULL;

    if (!st && inputs[WEIGHT]->shape.rank == 4)
        st = hollow_pack(call, inputs[X], inputs[WEIGHT], is_scaled);
    if (!st && copied)
        st = pool_take_scratch(call->context->pool, copied, "images", &copy,
                               call->err);
    if (!st && !call->hollow->is_training &&
        (widens_images(inputs[WEIGHT]) || inputs[X]->shape.dims[0] > 1))
        st = hollow_scratch(call, copied);
    buffer_release(copy);
    return st;
}

/* ---- forward ------------------------------------------------------------- */

static bool hollow_can_run(const struct backend *backend,
                           const struct node *node,
                           const struct tensor *const *inputs)
{
    (void)backend, (void)inputs;
    return node->op->infer && !node->n_bodies && !node->op->is_view;
}

static enum assay_status hollow_save_new(struct hollow_call *call,
                                         enum dtype dtype,
                                         const struct shape *shape)
{
    const struct op_context *context = call->context;

    if (!context->saved || context->is_again)
        return ASSAY_OK;
    return tensor_new(context->pool, dtype, shape, context->saved, call->err);
}

/* Mean, deviation and one more per channel; places in a window, a byte each. */
static enum assay_status hollow_save(struct hollow_call *call,
                                     const struct tensor *y)
{
    const struct node *node = call->node;
    struct shape moments = shape_of(2, (int64_t)3, y->shape.dims[1]);
    struct shape places = y->shape;

    if (node->op == &op_batch_norm_training)
        return hollow_save_new(call, DTYPE_F32, &moments);
    if (node->op->counted != COUNTED_MAX_POOL)
        return ASSAY_OK;
    places.dims[1] =
        lanes_of(call->hollow->in_lanes[node->inputs[0]], places.dims[1]);
    return hollow_save_new(call, DTYPE_U8, &places);
}

static enum assay_status hollow_forward(struct backend *backend,
                                        const struct op_context *context,
                                        const struct node *node, size_t at,
                                        const struct tensor *const *inputs,
                                        struct tensor *outputs,
                                        struct error *err)
{
    struct hollow_call call = {hollow_of(backend), context, node, err};
    enum assay_status st = node->op->infer(node, inputs, outputs, err);

    (void)at;
    if (!st && node->op->counted == COUNTED_CONV)
        return hollow_conv(&call, inputs, outputs);
    if (!st)
        st = hollow_save(&call, &outputs[0]);
    for (size_t i = 0; !st && i < node->n_outputs; i++)
        st = hollow_output(&call, i, &outputs[i]);
    return st;
}

/* ---- backward ------------------------------------------------------------ */

static bool hollow_can_backward(const struct backend *backend,
                                const struct node *node)
{
    return node->op->backward && hollow_can_run(backend, node, NULL);
}

/* As cuda_backward.c has them. */
static struct op_reads hollow_reads(const struct backend *backend,
                                    const struct node *node, uint64_t wanted)
{
    (void)backend;
    switch (node->op->counted) {
    case COUNTED_ADD:
    case COUNTED_CONCAT:
    case COUNTED_MAX_POOL:
    case COUNTED_AVG_POOL:
    case COUNTED_MEAN:
        return (struct op_reads){0};
    default:
        break;
    }
    return node->op->backward_reads ? node->op->backward_reads(node, wanted)
                                    : (struct op_reads){0};
}

/* In lanes as its value is, but for the gradient of an average. */
static enum assay_status new_gradient(struct hollow_call *call,
                                      const struct op_backward *pass,
                                      size_t input)
{
    const struct node *node = call->node;
    struct tensor like = {.dtype = DTYPE_F32};

    if (!op_wants(pass, input))
        return ASSAY_OK;
    like.shape = pass->inputs[input]->shape;
    return hollow_map(call->context,
                      call->hollow->in_lanes[node->inputs[input]] &&
                          node->op->counted != COUNTED_AVG_POOL,
                      &like, &pass->dx[input], call->err);
}

/* A product adds to what x has from others already. */
static bool adds_to_sum(const struct op_backward *pass)
{
    const struct shape *x = &pass->inputs[X]->shape;
    const struct shape *w = &pass->inputs[WEIGHT]->shape;
    const struct shape *y = &pass->dy[0]->shape;

    return pass->sums && pass->sums[X].buffer && x->rank == 4 && w->rank == 4 &&
           w->dims[2] * w->dims[3] == 1 && w->dims[1] == x->dims[1] &&
           y->dims[2] == x->dims[2] && y->dims[3] == x->dims[3];
}

/* Gradients of weights are made with the channels beside each other first, of
 * images that are copied; the library's kernels copied both maps again where
 * the images are not widened. */
static size_t weight_scratch(const struct hollow_call *call,
                             const struct op_backward *pass)
{
    const struct tensor *w = pass->inputs[WEIGHT], *x = pass->inputs[X];
    size_t bytes = copied_bytes(call, x, w);

    if (w->shape.rank == 4)
        bytes += turned_bytes(call, x, w);
    if (bytes && reads_images(call, x) && !widens_images(w))
        bytes += hollow_image_bytes(x, whole_lanes(x->shape.dims[1])) +
                 tensor_bytes(pass->dy[0]);
    return bytes;
}

static enum assay_status hollow_back_conv(struct hollow_call *call,
                                          const struct op_backward *pass)
{
    const struct tensor *w = pass->inputs[WEIGHT];
    enum assay_status st = ASSAY_OK;

    if (op_wants(pass, X) && w->shape.rank == 4)
        st = hollow_pack(call, pass->inputs[X], w, false);
    if (!st)
        st = new_gradient(call, pass, X);
    if (!st && op_wants(pass, X) && adds_to_sum(pass))
        tensor_release(&pass->sums[X]);
    if (!st)
        st = new_gradient(call, pass, WEIGHT);
    if (!st && op_wants(pass, WEIGHT))
        st = hollow_scratch(call, weight_scratch(call, pass));
    for (size_t i = BIAS; !st && i < call->node->n_inputs; i++)
        st = new_gradient(call, pass, i);
    return st;
}

/* Over dy, where nobody else has it, or in memory of its own. */
static enum assay_status over_dy(struct hollow_call *call,
                                 const struct op_backward *pass,
                                 struct tensor *out)
{
    const struct tensor *dy = pass->dy[0];

    if (buffer_references(dy->buffer) == 1) {
        *out = tensor_share(dy);
        return ASSAY_OK;
    }
    return hollow_map(call->context,
                      call->hollow->in_lanes[call->node->outputs[0]], dy, out,
                      call->err);
}

/* With an addition after the norm, what passes the ReLU takes the place of dy
 * and is the gradient of what was added; then x needs one of its own. */
static enum assay_status hollow_back_norm(struct hollow_call *call,
                                          const struct op_backward *pass)
{
    enum assay_status st = new_gradient(call, pass, BATCH_NORM_WEIGHT);

    if (!st)
        st = new_gradient(call, pass, BATCH_NORM_BIAS);
    if (!st && op_wants(pass, BATCH_NORM_RESIDUAL)) {
        st = over_dy(call, pass, &pass->dx[BATCH_NORM_RESIDUAL]);
        return st ? st : new_gradient(call, pass, BATCH_NORM_X);
    }
    if (!st && op_wants(pass, BATCH_NORM_X))
        st = over_dy(call, pass, &pass->dx[BATCH_NORM_X]);
    return st;
}

static enum assay_status hollow_backward(struct backend *backend,
                                         const struct op_context *context,
                                         const struct node *node, size_t at,
                                         const struct op_backward *pass,
                                         struct error *err)
{
    struct hollow_call call = {hollow_of(backend), context, node, err};
    enum assay_status st = ASSAY_OK;

    (void)at;
    if (node->op->counted == COUNTED_CONV ||
        node->op->counted == COUNTED_PRODUCT)
        return hollow_back_conv(&call, pass);
    if (node->op == &op_batch_norm_training)
        return hollow_back_norm(&call, pass);
    if (node->op->counted == COUNTED_RELU ||
        node->op->counted == COUNTED_ACTIVATION)
        return op_wants(pass, X) ? over_dy(&call, pass, &pass->dx[X]) : st;
    for (size_t i = 0; !st && i < node->n_inputs; i++) {
        if (op_wants(pass, i) && node->op->counted == COUNTED_ADD)
            pass->dx[i] = tensor_share(pass->dy[0]);
        else
            st = new_gradient(&call, pass, i);
    }
    return st;
}

static enum assay_status hollow_accumulate(struct backend *backend,
                                           const struct op_context *context,
                                           struct tensor *sum,
                                           const struct tensor *dx,
                                           struct error *err)
{
    struct tensor like = *sum;
    bool is_in_lanes = buffer_bytes(sum->buffer) > tensor_bytes(sum);

    (void)backend, (void)dx;
    if (buffer_references(sum->buffer) == 1)
        return ASSAY_OK;
    tensor_release(sum);
    return hollow_map(context, is_in_lanes, &like, sum, err);
}

static enum assay_status hollow_make(const struct device *device,
                                     const struct graph *graph,
                                     const struct backend_options *options,
                                     struct backend **out, struct error *err);

static const struct backend_class hollow_class = {
    .name = "hollow",
    .api_version = BACKEND_API_VERSION,
    .make = hollow_make,
    .free = hollow_free,
    .can_run = hollow_can_run,
    .forward = hollow_forward,
    .can_backward = hollow_can_backward,
    .backward_reads = hollow_reads,
    .backward = hollow_backward,
    .accumulate = hollow_accumulate,
    .parameters_changed = hollow_forget,
    .math = &hollow_math,
    .pass_over = hollow_pass_over,
};

const struct device hollow_device = {
    .name = "hollow", .backend = &hollow_class, .space = &hollow_space};

static enum assay_status hollow_make(const struct device *device,
                                     const struct graph *graph,
                                     const struct backend_options *options,
                                     struct backend **out, struct error *err)
{
    struct hollow *hollow = mem_zalloc(sizeof *hollow);
    size_t n = graph_value_count(graph);

    *out = NULL;
    if (!hollow)
        return error_nomem(err, sizeof *hollow, "a backend");
    hollow->base = (struct backend){.class = &hollow_class, .device = device};
    hollow->graph = graph;
    hollow->is_training = options->is_training;
    hollow->in_lanes = mem_array(n, sizeof *hollow->in_lanes);
    if (!hollow->in_lanes) {
        hollow_free(&hollow->base);
        return error_nomem(err, n * sizeof *hollow->in_lanes, "a backend");
    }
    hollow_find_lanes(hollow);
    *out = &hollow->base;
    return ASSAY_OK;
}
