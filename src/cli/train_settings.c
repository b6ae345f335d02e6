/* cli/train_settings.c - see train_settings.h. */
#include "cli/train_settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FIELD(field) OPTION_FIELD(struct train_settings, field)

const struct option train_options[] = {
    {.kind = OPTION_SECTION, .help = "Over what the file says"},
    {.name = "device",
     .kind = OPTION_TEXT,
     .value = "NAME",
     .help = "where to compute: cpu, or auto for the best there is",
     FIELD(device)},
    {.name = "steps",
     .letter = 'n',
     .kind = OPTION_INTEGER,
     .value = "N",
     .min = 1,
     .max = 1e9,
     .help = "make this many steps, whatever the epochs are",
     FIELD(steps)},
    {.name = "batch",
     .kind = OPTION_INTEGER,
     .value = "N",
     .min = 1,
     .max = 65536,
     .help = "images of a step",
     FIELD(batch)},
    TRAIN_OVER_OPTIONS(FIELD),
    {.name = "set",
     .kind = OPTION_LIST,
     .value = "SECTION.KEY=VALUE",
     .help = "any setting of the file: --set optimizer.learning_rate=0.01",
     FIELD(set)},
    {.name = "defaults",
     .kind = OPTION_FLAG,
     .help = "print a file with every setting and its default, and end",
     FIELD(shows_defaults)},
    {.kind = OPTION_SECTION, .help = "How it trains"},
    {.name = "resume",
     .kind = OPTION_FILE,
     .value = "CHECKPOINT",
     .help = "go on behind the last step of a checkpoint",
     FIELD(resume)},
    TRAIN_RECOMPUTE_OPTION(FIELD),
    {.name = "tune",
     .kind = OPTION_TIME,
     .value = "TIME",
     .max = 3600,
     .help = "time for choosing kernels by measuring them",
     .shown_default = "10s",
     FIELD(tuning_seconds)},
    {.kind = OPTION_SECTION, .help = "What comes out"},
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_FILE,
     .role = ROLE_OUTPUT,
     .value = "RUN",
     .help = "write the run there, and the checkpoint beside it",
     .shown_default = "train/run.assay",
     FIELD(output)},
    {.name = "export",
     .kind = OPTION_FILE,
     .role = ROLE_OUTPUT,
     .value = "FILE",
     .help = "write the weights there in the end, as torch.load() reads them",
     FIELD(export_path)},
    RUN_FILES_OPTIONS,
    {.kind = OPTION_END},
};

static enum assay_status set_number(struct train_config *config,
                                    const char *name, int64_t value,
                                    struct error *err)
{
    char text[32];

    snprintf(text, sizeof text, "%" PRId64, value);
    return train_config_set(config, name, text, err);
}

/* Options that stand for a setting each. */
static enum assay_status set_options(struct train_config *config,
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
            st = set_number(config, numbers[i].name, numbers[i].value, err);
    }
    if (!st && settings->device)
        st = train_config_set(config, "training.device", settings->device, err);
    if (!st && settings->is_synthetic)
        st = train_config_set(config, "dataset.kind",
                              train_dataset_name(TRAIN_SYNTHETIC), err);
    return st;
}

/* "optimizer.learning_rate=0.01" */
static enum assay_status set_word(struct train_config *config, const char *word,
                                  struct error *err)
{
    const char *equals = strchr(word, '=');
    char name[64];

    if (!equals)
        return error_set(err, ASSAY_BAD_USAGE,
                         "--set wants SECTION.KEY=VALUE, as in "
                         "training.batch_size=4, not '%s'",
                         word);
    snprintf(name, sizeof name, "%.*s", (int)(equals - word), word);
    return train_config_set(config, name, equals + 1, err);
}

bool train_settings_are_over(const struct train_settings *settings)
{
    return settings->set.n || settings->is_synthetic || settings->device ||
           settings->batch || settings->threads || settings->min_size ||
           settings->workers >= 0;
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
                       "there is no %s; 'assay train --defaults' prints a "
                       "file with every setting to begin with",
                       path);
    else if (path || access(TRAIN_CONFIG_PATH, F_OK) == 0)
        st = train_config_read(path ? path : TRAIN_CONFIG_PATH, config, err);
    for (size_t i = 0; !st && i < settings->set.n; i++)
        st = set_word(config, settings->set.items[i], err);
    if (!st)
        st = set_options(config, settings, err);
    if (!st)
        st = train_config_check(config, err);
    return st;
}
