/* cli/train_settings.h - the options of `assay train`, and the settings from
 * the options and a file.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_TRAIN_SETTINGS_H
#define CLI_TRAIN_SETTINGS_H

#include "cli/run_settings.h"
#include "cli/train_fetch.h"
#include "train/config.h"

/* In the order of enum precision: those that a GPU trains in. */
extern const char *const train_precisions[];

struct train_settings {
    const char *device;
    int precision;
    /* If not given: workers -1, the others 0. */
    int64_t steps, batch, workers, threads, min_size;
    bool is_synthetic, shows_defaults, is_full;
    struct words set;
    const char *resume, *export_path;
    struct words recompute;
    double tuning_seconds;
    const char *output;
    struct run_file_names files;
    struct train_fetch fetch;
};

#define TRAIN_DEFAULTS                                                         \
    {                                                                          \
        .workers = -1, .tuning_seconds = 10                                    \
    }

/* Rows for the tables of `assay train` and `assay fit`; AT() names a field of
 * struct train_settings. */
/* clang-format off: it takes the braces of a row for a block. */
#define TRAIN_OVER_OPTIONS(AT)                                                 \
    {OPT_INTEGER("workers", "N", 0, 256),                                      \
     .help = "threads to load images with", AT(workers)},                      \
        OPTION_DEVICE_TO("where to compute: cpu, cuda:0, or auto for a GPU "   \
                         "that can train",                                     \
                         AT(device)),                                          \
        {OPT_CHOICE("precision", "TYPE", train_precisions),                    \
         .help = "what products are computed in on a GPU",                     \
         .shown_default = "auto, which is tf32 where the GPU has it",          \
         AT(precision)},                                                       \
        OPTION_THREADS_TO("threads to compute with", AT(threads)),             \
        {OPT_INTEGER("min-size", "N", 16, 8192),                               \
         .help = "resize the shorter side of images to this many pixels",      \
         AT(min_size)},                                                        \
    {                                                                          \
        OPT_FLAG("synthetic"),                                                 \
            .help =                                                            \
                "generated images of coloured shapes instead of a dataset",    \
            AT(is_synthetic)                                                   \
    }

#define TRAIN_SET_OPTION(example, ...)                                         \
    {                                                                          \
        OPT_LIST("set", "SECTION.KEY=VALUE"),                                  \
            .help = "any setting of the file: --set " example, __VA_ARGS__     \
    }

#define TRAIN_RECOMPUTE_OPTION(AT)                                             \
    {                                                                          \
        OPT_LIST("recompute", "MODULE"),                                       \
            .help = "do not keep the activations of this module but "          \
                    "recompute them "                                          \
                    "in the backward pass",                                    \
            AT(recompute)                                                      \
    }
/* clang-format on */

extern const struct option train_options[];

/* Whether options change what the file says is trained. */
bool train_settings_are_over(const struct train_settings *settings);

/* The settings of the file, or of TRAIN_CONFIG_PATH if there is one, with the
 * options applied; not checked yet, which starts the device
 * (train_config_check()). Release *config also after a failure. */
enum assay_status train_settings_read(const struct train_settings *settings,
                                      const char *path,
                                      struct train_config *config,
                                      struct error *err);

#endif
