/* ops/math/binary_gradient.c - see binary_gradient_internal.h.
 *
 * A gradient is computed for every element of y. If an input was broadcast, its
 * elements get sums of these. */
#include "ops/math/binary_gradient_internal.h"

#include "base/variants.h"
#include "ops/gradient_internal.h"
#include "ops/ops.h"
#include "ops/strided_internal.h"
#include "tensor/convert.h"

#include <math.h>

/* n elements; a and b are a_step and b_step apart. */
struct row {
    const float *a, *b, *dy;
    float *to;
    int64_t a_step, b_step, n;
};

typedef void gradient_row(const struct row *row);

#define ROW(function, expression)                                              \
    VARIANTS(void, function, (const struct row *row), (row))                   \
    {                                                                          \
        for (int64_t i = 0; i < row->n; i++) {                                 \
            const float a = row->a[i * row->a_step];                           \
            const float b = row->b[i * row->b_step], g = row->dy[i];           \
                                                                               \
            (void)a, (void)b;                                                  \
            row->to[i] = (expression);                                         \
        }                                                                      \
    }

static float slope_of_base(float a, float b)
{
    return b == 2 ? 2 * a : b == 0 ? 0 : b * powf(a, b - 1);
}

/* Not defined for a power of 0 or less. */
static float slope_of_exponent(float a, float b)
{
    return a > 0 ? powf(a, b) * logf(a) : 0;
}

ROW(same, g)
ROW(negative, -g)
ROW(times_b, g *b)
ROW(times_a, g *a)
ROW(over_b, g / b)
ROW(of_divisor, -g *a / (b * b))
ROW(of_base, g *slope_of_base(a, b))
ROW(of_exponent, g *slope_of_exponent(a, b))
ROW(of_prelu, a < 0 ? g * b : g)
ROW(of_slope, a < 0 ? g * a : 0)
ROW(where_equal, a == b ? g : 0) /* a: an input, b: y */

/* For each input: the kernel, and the inputs it reads (bit 0: a, 1: b). */
static const struct gradient {
    const struct op_class *op;
    gradient_row *rows[2];
    uint64_t reads[2];
} gradients[] = {
    {&op_sub, {same, negative}, {0, 0}},
    {&op_mul, {times_b, times_a}, {2, 1}},
    {&op_div, {over_b, of_divisor}, {2, 3}},
    {&op_pow, {of_base, of_exponent}, {3, 3}},
    {&op_prelu, {of_prelu, of_slope}, {3, 1}},
};

/* NULL if the op takes any number of inputs. */
static const struct gradient *find_gradient(const struct op_class *op)
{
    for (size_t i = 0; i < sizeof gradients / sizeof *gradients; i++) {
        if (gradients[i].op == op)
            return &gradients[i];
    }
    return NULL;
}

static bool is_extreme(const struct op_class *op)
{
    return op == &op_min || op == &op_max;
}

struct op_reads binary_backward_reads(const struct node *node, uint64_t wanted)
{
    const struct gradient *gradient = find_gradient(node->op);
    struct op_reads reads = {0};

    for (size_t i = 0; gradient && i < 2; i++) {
        if (wanted >> i & 1)
            reads.inputs |= gradient->reads[i];
    }
    if (is_extreme(node->op)) {
        reads.outputs = 1;
        for (size_t i = 0; i < node->n_inputs; i++)
            reads.inputs |= (uint64_t)1 << i;
    }
    return reads;
}

/* ---- rows of y ----------------------------------------------------------- */

static void run_rows(const struct op_context *context, gradient_row *row,
                     const struct tensor *a, const struct tensor *b,
                     const struct tensor *dy, const struct tensor *to)
{
    struct strides strides[] = {strides_repeat(&a->shape, &to->shape),
                                strides_repeat(&b->shape, &to->shape),
                                strides_dense(&to->shape)};
    struct walk walk = walk_start(&to->shape, strides, 3);
    int parts = gradient_parts(context, tensor_elements(to));

#pragma omp parallel for num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; part++) {
        int64_t first = walk.n_rows * part / parts;
        int64_t last = walk.n_rows * (part + 1) / parts;
        struct walk now = walk;

        walk_seek(&now, first);
        for (int64_t i = first; i < last; i++, walk_next(&now))
            row(&(struct row){.a = tensor_f32(a) + now.at[0],
                              .b = tensor_f32(b) + now.at[1],
                              .dy = tensor_f32(dy) + now.at[2],
                              .to = tensor_f32(to) + now.at[2],
                              .a_step = now.steps[0],
                              .b_step = now.steps[1],
                              .n = now.length});
    }
}

/* Runs the kernel, and sums its results if x was broadcast. */
static enum assay_status pass_one(const struct op_context *context,
                                  gradient_row *row, const struct tensor *a,
                                  const struct tensor *b,
                                  const struct tensor *dy,
                                  const struct tensor *dx, struct error *err)
{
    struct tensor whole;
    enum assay_status st;

    if (shape_equal(&dx->shape, &dy->shape)) {
        run_rows(context, row, a, b, dy, dx);
        return ASSAY_OK;
    }
    st = tensor_new(context->pool, DTYPE_F32, &dy->shape, &whole, err);
    if (st)
        return st;
    run_rows(context, row, a, b, dy, &whole);
    gradient_sum_to(context, &whole, dx);
    tensor_release(&whole);
    return ASSAY_OK;
}

/* ---- two inputs --------------------------------------------------------- */

/* An input as float32 (an exponent may be an integer), or dy instead of one
 * that the kernel does not read. */
static enum assay_status
binary_gradient_operand(const struct op_context *context,
                        const struct op_backward *pass, size_t i, bool is_read,
                        struct tensor *out, struct error *err)
{
    const struct tensor *x = pass->inputs[i];

    *out = (struct tensor){0};
    if (is_read && x->dtype != DTYPE_F32)
        return tensor_convert(context->pool, x, DTYPE_F32, out, err);
    *out = tensor_share(is_read ? x : pass->dy[0]);
    return ASSAY_OK;
}

static enum assay_status pass_two(const struct op_context *context,
                                  const struct gradient *gradient,
                                  const struct op_backward *pass,
                                  struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < 2; i++) {
        struct tensor a, b = {0};

        if (!op_wants(pass, i))
            continue;
        st = binary_gradient_operand(context, pass, 0, gradient->reads[i] & 1,
                                     &a, err);
        if (!st)
            st = binary_gradient_operand(context, pass, 1,
                                         gradient->reads[i] & 2, &b, err);
        if (!st)
            st = pass_one(context, gradient->rows[i], &a, &b, pass->dy[0],
                          &pass->dx[i], err);
        tensor_release(&a);
        tensor_release(&b);
    }
    return st;
}

/* ---- any number of inputs ------------------------------------------------ */

/* Sum and Mean. */
static void pass_sum(const struct op_context *context, const struct node *node,
                     const struct op_backward *pass)
{
    float share = node->op == &op_mean ? 1 / (float)node->n_inputs : 1;

    for (size_t i = 0; i < node->n_inputs; i++) {
        const struct tensor *dx = &pass->dx[i];

        if (!op_wants(pass, i))
            continue;
        if (shape_equal(&dx->shape, &pass->dy[0]->shape)) {
            gradient_scale(context, share, pass->dy[0], dx);
        } else {
            gradient_sum_to(context, pass->dy[0], dx);
            gradient_scale(context, share, dx, dx);
        }
    }
}

/* dy divided by how many inputs equal the extreme value. */
static enum assay_status binary_gradient_share_ties(
    const struct op_context *context, const struct node *node,
    const struct op_backward *pass, struct tensor *shares, struct error *err)
{
    const struct tensor *y = &pass->outputs[0];
    const float *dy = tensor_f32(pass->dy[0]);
    size_t n = tensor_elements(y);
    struct tensor ones, found = {0};
    float *sum;
    enum assay_status st =
        tensor_new(context->pool, DTYPE_F32, &y->shape, &ones, err);

    if (!st)
        st = tensor_new(context->pool, DTYPE_F32, &y->shape, &found, err);
    if (!st)
        st = tensor_new(context->pool, DTYPE_F32, &y->shape, shares, err);
    if (st)
        goto done;
    sum = tensor_f32(shares);
    for (size_t i = 0; i < n; i++) {
        tensor_f32(&ones)[i] = 1;
        sum[i] = 0;
    }
    for (size_t i = 0; i < node->n_inputs; i++) {
        const float *is_it = tensor_f32(&found);

        run_rows(context, where_equal, pass->inputs[i], y, &ones, &found);
        for (size_t k = 0; k < n; k++)
            sum[k] += is_it[k];
    }
    for (size_t i = 0; i < n; i++)
        sum[i] = dy[i] / fmaxf(sum[i], 1);
done:
    tensor_release(&ones);
    tensor_release(&found);
    return st;
}

/* Min and Max: the inputs that equal y share dy. */
static enum assay_status pass_extreme(const struct op_context *context,
                                      const struct node *node,
                                      const struct op_backward *pass,
                                      struct error *err)
{
    struct tensor shares = {0};
    enum assay_status st =
        binary_gradient_share_ties(context, node, pass, &shares, err);

    for (size_t i = 0; !st && i < node->n_inputs; i++) {
        if (op_wants(pass, i))
            st = pass_one(context, where_equal, pass->inputs[i],
                          &pass->outputs[0], &shares, &pass->dx[i], err);
    }
    tensor_release(&shares);
    return st;
}

enum assay_status binary_backward(const struct op_context *context,
                                  const struct node *node,
                                  const struct op_backward *pass,
                                  struct error *err)
{
    const struct gradient *gradient = find_gradient(node->op);

    if (gradient)
        return pass_two(context, gradient, pass, err);
    if (is_extreme(node->op))
        return pass_extreme(context, node, pass, err);
    pass_sum(context, node, pass);
    return ASSAY_OK;
}
