/* cli/data_show.h - what a dataset holds, as a screen or JSON.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_DATA_SHOW_H
#define CLI_DATA_SHOW_H

#include "base/term.h"
#include "data/dataset.h"

struct data_show {
    const char *path;
    const char *kind;   /* NULL: recognised from the files */
    int split;          /* enum dataset_split; -1: both */
    bool reads_images;  /* all of them */
    bool lists_classes; /* with their counts */
    bool lists_all;     /* not only the first odd things */
};

enum assay_status data_show(const struct data_show *show, bool is_json,
                            struct sink *sink, const struct term *term,
                            struct error *err);

/* The kinds of datasets. */
void data_list(bool is_json, struct sink *sink);

#endif
