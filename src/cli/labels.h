/* cli/labels.h - names of classes from a file, a line each.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_LABELS_H
#define CLI_LABELS_H

#include "base/error.h"
#include "base/str.h"

#include <stddef.h>

/* Start from {0}. */
struct labels {
    const char **items; /* 0 is the background */
    size_t n, capacity;
    struct str text;
};

void labels_release(struct labels *labels);
enum assay_status labels_read(struct labels *labels, const char *path,
                              struct error *err);

#endif
