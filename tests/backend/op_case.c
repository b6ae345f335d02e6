/* See op_case.h. */
#include "op_case.h"

#include "op_case_internal.h"
#include "ops/convolution/conv2d.h"
#include "ops/ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool set_flag(struct op_case *out, const char *word)
{
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {{"relu", &out->relu},         {"residual", &out->residual},
                 {"nobias", &out->nobias},     {"ceil", &out->ceil},
                 {"blocked", &out->blocked},   {"large", &out->large},
                 {"relu6", &out->relu6},       {"counted", &out->counted},
                 {"positive", &out->positive}, {"above", &out->above},
                 {"followed", &out->followed}};

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
                   {'g', &out->g}, {'a', &out->a}, {'e', &out->e}};
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
    *problem = "an unknown word";
    for (line += used; sscanf(line, "%31s%n", word, &used) == 1; line += used) {
        if (!set_flag(out, word) && !set_number(out, word))
            return false;
    }
    return true;
}

enum assay_status case_fill(struct case_builder *b, const struct shape *shape,
                            float from, float to, struct tensor *out)
{
    enum assay_status st = tensor_new(b->pool, DTYPE_F32, shape, out, b->err);

    for (size_t i = 0; !st && i < tensor_elements(out); i++)
        tensor_f32(out)[i] =
            from + (to - from) * (float)random_unit(&b->random);
    return st;
}

enum assay_status case_parameter(struct case_builder *b, const char *name,
                                 const struct shape *shape, float from,
                                 float to, uint32_t *value)
{
    struct tensor data;
    enum assay_status st = case_fill(b, shape, from, to, &data);

    if (!st)
        st = graph_constant(b->graph, name, data, value, b->err);
    return st;
}

enum assay_status case_input(struct case_builder *b, const char *name,
                             const struct shape *shape, struct tensor *data,
                             uint32_t *value)
{
    enum assay_status st = case_fill(b, shape, b->from, b->to, data);

    if (!st)
        st = graph_input(b->graph, name, DTYPE_F32, value, b->err);
    return st;
}

enum assay_status case_integers(struct case_builder *b, const char *name,
                                const int64_t *values, int64_t n,
                                uint32_t *value)
{
    struct shape shape = shape_of(1, n);
    struct tensor data;
    enum assay_status st =
        tensor_new(b->pool, DTYPE_I64, &shape, &data, b->err);

    if (!st && n)
        memcpy(tensor_data(&data), values, tensor_bytes(&data));
    return st ? st : graph_constant(b->graph, name, data, value, b->err);
}

enum assay_status case_append_outputs(struct case_builder *b,
                                      const struct op_class *op,
                                      const void *attrs, const uint32_t *inputs,
                                      size_t n, uint32_t *outputs,
                                      size_t n_outputs)
{
    struct node_description description = {.op = op,
                                           .attrs = attrs,
                                           .scope = GRAPH_NONE,
                                           .inputs = inputs,
                                           .n_inputs = n,
                                           .n_outputs = n_outputs};

    return graph_node_add(b->graph, &description, outputs, b->err);
}

enum assay_status case_append(struct case_builder *b, const struct op_class *op,
                              const void *attrs, const uint32_t *inputs,
                              size_t n, uint32_t *out)
{
    return case_append_outputs(b, op, attrs, inputs, n, out, 1);
}

/* A 1x1 convolution before the op, so that it sees a backend's layout. */
static enum assay_status block(struct case_builder *b, const char *name,
                               int64_t channels, uint32_t *x)
{
    struct shape w = shape_of(4, channels, channels, (int64_t)1, (int64_t)1);
    struct conv2d_attrs attrs = conv2d_defaults();
    uint32_t inputs[] = {*x, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE};
    enum assay_status st =
        case_parameter(b, name, &w, -1, 1, &inputs[CONV2D_WEIGHT]);

    return st ? st
              : case_append(b, &op_conv2d, &attrs, inputs, CONV2D_INPUTS, x);
}

/* Of what a case makes that may be followed by a convolution. */
static int64_t made_channels(const struct op_case *c)
{
    if (strcmp(c->op, "conv2d") == 0)
        return c->o;
    return strcmp(c->op, "concat") == 0 ? 2 * c->c + c->o : c->c;
}

static enum assay_status add_op(struct case_builder *b, const struct op_case *c,
                                uint32_t x, struct tensor *second, uint32_t *y)
{
    static const struct case_maker *const lists[] = {case_layers, case_losses,
                                                     case_math, case_moves};

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        for (const struct case_maker *maker = lists[i]; maker->name; maker++) {
            if (strcmp(maker->name, c->op) == 0)
                return maker->add(b, c, x, second, y);
        }
    }
    if (op_find(c->op))
        return case_unary(b, op_find(c->op), x, y);
    return error_set(b->err, ASSAY_BAD_INPUT, "no op is called %s", c->op);
}

enum assay_status op_case_build(const struct op_case *op_case,
                                struct pool *pool, struct op_graph *out,
                                struct error *err)
{
    const struct op_case *c = op_case;
    bool is_matrix = strcmp(c->op, "linear") == 0 ||
                     strcmp(c->op, "gemm") == 0 ||
                     strcmp(c->op, "box_loss") == 0;
    struct shape shape = is_matrix ? shape_of(2, c->n, c->c)
                                   : shape_of(4, c->n, c->c, c->h, c->w);
    struct case_builder b = {.pool = pool,
                             .err = err,
                             .random = random_seed(7),
                             .from = c->above      ? 1.25F
                                     : c->positive ? 0.25F
                                                   : -1,
                             .to = c->above ? 2.25F : 1};
    uint32_t x, y;
    enum assay_status st = graph_new(&out->graph, err);

    memset(out->inputs, 0, sizeof out->inputs);
    b.graph = out->graph;
    if (!st)
        st = case_input(&b, "x", &shape, &out->inputs[0], &x);
    if (!st && c->blocked)
        st = block(&b, "before.weight", c->c, &x);
    if (!st)
        st = add_op(&b, c, x, &out->inputs[1], &y);
    if (!st && c->followed)
        st = block(&b, "after.weight", made_channels(c), &y);
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
