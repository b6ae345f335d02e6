/* ops/sequence/tf_idf.c - see tf_idf.h. */
#include "ops/sequence/tf_idf.h"

#include "ops/int_list_internal.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "ops/widen_internal.h"

#include <string.h>

enum tf_idf_input {
    TF_IDF_TEXT,
    TF_IDF_POOL,
    TF_IDF_STARTS,
    TF_IDF_COLUMNS,
    TF_IDF_WEIGHT
};

static enum assay_status tf_idf_infer(const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    const struct tensor *columns = inputs[TF_IDF_COLUMNS];
    struct shape y = inputs[TF_IDF_TEXT]->shape;
    int64_t last = -1;
    enum assay_status st = indices_check(inputs, TF_IDF_TEXT, err);

    (void)node;
    if (!st)
        st = setting_check(columns, err);
    if (!st && (y.rank < 1 || y.rank > 2))
        st = rule_rank(inputs, TF_IDF_TEXT, 2, err);
    if (st)
        return st;
    for (size_t i = 0; i < tensor_elements(columns); i++) {
        int64_t column = int_at(columns, i);

        if (column < 0)
            return error_set(err, ASSAY_BAD_INPUT, "column %lld does not exist",
                             (long long)column);
        last = column > last ? column : last;
    }
    y.dims[y.rank - 1] = last + 1;
    rule_set(&outputs[0], DTYPE_F32, &y);
    return ASSAY_OK;
}

/* Whether the sequence occurs at a place, with its numbers `step` apart. */
static bool stands_at(const int64_t *text, int64_t n, int64_t at, int64_t step,
                      const int64_t *sequence, int64_t length)
{
    if (at + (length - 1) * step >= n)
        return false;
    for (int64_t i = 0; i < length; i++) {
        if (text[at + i * step] != sequence[i])
            return false;
    }
    return true;
}

/* Counts a sequence; one of length 1 has nothing to skip. */
static int64_t tf_idf_count(const int64_t *text, int64_t n, int64_t max_skip,
                            const int64_t *sequence, int64_t length)
{
    int64_t found = 0;

    for (int64_t step = 1; step <= (length > 1 ? max_skip + 1 : 1); step++) {
        for (int64_t at = 0; at < n; at++)
            found += stands_at(text, n, at, step, sequence, length);
    }
    return found;
}

static enum assay_status check_pool(const struct tensor *const *inputs,
                                    const struct tensor *weights,
                                    struct error *err)
{
    size_t n_columns = tensor_elements(inputs[TF_IDF_COLUMNS]), known = 0;
    size_t n_starts = tensor_elements(inputs[TF_IDF_STARTS]);
    int64_t pool = (int64_t)tensor_elements(inputs[TF_IDF_POOL]);

    for (size_t i = 0; i < n_starts; i++) {
        int64_t start = int_at(inputs[TF_IDF_STARTS], i);
        int64_t end =
            i + 1 < n_starts ? int_at(inputs[TF_IDF_STARTS], i + 1) : pool;

        if (start < 0 || end < start || end > pool)
            return error_set(err, ASSAY_BAD_INPUT,
                             "sequences of length %zu cannot go from %lld to "
                             "%lld of %lld",
                             i + 1, (long long)start, (long long)end,
                             (long long)pool);
        known += (size_t)(end - start) / (i + 1);
    }
    if (known != n_columns || (weights && (weights->dtype != DTYPE_F32 ||
                                           tensor_elements(weights) != known)))
        return error_set(err, ASSAY_BAD_INPUT,
                         "%zu sequences, but not as many columns or weights",
                         known);
    return ASSAY_OK;
}

/* Adds all sequences of one text to its row. */
static void fill_row(const struct tf_idf_attrs *attrs,
                     const struct tensor *const *inputs,
                     const struct tensor *weights, const int64_t *text,
                     int64_t n, float *y)
{
    const struct tensor *starts = inputs[TF_IDF_STARTS];
    const int64_t *pool = tensor_data(inputs[TF_IDF_POOL]);
    int64_t n_lengths = (int64_t)tensor_elements(starts);
    size_t sequence = 0;

    for (int64_t length = 1; length <= n_lengths; length++) {
        int64_t at = int_at(starts, (size_t)length - 1);
        int64_t end = length < n_lengths
                          ? int_at(starts, (size_t)length)
                          : (int64_t)tensor_elements(inputs[TF_IDF_POOL]);

        for (; at + length <= end; at += length, sequence++) {
            float weight = weights ? tensor_f32(weights)[sequence] : 1;
            int64_t found = 0;

            if (length >= attrs->min_length && length <= attrs->max_length)
                found =
                    tf_idf_count(text, n, attrs->max_skip, pool + at, length);
            if (attrs->mode == TF_IDF_COUNTS)
                weight = (float)found;
            else if (attrs->mode == TF_IDF_BOTH)
                weight *= (float)found;
            if (found)
                y[int_at(inputs[TF_IDF_COLUMNS], sequence)] += weight;
        }
    }
}

static enum assay_status tf_idf_kernel(const struct op_context *context,
                                       const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct tensor *outputs,
                                       struct error *err)
{
    const struct tensor *text = inputs[TF_IDF_TEXT];
    const struct tensor *weights = op_input(node, inputs, TF_IDF_WEIGHT);
    int64_t n = text->shape.dims[text->shape.rank - 1];
    int64_t rows = text->shape.rank > 1 ? text->shape.dims[0] : 1;
    int64_t columns = outputs[0].shape.dims[outputs[0].shape.rank - 1];
    enum assay_status st = check_pool(inputs, weights, err);

    (void)context;
    if (st)
        return st;
    memset(tensor_data(&outputs[0]), 0, tensor_bytes(&outputs[0]));
    for (int64_t i = 0; i < rows; i++)
        fill_row(node->attrs, inputs, weights, tensor_i64(text) + i * n, n,
                 tensor_f32(&outputs[0]) + i * columns);
    return ASSAY_OK;
}

WIDEN_FORWARD(tf_idf_forward, tf_idf_kernel)

const struct op_class op_tf_idf = {
    .name = "TfIdfVectorizer",
    .attrs_bytes = sizeof(struct tf_idf_attrs),
    OP_TAKES(4, 5),
    OP_MAKES(1, 1),
    .infer = tf_idf_infer,
    .host_inputs = OP_INPUT(TF_IDF_COLUMNS),
    .forward = tf_idf_forward,
};
