/* tests/passes/prune_zeros.h - finds the filters that pruning removes and sets
 * them to zero, so that the network computes the same without them.
 *
 * Random choices do not depend on the weights. So a copy of the model with its
 * rows of weights numbered shows which rows remain.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_PASSES_PRUNE_ZEROS_H
#define TESTS_PASSES_PRUNE_ZEROS_H

#include "graph/graph.h"
#include "test.h"

#include <math.h>
#include <string.h>

/* Whether the value has a number, or a row of them, for each filter. */
static inline bool has_rows(const struct value *value)
{
    size_t n = strlen(value->name);

    return (value->kind == VALUE_PARAMETER || value->kind == VALUE_BUFFER) &&
           value->dtype == DTYPE_F32 && value->shape.rank >= 1 &&
           value->data.buffer && tensor_elements(&value->data) &&
           !(n > 11 && strcmp(value->name + n - 11, "running_var") == 0);
}

static inline size_t row_elements(const struct value *value)
{
    return tensor_elements(&value->data) / (size_t)value->shape.dims[0];
}

static inline void number_rows(const struct graph *graph)
{
    for (uint32_t id = 0; id < graph_value_count(graph); id++) {
        const struct value *value = graph_value(graph, id);

        size_t n, row;
        float *data;

        if (!has_rows(value))
            continue;
        n = tensor_elements(&value->data);
        row = row_elements(value);
        data = tensor_f32(&value->data);
        for (size_t i = 0; i < n; i++)
            data[i] = (float)(i / row);
    }
}

/* Rows that the numbered, pruned copy no longer has. */
static inline size_t clear_removed_rows(const struct graph *graph,
                                        const struct graph *numbered)
{
    size_t n_cleared = 0;

    for (uint32_t id = 0; id < graph_value_count(graph); id++) {
        const struct value *value = graph_value(graph, id);
        const struct value *left;
        size_t row, at = 0;

        if (!has_rows(value))
            continue;
        left = graph_value(numbered, graph_find_value(numbered, value->name));
        row = row_elements(value);
        for (int64_t i = 0; i < value->shape.dims[0]; i++) {
            if (at < (size_t)left->shape.dims[0] &&
                tensor_f32(&left->data)[at * row_elements(left)] == (float)i) {
                at++;
                continue;
            }
            memset(tensor_f32(&value->data) + (size_t)i * row, 0,
                   row * sizeof(float));
            n_cleared++;
        }
        CHECK_INT(at, left->shape.dims[0]);
    }
    return n_cleared;
}

static inline void check_same(const struct tensor *got,
                              const struct tensor *want)
{
    double most = 1e-9, worst = 0;

    CHECK(shape_equal(&want->shape, &got->shape));
    for (size_t i = 0; i < tensor_elements(want); i++) {
        double off = fabs((double)tensor_f32(got)[i] - tensor_f32(want)[i]);

        most = fmax(most, fabs((double)tensor_f32(want)[i]));
        worst = off > worst || isnan(off) ? off : worst;
    }
    CHECK_NEAR(worst / most, 0, 1e-4);
}

#endif
