/* passes/train_pass.c - see train_pass.h. */
#include "passes/train_pass.h"

#include "base/mem.h"
#include "ops/convolution/conv2d.h"
#include "ops/loss/loss.h"
#include "ops/norm/batch_norm.h"
#include "ops/norm/dropout.h"
#include "ops/norm/dropout_training.h"
#include "ops/norm/normalize.h"
#include "ops/ops.h"

/* ---- norms --------------------------------------------------------------- */

/* The default of other frameworks. */
static const float default_momentum = 0.1F;

static bool is_stored(const struct graph *graph, uint32_t value)
{
    const struct value *of = graph_value(graph, value);

    return of->kind != VALUE_COMPUTED && of->kind != VALUE_INPUT;
}

static bool is_trained_norm(const struct graph *graph, const struct node *node)
{
    return node->op == &op_batch_norm &&
           graph_value(graph, node->inputs[BATCH_NORM_WEIGHT])->kind !=
               VALUE_BUFFER &&
           is_stored(graph, node->inputs[BATCH_NORM_MEAN]) &&
           is_stored(graph, node->inputs[BATCH_NORM_VARIANCE]);
}

/* A norm that is called several times updates its own last statistics. */
static enum assay_status train_norm(struct graph *graph, size_t at,
                                    uint32_t *latest, struct error *err)
{
    const struct node *node = graph_node(graph, at);
    const struct batch_norm_attrs *norm = batch_norm_attrs(node);
    float momentum = norm->momentum > 0 ? norm->momentum : default_momentum;
    struct normalize_attrs attrs = {.eps = norm->eps,
                                    .momentum = 1 - momentum,
                                    .is_unbiased = true,
                                    .has_relu = norm->has_relu};
    enum assay_status st =
        graph_node_become(graph, at, &op_batch_norm_training, &attrs, err);

    for (size_t i = BATCH_NORM_MEAN; !st && i < BATCH_NORM_INPUTS; i++) {
        uint32_t buffer = graph_node(graph, at)->inputs[i];

        graph_freeze(graph, buffer);
        if (latest[buffer] != GRAPH_NONE)
            graph_input_set(graph, at, i, latest[buffer]);
        st = graph_output_append(graph, at, &latest[buffer], err);
    }
    return st;
}

/* Adds the latest statistics as outputs, in the order of the buffers. */
static enum assay_status output_latest(struct graph *graph,
                                       const uint32_t *latest, size_t n,
                                       struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (uint32_t i = 0; !st && i < n; i++) {
        if (latest[i] != GRAPH_NONE)
            st = graph_output(graph, graph_value(graph, i)->name, latest[i],
                              err);
    }
    return st;
}

enum assay_status graph_train_norms(struct graph *graph, struct error *err)
{
    size_t n = graph_value_count(graph);
    uint32_t *latest = mem_array(n, sizeof *latest);
    enum assay_status st = ASSAY_OK;

    if (!latest)
        return error_nomem(err, n * sizeof *latest, "the norms of a model");
    for (size_t i = 0; i < n; i++)
        latest[i] = GRAPH_NONE;
    for (size_t i = 0; !st && i < graph_node_count(graph); i++) {
        if (is_trained_norm(graph, graph_node(graph, i)))
            st = train_norm(graph, i, latest, err);
    }
    if (!st)
        st = output_latest(graph, latest, n, err);
    mem_free(latest);
    return st;
}

/* Statistics that stay are not trained, even if the file has them as
 * parameters. */
static void freeze_statistics(struct graph *graph)
{
    for (size_t i = 0; i < graph_node_count(graph); i++) {
        const struct node *node = graph_node(graph, i);

        if (node->op == &op_batch_norm) {
            graph_freeze(graph, node->inputs[BATCH_NORM_MEAN]);
            graph_freeze(graph, node->inputs[BATCH_NORM_VARIANCE]);
        }
    }
}

/* ---- dropout ------------------------------------------------------------- */

static enum assay_status train_dropout(struct graph *graph, size_t at,
                                       uint32_t seed, uint32_t which,
                                       struct error *err)
{
    struct dropout_training_attrs attrs = {
        .seed = which,
        .ratio = dropout_attrs(graph_node(graph, at))->ratio,
        .is_on = true};
    enum assay_status st =
        graph_node_become(graph, at, &op_dropout_training, &attrs, err);

    for (size_t i = DROPOUT_RATIO; !st && i < DROPOUT_INPUTS; i++)
        st = graph_input_append(graph, at,
                                i == DROPOUT_SEED ? seed : GRAPH_NONE, err);
    return st;
}

static enum assay_status train_dropouts(struct graph *graph, uint32_t seed,
                                        struct error *err)
{
    enum assay_status st = ASSAY_OK;
    uint32_t which = 0;

    for (size_t i = 0; !st && i < graph_node_count(graph); i++) {
        const struct node *node = graph_node(graph, i);

        if (node->op == &op_dropout && dropout_attrs(node)->ratio > 0)
            st = train_dropout(graph, i, seed, which++, err);
    }
    return st;
}

/* ---- the loss ------------------------------------------------------------ */

static enum assay_status train_pass_append(struct graph *graph,
                                           const struct op_class *op,
                                           const void *attrs, const char *name,
                                           const uint32_t *inputs, size_t n,
                                           uint32_t *y, struct error *err)
{
    struct node_description description = {.op = op,
                                           .attrs = attrs,
                                           .scope = GRAPH_NONE,
                                           .name = name,
                                           .inputs = inputs,
                                           .n_inputs = n,
                                           .n_outputs = 1};

    return graph_node_add(graph, &description, y, err);
}

static const struct op_class *maker_of(const struct graph *graph,
                                       uint32_t value)
{
    const struct value *made = graph_value(graph, value);

    return made->kind == VALUE_COMPUTED ? graph_node(graph, made->producer)->op
                                        : NULL;
}

/* The first output before its softmax, as a matrix. */
static enum assay_status find_logits(struct graph *graph, uint32_t *logits,
                                     struct error *err)
{
    if (graph_output_count(graph) == 0)
        return error_set(err, ASSAY_BAD_INPUT,
                         "a model without outputs cannot be trained");
    *logits = graph_output_at(graph, 0, NULL);
    /* A Softmax, which some files follow by an Identity. */
    for (;;) {
        const struct op_class *op = maker_of(graph, *logits);
        const struct node *node;

        if (!op || (op != &op_softmax && op != &op_identity))
            break;
        node = graph_node(graph, graph_value(graph, *logits)->producer);
        *logits = node->inputs[0];
    }
    if (maker_of(graph, *logits) == &op_linear ||
        maker_of(graph, *logits) == &op_gemm ||
        maker_of(graph, *logits) == &op_flatten)
        return ASSAY_OK;
    return train_pass_append(graph, &op_flatten, NULL, "logits", logits, 1,
                             logits, err);
}

static enum assay_status add_loss(struct graph *graph, uint32_t labels,
                                  struct error *err)
{
    struct loss_attrs attrs = {.reduction = LOSS_MEAN};
    uint32_t inputs[] = {GRAPH_NONE, labels}, loss;
    enum assay_status st = find_logits(graph, &inputs[0], err);

    if (!st)
        st = train_pass_append(graph, &op_softmax_cross_entropy_loss, &attrs,
                               "loss", inputs, 2, &loss, err);
    if (st)
        return st;
    graph_clear_outputs(graph);
    st = graph_output(graph, "loss", loss, err);
    return st ? st : graph_output(graph, "logits", inputs[0], err);
}

static enum assay_status train_pass_add_input(struct graph *graph,
                                              const char *name, int64_t n,
                                              uint32_t *value,
                                              struct error *err)
{
    struct shape shape = shape_of(1, n);
    enum assay_status st = graph_input(graph, name, DTYPE_I64, value, err);

    if (!st)
        graph_declare_input(graph, *value, &shape);
    return st;
}

/* ---- checking gradients -------------------------------------------------- */

/* Marks the values that `value` depends on. */
static void mark_needed(const struct graph *graph, uint32_t value,
                        uint8_t *needed)
{
    needed[value] = 1;
    for (size_t i = graph_node_count(graph); i-- > 0;) {
        const struct node *node = graph_node(graph, i);
        bool is_needed = false;

        for (size_t k = 0; k < node->n_outputs; k++)
            is_needed |= needed[node->outputs[k]];
        for (size_t k = 0; is_needed && k < node->n_inputs; k++) {
            if (node->inputs[k] != GRAPH_NONE && !node->op->reads_shapes)
                needed[node->inputs[k]] = 1;
        }
    }
}

/* Whether a node reads anything trained; marks its outputs if it does. */
static bool mark_trained(const struct node *node, uint8_t *is_trained)
{
    bool is_any = false;

    for (size_t k = 0; k < node->n_inputs && !node->op->reads_shapes; k++)
        is_any |= node->inputs[k] != GRAPH_NONE && is_trained[node->inputs[k]];
    for (size_t k = 0; is_any && k < node->n_outputs; k++)
        is_trained[node->outputs[k]] = 1;
    return is_any;
}

static enum assay_status name_stop(const struct graph *graph,
                                   const struct node *node, struct error *err)
{
    bool is_named = node->scope != GRAPH_NONE;

    return error_set(err, ASSAY_UNSUPPORTED,
                     "%s%s%s (%s) passes no gradient; layers before it cannot "
                     "be trained",
                     is_named ? graph_scope(graph, node->scope)->path : "",
                     is_named && node->name[0] ? "." : "", node->name,
                     node->op->name);
}

/* Checks that a gradient of the value reaches every trained parameter that it
 * depends on; ASSAY_UNSUPPORTED names the first node that blocks it. */
static enum assay_status graph_check_gradients(const struct graph *graph,
                                               uint32_t value,
                                               struct error *err)
{
    size_t n = graph_value_count(graph);
    uint8_t *needed = mem_array(2 * n, sizeof *needed);
    uint8_t *is_trained;
    enum assay_status st = ASSAY_OK;

    if (!needed)
        return error_nomem(err, 2 * n, "a model's gradients");
    is_trained = needed + n;
    mark_needed(graph, value, needed);
    for (uint32_t i = 0; i < n; i++) {
        const struct value *of = graph_value(graph, i);

        is_trained[i] = of->kind == VALUE_PARAMETER && !of->is_frozen &&
                        of->dtype == DTYPE_F32;
    }
    for (size_t i = 0; !st && i < graph_node_count(graph); i++) {
        const struct node *node = graph_node(graph, i);

        if (mark_trained(node, is_trained) && needed[node->outputs[0]] &&
            !node->op->backward && !node->op->is_view)
            st = name_stop(graph, node, err);
    }
    mem_free(needed);
    return st;
}

/* ---- the pass ------------------------------------------------------------ */

static enum assay_status check_plain(const struct graph *graph,
                                     struct error *err)
{
    for (size_t i = 0; i < graph_node_count(graph); i++) {
        const struct node *node = graph_node(graph, i);

        if (node->op == &op_conv2d && node->n_inputs > CONV2D_SCALE)
            return error_set(err, ASSAY_UNSUPPORTED,
                             "norms were folded into convolutions; train the "
                             "model before it is fused");
    }
    return ASSAY_OK;
}

enum assay_status graph_make_training(struct graph *graph,
                                      const struct train_pass_options *options,
                                      struct error *err)
{
    struct train_pass_options none = {0};
    uint32_t labels, seed;
    enum assay_status st = check_plain(graph, err);

    if (!options)
        options = &none;
    if (!st)
        st = train_pass_add_input(graph, "labels", -1, &labels, err);
    if (!st)
        st = train_pass_add_input(graph, "seed", 1, &seed, err);
    if (!st)
        st = add_loss(graph, labels, err);
    if (st)
        return st;
    graph_sweep(graph);
    if (!options->keeps_statistics)
        st = graph_train_norms(graph, err);
    freeze_statistics(graph);
    if (!st && !options->drops_nothing)
        st = train_dropouts(graph, seed, err);
    return st ? st
              : graph_check_gradients(graph, graph_output_at(graph, 0, NULL),
                                      err);
}
