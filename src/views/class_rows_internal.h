/* views/class_rows_internal.h - a model's ops by class, for models whose
 * modules say little: "Conv   64   71.2   80 %".
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_CLASS_ROWS_INTERNAL_H
#define VIEWS_CLASS_ROWS_INTERNAL_H

#include "views/scope_rows.h"
#include "views/views.h"

struct class_row {
    struct row row; /* the sum; name is that of the class */
    size_t n_nodes;
};

struct class_rows {
    struct class_row *items; /* the most expensive first */
    size_t n;
};

/* Adds up the leaves of `top` by their classes. Start from {0}; release also
 * after a failure. */
enum assay_status class_rows_build(const struct rows *rows, size_t top,
                                   struct class_rows *classes,
                                   struct error *err);
void class_rows_release(struct class_rows *classes);

/* Head and at most max_rows rows. */
void class_rows_write(const struct rows *rows, const struct class_rows *classes,
                      size_t max_rows, const struct view_options *options,
                      struct sink *sink);

#endif
