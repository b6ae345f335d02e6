/* predict/describe_graph.c - see describe_graph.h.
 *
 * A framework keeps a set of tensors for the backward pass: the inputs of
 * convolutions, products, norms and poolings, and the outputs of ReLUs. A
 * tensor that several layers need is kept once. */
#include "predict/describe_graph.h"

#include "base/mem.h"
#include "predict/own_memory.h"
#include "predict/torch_memory.h"

struct describing {
    const struct graph *graph;
    const struct survey *survey;
    double n_images;
    struct description *out;
    uint32_t *roots; /* per value: the value whose memory it shares */
    bool *is_saved;  /* per value: needed by the backward pass */
};

static double describe_elements(const struct describing *d, uint32_t value)
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

static void describe_save(struct describing *d, uint32_t value)
{
    enum value_kind kind = graph_value(d->graph, value)->kind;

    if (kind == VALUE_INPUT || kind == VALUE_COMPUTED)
        d->is_saved[d->roots[value]] = true;
}

static void save_inputs(struct describing *d, const struct node *node)
{
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] != GRAPH_NONE)
            describe_save(d, node->inputs[i]);
    }
}

/* ---- convolutions and products ------------------------------------------ */

enum { CONV_X, CONV_WEIGHT, CONV_BIAS };

static enum assay_status describe_conv(struct describing *d,
                                       const struct node *node,
                                       const struct layer_numbers *numbers,
                                       struct error *err)
{
    const struct shape *x = shape_at(d, node, CONV_X);
    const struct shape *w = shape_at(d, node, CONV_WEIGHT);
    struct conv_row conv = {.groups = numbers->groups};

    if (x->rank != 4)
        return error_set(
            err, ASSAY_UNSUPPORTED,
            "cannot predict a convolution over other than two dimensions");
    conv.in = x->dims[1];
    conv.out = w->dims[0];
    conv.has_bias =
        node->n_inputs > CONV_BIAS && node->inputs[CONV_BIAS] != GRAPH_NONE;
    for (int i = 0; i < 2; i++) {
        conv.kernel[i] = w->dims[2 + i];
        conv.size[i] = x->dims[2 + i];
        conv.stride[i] = numbers->stride[i];
        conv.pad[i] = numbers->pad[i];
    }
    describe_save(d, node->inputs[CONV_X]);
    return description_add_conv(d->out, &conv, err);
}

static enum assay_status describe_product(struct describing *d,
                                          const struct node *node,
                                          const struct layer_numbers *numbers,
                                          struct error *err)
{
    const struct shape *x = shape_at(d, node, 0);
    const struct shape *y = &d->survey->values[node->outputs[0]].shape;

    if (x->rank < 1 || y->rank < 1)
        return ASSAY_OK;
    save_inputs(d, node);
    return description_add_dense(d->out, numbers->summed, y->dims[y->rank - 1],
                                 err);
}

/* ---- the layers between them -------------------------------------------- */

/* Adds a layer of as many elements as a value has. */
static void count_layer(const struct describing *d, uint32_t value,
                        double *elements, double *n_layers)
{
    *elements += describe_elements(d, value);
    (*n_layers)++;
}

static void describe_norm(struct describing *d, const struct node *node)
{
    count_layer(d, node->inputs[0], &d->out->counts.norm_elements,
                &d->out->counts.n_norm);
    for (size_t i = 1; i < node->n_inputs; i++) {
        uint32_t id = node->inputs[i];

        if (id != GRAPH_NONE &&
            graph_value(d->graph, id)->kind == VALUE_PARAMETER)
            d->out->counts.norm_parameters +=
                describe_elements(d, id) * d->n_images;
    }
    describe_save(d, node->inputs[0]);
}

/* The position of each largest value is kept as 8 bytes. */
static void describe_max_pool(struct describing *d, const struct node *node,
                              const struct layer_numbers *numbers)
{
    struct image_counts *counts = &d->out->counts;
    double outputs = describe_elements(d, node->outputs[0]);

    counts->max_pool_inputs += describe_elements(d, node->inputs[0]);
    counts->max_pool_outputs += outputs;
    counts->max_pool_taps += outputs * numbers->taps;
    counts->n_max_pool++;
    counts->saved_bytes += 8 * outputs;
    describe_save(d, node->inputs[0]);
}

/* Dropout counts as if it were not there: it keeps little, and the data folders
 * do not have it. */
static void describe_alias(struct describing *d, const struct node *node)
{
    d->roots[node->outputs[0]] = d->roots[node->inputs[0]];
}

/* ---- the walk ------------------------------------------------------------ */

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

/* Arithmetic on sizes, which exporters leave in a graph, is not a layer. */
static bool is_of_images(const struct describing *d, const struct node *node)
{
    const struct tensor *y = &d->survey->values[node->outputs[0]];

    return node->n_inputs > 0 && node->inputs[0] != GRAPH_NONE &&
           y->dtype == DTYPE_F32 && y->shape.rank >= 2;
}

/* Ops that sort and select detections may have any size. They are small and
 * listed as uncounted; layers with weights cannot be. */
static enum assay_status
pass_unknown(struct describing *d, const struct node *node, struct error *err)
{
    const char *name = node->scope != GRAPH_NONE
                           ? graph_scope(d->graph, node->scope)->path
                           : node->name;

    if (node->op->counted != COUNTED_CONV &&
        node->op->counted != COUNTED_PRODUCT)
        return description_add_uncounted(d->out, node->op->name, 0, err);
    return error_set(err, ASSAY_UNSUPPORTED,
                     "%s: the shapes of %s (%s) depend on what the image "
                     "shows; only networks with fixed shapes can be predicted",
                     graph_name(d->graph), name, node->op->name);
}

/* What the op itself says about the node. */
static struct layer_numbers numbers_of(const struct describing *d,
                                       const struct node *node)
{
    const struct tensor *inputs[2] = {NULL};
    struct layer_numbers numbers = {0};

    for (size_t i = 0; i < node->n_inputs && i < 2; i++) {
        if (node->inputs[i] != GRAPH_NONE)
            inputs[i] = &d->survey->values[node->inputs[i]];
    }
    if (node->op->describe)
        node->op->describe(node, inputs, &d->survey->values[node->outputs[0]],
                           &numbers);
    return numbers;
}

static enum assay_status describe_counted(struct describing *d,
                                          const struct node *node,
                                          struct error *err)
{
    struct layer_numbers numbers = numbers_of(d, node);
    struct image_counts *counts = &d->out->counts;
    uint32_t x = node->inputs[0], y = node->outputs[0];

    switch (node->op->counted) {
    case COUNTED_NOT:
        break;
    case COUNTED_CONV:
        return describe_conv(d, node, &numbers, err);
    case COUNTED_PRODUCT:
        return describe_product(d, node, &numbers, err);
    case COUNTED_NORM:
        describe_norm(d, node);
        break;
    case COUNTED_RELU:
    case COUNTED_ACTIVATION:
        count_layer(d, y, &counts->relu_elements, &counts->n_relu);
        describe_save(d, node->op->counted == COUNTED_RELU ? y : x);
        break;
    case COUNTED_MUL:
        save_inputs(d, node);
        count_layer(d, y, &counts->add_elements, &counts->n_add);
        break;
    case COUNTED_ADD:
        count_layer(d, y, &counts->add_elements, &counts->n_add);
        break;
    case COUNTED_CONCAT:
        count_layer(d, y, &counts->concat_elements, &counts->n_concat);
        break;
    case COUNTED_MAX_POOL:
        describe_max_pool(d, node, &numbers);
        break;
    case COUNTED_AVG_POOL:
        describe_save(d, x);
        count_layer(d, x, &counts->avg_pool_inputs, &counts->n_avg_pool);
        break;
    case COUNTED_MEAN:
        count_layer(d, x, &counts->avg_pool_inputs, &counts->n_avg_pool);
        break;
    case COUNTED_PASS:
        describe_alias(d, node);
        break;
    }
    return ASSAY_OK;
}

static enum assay_status describe_node(struct describing *d, size_t at,
                                       struct error *err)
{
    const struct node *node = graph_node(d->graph, at);

    if (node->op->is_view && node->n_inputs && node->inputs[0] != GRAPH_NONE) {
        describe_alias(d, node);
        return ASSAY_OK;
    }
    if (!shapes_are_known(d, node))
        return pass_unknown(d, node, err);
    if (!is_of_images(d, node))
        return ASSAY_OK;
    if (node->op->counted == COUNTED_NOT)
        return description_add_uncounted(
            d->out, node->op->name,
            (double)d->survey->costs[at].macs / d->n_images, err);
    return describe_counted(d, node, err);
}

static void count_parameter_tensors(struct describing *d)
{
    struct image_counts *counts = &d->out->counts;

    counts->parameters = (double)graph_parameter_elements(d->graph);
    for (uint32_t i = 0; i < graph_value_count(d->graph); i++)
        counts->parameter_tensors +=
            graph_value(d->graph, i)->kind == VALUE_PARAMETER;
}

/* The saved tensors, what a cross entropy keeps of the logits, and a label of 8
 * bytes. */
static void count_saved(struct describing *d)
{
    double *bytes = &d->out->counts.saved_bytes;

    for (uint32_t i = 0; i < d->survey->n_values; i++) {
        if (d->is_saved[i])
            *bytes += describe_elements(d, i) *
                      (double)dtype_bytes(d->survey->values[i].dtype);
    }
    if (graph_output_count(d->graph))
        *bytes +=
            4 * describe_elements(d, graph_output_at(d->graph, 0, NULL)) + 8;
}

static enum assay_status count_torch(struct describing *d, struct error *err)
{
    struct image_counts *counts = &d->out->counts;
    enum assay_status st = ASSAY_OK;

    for (int i = 0; !st && i < 2 * WALKED_BATCHES; i++) {
        bool is_training = i < WALKED_BATCHES;
        int place = i % WALKED_BATCHES;
        struct torch_memory memory;

        st = torch_memory_of(d->graph, d->survey, (int64_t)d->n_images,
                             (int64_t)1 << place, is_training, &memory, err);
        if (is_training)
            counts->torch_training[place] = memory.reserved_mb;
        else
            counts->torch_inference[place] = memory.reserved_mb;
    }
    return st;
}

_Static_assert((int)OWN_MEMORY_BATCHES == (int)WALKED_BATCHES,
               "both walks are of the same batches");

static enum assay_status count_own(struct describing *d, struct error *err)
{
    struct image_counts *counts = &d->out->counts;
    const struct shape *image =
        graph_input_count(d->graph)
            ? &d->survey->values[graph_input_at(d->graph, 0)].shape
            : NULL;
    enum assay_status st;

    if (!image)
        return ASSAY_OK;
    st = own_memory_of(d->graph, image, true, counts->own_training, err);
    return st ? st
              : own_memory_of(d->graph, image, false, counts->own_inference,
                              err);
}

struct shape describe_image(const struct graph *graph)
{
    struct shape shape =
        graph_input_shape(graph, 0)
            ? *graph_input_shape(graph, 0)
            : shape_of(4, (int64_t)1, (int64_t)3, (int64_t)224, (int64_t)224);

    for (int i = 0; i < shape.rank; i++) {
        if (shape.dims[i] < 0)
            shape.dims[i] = i ? 224 : 1;
    }
    return shape;
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
        st = describe_node(&d, i, err);
    if (!st) {
        count_parameter_tensors(&d);
        count_saved(&d);
        st = count_torch(&d, err);
        if (!st)
            st = count_own(&d, err);
    }
    mem_free(d.roots);
    mem_free(d.is_saved);
    return st;
}
