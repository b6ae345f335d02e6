/* predict/describe_graph.c - see describe_graph.h.
 *
 * What a framework keeps for the backward pass is a set of tensors: the inputs
 * of convolutions, products, norms and poolings, the outputs of ReLUs. One that
 * several layers need is kept once. */
#include "predict/describe_graph.h"

#include "base/mem.h"
#include "ops/convolution/conv2d.h"
#include "ops/convolution/conv_nd.h"
#include "ops/ops.h"
#include "ops/pooling/max_pool2d.h"
#include "ops/pooling/pool_nd.h"
#include "ops/product/matmul.h"

struct describing {
    const struct graph *graph;
    const struct survey *survey;
    double n_images;
    struct description *out;
    uint32_t *roots; /* one a value: whose memory a view shares */
    bool *is_saved;  /* one a value: backward needs it */
};

static double elements(const struct describing *d, uint32_t value)
{
    size_t n = 0;

    if (value == GRAPH_NONE || !d->survey->is_known[value] ||
        !shape_elements(&d->survey->values[value].shape, &n))
        return 0;
    return (double)n / d->n_images;
}

static const struct shape *shape_at(const struct describing *d,
                                    const struct node *node, size_t input)
{
    return &d->survey->values[node->inputs[input]].shape;
}

static void save(struct describing *d, uint32_t value)
{
    enum value_kind kind = graph_value(d->graph, value)->kind;

    if (kind == VALUE_INPUT || kind == VALUE_COMPUTED)
        d->is_saved[d->roots[value]] = true;
}

static void save_inputs(struct describing *d, const struct node *node)
{
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] != GRAPH_NONE)
            save(d, node->inputs[i]);
    }
}

/* ---- convolutions and products ------------------------------------------ */

/* What the padding comes to where a kernel is dilated: the map that comes out
 * has the same size. */
static int64_t even_pad(int64_t before, int64_t after, int64_t kernel,
                        int64_t dilation)
{
    return (before + after - (kernel - 1) * (dilation - 1)) / 2;
}

static enum assay_status add_conv(struct describing *d, const struct node *node,
                                  struct conv_row conv, struct error *err)
{
    const struct shape *x = shape_at(d, node, CONV2D_X);
    const struct shape *w = shape_at(d, node, CONV2D_WEIGHT);

    conv.in = x->dims[1];
    conv.out = w->dims[0];
    conv.has_bias =
        node->n_inputs > CONV2D_BIAS && node->inputs[CONV2D_BIAS] != GRAPH_NONE;
    for (int i = 0; i < 2; i++) {
        conv.kernel[i] = w->dims[2 + i];
        conv.size[i] = x->dims[2 + i];
    }
    save(d, node->inputs[CONV2D_X]);
    return description_add_conv(d->out, &conv, err);
}

static enum assay_status take_conv2d(struct describing *d,
                                     const struct node *node, struct error *err)
{
    const struct conv2d_attrs *attrs = conv2d_attrs(node);
    const struct shape *w = shape_at(d, node, CONV2D_WEIGHT);
    struct conv_row conv = {.groups = attrs->groups};

    for (int i = 0; i < 2; i++) {
        conv.stride[i] = attrs->stride[i];
        conv.pad[i] = even_pad(attrs->before[i], attrs->after[i],
                               w->dims[2 + i], attrs->dilation[i]);
    }
    return add_conv(d, node, conv, err);
}

/* Of two dimensions only: others are not what fingerprints are made of. */
static enum assay_status
take_conv_nd(struct describing *d, const struct node *node, struct error *err)
{
    const struct conv_nd_attrs *attrs = node->attrs;
    const struct window *window = &attrs->window;
    const struct shape *x = shape_at(d, node, CONV2D_X);
    const struct shape *w = shape_at(d, node, CONV2D_WEIGHT);
    const struct shape *y = &d->survey->values[node->outputs[0]].shape;
    struct conv_row conv = {.groups = attrs->groups};

    if (x->rank != 4)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "a convolution over other than two dimensions cannot "
                         "be predicted");
    for (int i = 0; i < 2; i++) {
        int64_t reach = (y->dims[2 + i] - 1) * window->stride[i];

        conv.stride[i] = window->stride[i];
        conv.pad[i] = (reach + w->dims[2 + i] - x->dims[2 + i]) / 2;
        conv.pad[i] = conv.pad[i] > 0 ? conv.pad[i] : 0;
    }
    return add_conv(d, node, conv, err);
}

static enum assay_status
take_product(struct describing *d, const struct node *node, struct error *err)
{
    const struct shape *x = shape_at(d, node, 0);
    const struct shape *y = &d->survey->values[node->outputs[0]].shape;
    bool is_turned = node->op == &op_gemm &&
                     ((const struct gemm_attrs *)node->attrs)->transposes_a;

    if (x->rank < 1 || y->rank < 1)
        return ASSAY_OK;
    save_inputs(d, node);
    return description_add_dense(d->out, x->dims[is_turned ? 0 : x->rank - 1],
                                 y->dims[y->rank - 1], err);
}

/* ---- what lies between them ---------------------------------------------- */

static enum assay_status take_norm(struct describing *d,
                                   const struct node *node, struct error *err)
{
    (void)err;
    d->out->counts.norm_elements += elements(d, node->inputs[0]);
    d->out->counts.n_norm++;
    for (size_t i = 1; i < node->n_inputs; i++) {
        uint32_t id = node->inputs[i];

        if (id != GRAPH_NONE &&
            graph_value(d->graph, id)->kind == VALUE_PARAMETER)
            d->out->counts.norm_parameters += elements(d, id) * d->n_images;
    }
    save(d, node->inputs[0]);
    return ASSAY_OK;
}

static enum assay_status take_relu(struct describing *d,
                                   const struct node *node, struct error *err)
{
    (void)err;
    d->out->counts.relu_elements += elements(d, node->outputs[0]);
    d->out->counts.n_relu++;
    save(d, node->outputs[0]);
    return ASSAY_OK;
}

static enum assay_status take_activation(struct describing *d,
                                         const struct node *node,
                                         struct error *err)
{
    (void)err;
    d->out->counts.relu_elements += elements(d, node->outputs[0]);
    d->out->counts.n_relu++;
    save(d, node->inputs[0]);
    return ASSAY_OK;
}

static enum assay_status take_add(struct describing *d, const struct node *node,
                                  struct error *err)
{
    (void)err;
    d->out->counts.add_elements += elements(d, node->outputs[0]);
    d->out->counts.n_add++;
    return ASSAY_OK;
}

static enum assay_status take_mul(struct describing *d, const struct node *node,
                                  struct error *err)
{
    save_inputs(d, node);
    return take_add(d, node, err);
}

static enum assay_status take_concat(struct describing *d,
                                     const struct node *node, struct error *err)
{
    (void)err;
    d->out->counts.concat_elements += elements(d, node->outputs[0]);
    d->out->counts.n_concat++;
    return ASSAY_OK;
}

static double window_taps(const struct node *node)
{
    double taps = 1;

    if (node->op == &op_max_pool2d) {
        const struct max_pool2d_attrs *attrs = max_pool2d_attrs(node);

        return (double)(attrs->kernel[0] * attrs->kernel[1]);
    }
    for (int i = 0;
         i < ((const struct pool_nd_attrs *)node->attrs)->window.rank; i++)
        taps *= (double)((const struct pool_nd_attrs *)node->attrs)
                    ->window.kernel[i];
    return taps;
}

/* The place of each largest value is kept as 8 bytes. */
static enum assay_status
take_max_pool(struct describing *d, const struct node *node, struct error *err)
{
    struct image_counts *counts = &d->out->counts;
    double outputs = elements(d, node->outputs[0]);

    (void)err;
    counts->max_pool_inputs += elements(d, node->inputs[0]);
    counts->max_pool_outputs += outputs;
    counts->max_pool_taps += outputs * window_taps(node);
    counts->n_max_pool++;
    counts->saved_bytes += 8 * outputs;
    save(d, node->inputs[0]);
    return ASSAY_OK;
}

static enum assay_status take_mean(struct describing *d,
                                   const struct node *node, struct error *err)
{
    (void)err;
    d->out->counts.avg_pool_inputs += elements(d, node->inputs[0]);
    d->out->counts.n_avg_pool++;
    return ASSAY_OK;
}

static enum assay_status
take_avg_pool(struct describing *d, const struct node *node, struct error *err)
{
    save(d, node->inputs[0]);
    return take_mean(d, node, err);
}

/* Dropout is counted as if it were not there: what it keeps is small, and the
 * data folders do not have it. */
static enum assay_status take_alias(struct describing *d,
                                    const struct node *node, struct error *err)
{
    (void)err;
    d->roots[node->outputs[0]] = d->roots[node->inputs[0]];
    return ASSAY_OK;
}

/* ---- the walk ------------------------------------------------------------ */

static const struct {
    const struct op_class *op;
    enum assay_status (*take)(struct describing *d, const struct node *node,
                              struct error *err);
} kinds[] = {
    {&op_conv2d, take_conv2d},
    {&op_conv_nd, take_conv_nd},
    {&op_linear, take_product},
    {&op_gemm, take_product},
    {&op_matmul, take_product},
    {&op_batch_norm, take_norm},
    {&op_batch_norm_training, take_norm},
    {&op_instance_norm, take_norm},
    {&op_layer_norm, take_norm},
    {&op_local_response_norm, take_norm},
    {&op_relu, take_relu},
    {&op_clip, take_relu},
    {&op_leaky_relu, take_relu},
    {&op_sigmoid, take_relu},
    {&op_tanh, take_relu},
    {&op_prelu, take_activation},
    {&op_elu, take_activation},
    {&op_selu, take_activation},
    {&op_gelu, take_activation},
    {&op_silu, take_activation},
    {&op_mish, take_activation},
    {&op_hard_swish, take_activation},
    {&op_hard_sigmoid, take_activation},
    {&op_add, take_add},
    {&op_sum, take_add},
    {&op_sub, take_add},
    {&op_mul, take_mul},
    {&op_div, take_mul},
    {&op_concat, take_concat},
    {&op_max_pool2d, take_max_pool},
    {&op_max_pool_nd, take_max_pool},
    {&op_avg_pool2d, take_avg_pool},
    {&op_avg_pool_nd, take_avg_pool},
    {&op_adaptive_avg_pool2d, take_avg_pool},
    {&op_reduce_mean, take_mean},
    {&op_dropout, take_alias},
    {&op_dropout_training, take_alias},
};

static bool shapes_are_known(const struct describing *d,
                             const struct node *node)
{
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] != GRAPH_NONE &&
            !d->survey->is_known[node->inputs[i]])
            return false;
    }
    for (size_t i = 0; i < node->n_outputs; i++) {
        if (!d->survey->is_known[node->outputs[i]])
            return false;
    }
    return true;
}

/* Arithmetic on sizes, as exporters leave it in a graph, is no layer. */
static bool is_of_images(const struct describing *d, const struct node *node)
{
    const struct tensor *y = &d->survey->values[node->outputs[0]];

    return node->n_inputs > 0 && node->inputs[0] != GRAPH_NONE &&
           y->dtype == DTYPE_F32 && y->shape.rank >= 2;
}

/* Whether it is one of the layers that most of the work is in. */
static bool has_products(const struct node *node)
{
    return node->op == &op_conv2d || node->op == &op_conv_nd ||
           node->op == &op_linear || node->op == &op_gemm ||
           node->op == &op_matmul;
}

/* What sorts and cuts out what was found may be of any size; it is little. */
static enum assay_status pass_unknown(const struct describing *d,
                                      const struct node *node,
                                      struct error *err)
{
    const char *name = node->scope != GRAPH_NONE
                           ? graph_scope(d->graph, node->scope)->path
                           : node->name;

    if (!has_products(node))
        return ASSAY_OK;
    return error_set(err, ASSAY_UNSUPPORTED,
                     "%s: the shapes of %s (%s) depend on what the image "
                     "shows; only networks whose shapes are fixed can be "
                     "predicted",
                     graph_name(d->graph), name, node->op->name);
}

static enum assay_status take_node(struct describing *d,
                                   const struct node *node, struct error *err)
{
    if (node->op->is_view && node->n_inputs && node->inputs[0] != GRAPH_NONE)
        return take_alias(d, node, err);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].op != node->op)
            continue;
        if (!shapes_are_known(d, node))
            return pass_unknown(d, node, err);
        return is_of_images(d, node) ? kinds[i].take(d, node, err) : ASSAY_OK;
    }
    return ASSAY_OK;
}

static void count_parameters(struct describing *d)
{
    struct image_counts *counts = &d->out->counts;

    counts->parameters = (double)graph_parameter_elements(d->graph);
    for (uint32_t i = 0; i < graph_value_count(d->graph); i++)
        counts->parameter_tensors +=
            graph_value(d->graph, i)->kind == VALUE_PARAMETER;
}

/* The saved tensors, what a cross entropy keeps of the logits, and a label of
 * 8 bytes. */
static void count_saved(struct describing *d)
{
    double *bytes = &d->out->counts.saved_bytes;

    for (uint32_t i = 0; i < d->survey->n_values; i++) {
        if (d->is_saved[i])
            *bytes += elements(d, i) *
                      (double)dtype_bytes(d->survey->values[i].dtype);
    }
    if (graph_output_count(d->graph))
        *bytes += 4 * elements(d, graph_output_at(d->graph, 0, NULL)) + 8;
}

enum assay_status describe_graph(const struct graph *graph,
                                 const struct survey *survey, int64_t n_images,
                                 struct description *out, struct error *err)
{
    struct describing d = {.graph = graph,
                           .survey = survey,
                           .n_images = (double)n_images,
                           .out = out};
    enum assay_status st = description_set_name(
        out, network_canonical(graph_name(graph)), -1, err);

    d.roots = mem_array(survey->n_values, sizeof *d.roots);
    d.is_saved = mem_array(survey->n_values, sizeof *d.is_saved);
    if (!st && (!d.roots || !d.is_saved))
        st = error_nomem(err, survey->n_values, "the values of a graph");
    for (uint32_t i = 0; !st && i < survey->n_values; i++)
        d.roots[i] = i;
    for (size_t i = 0; !st && i < graph_node_count(graph); i++)
        st = take_node(&d, graph_node(graph, i), err);
    if (!st) {
        count_parameters(&d);
        count_saved(&d);
    }
    mem_free(d.roots);
    mem_free(d.is_saved);
    return st;
}
