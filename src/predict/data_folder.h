/* predict/data_folder.h - what was measured on a device: four CSV files.
 *
 * measurements.csv, layers.csv, networks.csv and network_ops.csv, as a campaign
 * writes them (docs/fingerprint.md has the columns). Several folders may be
 * read into one set.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_DATA_FOLDER_H
#define PREDICT_DATA_FOLDER_H

#include "base/map.h"
#include "base/str.h"
#include "predict/description.h"

enum stage { STAGE_TRAINING, STAGE_INFERENCE, N_STAGES };
enum target { TARGET_LATENCY, TARGET_MEMORY, N_TARGETS };

/* "training"; "latency". NULL behind the last. */
extern const char *const stage_names[];
extern const char *const target_names[];

/* The four files of a folder; NULL at the end. */
extern const char *const data_folder_files[];

/* One network at one batch size. NAN: not measured, or not to be used. */
struct measurement {
    size_t description;
    double batch;
    enum stage stage;
    double value[N_TARGETS]; /* milliseconds a step; MB */
    bool is_failed;          /* it did not fit into the device's memory */
};

/* Start from {0}. */
struct data_set {
    struct description *descriptions;
    size_t n_descriptions, descriptions_capacity;
    size_t n_settled; /* of them: those of folders that were read before; what
                         another folder says of the same networks is passed
                         over */
    struct map index; /* "network level" to a description */
    struct measurement *rows;
    size_t n_rows, rows_capacity;
    double capacity_mb;  /* of the device; NAN: not told */
    double available_mb; /* of it, before anything runs; NAN */
    double lane;         /* channels that it computes together; NAN: not told */
    size_t n_undescribed;   /* rows of networks without layers: left out */
    struct str undescribed; /* "mnasnet 5 15, resnet18 40" */
    struct str last_undescribed;
    struct map noted; /* those that are among them */
};

void data_set_release(struct data_set *set);
/* Adds what the folder holds. Where it fails the set holds part of it. */
enum assay_status data_set_read(struct data_set *set, const char *folder,
                                struct error *err);
enum assay_status data_set_add_row(struct data_set *set,
                                   const struct measurement *row,
                                   struct error *err);
/* Finds the description of a network at a level, or adds one that is empty. */
enum assay_status data_set_describe(struct data_set *set, const char *network,
                                    int64_t level, size_t *index,
                                    struct error *err);
/* SIZE_MAX where there is none. */
size_t data_set_find(const struct data_set *set, const char *network,
                     int64_t level);

#endif
