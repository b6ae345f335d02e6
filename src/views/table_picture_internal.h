/* views/table_picture_internal.h - the table of a run as a PNG, where only
 * pictures can be shown.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_TABLE_PICTURE_INTERNAL_H
#define VIEWS_TABLE_PICTURE_INTERNAL_H

#include "base/sink.h"
#include "run/run.h"

/* The rows with the most self time; width and height are in pixels. */
enum assay_status table_picture(const struct run *run, struct sink *sink,
                                int *width, int *height, struct error *err);

#endif
