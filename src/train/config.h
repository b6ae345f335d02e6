/* train/config.h - what to train and how: .config/config.toml.
 *
 * One table of keys (config_keys) gives the reader, the echo of the settings,
 * the text of the defaults and the page of the manual. Every key may be left
 * out. docs/train.md has them all.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TRAIN_CONFIG_H
#define TRAIN_CONFIG_H

#include "base/arena.h"
#include "base/error.h"
#include "base/sink.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the settings are looked for unless another file is named. */
#define TRAIN_CONFIG_PATH ".config/config.toml"

enum train_dataset {
    TRAIN_PETS,
    TRAIN_COCO,
    TRAIN_VOC,
    TRAIN_CIFAR10,
    TRAIN_CIFAR100,
    TRAIN_IMAGEFOLDER,
    TRAIN_SYNTHETIC
};

enum train_norm {
    TRAIN_NORM_AUTO, /* frozen where weights are published ones */
    TRAIN_NORM_FROZEN,
    TRAIN_NORM_BATCH
};

enum train_optimizer { TRAIN_SGD, TRAIN_ADAMW };

enum { TRAIN_KEYS_MAX = 48 };

/* Numbers with "auto" behind them are -1 where the file does not say. */
struct train_config {
    struct {
        int64_t num_epochs, batch_size;
        int64_t prefetch_factor; /* batches ahead, for each worker */
        int64_t num_workers;     /* 0: the step decodes itself */
        const char *device;
        int64_t steps;   /* whatever the epochs are; 0: theirs */
        int64_t threads; /* 0: one a core */
        int64_t seed;
        int64_t checkpoint_every; /* steps; 0: at the end only */
    } training;
    struct {
        const char *name;
        const char *weights;               /* "auto", "random" or a file */
        int64_t num_classes;               /* auto; with the background */
        int64_t trainable_backbone_layers; /* auto */
        int norm;                          /* enum train_norm */
    } model;
    struct {
        int kind;           /* enum train_dataset */
        const char *root;   /* NULL: data/KIND */
        int64_t limit;      /* of samples; 0: all */
        int64_t image_size; /* auto; the shorter side of a detector's images */
        int64_t max_size;   /* of the longer side */
        bool flip;          /* every other image, left to right */
    } dataset;
    struct {
        int name; /* enum train_optimizer */
        double learning_rate;
        double momentum;
        bool nesterov;
        double weight_decay;
        double beta1, beta2, epsilon; /* adamw */
        int64_t warmup_steps; /* from warmup_factor to 1 times the rate */
        double warmup_factor;
        int64_t step_epochs; /* the rate is multiplied by step_gamma after
                                every so many; 0: never */
        double step_gamma;
    } optimizer;
    struct {
        int64_t warmup_steps; /* before anything is counted */
        int64_t full_steps;   /* -1: the first, the slowest, a median one and
                                 the last */
        const char *output;   /* the folder that gets run and checkpoints */
    } profile;

    const char *path;               /* of the file that was read; NULL: none */
    uint32_t lines[TRAIN_KEYS_MAX]; /* of each key in it; 0: not given */
    struct arena texts;
};

enum config_type {
    CONFIG_INTEGER, /* int64_t */
    CONFIG_NUMBER,  /* double */
    CONFIG_FLAG,    /* bool */
    CONFIG_TEXT,    /* const char * */
    CONFIG_CHOICE   /* int: the index of one of choices */
};

struct config_key {
    const char *section, *name;
    enum config_type type;
    size_t offset; /* in struct train_config */
    double min, max;
    const char *const *choices; /* NULL at the end */
    const char *automatic;      /* what is taken where nothing is said and the
                                   default is -1 or NULL; else NULL */
    const char *meaning;        /* lower case, no full stop */
};

extern const struct config_key config_keys[]; /* section NULL at the end */

/* The defaults. Released by train_config_release() as all others. */
struct train_config train_config_defaults(void);
void train_config_release(struct train_config *config);

/* Puts what a file says over the defaults. Syntax, sections, keys, types and
 * ranges are checked: ".config/config.toml: line 3: batch_size is 0; it must be
 * from 1 to 65536". On failure *out holds the defaults. */
enum assay_status train_config_read(const char *path, struct train_config *out,
                                    struct error *err);
/* The same of a text; name stands for the file. */
enum assay_status train_config_read_text(const char *text, size_t n,
                                         const char *name,
                                         struct train_config *out,
                                         struct error *err);

/* One key by its full name, "training.batch_size", from the text of its value;
 * quotes around a text may be left out. ASSAY_BAD_USAGE where that is wrong. */
enum assay_status train_config_set(struct train_config *config,
                                   const char *name, const char *value,
                                   struct error *err);

/* What can be known of a device and a model before anything is opened; after
 * all keys have their values. */
enum assay_status train_config_check(const struct train_config *config,
                                     struct error *err);

/* Where a key stands, for messages: "config.toml: line 7: num_classes", or
 * "model.num_classes" where the file does not have it. */
const char *train_config_place(const struct train_config *config,
                               const struct config_key *key, char *out,
                               size_t size);

/* The key of "section.name", or NULL. */
const struct config_key *config_key_find(const char *name);

/* The value as TOML has it; false where it is an automatic one. */
enum { CONFIG_VALUE_MAX = 512 };
bool config_value_text(const struct train_config *config,
                       const struct config_key *key,
                       char out[CONFIG_VALUE_MAX]);

/* The name of a choice that a configuration holds. */
const char *train_dataset_name(enum train_dataset kind);

/* A whole file with every key, its default and what it means. */
void train_config_write_defaults(struct sink *sink);

#endif
