/* ops/product/einsum_product.c - see einsum_internal.h.
 *
 * The axes belong to four groups: the batch (of both inputs and the result),
 * rows (of the first input and the result), columns (of the second and the
 * result), and what both are summed over. What does not lie in memory as a
 * batch of matrices is copied so before, or afterwards. */
#include "ops/product/einsum_internal.h"

#include "ops/product/matrix_internal.h"

enum group { BATCH, ROWS, COLUMNS, SUMMED, N_GROUPS };

/* Axes of a group that have more than one element, those of the result in its
 * order. */
struct axes {
    int of[NEST_AXES];
    int n;
};

/* Rows are those of the left factor: the first input, or the second where the
 * result has the letters of that one first. */
struct product {
    const struct nest *nest;
    struct axes groups[N_GROUPS];
    size_t left, right; /* inputs */
};

/* An input or the result: where its first matrix begins, and the steps from one
 * element to the next along each axis. */
struct operand {
    struct buffer *copy; /* NULL: it is used as it lies */
    char *data;
    int64_t steps[NEST_AXES];
};

/* False: one input alone is summed over the axis. */
static bool axis_group(const struct nest *nest, int axis, enum group *group)
{
    bool is_kept = axis < nest->n_kept;
    bool in_first = nest->strides[0][axis] != 0;
    bool in_second = nest->strides[1][axis] != 0;

    if (in_first && in_second)
        *group = is_kept ? BATCH : SUMMED;
    else
        *group = in_first ? ROWS : COLUMNS;
    return is_kept || *group == SUMMED;
}

bool nest_is_product(const struct nest *nest)
{
    enum group group;

    if (nest->n_inputs != 2)
        return false;
    for (int i = 0; i < nest->n_axes; i++) {
        if (nest->sizes[i] > 1 && !axis_group(nest, i, &group))
            return false;
    }
    return true;
}

static void product_swap(struct product *product)
{
    struct axes rows = product->groups[ROWS];

    product->groups[ROWS] = product->groups[COLUMNS];
    product->groups[COLUMNS] = rows;
    product->left = 1 - product->left;
    product->right = 1 - product->right;
}

static struct product group_axes(const struct nest *nest)
{
    struct product product = {.nest = nest, .left = 0, .right = 1};
    enum group group = COLUMNS;

    for (int i = 0; i < nest->n_axes; i++) {
        struct axes *axes;

        if (nest->sizes[i] == 1)
            continue;
        axis_group(nest, i, &group);
        axes = &product.groups[group];
        axes->of[axes->n++] = i;
    }
    for (int i = nest->n_kept - 1; i >= 0; i--) {
        if (nest->sizes[i] == 1)
            continue;
        axis_group(nest, i, &group);
        if (group == ROWS)
            product_swap(&product);
        break;
    }
    return product;
}

static int64_t group_size(const struct product *product, enum group group)
{
    const struct axes *axes = &product->groups[group];
    int64_t size = 1;

    for (int i = 0; i < axes->n; i++)
        size *= product->nest->sizes[axes->of[i]];
    return size;
}

/* The step from one element of a group to the next; 0: there is no single one.
 */
static int64_t group_step(const struct product *product, enum group group,
                          const int64_t *steps)
{
    const struct axes *axes = &product->groups[group];
    int64_t step = axes->n ? steps[axes->of[axes->n - 1]] : 1;

    for (int i = axes->n - 1; i > 0; i--) {
        int axis = axes->of[i];

        if (steps[axes->of[i - 1]] != steps[axis] * product->nest->sizes[axis])
            return 0;
    }
    return step;
}

/* The steps of a dense array of these groups, in this order. Returns its
 * elements. */
static int64_t set_steps(const struct product *product, const enum group *order,
                         int n, int64_t *steps)
{
    int64_t step = 1;

    for (int g = n - 1; g >= 0; g--) {
        const struct axes *axes = &product->groups[order[g]];

        for (int i = axes->n - 1; i >= 0; i--) {
            steps[axes->of[i]] = step;
            step *= product->nest->sizes[axes->of[i]];
        }
    }
    return step;
}

/* Copies all that is in these groups from the places of one operand to those of
 * another. */
static void operand_move(const struct op_context *context,
                         const struct product *product,
                         const enum group *groups, int n, size_t bytes,
                         const struct operand *from, const struct operand *to)
{
    struct shape shape = {0};
    struct strides source = {{0}}, target = {{0}};

    for (int g = 0; g < n; g++) {
        const struct axes *axes = &product->groups[groups[g]];

        for (int i = 0; i < axes->n; i++) {
            int axis = axes->of[i];

            source.of[shape.rank] = from->steps[axis];
            target.of[shape.rank] = to->steps[axis];
            shape.dims[shape.rank++] = product->nest->sizes[axis];
        }
    }
    strided_copy(context, &shape, bytes, from->data, &source, to->data,
                 &target);
}

/* Memory for a dense array of three groups. */
static enum assay_status operand_make(const struct op_context *context,
                                      const struct product *product,
                                      const enum group *order, size_t bytes,
                                      struct operand *out, struct error *err)
{
    int64_t elements = set_steps(product, order, 3, out->steps);
    enum assay_status st =
        pool_take_scratch(context->pool, (size_t)elements * bytes,
                          "the matrices of an Einsum", &out->copy, err);

    if (!st)
        out->data = buffer_data(out->copy);
    return st;
}

/* Makes an input batches of matrices: libraries take those that have neighbours
 * in their rows or in their columns. */
static enum assay_status operand_read(const struct op_context *context,
                                      const struct product *product,
                                      const struct tensor *x, size_t input,
                                      enum group rows, enum group columns,
                                      struct operand *out, struct error *err)
{
    const enum group order[] = {BATCH, rows, columns};
    size_t bytes = dtype_bytes(x->dtype);
    struct operand source = {.data = tensor_data(x)};
    int64_t row_step, column_step;
    enum assay_status st;

    for (int i = 0; i < product->nest->n_axes; i++)
        source.steps[i] = product->nest->strides[input][i];
    row_step = group_step(product, rows, source.steps);
    column_step = group_step(product, columns, source.steps);
    *out = source;
    if (row_step && column_step && (row_step == 1 || column_step == 1))
        return ASSAY_OK;
    st = operand_make(context, product, order, bytes, out, err);
    if (!st)
        operand_move(context, product, order, 3, bytes, &source, out);
    return st;
}

static struct matrix operand_matrix(const struct product *product,
                                    const struct operand *operand,
                                    enum group rows, enum group columns)
{
    return (struct matrix){
        .data = operand->data,
        .row_step = group_step(product, rows, operand->steps),
        .column_step = group_step(product, columns, operand->steps)};
}

static struct strides batch_steps(const struct product *product,
                                  const struct operand *operand)
{
    const struct axes *axes = &product->groups[BATCH];
    struct strides strides = {{0}};

    for (int i = 0; i < axes->n; i++)
        strides.of[i] = operand->steps[axes->of[i]];
    return strides;
}

static void product_run(const struct op_context *context,
                        const struct product *product, enum dtype dtype,
                        const struct operand *left, const struct operand *right,
                        const struct operand *y)
{
    const struct axes *axes = &product->groups[BATCH];
    struct matrix_batch batch = {
        .m = group_size(product, ROWS),
        .n = group_size(product, COLUMNS),
        .k = group_size(product, SUMMED),
        .shape = {.rank = axes->n},
        .a = operand_matrix(product, left, ROWS, SUMMED),
        .b = operand_matrix(product, right, SUMMED, COLUMNS),
        .steps = {batch_steps(product, left), batch_steps(product, right),
                  batch_steps(product, y)}};

    for (int i = 0; i < axes->n; i++)
        batch.shape.dims[i] = product->nest->sizes[axes->of[i]];
    matrix_multiply_batch(context, dtype, &batch, y->data);
}

/* Whether rows and columns of the result lie as in a matrix. */
static bool has_matrices(const struct product *product,
                         const struct operand *whole)
{
    return group_step(product, COLUMNS, whole->steps) == 1 &&
           (product->groups[ROWS].n == 0 ||
            group_step(product, ROWS, whole->steps) ==
                group_size(product, COLUMNS));
}

enum assay_status nest_multiply(const struct op_context *context,
                                const struct nest *nest,
                                const struct tensor *const *inputs,
                                const struct tensor *y, struct error *err)
{
    static const enum group order[] = {BATCH, ROWS, COLUMNS};
    struct product product = group_axes(nest);
    struct operand left = {0}, right = {0}, made;
    struct operand whole = {.data = tensor_data(y)};
    int64_t step = 1;
    enum assay_status st = operand_read(context, &product, inputs[product.left],
                                        product.left, ROWS, SUMMED, &left, err);

    if (!st)
        st = operand_read(context, &product, inputs[product.right],
                          product.right, SUMMED, COLUMNS, &right, err);
    for (int i = nest->n_kept - 1; i >= 0; i--) {
        whole.steps[i] = step;
        step *= nest->sizes[i];
    }
    made = whole;
    if (!st && !has_matrices(&product, &whole))
        st = operand_make(context, &product, order, dtype_bytes(y->dtype),
                          &made, err);
    if (!st)
        product_run(context, &product, y->dtype, &left, &right, &made);
    if (!st && made.copy)
        operand_move(context, &product, order, 3, dtype_bytes(y->dtype), &made,
                     &whole);
    buffer_release(left.copy);
    buffer_release(right.copy);
    buffer_release(made.copy);
    return st;
}
