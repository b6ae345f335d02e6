/* predict/data_folder.h - measurements of a device: four CSV files.
 *
 * measurements.csv, layers.csv, networks.csv and network_ops.csv, as a campaign
 * writes them (docs/fingerprint.md lists the columns). Several folders may be
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
/* What ran a network: rows of two of them are not about the same thing. */
enum framework {
    FRAMEWORK_UNKNOWN,
    FRAMEWORK_ASSAY, /* this program's own engine */
    FRAMEWORK_TORCH,
    N_FRAMEWORKS
};

/* "training"; "latency"; "", "assay". They end with NULL. */
extern const char *const stage_names[];
extern const char *const target_names[];
extern const char *const framework_names[];

/* The four files of a folder, ending with NULL. */
extern const char *const data_folder_files[];

/* The counts in network_ops.csv, in order; name NULL ends the list. */
extern const struct description_field data_op_columns[];

/* One network at one batch size. NAN: not measured, or not to be used. */
struct measurement {
    size_t description;
    double batch;
    enum stage stage;
    double value[N_TARGETS]; /* ms per step; MB */
    bool is_failed;          /* did not fit into the memory of the device */
    enum framework framework;
};

/* Start from {0}. */
struct data_set {
    struct description *descriptions;
    size_t n_descriptions, descriptions_capacity;
    size_t n_settled; /* descriptions from folders read earlier; what a later
                         folder says about the same networks is ignored */
    struct map index; /* "network level" to a description */
    struct measurement *rows;
    size_t n_rows, rows_capacity;
    double capacity_mb;     /* of the device; NAN: unknown */
    double available_mb;    /* before anything runs; NAN: unknown */
    double lane;            /* channels computed together; NAN: unknown */
    double multiprocessors; /* of a GPU; NAN: unknown, or none */
    struct str machines; /* what rows were measured on, a line each, in order */
    size_t n_undescribed;   /* rows of networks without layers, left out */
    struct str undescribed; /* "mnasnet 5 15, resnet18 40" */
    struct str last_undescribed;
    struct map noted; /* networks and levels listed in undescribed */
};

void data_set_release(struct data_set *set);
/* Adds the contents of a folder: its four files, or the files of perf4sight
 * (perf4sight.h), whose networks must be described already, or be by the
 * folder's layers.csv, networks.csv and network_ops.csv. On failure the set
 * holds part of it. */
enum assay_status data_set_read(struct data_set *set, const char *folder,
                                struct error *err);
/* Forgets nothing that is there; an empty set begins to know nothing about its
 * device. */
void data_set_begin(struct data_set *set);
/* Notes what is known about the device; NAN: nothing. */
void data_set_note_device(struct data_set *set, double capacity_mb,
                          double available_mb);
enum assay_status data_set_add_row(struct data_set *set,
                                   const struct measurement *row,
                                   struct error *err);
/* Notes the name of a machine, once; "" is none. */
enum assay_status data_set_note_machine(struct data_set *set, const char *name,
                                        struct error *err);
/* Adds the row of a network; one without layers is only counted and named. */
enum assay_status data_set_measure(struct data_set *set, const char *network,
                                   int64_t level, struct measurement row,
                                   struct error *err);
/* Finds the description of a network at a level, or adds an empty one. */
enum assay_status data_set_describe(struct data_set *set, const char *network,
                                    int64_t level, size_t *index,
                                    struct error *err);
/* SIZE_MAX if there is none. */
size_t data_set_find(const struct data_set *set, const char *network,
                     int64_t level);

#endif
