/* predict/torch_memory.c - see torch_memory.h.
 *
 * Forward: every layer takes its output; ReLUs that nobody else's input depends
 * on overwrite theirs. A tensor is given back when no later layer reads it and
 * the backward pass does not need it. Backward, from the last layer to the
 * first: a layer takes the gradient of its input, then gives back what was
 * kept for it and the gradient of its output. Convolutions take a workspace for
 * as long as they run, and products one that stays, in each of the two threads
 * that use them. */
#include "predict/torch_memory.h"

#include "base/mem.h"
#include "base/vec.h"
#include "ops/ops.h"
#include "predict/torch_pool.h"

static const double product_workspace = 33 * 0x1p20; /* of Hopper; 8 before */

enum { n_steps = 2, most_saved = 3 };

/* A piece of memory, which several tensors may share. */
struct storage {
    uint32_t block;
    uint32_t n_holders;
};

#define NO_STORAGE UINT32_MAX

struct saved {
    uint32_t ids[most_saved];
    size_t n;
};

struct walk {
    const struct graph *graph;
    const struct survey *survey;
    double images; /* of the batch, per image of the survey */
    bool is_training;
    struct torch_pool pool;
    struct storage *storages;
    size_t n_storages, storages_capacity;
    uint32_t *at;        /* per value: its storage */
    uint32_t *gradients; /* the same of its gradient */
    size_t *last;        /* per value: the last node that reads it */
    struct saved *saved; /* per node */
    uint32_t output;
    bool has_product[2];         /* forward and backward */
    bool has_momentum, is_short; /* is_short: out of memory */
};

/* ---- storages ------------------------------------------------------------ */

static uint32_t storage_new(struct walk *walk, double bytes)
{
    uint32_t id = (uint32_t)walk->n_storages;

    if (walk->is_short ||
        !vec_grow(&walk->storages, &walk->storages_capacity,
                  walk->n_storages + 1, sizeof *walk->storages) ||
        !torch_pool_take(&walk->pool, bytes, &walk->storages[id].block)) {
        walk->is_short = true;
        return NO_STORAGE;
    }
    walk->storages[id].n_holders = 1;
    walk->n_storages++;
    return id;
}

static uint32_t storage_hold(struct walk *walk, uint32_t id)
{
    if (id != NO_STORAGE)
        walk->storages[id].n_holders++;
    return id;
}

static void storage_drop(struct walk *walk, uint32_t id)
{
    if (id != NO_STORAGE && --walk->storages[id].n_holders == 0)
        torch_pool_give(&walk->pool, walk->storages[id].block);
}

static void drop_at(struct walk *walk, uint32_t *place)
{
    storage_drop(walk, *place);
    *place = NO_STORAGE;
}

static void save(struct walk *walk, size_t node, uint32_t id)
{
    struct saved *own = &walk->saved[node];

    if (walk->is_training && own->n < most_saved)
        own->ids[own->n++] = storage_hold(walk, id);
}

/* As a tensor of its own, which nothing else holds. */
static void save_new(struct walk *walk, size_t node, double bytes)
{
    uint32_t id = walk->is_training ? storage_new(walk, bytes) : NO_STORAGE;

    save(walk, node, id);
    storage_drop(walk, id);
}

static void take_for_a_moment(struct walk *walk, double bytes)
{
    if (bytes > 0)
        storage_drop(walk, storage_new(walk, bytes));
}

/* ---- sizes --------------------------------------------------------------- */

static double elements_of(const struct walk *walk, uint32_t value)
{
    size_t n = 0;

    if (value == GRAPH_NONE || !walk->survey->is_known[value] ||
        !shape_elements(&walk->survey->values[value].shape, &n))
        return 0;
    return (double)n;
}

static bool is_weight(const struct walk *walk, uint32_t value)
{
    enum value_kind kind = graph_value(walk->graph, value)->kind;

    return kind == VALUE_PARAMETER || kind == VALUE_BUFFER;
}

static bool is_of_batch(const struct walk *walk, uint32_t value)
{
    enum value_kind kind = graph_value(walk->graph, value)->kind;

    return kind == VALUE_INPUT || kind == VALUE_COMPUTED;
}

static double bytes_of(const struct walk *walk, uint32_t value)
{
    return 4 * elements_of(walk, value) *
           (is_of_batch(walk, value) ? walk->images : 1);
}

/* ---- convolutions -------------------------------------------------------- */

enum pass { FORWARD, BY_INPUT, BY_WEIGHTS, N_PASSES };
enum kernel { OF_IMAGES, POINTWISE, SPATIAL, N_KERNELS };

/* The workspace of a convolution, as a share of all that it reads and writes:
 * copies whose channels are beside each other, which tensor cores read in
 * pairs. Rows of levels 0, 50 and 90 of three networks on an H200 chose the
 * shares, from 0, 0.5, 1, 1.5, 2 and 4: docs/fingerprint.md. */
static const double workspace_shares[N_PASSES][N_KERNELS][2] = {
    /* in pairs, odd */
    [FORWARD] = {[OF_IMAGES] = {1, 0}},
    [BY_INPUT] = {[POINTWISE] = {0.5, 0}, [SPATIAL] = {1.5, 1}},
    [BY_WEIGHTS] =
        {[OF_IMAGES] = {1.5, 0}, [POINTWISE] = {0.5, 0}, [SPATIAL] = {1, 0}},
};

static double workspace_of(const struct walk *walk, const struct node *node,
                           enum pass pass)
{
    uint32_t x = node->inputs[0], y = node->outputs[0], w = node->inputs[1];
    const struct shape *in = &walk->survey->values[x].shape;
    const struct shape *weights = &walk->survey->values[w].shape;
    bool is_first = graph_value(walk->graph, x)->kind == VALUE_INPUT, is_odd;
    enum kernel kernel = SPATIAL;

    if (in->rank != 4 || weights->rank != 4 ||
        weights->dims[1] != in->dims[1]) /* in groups */
        return 0;
    is_odd = weights->dims[0] % 2 || (in->dims[1] % 2 && !is_first);
    if (is_first)
        kernel = OF_IMAGES;
    else if (weights->dims[2] == 1 && weights->dims[3] == 1)
        kernel = POINTWISE;
    return workspace_shares[pass][kernel][is_odd] *
           (bytes_of(walk, x) + bytes_of(walk, y) + bytes_of(walk, w));
}

/* ---- forward ------------------------------------------------------------- */

static bool is_counted(const struct walk *walk, uint32_t value, enum counted as)
{
    uint32_t producer = graph_value(walk->graph, value)->producer;

    return producer != GRAPH_NONE &&
           graph_node(walk->graph, producer)->op->counted == as;
}

/* As python/assay/net_modules.py decides it. */
static bool is_in_place(const struct walk *walk, const struct node *node)
{
    uint32_t x = node->inputs[0];

    return graph_use_count(walk->graph, x) == 1 &&
           (is_counted(walk, x, COUNTED_CONV) ||
            is_counted(walk, x, COUNTED_NORM) ||
            is_counted(walk, x, COUNTED_PRODUCT) ||
            is_counted(walk, x, COUNTED_ADD));
}

/* A clip that overwrites its input keeps a copy of it first. */
static uint32_t activate(struct walk *walk, size_t i, const struct node *node)
{
    uint32_t x = walk->at[node->inputs[0]];
    double bytes = bytes_of(walk, node->outputs[0]);
    bool is_relu = node->op == &op_relu;
    uint32_t y;

    if ((is_relu || node->op == &op_clip) && is_in_place(walk, node)) {
        if (is_relu)
            save(walk, i, x);
        else
            save_new(walk, i, bytes);
        return storage_hold(walk, x);
    }
    y = storage_new(walk, bytes);
    save(walk, i,
         node->op->counted == COUNTED_RELU && node->op != &op_clip ? y : x);
    return y;
}

static void use_products(struct walk *walk, int thread)
{
    if (!walk->has_product[thread])
        (void)storage_new(walk, product_workspace); /* which stays */
    walk->has_product[thread] = true;
}

static uint32_t normalize(struct walk *walk, size_t i, const struct node *node)
{
    uint32_t y = storage_new(walk, bytes_of(walk, node->outputs[0]));

    save(walk, i, walk->at[node->inputs[0]]);
    for (int k = 0; k < 2; k++) /* mean and deviation */
        save_new(walk, i, bytes_of(walk, node->inputs[1]));
    return y;
}

/* Positions are of 8 bytes. */
static uint32_t pool_largest(struct walk *walk, size_t i,
                             const struct node *node)
{
    double bytes = bytes_of(walk, node->outputs[0]);
    uint32_t y = storage_new(walk, bytes);
    uint32_t positions = storage_new(walk, 2 * bytes);

    save(walk, i, walk->at[node->inputs[0]]);
    save(walk, i, positions);
    storage_drop(walk, positions);
    return y;
}

static uint32_t drop_out(struct walk *walk, size_t i, const struct node *node)
{
    double bytes = bytes_of(walk, node->outputs[0]);

    if (!walk->is_training || node->op == &op_identity)
        return storage_hold(walk, walk->at[node->inputs[0]]);
    save_new(walk, i, bytes / 4); /* what was kept, a byte each */
    return storage_new(walk, bytes);
}

static uint32_t forward_node(struct walk *walk, size_t i,
                             const struct node *node)
{
    uint32_t x = walk->at[node->inputs[0]], y;
    double bytes = bytes_of(walk, node->outputs[0]);

    if (node->op->is_view)
        return storage_hold(walk, x);
    switch (node->op->counted) {
    case COUNTED_CONV:
        y = storage_new(walk, bytes);
        take_for_a_moment(walk, workspace_of(walk, node, FORWARD));
        save(walk, i, x);
        return y;
    case COUNTED_PRODUCT:
        use_products(walk, 0);
        save(walk, i, x);
        return storage_new(walk, bytes);
    case COUNTED_NORM:
        return normalize(walk, i, node);
    case COUNTED_RELU:
    case COUNTED_ACTIVATION:
        return activate(walk, i, node);
    case COUNTED_MAX_POOL:
        return pool_largest(walk, i, node);
    case COUNTED_PASS:
        return drop_out(walk, i, node);
    case COUNTED_MUL:
        for (size_t k = 0; k < node->n_inputs && k < most_saved; k++)
            save(walk, i, walk->at[node->inputs[k]]);
        return storage_new(walk, bytes);
    case COUNTED_ADD:
    case COUNTED_CONCAT:
    case COUNTED_AVG_POOL:
    case COUNTED_MEAN:
    case COUNTED_NOT:
        break;
    }
    return storage_new(walk, bytes);
}

static bool is_walked(const struct node *node)
{
    return node->n_inputs > 0 && node->inputs[0] != GRAPH_NONE &&
           node->n_outputs > 0;
}

static void drop_dead(struct walk *walk, size_t i, const struct node *node)
{
    for (size_t k = 0; k < node->n_inputs; k++) {
        uint32_t value = node->inputs[k];

        if (value != GRAPH_NONE && walk->last[value] == i &&
            value != walk->output &&
            graph_value(walk->graph, value)->kind == VALUE_COMPUTED)
            drop_at(walk, &walk->at[value]);
    }
}

static void walk_forward(struct walk *walk)
{
    for (size_t i = 0; i < graph_node_count(walk->graph); i++) {
        const struct node *node = graph_node(walk->graph, i);

        walk->saved[i].n = 0;
        if (!is_walked(node))
            continue;
        walk->at[node->outputs[0]] = forward_node(walk, i, node);
        drop_dead(walk, i, node);
    }
}

/* ---- backward ------------------------------------------------------------ */

/* Hands a gradient over. A second one is added to the first, in its place if
 * nobody else holds that. */
static void give_gradient(struct walk *walk, uint32_t value, uint32_t id)
{
    uint32_t *own = &walk->gradients[value];

    if (*own == NO_STORAGE &&
        graph_value(walk->graph, value)->kind == VALUE_COMPUTED) {
        *own = id;
        return;
    }
    if (*own != NO_STORAGE && walk->storages[*own].n_holders > 1) {
        uint32_t sum = storage_new(walk, bytes_of(walk, value));

        storage_drop(walk, *own);
        *own = sum;
    }
    storage_drop(walk, id);
}

static void make_weight_gradient(struct walk *walk, uint32_t value)
{
    if (value != GRAPH_NONE &&
        graph_value(walk->graph, value)->kind == VALUE_PARAMETER)
        walk->gradients[value] = storage_new(walk, bytes_of(walk, value));
}

static void end_node(struct walk *walk, size_t i, const struct node *node)
{
    for (size_t k = 0; k < walk->saved[i].n; k++)
        storage_drop(walk, walk->saved[i].ids[k]);
    walk->saved[i].n = 0;
    drop_at(walk, &walk->gradients[node->outputs[0]]);
}

/* The layers that hand the gradient on as it is; of what was concatenated, each
 * reads a part of it. */
static bool passes_on(const struct walk *walk, const struct node *node)
{
    return node->op->is_view || node->op->counted == COUNTED_ADD ||
           node->op->counted == COUNTED_CONCAT ||
           (node->op->counted == COUNTED_PASS &&
            (!walk->is_training || node->op == &op_identity));
}

static void backward_node(struct walk *walk, size_t i, const struct node *node)
{
    uint32_t x = node->inputs[0], gradient = NO_STORAGE;
    bool is_conv = node->op->counted == COUNTED_CONV;

    if (passes_on(walk, node)) {
        for (size_t k = 0; k < node->n_inputs; k++) {
            if (node->inputs[k] != GRAPH_NONE &&
                graph_value(walk->graph, node->inputs[k])->kind ==
                    VALUE_COMPUTED)
                give_gradient(
                    walk, node->inputs[k],
                    storage_hold(walk, walk->gradients[node->outputs[0]]));
        }
        end_node(walk, i, node);
        return;
    }
    if (node->op->counted == COUNTED_PRODUCT)
        use_products(walk, 1);
    if (graph_value(walk->graph, x)->kind == VALUE_COMPUTED) {
        gradient = storage_new(walk, bytes_of(walk, x));
        if (is_conv)
            take_for_a_moment(walk, workspace_of(walk, node, BY_INPUT));
    }
    for (size_t k = 1; k < node->n_inputs; k++) {
        make_weight_gradient(walk, node->inputs[k]);
        if (k == 1 && is_conv)
            take_for_a_moment(walk, workspace_of(walk, node, BY_WEIGHTS));
    }
    end_node(walk, i, node);
    if (gradient != NO_STORAGE)
        give_gradient(walk, x, gradient);
}

static void walk_backward(struct walk *walk)
{
    walk->gradients[walk->output] =
        storage_new(walk, bytes_of(walk, walk->output));
    take_for_a_moment(walk, bytes_of(walk, walk->output));
    for (size_t i = graph_node_count(walk->graph); i-- > 0;) {
        const struct node *node = graph_node(walk->graph, i);

        if (is_walked(node) && walk->gradients[node->outputs[0]] != NO_STORAGE)
            backward_node(walk, i, node);
    }
}

/* ---- steps --------------------------------------------------------------- */

static bool is_trained(const struct walk *walk, uint32_t value)
{
    return graph_value(walk->graph, value)->kind == VALUE_PARAMETER;
}

/* Gradients with the decay of weights added are a list of their own until the
 * end of the update; the first one makes the momenta. */
static void update(struct walk *walk)
{
    uint32_t n = (uint32_t)walk->survey->n_values;

    for (uint32_t i = 0; i < n; i++) {
        if (is_trained(walk, i))
            walk->at[i] = storage_new(walk, bytes_of(walk, i));
    }
    for (uint32_t i = 0; i < n && !walk->has_momentum; i++) {
        if (is_trained(walk, i))
            (void)storage_new(walk, bytes_of(walk, i)); /* which stays */
    }
    walk->has_momentum = true;
    for (uint32_t i = 0; i < n; i++) {
        if (is_trained(walk, i))
            drop_at(walk, &walk->at[i]);
    }
}

static void walk_step(struct walk *walk)
{
    uint32_t n = (uint32_t)walk->survey->n_values;

    for (uint32_t i = 0; i < n; i++)
        drop_at(walk, &walk->gradients[i]); /* of the step before */
    walk_forward(walk);
    if (walk->is_training) {
        walk_backward(walk);
        update(walk);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (graph_value(walk->graph, i)->kind == VALUE_COMPUTED)
            drop_at(walk, &walk->at[i]);
    }
}

/* Weights stay; so do the images. */
static void take_network(struct walk *walk)
{
    for (uint32_t i = 0; i < walk->survey->n_values; i++) {
        if (is_weight(walk, i))
            (void)storage_new(walk, bytes_of(walk, i));
    }
    for (size_t i = 0; i < graph_input_count(walk->graph); i++) {
        uint32_t input = graph_input_at(walk->graph, i);

        walk->at[input] = storage_new(walk, bytes_of(walk, input));
    }
}

static enum assay_status walk_begin(struct walk *walk, struct error *err)
{
    size_t n = walk->survey->n_values, n_nodes = graph_node_count(walk->graph);

    walk->at = mem_array(n + 1, sizeof *walk->at);
    walk->gradients = mem_array(n + 1, sizeof *walk->gradients);
    walk->last = mem_array(n + 1, sizeof *walk->last);
    walk->saved = mem_array(n_nodes + 1, sizeof *walk->saved);
    if (!walk->at || !walk->gradients || !walk->last || !walk->saved)
        return error_nomem(err, n, "the values of a graph");
    for (size_t i = 0; i < n; i++)
        walk->at[i] = walk->gradients[i] = NO_STORAGE;
    for (size_t i = 0; i < n_nodes; i++) {
        const struct node *node = graph_node(walk->graph, i);

        for (size_t k = 0; k < node->n_inputs; k++) {
            if (node->inputs[k] != GRAPH_NONE)
                walk->last[node->inputs[k]] = i;
        }
    }
    walk->output = graph_output_at(walk->graph, 0, NULL);
    take_network(walk);
    return ASSAY_OK;
}

static void walk_end(struct walk *walk)
{
    torch_pool_release(&walk->pool);
    mem_free(walk->storages);
    mem_free(walk->at);
    mem_free(walk->gradients);
    mem_free(walk->last);
    mem_free(walk->saved);
}

enum assay_status torch_memory_of(const struct graph *graph,
                                  const struct survey *survey, int64_t n_images,
                                  int64_t batch, bool is_training,
                                  struct torch_memory *out, struct error *err)
{
    struct walk walk = {.graph = graph,
                        .survey = survey,
                        .images = (double)batch / (double)n_images,
                        .is_training = is_training};
    enum assay_status st = ASSAY_OK;

    *out = (struct torch_memory){0};
    if (!graph_output_count(graph))
        return ASSAY_OK;
    st = walk_begin(&walk, err);
    for (int i = 0; !st && i < n_steps; i++) {
        walk.pool.peak = walk.pool.used;
        walk_step(&walk);
    }
    if (!st && walk.is_short)
        st = error_nomem(err, walk.n_storages, "the tensors of a network");
    if (!st)
        *out = (struct torch_memory){walk.pool.peak / 0x1p20,
                                     walk.pool.reserved / 0x1p20};
    walk_end(&walk);
    return st;
}
