/* predict/data_folder_internal.h - how the files of a data folder are read.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_DATA_FOLDER_INTERNAL_H
#define PREDICT_DATA_FOLDER_INTERNAL_H

#include "predict/csv.h"
#include "predict/data_folder.h"

/* A file of the folder at work. */
struct data_reading {
    struct csv csv;
    int network, level; /* columns */
};

/* The level of the record, 0 to 100. */
enum assay_status data_read_level(struct data_reading *reading, int64_t *level,
                                  struct error *err);
/* All of measurements.csv; the networks are there already. */
enum assay_status data_read_measurements(struct data_reading *reading,
                                         struct data_set *set,
                                         struct error *err);

/* Appends what a network is found by: "resnet50 30". */
enum assay_status data_set_key(struct str *key, const char *network,
                               int64_t level, struct error *err);

#endif
