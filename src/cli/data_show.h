/* cli/data_show.h - what a dataset holds, for people and for programs.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_DATA_SHOW_H
#define CLI_DATA_SHOW_H

#include "base/term.h"
#include "data/dataset.h"

/* What is known of each kind, in the order of enum dataset_kind. */
struct data_kind {
    const char *what;   /* "folders of classes" */
    const char *layout; /* how it is recognised */
};
extern const struct data_kind data_kinds[N_DATASET_KINDS];

struct data_show {
    const char *path;
    const char *kind;   /* NULL: found out */
    int split;          /* enum dataset_split; -1: both */
    bool reads_images;  /* every one */
    bool lists_classes; /* with their counts */
    bool lists_all;     /* that is odd */
};

enum assay_status data_show(const struct data_show *show, bool is_json,
                            struct sink *sink, const struct term *term,
                            struct error *err);

void data_list(bool is_json, struct sink *sink);

#endif
