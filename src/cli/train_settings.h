/* cli/train_settings.h - the options of `assay train`, and the settings that
 * they and a file make.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_TRAIN_SETTINGS_H
#define CLI_TRAIN_SETTINGS_H

#include "cli/run_files.h"
#include "train/config.h"

struct train_settings {
    const char *device;
    int64_t steps, batch, workers, threads, min_size; /* steps and sizes: 0,
                                                         workers: -1, where they
                                                         were not given */
    bool is_synthetic, shows_defaults;
    struct words set;
    const char *resume, *export_path;
    struct words recompute;
    double tuning_seconds;
    const char *output;
    struct run_file_names files;
};

#define TRAIN_DEFAULTS                                                         \
    {                                                                          \
        .workers = -1, .tuning_seconds = 10                                    \
    }

/* Lines of the tables of `assay train` and `assay fit`; AT() names a field of
 * the settings. */
#define TRAIN_OVER_OPTIONS(AT)                                                 \
    {.name = "workers",                                                        \
     .kind = OPTION_INTEGER,                                                   \
     .value = "N",                                                             \
     .max = 256,                                                               \
     .help = "threads that load images",                                       \
     AT(workers)},                                                             \
        {.name = "threads",                                                    \
         .letter = 't',                                                        \
         .kind = OPTION_INTEGER,                                               \
         .value = "N",                                                         \
         .min = 1,                                                             \
         .max = 1024,                                                          \
         .help = "threads to compute with",                                    \
         AT(threads)},                                                         \
        {.name = "min-size",                                                   \
         .kind = OPTION_INTEGER,                                               \
         .value = "N",                                                         \
         .min = 16,                                                            \
         .max = 8192,                                                          \
         .help = "pixels that the shorter side of images is resized to",       \
         AT(min_size)},                                                        \
    {                                                                          \
        .name = "synthetic", .kind = OPTION_FLAG,                              \
        .help = "images of coloured shapes, made up on the way: no dataset",   \
        AT(is_synthetic)                                                       \
    }

#define TRAIN_RECOMPUTE_OPTION(AT)                                             \
    {                                                                          \
        .name = "recompute", .kind = OPTION_LIST, .value = "MODULE",           \
        .help = "do not keep the activations of this module, make them again " \
                "in the backward pass",                                        \
        AT(recompute)                                                          \
    }

extern const struct option train_options[];

/* Whether options change what is trained from what the file says. */
bool train_settings_are_over(const struct train_settings *settings);

/* What the file named, or TRAIN_CONFIG_PATH where that is there, says, with
 * the options over it; checked. Released by the caller, also on failure. */
enum assay_status train_settings_read(const struct train_settings *settings,
                                      const char *path,
                                      struct train_config *config,
                                      struct error *err);

#endif
