/* tests/formats/tensor_sums.h - compares a file of weights with a table: name,
 * type, shape, sum and mean absolute value of every tensor.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_FORMATS_TENSOR_SUMS_H
#define TESTS_FORMATS_TENSOR_SUMS_H

#include "base/file.h"
#include "formats/weights/checkpoint.h"
#include "tensor/convert.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double element(const struct tensor *tensor, size_t i)
{
    const char *data = tensor_data(tensor);
    double value;

    convert_elements(tensor->dtype, data + i * dtype_bytes(tensor->dtype),
                     DTYPE_F64, &value, 1);
    return value;
}

/* The tables have nine digits. */
static void check_sums(const struct tensor *tensor, double sum, double mean_abs)
{
    double got_sum = 0, got_abs = 0;
    size_t n = tensor_elements(tensor);

    for (size_t i = 0; i < n; i++) {
        got_sum += element(tensor, i);
        got_abs += fabs(element(tensor, i));
    }
    CHECK_NEAR(got_sum, sum, 1e-8 * (fabs(sum) + got_abs) + 1e-12);
    CHECK_NEAR(n ? got_abs / (double)n : 0, mean_abs, 1e-8 * mean_abs + 1e-12);
}

/* The next field of a line, NUL-terminated; moves *at past it. */
static char *next_field(char **at)
{
    char *field = *at;

    *at += strcspn(field, "\t\n");
    if (**at)
        *(*at)++ = '\0';
    return field;
}

static void check_line(const struct checkpoint *checkpoint, char *line,
                       struct pool *pool)
{
    const char *name = next_field(&line), *dtype = next_field(&line);
    const char *shape = next_field(&line);
    double sum = strtod(next_field(&line), NULL);
    double mean_abs = strtod(next_field(&line), NULL);
    struct error err = {0};
    struct tensor tensor;
    char text[64];
    size_t i;

    if (!checkpoint_find(checkpoint, name, &i)) {
        print_error("no tensor %s\n", name);
        CHECK(false);
    }
    CHECK_STATUS(checkpoint_load(checkpoint, i, pool, &tensor, &err), ASSAY_OK,
                 &err);
    CHECK_STR(dtype_name(tensor.dtype), dtype);
    CHECK_STR(shape_text(&tensor.shape, text, sizeof text), shape);
    CHECK_INT((uintptr_t)tensor_data(&tensor) % dtype_bytes(tensor.dtype), 0);
    check_sums(&tensor, sum, mean_abs);
    tensor_release(&tensor);
}

/* Checks that the lines of the table (the first names the columns) are exactly
 * the tensors of the checkpoint. Returns how many there are. */
static size_t check_table(const struct checkpoint *checkpoint, const char *path)
{
    struct str table = {0};
    struct error err = {0};
    struct pool *pool;
    size_t n = 0;
    char *line, *next;

    CHECK_STATUS(file_read(path, 1 << 24, &table, &err), ASSAY_OK, &err);
    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    line = strchr(table.text, '\n') + 1;
    for (; *line; line = next, n++) {
        next = line + strcspn(line, "\n");
        next += *next == '\n';
        check_line(checkpoint, line, pool);
    }
    CHECK_INT(checkpoint_count(checkpoint), n);
    str_release(&table);
    pool_free(pool);
    return n;
}

#endif
