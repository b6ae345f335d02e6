/* cli/metrics_rows.h - what the rows of a table of metrics say.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_METRICS_ROWS_H
#define CLI_METRICS_ROWS_H

#include "cli/layers_show.h"
#include "cli/metrics_show.h"

enum metrics_cell {
    METRICS_NAME,
    METRICS_FIRST,
    METRICS_ENHANCEMENT,
    METRICS_SECOND,
    N_METRICS_CELLS
};

enum { METRICS_TEXT = 96 };

struct metrics_row {
    char texts[N_METRICS_CELLS][METRICS_TEXT];
};

/* Whether a table of so many models has the column. */
bool metrics_has(const struct metrics_view *view, enum metrics_cell cell);

/* "Param Name (resnet18)", "Value"; with two models their names are above
 * their values. */
void metrics_title(const struct metrics_view *view, struct metrics_row *row);
/* "Backend: oneDNN 2.6.3" */
void metrics_backend(const struct metrics_view *view, struct metrics_row *row);
/* Four decimals; "-" where there is no value. */
void metrics_row(const struct metrics_view *view, size_t i,
                 struct metrics_row *row);

/* The i-th key as a model has it. */
const struct assay_result *metrics_result(const struct metrics_view *view,
                                          size_t model, size_t i);
/* From the first model to the second. */
struct assay_enhancement metrics_enhancement(const struct metrics_view *view,
                                             size_t i);

struct layers_view metrics_layers(const struct assay_model *model);

#endif
