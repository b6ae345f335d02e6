/* cli/train_settings.c - see train_settings.h. */
#include "cli/train_settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FIELD(field) OPTION_FIELD(struct train_settings, field)

const struct option train_options[] = {
    {.kind = OPTION_SECTION, .help = "Override the file"},
    {OPT_INTEGER("steps", "N", 1, 1e9), .letter = 'n',
     .help = "train for this many steps, whatever the epochs say",
     FIELD(steps)},
    {OPT_INTEGER("batch", "N", 1, 65536), .help = "images per step",
     FIELD(batch)},
    TRAIN_OVER_OPTIONS(FIELD),
    TRAIN_SET_OPTION("optimizer.learning_rate=0.01", FIELD(set)),
    {OPT_FLAG("defaults"),
     .help = "print a file with every setting and its default, then exit",
     FIELD(shows_defaults)},
    {.kind = OPTION_SECTION, .help = "First run"},
    {OPT_FLAG("fetch"),
     .help = "fetch the dataset and the published weights if they are missing, "
             "without asking",
     FIELD(fetch.is_wanted)},
    {OPT_TEXT("url", "BASE"), .help = "where the files to fetch are",
     .shown_default = "where they are published", FIELD(fetch.url)},
    {OPT_FILE("sums", "FILE"),
     .help = "sums of the dataset's archives there, as md5sum writes them",
     .shown_default = "those of the published ones", FIELD(fetch.sums)},
    {.kind = OPTION_SECTION, .help = "Training"},
    {OPT_FILE("resume", "CHECKPOINT"),
     .help = "continue after the last step of a checkpoint", FIELD(resume)},
    TRAIN_RECOMPUTE_OPTION(FIELD),
    RUN_TUNE_OPTION(.shown_default = "10s", FIELD(tuning_seconds)),
    {.kind = OPTION_SECTION, .help = "Output"},
    OPTION_OUTPUT("RUN",
                  "write the run to this file and the checkpoint next to it",
                  .shown_default = "train/run.assay", FIELD(output)),
    {OPT_FILE("export", "FILE"), .role = ROLE_OUTPUT,
     .help = "write the final weights to this file, for torch.load()",
     FIELD(export_path)},
    OPTION_FULL(FIELD(is_full)),
    RUN_FILES_OPTIONS,
    {.kind = OPTION_END},
};

static enum assay_status train_settings_set_number(struct train_config *config,
                                                   const char *name,
                                                   int64_t value,
                                                   struct error *err)
{
    char text[32];

    snprintf(text, sizeof text, "%" PRId64, value);
    return train_config_set(config, name, text, err);
}

const char *const train_precisions[] = {"auto", "fp32", "tf32",
                                        "fp16", "bf16", NULL};

/* The options that override one setting each. */
static enum assay_status
train_settings_set_options(struct train_config *config,
                           const struct train_settings *settings,
                           struct error *err)
{
    const struct {
        const char *name;
        int64_t value;
        bool is_given;
    } numbers[] = {
        {"training.steps", settings->steps, settings->steps > 0},
        {"training.batch_size", settings->batch, settings->batch > 0},
        {"training.num_workers", settings->workers, settings->workers >= 0},
        {"training.threads", settings->threads, settings->threads > 0},
        {"dataset.image_size", settings->min_size, settings->min_size > 0},
    };
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < sizeof numbers / sizeof *numbers; i++) {
        if (numbers[i].is_given)
            st = train_settings_set_number(config, numbers[i].name,
                                           numbers[i].value, err);
    }
    if (!st && settings->device)
        st = train_config_set(config, "training.device", settings->device, err);
    if (!st && settings->precision)
        st = train_config_set(config, "training.precision",
                              train_precisions[settings->precision], err);
    if (!st && settings->is_synthetic)
        st = train_config_set(config, "dataset.kind",
                              train_dataset_name(TRAIN_SYNTHETIC), err);
    return st;
}

/* "optimizer.learning_rate=0.01" */
static enum assay_status train_settings_set_word(struct train_config *config,
                                                 const char *word,
                                                 struct error *err)
{
    const char *equals = strchr(word, '=');
    char name[64];

    if (!equals)
        return error_set(err, ASSAY_BAD_USAGE,
                         "--set needs SECTION.KEY=VALUE, such as "
                         "training.batch_size=4, not '%s'",
                         word);
    snprintf(name, sizeof name, "%.*s", (int)(equals - word), word);
    return train_config_set(config, name, equals + 1, err);
}

bool train_settings_are_over(const struct train_settings *settings)
{
    return settings->set.n || settings->is_synthetic || settings->device ||
           settings->precision || settings->batch || settings->threads ||
           settings->min_size || settings->workers >= 0;
}

enum assay_status train_settings_read(const struct train_settings *settings,
                                      const char *path,
                                      struct train_config *config,
                                      struct error *err)
{
    enum assay_status st = ASSAY_OK;

    *config = train_config_defaults();
    if (path && access(path, F_OK))
        st = error_set(err, ASSAY_NOT_FOUND,
                       "there is no file %s; 'assay train --defaults' prints "
                       "one with every setting to start from",
                       path);
    else if (path || access(TRAIN_CONFIG_PATH, F_OK) == 0)
        st = train_config_read(path ? path : TRAIN_CONFIG_PATH, config, err);
    for (size_t i = 0; !st && i < settings->set.n; i++)
        st = train_settings_set_word(config, settings->set.items[i], err);
    if (!st)
        st = train_settings_set_options(config, settings, err);
    return st;
}
