/* passes/integers_table.c - see integers_internal.h: what happens to 8-bit
 * numbers one by one is a table of 256, computed here as the graph would. */
#include "base/str.h"
#include "ops/math/binary_math.h"
#include "ops/ops.h"
#include "ops/product/quantize.h"
#include "passes/integers_internal.h"

enum { n_codes = 256 };

static void table_codes(enum dtype dtype, uint8_t codes[n_codes])
{
    for (int i = 0; i < n_codes; i++)
        codes[i] = (uint8_t)(dtype == DTYPE_I8 ? i - 128 : i);
}

/* What every code of a step stands for. */
static void table_numbers(const struct step *step, float numbers[n_codes])
{
    uint8_t codes[n_codes];

    table_codes(step->dtype, codes);
    dequantize_row(step->dtype, codes, numbers, n_codes, step->scale,
                   step->zero);
}

/* Adds a Lookup that turns the codes of `from` into those of the numbers. */
static enum assay_status table_add(struct integers *pass,
                                   const struct node *like, uint32_t from,
                                   const float numbers[n_codes],
                                   const struct step *to, uint32_t *out)
{
    struct shape shape = shape_of(1, (int64_t)n_codes);
    struct tensor table;
    struct str name = {0};
    uint32_t inputs[2] = {from};
    enum assay_status st =
        tensor_new(pass->pool, to->dtype, &shape, &table, pass->err);

    if (st)
        return st;
    quantize_row(to->dtype, numbers, tensor_data(&table), n_codes, to->scale,
                 to->zero);
    if (str_printf(&name, "table %zu", graph_value_count(pass->graph))) {
        tensor_release(&table);
        return error_nomem(pass->err, sizeof name, "the name of a constant");
    }
    st = graph_constant(pass->graph, name.text, table, &inputs[1], pass->err);
    str_release(&name);
    return st ? st
              : integers_add(pass, like, &op_lookup, NULL, inputs, 2, 1, out);
}

enum assay_status integers_requantise(struct integers *pass,
                                      const struct node *like,
                                      const struct step *from,
                                      const struct step *to, uint32_t *out)
{
    float numbers[n_codes];
    const struct node kept = *like;

    *out = from->q;
    if (integers_same_step(from, to))
        return ASSAY_OK;
    table_numbers(from, numbers);
    return table_add(pass, &kept, from->q, numbers, to, out);
}

static bool table_is_activation(const struct op_class *op)
{
    static const struct op_class *const ops[] = {
        &op_relu,       &op_clip,         &op_sigmoid,    &op_silu,
        &op_hard_swish, &op_hard_sigmoid, &op_leaky_relu, &op_mish,
        &op_elu,        &op_gelu,         &op_tanh,       &op_softplus,
        &op_softsign,   &op_exp,          &op_sqrt,       &op_abs,
        &op_neg,        &op_erf,          &op_selu,       &op_celu};

    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        if (ops[i] == op)
            return true;
    }
    return false;
}

/* Runs an op of one number on all of them. */
static enum assay_status table_run(struct integers *pass, const struct node *op,
                                   const float from[n_codes], float to[n_codes])
{
    struct op_context context = {.pool = pass->pool, .n_threads = 1};
    struct shape shape = shape_of(1, (int64_t)n_codes);
    struct tensor x, y = {0};
    const struct tensor *list[] = {&x};
    enum assay_status st =
        tensor_new(pass->pool, DTYPE_F32, &shape, &x, pass->err);

    if (!st)
        st = tensor_new(pass->pool, DTYPE_F32, &shape, &y, pass->err);
    for (size_t i = 0; !st && i < n_codes; i++)
        tensor_f32(&x)[i] = from[i];
    if (!st)
        st = op->op->forward(&context, op, list, &y, pass->err);
    for (size_t i = 0; !st && i < n_codes; i++)
        to[i] = tensor_f32(&y)[i];
    tensor_release(&x);
    tensor_release(&y);
    return st;
}

enum assay_status integers_activate(struct integers *pass,
                                    const struct node *op,
                                    const struct step *to, uint32_t *out)
{
    const struct node kept = *op;
    float from[n_codes], numbers[n_codes];
    struct step step;
    enum assay_status st;

    if (!table_is_activation(kept.op) || kept.n_inputs != 1 ||
        !integers_dequantised(pass->graph, kept.inputs[0], &step))
        return ASSAY_OK;
    table_numbers(&step, from);
    st = table_run(pass, &kept, from, numbers);
    return st ? st : table_add(pass, &kept, step.q, numbers, to, out);
}

/* The value that a q is a table of, and what each of its codes stands for; of
 * one that is no table: itself. */
static uint32_t table_source(const struct graph *graph, const struct step *step,
                             enum dtype *dtype, float numbers[n_codes])
{
    const struct node *maker = integers_maker(graph, step->q);
    const struct tensor *table = NULL;

    *dtype = step->dtype;
    if (maker && maker->op == &op_lookup)
        table = integers_data(graph, maker->inputs[1], step->dtype);
    if (!table) {
        table_numbers(step, numbers);
        return step->q;
    }
    dequantize_row(step->dtype, tensor_data(table), numbers, n_codes,
                   step->scale, step->zero);
    return maker->inputs[0];
}

enum assay_status integers_combine(struct integers *pass, const struct node *op,
                                   const struct step *a, const struct step *b,
                                   const struct step *to, uint32_t *out)
{
    const struct node kept = *op;
    float of_a[n_codes], of_b[n_codes];
    enum dtype a_dtype, b_dtype;
    uint32_t from = table_source(pass->graph, a, &a_dtype, of_a);

    /* A q that is a table's source itself counts as one, too. */
    if (table_source(pass->graph, b, &b_dtype, of_b) != from) {
        if (from == b->q) {
            table_numbers(b, of_b);
        } else if (table_source(pass->graph, b, &b_dtype, of_b) == a->q) {
            table_numbers(a, of_a);
            from = a->q;
        } else {
            return ASSAY_OK;
        }
    }
    for (size_t i = 0; i < n_codes; i++)
        of_a[i] = kept.op == &op_mul ? of_a[i] * of_b[i] : of_a[i] + of_b[i];
    return table_add(pass, &kept, from, of_a, to, out);
}
