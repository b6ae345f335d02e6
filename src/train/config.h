/* train/config.h - what to train and how: .config/config.toml.
 *
 * One table of keys (config_keys) drives the reader, the facts of a run, the
 * file of defaults and the manual page. Every key is optional. docs/train.md
 * lists them all.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TRAIN_CONFIG_H
#define TRAIN_CONFIG_H

#include "backend/device.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/sink.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The settings file, unless another one is named. */
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
    TRAIN_NORM_AUTO, /* frozen with published weights */
    TRAIN_NORM_FROZEN,
    TRAIN_NORM_BATCH
};

enum train_optimizer { TRAIN_SGD, TRAIN_ADAMW };

enum { TRAIN_KEYS_MAX = 48 };

/* Numbers marked "auto" are -1 if the file does not set them. */
struct train_config {
    struct {
        int64_t num_epochs, batch_size;
        int64_t prefetch_factor; /* batches ahead, per worker */
        int64_t num_workers;     /* 0: the step decodes images itself */
        const char *device;
        int precision;   /* enum precision; of a GPU */
        int64_t steps;   /* overrides the epochs; 0: not set */
        int64_t threads; /* 0: one per core */
        int64_t seed;
        int64_t checkpoint_every; /* steps; 0: at the end only */
    } training;
    struct {
        const char *name;
        const char *weights;               /* "auto", "random" or a file */
        int64_t num_classes;               /* auto; includes the background */
        int64_t trainable_backbone_layers; /* auto */
        int norm;                          /* enum train_norm */
    } model;
    struct {
        int kind;           /* enum train_dataset */
        const char *root;   /* NULL: data/KIND */
        int64_t limit;      /* most samples to use; 0: all */
        int64_t image_size; /* auto; the shorter side of a detector's images */
        int64_t max_size;   /* most pixels of the longer side */
        bool flip;          /* mirror every other image, left to right */
    } dataset;
    struct {
        int name; /* enum train_optimizer */
        double learning_rate;
        double momentum;
        bool nesterov;
        double weight_decay;
        double clip_norm;
        double beta1, beta2, epsilon; /* adamw */
        int64_t warmup_steps; /* to rise from warmup_factor to the full rate */
        double warmup_factor;
        int64_t step_epochs; /* multiply the rate by step_gamma every so many
                                epochs; 0: never */
        double step_gamma;
    } optimizer;
    struct {
        int64_t warmup_steps; /* before anything is counted */
        int64_t full_steps;   /* -1: the first, the slowest, a median one and
                                 the last */
        const char *output;   /* folder for the run and the checkpoints */
    } profile;

    const char *path;               /* of the file that was read, or NULL */
    uint32_t lines[TRAIN_KEYS_MAX]; /* of each key in the file; 0: not there */
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
    const char *const *choices; /* ends with NULL */
    const char *automatic;      /* what is used if the key is not set and its
                                   default is -1 or NULL; else NULL */
    const char *meaning;        /* lower case, no full stop */
};

extern const struct config_key config_keys[]; /* ends with section NULL */

/* The defaults; release them with train_config_release(), like any others. */
struct train_config train_config_defaults(void);
void train_config_release(struct train_config *config);

/* Reads a file over the defaults. Checks syntax, sections, keys, types and
 * ranges: ".config/config.toml: line 3: batch_size is 0; it must be from 1 to
 * 65536". On failure *out holds the defaults. */
enum assay_status train_config_read(const char *path, struct train_config *out,
                                    struct error *err);
/* The same from a text; messages call it by name. */
enum assay_status train_config_read_text(const char *text, size_t n,
                                         const char *name,
                                         struct train_config *out,
                                         struct error *err);

/* Sets one key by its full name, "training.batch_size", from its value as text;
 * quotes around strings are optional. ASSAY_BAD_USAGE if either is wrong. */
enum assay_status train_config_set(struct train_config *config,
                                   const char *name, const char *value,
                                   struct error *err);

/* Checks the model and the device as far as possible without opening anything;
 * call it once all keys have their values. */
enum assay_status train_config_check(const struct train_config *config,
                                     struct error *err);

/* Where to train, by training.device. "auto" is a device that has kernels for
 * the backward pass, or else the host. */
enum assay_status train_device(const struct train_config *config,
                               const struct device **out, struct error *err);

/* Names a key for messages: "config.toml: line 7: num_classes", or
 * "model.num_classes" if the file does not set it. */
const char *train_config_place(const struct train_config *config,
                               const struct config_key *key, char *out,
                               size_t size);

/* Finds a key by "section.name"; NULL if there is none. */
const struct config_key *config_key_find(const char *name);

/* Writes the value as TOML; false if it is automatic. */
enum { CONFIG_VALUE_MAX = 512 };
bool config_value_text(const struct train_config *config,
                       const struct config_key *key,
                       char out[CONFIG_VALUE_MAX]);

const char *train_dataset_name(enum train_dataset kind);

/* Writes a whole file with every key, its default and its meaning. */
void train_config_write_defaults(struct sink *sink);

#endif
