/* cli/run_settings.h - the options of commands that run a model, and the job
 * they make.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_RUN_SETTINGS_H
#define CLI_RUN_SETTINGS_H

#include "cli/file_roles.h"
#include "cli/input_words.h"
#include "cli/run_files.h"
#include "formats/onnx/onnx.h"
#include "session/profile.h"
#include "store/store.h"

#include <math.h>

struct run_settings {
    const char *weights;
    int64_t seed;
    int64_t classes, min_size, max_size; /* classes 0: the model's default */
    int norm, variant;
    const char *input;
    int decode;
    struct words shapes, set;
    bool is_random, may_read_outside;
    const char *device;
    int precision;
    int64_t images, warm_up, batch, threads, in_flight;
    double precision_goal, time_limit;
    bool is_plain;
    int detail;
    const char *keep;
    double tuning_seconds;
    double score, iou; /* NaN: not given */
    const char *labels, *drawn_dir;
    const char *output;
    struct run_file_names files;
    bool has_pictures;
    bool has_explain;
    bool is_json;
    bool is_full;
    struct words sweep;
};

/* The settings before any option. */
#define RUN_DEFAULTS                                                           \
    {                                                                          \
        .min_size = 800, .max_size = 1333, .warm_up = 1, .batch = 1,           \
        .precision_goal = 0.02, .time_limit = 30, .detail = ENGINE_OPS,        \
        .tuning_seconds = 4, .score = NAN, .iou = NAN,                         \
        .output = "run" STORE_SUFFIX,                                          \
    }

/* Rows for the tables of commands that take a model; AT() names a field of the
 * struct run_settings in their settings. */
#define RUN_MODEL_OPTIONS(AT) RUN_BUILD_OPTIONS(AT), RUN_SHAPE_OPTIONS(AT)
/* clang-format off: it takes the braces of a row for a block. */
#define RUN_BUILD_OPTIONS(AT)                                                  \
    RUN_CLASSES_OPTION(.shown_default =                                        \
                           "91 for a detector, 1000 for a classifier",         \
                       AT(classes)),                                           \
    {                                                                          \
        OPT_CHOICE("variant", "DATA", run_variants),                           \
            .help = "build a classifier for these images",                     \
            .shown_default = "imagenet", AT(variant)                           \
    }
#define RUN_SHAPE_OPTIONS(AT)                                                  \
    {OPT_TEXT("input", "size=WxH"),                                            \
     .help = "size of the images if the model does not fix it",                \
     .shown_default = "what the model is built for", AT(input)},               \
        RUN_SHAPE_OPTION(AT(shapes))

/* Single rows, which end with the field. */
#define RUN_WEIGHTS_OPTION(text, ...)                                          \
    {                                                                          \
        OPT_FILE("weights", "FILE"), .letter = 'w', .is_once = true,           \
                                     .help = (text), __VA_ARGS__               \
    }
#define RUN_CLASSES_OPTION(...)                                                \
    {                                                                          \
        OPT_INTEGER("classes", "N", 1, 100000),                                \
            .help =                                                            \
                "number of classes, including the background of a detector",   \
            __VA_ARGS__                                                        \
    }
#define RUN_BATCH_OPTION(...)                                                  \
    {                                                                          \
        OPT_INTEGER("batch", "N", 1, SESSION_MAX_BATCH),                       \
            .help = "images per iteration", .shown_default = "1", __VA_ARGS__  \
    }
#define RUN_ITERS_OPTION(text, ...)                                            \
    {                                                                          \
        OPT_INTEGER("iters", "N", 1, 1e9), .letter = 'n', .help = (text),      \
                                           __VA_ARGS__                         \
    }
#define RUN_SHAPE_OPTION(...)                                                  \
    {                                                                          \
        OPT_LIST("shape", "[INPUT=]SHAPE"),                                    \
            .help = "shape of an input whose sizes a model file leaves open",  \
            __VA_ARGS__                                                        \
    }
#define RUN_SET_OPTION(...)                                                    \
    {                                                                          \
        OPT_LIST("set", "INPUT=NUMBERS"),                                      \
            .help = "numbers for an input of a model file besides the image: " \
                    "orig_target_sizes=640x640, threshold=0.5",                \
            __VA_ARGS__                                                        \
    }
#define RUN_DECODE_OPTION(...)                                                 \
    {                                                                          \
        OPT_CHOICE("decode", "KIND", run_decodes),                             \
            .help = "how to read a model file's outputs",                      \
            .shown_default = "none", __VA_ARGS__                               \
    }
#define RUN_OUTSIDE_OPTION(...)                                                \
    {                                                                          \
        OPT_FLAG("allow-outside"),                                             \
            .help = "read external data from outside the model's folder",      \
            __VA_ARGS__                                                        \
    }
#define RUN_TUNE_OPTION(...)                                                   \
    {                                                                          \
        OPT_TIME("tune", "TIME", 0, 3600),                                     \
            .help = "time to spend on choosing kernels by measuring them",     \
            __VA_ARGS__                                                        \
    }
/* clang-format on */

/* The operand of a command that takes one model: its name or a file. */
#define RUN_MODEL_OPERAND                                                      \
    {                                                                          \
        .min = 1, .max = 1, .missing = "a model",                              \
        .endings = run_model_endings, .are_models = true                       \
    }

/* Ends the refusal to read data outside a model's folder. */
#define RUN_OUTSIDE_HINT "--allow-outside reads it anyway"

extern const char *const run_model_endings[]; /* of files with a model */
extern const char *const run_variants[];      /* for --variant */
extern const char *const run_decodes[];       /* for --decode */
enum decode run_decode(int choice);
extern const struct option run_options[];

/* The words of --shape. */
struct shape_list {
    struct model_file_shape *items;
    size_t n;
    struct arena names;
};

/* Reads every word: NAME=AxBxC, or AxBxC for a model with one input. Release
 * the list also after a failure. */
enum assay_status shapes_read(const struct words *words,
                              struct shape_list *list, struct error *err);
void shapes_release(struct shape_list *list); /* accepts {0} */

/* The names of classes in a file, one per line. */
struct labels {
    const char **items; /* 0 is the background */
    size_t n, capacity;
    struct str text;
};

/* What a command line asks for. Start from {0}. */
struct run_job {
    struct profile_options options;
    struct photos photos;
    struct labels labels;
    struct shape_list shapes;
    struct input_words inputs;
    struct str choices; /* path of the remembered kernel choices */
};

/* operands: the model (a name or a file), then photographs. Release the job
 * also after a failure. */
enum assay_status run_job_make(struct run_job *job,
                               const struct run_settings *settings,
                               const struct words *operands, struct error *err);
void run_job_release(struct run_job *job);

/* Adds all files that the job reads, including those that folders and lists
 * name, and the drawn photographs that it writes. */
enum assay_status run_job_add_roles(const struct run_job *job,
                                    const struct run_settings *settings,
                                    const struct words *operands,
                                    struct file_roles *roles,
                                    struct error *err);

/* Where kernel choices are remembered. *path is empty if there is no home or it
 * cannot be written to; the choices are then made again next time. */
void run_find_choices(struct str *path);

/* word: any name of a built-in model, or the path of a file. A file that is
 * known to be something else is refused with what it is. */
enum assay_status run_find_model(const char *word, struct model_source *model,
                                 struct error *err);

#endif
