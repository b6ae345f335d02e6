/* See op_case.h. */
#include "op_case.h"

#include "base/random.h"
#include "ops/adaptive_avg_pool2d.h"
#include "ops/avg_pool2d.h"
#include "ops/batch_norm.h"
#include "ops/clip.h"
#include "ops/concat.h"
#include "ops/conv2d.h"
#include "ops/conv_transpose2d.h"
#include "ops/linear.h"
#include "ops/max_pool2d.h"
#include "ops/ops.h"
#include "ops/unary_math.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool set_flag(struct op_case *out, const char *word)
{
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {{"relu", &out->relu},       {"residual", &out->residual},
                 {"nobias", &out->nobias},   {"ceil", &out->ceil},
                 {"blocked", &out->blocked}, {"large", &out->large},
                 {"relu6", &out->relu6},     {"counted", &out->counted}};

    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (strcmp(flags[i].name, word) == 0)
            return *flags[i].flag = true;
    }
    return false;
}

static bool set_number(struct op_case *out, const char *word)
{
    const struct {
        char name;
        int64_t *number;
    } numbers[] = {{'n', &out->n}, {'c', &out->c}, {'h', &out->h},
                   {'w', &out->w}, {'o', &out->o}, {'k', &out->k},
                   {'s', &out->s}, {'p', &out->p}, {'d', &out->d},
                   {'g', &out->g}};
    char *end;

    if (word[0] == '\0' || word[1] != '=')
        return false;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (numbers[i].name == word[0]) {
            *numbers[i].number = strtol(word + 2, &end, 10);
            return end != word + 2 && *end == '\0';
        }
    }
    return false;
}

bool op_case_parse(const char *line, struct op_case *out, const char **problem)
{
    char word[32];
    int used;

    *out = (struct op_case){
        .n = 1, .c = 1, .h = 1, .w = 1, .o = 1, .k = 1, .s = 1, .d = 1, .g = 1};
    *problem = "no op";
    if (sscanf(line, "%31s%n", out->op, &used) != 1)
        return false;
    *problem = "a word is none of a case";
    for (line += used; sscanf(line, "%31s%n", word, &used) == 1; line += used) {
        if (!set_flag(out, word) && !set_number(out, word))
            return false;
    }
    return true;
}

/* What a case is built with. */
struct builder {
    struct graph *graph;
    struct pool *pool;
    struct random random;
    struct error *err;
};

static enum assay_status fill(struct builder *b, const struct shape *shape,
                              float from, float to, struct tensor *out)
{
    enum assay_status st = tensor_new(b->pool, DTYPE_F32, shape, out, b->err);

    for (size_t i = 0; !st && i < tensor_elements(out); i++)
        tensor_f32(out)[i] =
            from + (to - from) * (float)random_unit(&b->random);
    return st;
}

static enum assay_status parameter(struct builder *b, const char *name,
                                   const struct shape *shape, float from,
                                   float to, uint32_t *value)
{
    struct tensor data;
    enum assay_status st = fill(b, shape, from, to, &data);

    if (!st)
        st = graph_constant(b->graph, name, data, value, b->err);
    return st;
}

static enum assay_status input(struct builder *b, const char *name,
                               const struct shape *shape, struct tensor *data,
                               uint32_t *value)
{
    enum assay_status st = fill(b, shape, -1, 1, data);

    if (!st)
        st = graph_input(b->graph, name, DTYPE_F32, value, b->err);
    return st;
}

static enum assay_status append(struct builder *b, const struct op_class *op,
                                const void *attrs, const uint32_t *inputs,
                                size_t n, uint32_t *out)
{
    struct node_description description = {.op = op,
                                           .attrs = attrs,
                                           .scope = GRAPH_NONE,
                                           .inputs = inputs,
                                           .n_inputs = n,
                                           .n_outputs = 1};

    return graph_node_add(b->graph, &description, out, b->err);
}

static int64_t out_size(const struct op_case *c, int64_t size)
{
    return (size + 2 * c->p - c->d * (c->k - 1) - 1) / c->s + 1;
}

static enum assay_status add_conv2d(struct builder *b, const struct op_case *c,
                                    uint32_t x, struct tensor *residual,
                                    uint32_t *y)
{
    struct shape w = shape_of(4, c->o, c->c / c->g, c->k, c->k);
    struct shape out =
        shape_of(4, c->n, c->o, out_size(c, c->h), out_size(c, c->w));
    struct conv2d_attrs attrs = {.stride = {c->s, c->s},
                                 .dilation = {c->d, c->d},
                                 .before = {c->p, c->p},
                                 .after = {c->p, c->p},
                                 .groups = c->g,
                                 .has_relu = c->relu || c->relu6,
                                 .relu_limit = c->relu6 ? 1 : 0};
    uint32_t inputs[CONV2D_INPUTS] = {x, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE};
    struct shape channels = shape_of(1, c->o);
    enum assay_status st =
        parameter(b, "weight", &w, -1, 1, &inputs[CONV2D_WEIGHT]);

    if (!st && !c->nobias)
        st = parameter(b, "bias", &channels, -1, 1, &inputs[CONV2D_BIAS]);
    if (!st && c->residual)
        st = input(b, "residual", &out, residual, &inputs[CONV2D_RESIDUAL]);
    if (!st)
        st = append(b, &op_conv2d, &attrs, inputs, CONV2D_INPUTS, y);
    return st;
}

static enum assay_status add_transposed(struct builder *b,
                                        const struct op_case *c, uint32_t x,
                                        struct tensor *second, uint32_t *y)
{
    struct shape w = shape_of(4, c->c, c->o, c->k, c->k);
    struct shape channels = shape_of(1, c->o);
    struct conv_transpose2d_attrs attrs = {.stride = {c->s, c->s},
                                           .before = {c->p, c->p},
                                           .after = {c->p, c->p},
                                           .has_relu = c->relu};
    uint32_t inputs[] = {x, GRAPH_NONE, GRAPH_NONE};
    enum assay_status st = parameter(b, "weight", &w, -1, 1, &inputs[1]);

    (void)second;
    if (!st && !c->nobias)
        st = parameter(b, "bias", &channels, -1, 1, &inputs[2]);
    if (!st)
        st = append(b, &op_conv_transpose2d, &attrs, inputs, 3, y);
    return st;
}

static enum assay_status add_linear(struct builder *b, const struct op_case *c,
                                    uint32_t x, struct tensor *second,
                                    uint32_t *y)
{
    struct shape w = shape_of(2, c->o, c->c), channels = shape_of(1, c->o);
    struct linear_attrs attrs = {.has_relu = c->relu};
    uint32_t inputs[] = {x, GRAPH_NONE, GRAPH_NONE};
    enum assay_status st = parameter(b, "weight", &w, -1, 1, &inputs[1]);

    (void)second;
    if (!st && !c->nobias)
        st = parameter(b, "bias", &channels, -1, 1, &inputs[2]);
    if (!st)
        st = append(b, &op_linear, &attrs, inputs, 3, y);
    return st;
}

static enum assay_status add_max_pool2d(struct builder *b,
                                        const struct op_case *c, uint32_t x,
                                        struct tensor *second, uint32_t *y)
{
    struct max_pool2d_attrs attrs = {.kernel = {c->k, c->k},
                                     .stride = {c->s, c->s},
                                     .before = {c->p, c->p},
                                     .after = {c->p, c->p},
                                     .ceil = c->ceil};

    (void)second;
    return append(b, &op_max_pool2d, &attrs, &x, 1, y);
}

static enum assay_status add_avg_pool2d(struct builder *b,
                                        const struct op_case *c, uint32_t x,
                                        struct tensor *second, uint32_t *y)
{
    struct avg_pool2d_attrs attrs = {.kernel = {c->k, c->k},
                                     .stride = {c->s, c->s},
                                     .before = {c->p, c->p},
                                     .after = {c->p, c->p},
                                     .ceil = c->ceil,
                                     .counts_padding = c->counted};

    (void)second;
    return append(b, &op_avg_pool2d, &attrs, &x, 1, y);
}

static enum assay_status add_adaptive(struct builder *b,
                                      const struct op_case *c, uint32_t x,
                                      struct tensor *second, uint32_t *y)
{
    struct adaptive_avg_pool2d_attrs attrs = {.size = {c->o, c->k}};

    (void)second;
    return append(b, &op_adaptive_avg_pool2d, &attrs, &x, 1, y);
}

static enum assay_status add_concat(struct builder *b, const struct op_case *c,
                                    uint32_t x, struct tensor *second,
                                    uint32_t *y)
{
    struct shape other = shape_of(4, c->n, c->o, c->h, c->w);
    struct concat_attrs attrs = {.axis = 1};
    uint32_t inputs[] = {x, GRAPH_NONE, x};
    enum assay_status st = input(b, "other", &other, second, &inputs[1]);

    return st ? st : append(b, &op_concat, &attrs, inputs, 3, y);
}

/* Dropout in between: it has to hand on what it got. */
static enum assay_status add_clip(struct builder *b, const struct op_case *c,
                                  uint32_t x, struct tensor *second,
                                  uint32_t *y)
{
    struct clip_attrs attrs = {.low = c->k == 1 ? 0 : 0.25f, .high = 0.5f};
    enum assay_status st = append(b, &op_dropout, NULL, &x, 1, &x);

    (void)second;
    return st ? st : append(b, &op_clip, &attrs, &x, 1, y);
}

static enum assay_status add_sigmoid(struct builder *b, const struct op_case *c,
                                     uint32_t x, struct tensor *second,
                                     uint32_t *y)
{
    (void)c, (void)second;
    return append(b, &op_sigmoid, NULL, &x, 1, y);
}

static enum assay_status add_relu(struct builder *b, const struct op_case *c,
                                  uint32_t x, struct tensor *second,
                                  uint32_t *y)
{
    (void)c, (void)second;
    return append(b, &op_relu, NULL, &x, 1, y);
}

static enum assay_status add_add(struct builder *b, const struct op_case *c,
                                 uint32_t x, struct tensor *second, uint32_t *y)
{
    struct shape shape = shape_of(4, c->n, c->c, c->h, c->w);
    uint32_t inputs[] = {x, GRAPH_NONE};
    enum assay_status st = input(b, "other", &shape, second, &inputs[1]);

    return st ? st : append(b, &op_add, NULL, inputs, 2, y);
}

/* k=1: by as many; k=2: by a number a channel, the other way round. */
static enum assay_status add_mul(struct builder *b, const struct op_case *c,
                                 uint32_t x, struct tensor *second, uint32_t *y)
{
    bool is_scale = c->k == 2;
    struct shape shape = shape_of(4, c->n, c->c, is_scale ? (int64_t)1 : c->h,
                                  is_scale ? (int64_t)1 : c->w);
    uint32_t inputs[] = {x, x};
    enum assay_status st =
        input(b, "other", &shape, second, &inputs[is_scale ? 0 : 1]);

    return st ? st : append(b, &op_mul, NULL, inputs, 2, y);
}

/* One after the other: each has to leave the padding alone. */
static enum assay_status add_activations(struct builder *b,
                                         const struct op_case *c, uint32_t x,
                                         struct tensor *second, uint32_t *y)
{
    static const struct op_class *const ops[] = {
        &op_leaky_relu, &op_silu, &op_hard_swish, &op_mish,
        &op_elu,        &op_gelu, &op_tanh,
    };
    struct unary_attrs attrs = {.alpha = 0.3};
    enum assay_status st = ASSAY_OK;

    (void)c, (void)second;
    *y = x;
    for (size_t i = 0; !st && i < sizeof ops / sizeof *ops; i++)
        st = append(b, ops[i], &attrs, y, 1, y);
    return st;
}

static enum assay_status add_batch_norm(struct builder *b,
                                        const struct op_case *c, uint32_t x,
                                        struct tensor *second, uint32_t *y)
{
    static const char *const names[] = {"x", "weight", "bias", "mean",
                                        "variance"};
    struct shape channels = shape_of(1, c->c);
    struct batch_norm_attrs attrs = {.eps = 1e-5f};
    uint32_t inputs[BATCH_NORM_INPUTS] = {x};
    enum assay_status st = ASSAY_OK;

    (void)second;
    for (size_t i = 1; !st && i < BATCH_NORM_INPUTS; i++)
        st = parameter(b, names[i], &channels,
                       i == BATCH_NORM_VARIANCE ? 0.5f : -1, 1.5f, &inputs[i]);
    return st ? st
              : append(b, &op_batch_norm, &attrs, inputs, BATCH_NORM_INPUTS, y);
}

static enum assay_status add_resize(struct builder *b, const struct op_case *c,
                                    uint32_t x, struct tensor *second,
                                    uint32_t *y)
{
    struct shape like = shape_of(4, c->n, (int64_t)1, c->o, c->k);
    uint32_t inputs[] = {x, GRAPH_NONE};
    enum assay_status st = input(b, "like", &like, second, &inputs[1]);

    return st ? st : append(b, &op_resize_nearest, NULL, inputs, 2, y);
}

static const struct {
    const char *name;
    enum assay_status (*add)(struct builder *b, const struct op_case *c,
                             uint32_t x, struct tensor *second, uint32_t *y);
} makers[] = {
    {"conv2d", add_conv2d},
    {"conv_transpose2d", add_transposed},
    {"linear", add_linear},
    {"max_pool2d", add_max_pool2d},
    {"avg_pool2d", add_avg_pool2d},
    {"adaptive_avg_pool2d", add_adaptive},
    {"concat", add_concat},
    {"clip", add_clip},
    {"sigmoid", add_sigmoid},
    {"relu", add_relu},
    {"add", add_add},
    {"mul", add_mul},
    {"activations", add_activations},
    {"batch_norm", add_batch_norm},
    {"resize", add_resize},
};

/* A 1x1 convolution before the op, so that it sees a backend's layout. */
static enum assay_status block(struct builder *b, const struct op_case *c,
                               uint32_t *x)
{
    struct shape w = shape_of(4, c->c, c->c, (int64_t)1, (int64_t)1);
    struct conv2d_attrs attrs = conv2d_defaults();
    uint32_t inputs[] = {*x, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE};
    enum assay_status st =
        parameter(b, "before.weight", &w, -1, 1, &inputs[CONV2D_WEIGHT]);

    return st ? st : append(b, &op_conv2d, &attrs, inputs, CONV2D_INPUTS, x);
}

static enum assay_status add_op(struct builder *b, const struct op_case *c,
                                uint32_t x, struct tensor *second, uint32_t *y)
{
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        if (strcmp(makers[i].name, c->op) == 0)
            return makers[i].add(b, c, x, second, y);
    }
    return error_set(b->err, ASSAY_BAD_INPUT, "no op is called %s", c->op);
}

enum assay_status op_case_build(const struct op_case *op_case,
                                struct pool *pool, struct op_graph *out,
                                struct error *err)
{
    const struct op_case *c = op_case;
    bool is_matrix = strcmp(c->op, "linear") == 0;
    struct shape shape = is_matrix ? shape_of(2, c->n, c->c)
                                   : shape_of(4, c->n, c->c, c->h, c->w);
    struct builder b = {.pool = pool, .err = err, .random = random_seed(7)};
    uint32_t x, y;
    enum assay_status st = graph_new(&out->graph, err);

    memset(out->inputs, 0, sizeof out->inputs);
    b.graph = out->graph;
    if (!st)
        st = input(&b, "x", &shape, &out->inputs[0], &x);
    if (!st && c->blocked)
        st = block(&b, c, &x);
    if (!st)
        st = add_op(&b, c, x, &out->inputs[1], &y);
    if (!st)
        st = graph_output(out->graph, "y", y, err);
    if (st)
        op_graph_release(out);
    return st;
}

void op_graph_release(struct op_graph *made)
{
    tensor_release(&made->inputs[0]);
    tensor_release(&made->inputs[1]);
    graph_free(made->graph);
    made->graph = NULL;
}
