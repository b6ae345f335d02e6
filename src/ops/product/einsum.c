/* ops/product/einsum.c - see einsum.h.
 *
 * Every letter becomes an axis of one loop nest, those of the result outermost.
 * An input has a stride of 0 along letters that it does not have. */
#include "ops/product/einsum_internal.h"

#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "ops/widen_internal.h"

#include <string.h>

enum { dots = 128 /* labels above this are dimensions of "..." */ };

/* The labels of one operand. */
struct term {
    unsigned char labels[SHAPE_MAX_RANK];
    int n;
};

static enum assay_status einsum_bad(const struct node *node, struct error *err)
{
    const struct einsum_attrs *attrs = node->attrs;

    return error_set(err, ASSAY_BAD_INPUT,
                     "the equation '%s' does not fit the inputs",
                     attrs->equation);
}

static bool einsum_push(struct term *term, int label)
{
    if (term->n == SHAPE_MAX_RANK)
        return false;
    term->labels[term->n++] = (unsigned char)label;
    return true;
}

/* Reads a term. Dimensions of "..." are numbered from the last, because they
 * are broadcast. Returns what follows the term; NULL if it is wrong. */
static const char *term_read(const char *text, int rank, struct term *term)
{
    size_t length = strcspn(text, ",-");
    const char *end = text + length;
    int letters = 0;

    for (size_t i = 0; i < length; i++)
        letters += text[i] != '.';
    *term = (struct term){0};
    for (; text < end; text++) {
        if (*text != '.') {
            if (!einsum_push(term, *text & 0x7f))
                return NULL;
            continue;
        }
        if (strncmp(text, "...", 3) != 0)
            return NULL;
        for (int i = rank - letters; i > 0; i--) {
            if (!einsum_push(term, dots + i))
                return NULL;
        }
        text += 2;
    }
    return term->n == rank ? end : NULL;
}

static int nest_find_axis(struct nest *nest, unsigned char label, bool may_add)
{
    for (int i = 0; i < nest->n_axes; i++) {
        if (nest->labels[i] == label)
            return i;
    }
    if (!may_add || nest->n_axes == NEST_AXES)
        return -1;
    nest->labels[nest->n_axes] = label;
    nest->sizes[nest->n_axes] = 1;
    return nest->n_axes++;
}

/* Adds the axes of the result, in its order. */
static bool nest_add_result(struct nest *nest, const struct term *terms,
                            const char *result, int n_dots)
{
    int counts[256] = {0};
    struct term term;

    if (result) {
        int letters = 0;

        for (const char *c = result; *c; c++)
            letters += *c != '.';
        if (!strchr(result, '.'))
            n_dots = 0;
        if (!term_read(result, letters + n_dots, &term))
            return false;
        for (int i = 0; i < term.n; i++)
            nest_find_axis(nest, term.labels[i], true);
        nest->n_kept = nest->n_axes;
        return true;
    }
    for (size_t i = 0; i < nest->n_inputs; i++) {
        for (int k = 0; k < terms[i].n; k++)
            counts[terms[i].labels[k]]++;
    }
    for (int label = 255; label > dots; label--) {
        if (counts[label])
            nest_find_axis(nest, (unsigned char)label, true);
    }
    for (int label = 0; label < dots; label++) {
        if (counts[label] == 1)
            nest_find_axis(nest, (unsigned char)label, true);
    }
    nest->n_kept = nest->n_axes;
    return true;
}

static bool einsum_add_input(struct nest *nest, const struct term *term,
                             const struct shape *shape, int64_t *strides)
{
    struct strides dense = strides_dense(shape);

    for (int i = 0; i < term->n; i++) {
        int axis = nest_find_axis(nest, term->labels[i], true);

        if (axis < 0)
            return false;
        if (shape->dims[i] == 1)
            continue;
        if (nest->sizes[axis] != 1 && nest->sizes[axis] != shape->dims[i])
            return false;
        nest->sizes[axis] = shape->dims[i];
        strides[axis] += dense.of[i];
    }
    return true;
}

static enum assay_status nest_make(const struct node *node,
                                   const struct tensor *const *inputs,
                                   struct nest *nest, struct error *err)
{
    const struct einsum_attrs *attrs = node->attrs;
    struct term terms[NEST_INPUTS];
    const char *text = attrs->equation, *arrow = strstr(text, "->");
    int n_dots = 0;

    *nest = (struct nest){.n_inputs = node->n_inputs};
    if (node->n_inputs > NEST_INPUTS)
        return einsum_bad(node, err);
    for (size_t i = 0; i < node->n_inputs; i++) {
        int of_dots = 0;

        text = term_read(text, inputs[i]->shape.rank, &terms[i]);
        if (!text || (*text == ',') != (i + 1 < node->n_inputs))
            return einsum_bad(node, err);
        text += *text == ',';
        for (int k = 0; k < terms[i].n; k++)
            of_dots += terms[i].labels[k] > dots;
        n_dots = of_dots > n_dots ? of_dots : n_dots;
    }
    if (!nest_add_result(nest, terms, arrow ? arrow + 2 : NULL, n_dots) ||
        nest->n_kept > SHAPE_MAX_RANK)
        return einsum_bad(node, err);
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (!einsum_add_input(nest, &terms[i], &inputs[i]->shape,
                              nest->strides[i]))
            return einsum_bad(node, err);
    }
    return ASSAY_OK;
}

static enum assay_status einsum_infer(const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    struct shape shape = {0};
    struct nest nest;
    enum assay_status st = nest_make(node, inputs, &nest, err);

    for (size_t i = 1; !st && i < node->n_inputs; i++)
        st = rule_dtype(inputs, i, inputs[0]->dtype, err);
    if (st)
        return st;
    shape.rank = nest.n_kept;
    for (int i = 0; i < nest.n_kept; i++)
        shape.dims[i] = nest.sizes[i];
    rule_set(&outputs[0], inputs[0]->dtype, &shape);
    return ASSAY_OK;
}

/* Goes to the next index along axes [first, last); false after the last. */
static bool nest_advance(const struct nest *nest, int first, int last,
                         int64_t *index, int64_t *at)
{
    for (int a = last - 1; a >= first; a--) {
        index[a]++;
        for (size_t i = 0; i < nest->n_inputs; i++)
            at[i] += nest->strides[i][a];
        if (index[a] < nest->sizes[a])
            return true;
        for (size_t i = 0; i < nest->n_inputs; i++)
            at[i] -= nest->strides[i][a] * nest->sizes[a];
        index[a] = 0;
    }
    return false;
}

#define SUM(name, type)                                                        \
    static void name(const struct nest *nest,                                  \
                     const struct tensor *const *inputs, type *y, size_t n)    \
    {                                                                          \
        int64_t index[NEST_AXES] = {0}, at[NEST_INPUTS] = {0};                 \
                                                                               \
        for (size_t k = 0; k < n; k++) {                                       \
            type sum = 0;                                                      \
                                                                               \
            do {                                                               \
                type product = 1;                                              \
                                                                               \
                for (size_t i = 0; i < nest->n_inputs; i++)                    \
                    product *= ((type *)tensor_data(inputs[i]))[at[i]];        \
                sum += product;                                                \
            } while (                                                          \
                nest_advance(nest, nest->n_kept, nest->n_axes, index, at));    \
            y[k] = sum;                                                        \
            nest_advance(nest, 0, nest->n_kept, index, at);                    \
        }                                                                      \
    }
SUM(sum_f32, float)
SUM(sum_f64, double)
SUM(sum_u64, uint64_t) /* for signed integers too */

static enum assay_status einsum_kernel(const struct op_context *context,
                                       const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct tensor *outputs,
                                       struct error *err)
{
    size_t n = tensor_elements(&outputs[0]);
    void *y = tensor_data(&outputs[0]);
    struct nest nest;
    enum assay_status st = nest_make(node, inputs, &nest, err);

    if (st)
        return st;
    for (int i = 0; i < nest.n_axes; i++) {
        if (nest.sizes[i] == 0) {
            memset(y, 0, tensor_bytes(&outputs[0]));
            return ASSAY_OK;
        }
    }
    if (outputs[0].dtype == DTYPE_BOOL)
        return rule_undefined(node, DTYPE_BOOL, err);
    if (!context->is_reference && nest_is_product(&nest))
        return nest_multiply(context, &nest, inputs, &outputs[0], err);
    if (outputs[0].dtype == DTYPE_F32)
        sum_f32(&nest, inputs, y, n);
    else if (outputs[0].dtype == DTYPE_F64)
        sum_f64(&nest, inputs, y, n);
    else
        sum_u64(&nest, inputs, y, n);
    return ASSAY_OK;
}

WIDEN_FORWARD(einsum_forward, einsum_kernel)

static void einsum_count_cost(const struct node *node,
                              const struct tensor *const *inputs,
                              const struct tensor *outputs, struct cost *cost)
{
    struct nest nest;
    uint64_t products = node->n_inputs - 1;

    (void)outputs;
    if (nest_make(node, inputs, &nest, NULL))
        return;
    for (int i = 0; i < nest.n_axes; i++)
        products *= (uint64_t)nest.sizes[i];
    cost->macs += products;
}

const struct op_class op_einsum = {
    .name = "Einsum",
    .attrs_bytes = sizeof(struct einsum_attrs),
    OP_TAKES(1, SIZE_MAX),
    OP_MAKES(1, 1),
    .infer = einsum_infer,
    .forward = einsum_forward,
    .cost = einsum_count_cost,
};
