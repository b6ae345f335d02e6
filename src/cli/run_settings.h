/* cli/run_settings.h - the options of commands that run a model, and the job
 * they make.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_RUN_SETTINGS_H
#define CLI_RUN_SETTINGS_H

#include "cli/file_roles.h"
#include "cli/labels.h"
#include "cli/run_files.h"
#include "cli/shapes.h"
#include "detect/detect.h"
#include "store/store.h"

#include <math.h>

struct run_settings {
    const char *weights;
    int64_t seed;
    int64_t classes, min_size, max_size; /* classes 0: the model's own */
    int norm, variant;
    const char *input;
    int decode;
    struct words shapes;
    bool is_random, may_read_outside;
    int64_t images, warm_up, batch, threads;
    double precision_goal, time_limit;
    bool is_plain;
    int detail;
    double tuning_seconds;
    double score, iou; /* NaN: not given */
    const char *labels, *drawn_dir;
    const char *output;
    struct run_file_names files;
    bool has_pictures;
    bool has_explain;
    bool is_json;
    struct words sweep;
};

/* What holds before the options. */
#define RUN_DEFAULTS                                                           \
    {                                                                          \
        .min_size = 800, .max_size = 1333, .warm_up = 1, .batch = 1,           \
        .precision_goal = 0.02, .time_limit = 30, .detail = ENGINE_OPS,        \
        .tuning_seconds = 2, .score = NAN, .iou = NAN,                         \
        .output = "run" STORE_SUFFIX,                                          \
    }

/* Which model, in the table of a command that does not run it: the settings
 * have a struct run_settings called run, and FIELD() names what is in them. */
#define RUN_MODEL_OPTIONS RUN_BUILD_OPTIONS, RUN_SHAPE_OPTIONS
#define RUN_BUILD_OPTIONS                                                      \
    {.name = "variant",                                                        \
     .kind = OPTION_CHOICE,                                                    \
     .value = "DATA",                                                          \
     .choices = run_variants,                                                  \
     .help = "a classifier as it is built for these images",                   \
     .shown_default = "imagenet",                                              \
     FIELD(run.variant)},                                                      \
    {                                                                          \
        .name = "classes", .kind = OPTION_INTEGER, .value = "N", .min = 1,     \
        .max = 100000,                                                         \
        .help = "classes; of a detector the background included",              \
        .shown_default = "91 of a detector, 1000 of a classifier",             \
        FIELD(run.classes)                                                     \
    }
#define RUN_SHAPE_OPTIONS                                                      \
    {.name = "input",                                                          \
     .kind = OPTION_TEXT,                                                      \
     .value = "size=WxH",                                                      \
     .help = "the size of images, where it is free",                           \
     .shown_default = "what the model is built for",                           \
     FIELD(run.input)},                                                        \
    {                                                                          \
        .name = "shape", .kind = OPTION_LIST, .value = "[INPUT=]SHAPE",        \
        .help = "a shape for an input of a file that leaves sizes free",       \
        FIELD(run.shapes)                                                      \
    }

/* The word of a command that takes one model: its name, or a file. */
#define RUN_MODEL_OPERAND                                                      \
    {                                                                          \
        .min = 1, .max = 1, .missing = "a model", .endings = run_model_endings \
    }

/* What to do about data of a model outside of its folder. */
#define RUN_OUTSIDE_HINT "--allow-outside reads it all the same"

extern const char *const run_model_endings[]; /* of files with a model */
extern const char *const run_variants[];      /* for --variant */
extern const char *const run_decodes[];       /* for --decode */
enum decode run_decode(int choice);
extern const struct option run_options[];

/* What a command line comes to. Start from {0}. */
struct run_job {
    struct detect_options options;
    struct photos photos;
    struct labels labels;
    struct shape_list shapes;
    struct str choices; /* the path of remembered kernels */
};

/* From the model (a name, or an ONNX file) and the photographs. Released also
 * on failure. */
enum assay_status run_job_make(struct run_job *job,
                               const struct run_settings *settings,
                               const struct words *operands, struct error *err);
void run_job_release(struct run_job *job);

/* Adds all that the job reads, also what folders and lists name, and the drawn
 * photographs, which it writes. */
enum assay_status run_job_add_roles(const struct run_job *job,
                                    const struct run_settings *settings,
                                    const struct words *operands,
                                    struct file_roles *roles,
                                    struct error *err);

/* Where kernel choices are remembered. A home that is not there or may not be
 * written to is no failure: *path is empty, they are made again the next
 * time. */
void run_find_choices(struct str *path);

/* The full name of a built-in model, or the path of a file that may be one:
 * what is known to be something else is refused by what it is. */
enum assay_status run_find_model(const char *word, const char **model,
                                 bool *is_onnx, struct error *err);

#endif
