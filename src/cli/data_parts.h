/* cli/data_parts.h - the splits of a dataset, opened and counted.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_DATA_PARTS_H
#define CLI_DATA_PARTS_H

#include "cli/data_show.h"
#include "data/census.h"

/* A split that is there. */
struct data_part {
    enum dataset_split split;
    struct dataset *dataset;
    struct census census;
};

/* Start from {.show}. */
struct data_parts {
    const struct data_show *show;
    enum dataset_kind kind;
    struct data_part items[2];
    size_t n;
    bool is_one; /* both splits are the same samples */
    char **odd;  /* lines */
    size_t n_odd, odd_capacity;
    bool has_no_memory; /* for one of them */
};

/* Opens what is to be shown, finding out which kind it is where that was not
 * said, and counts it. Released also on failure. */
enum assay_status data_parts_open(struct data_parts *parts, struct error *err);
void data_parts_release(struct data_parts *parts);

#endif
