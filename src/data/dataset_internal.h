/* data/dataset_internal.h - what a dataset holds, and who fills it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DATA_DATASET_INTERNAL_H
#define DATA_DATASET_INTERNAL_H

#include "base/arena.h"
#include "data/dataset.h"

struct dataset_class;

struct dataset {
    const struct dataset_class *class;
    struct arena memory; /* of all texts and objects */
    const char **classes;
    int64_t *class_ids; /* NULL: the labels */
    size_t n_classes, classes_capacity;
    size_t n; /* samples */
    struct dataset_target *images;
    size_t images_capacity;
    const char **odd; /* lines */
    size_t n_odd, odd_capacity;
    void *content; /* the class's own, of which close() is told */
    bool has_objects;
    bool has_both; /* objects, and a class an image */
};

/* Fill a dataset that is {0}; what they leave on failure is closed. */
typedef enum assay_status dataset_opener(struct dataset *dataset,
                                         const struct dataset_options *options,
                                         struct error *err);

/* A way to keep images. All but the opener may be NULL: images that were added
 * are files, and there is no content. */
struct dataset_class {
    const char *name;
    bool is_made_up; /* needs no path */
    dataset_opener *open;
    enum assay_status (*target)(const struct dataset *dataset, size_t i,
                                struct dataset_target *out, struct error *err);
    enum assay_status (*picture)(const struct dataset *dataset, size_t i,
                                 struct picture *out, struct error *err);
    bool (*is_at_hand)(const struct dataset *dataset, size_t i);
    void (*close)(void *content); /* accepts NULL */
};

extern const struct dataset_class cifar10_class, cifar100_class,
    imagefolder_class, coco_class, voc_class, pets_class, synthetic_class;

/* Appends a copy of the name; ASSAY_NOMEM alone. */
enum assay_status dataset_add_class(struct dataset *dataset, const char *name,
                                    size_t n, struct error *err);
/* Appends an image with the number that follows; all else is the caller's. */
enum assay_status dataset_add_image(struct dataset *dataset,
                                    const struct dataset_target *image,
                                    struct error *err);
/* Notes something odd. */
enum assay_status dataset_note(struct dataset *dataset, struct error *err,
                               const char *format, ...) ASSAY_PRINTF(3, 4);
/* Formats a text that lives as long as the dataset. */
enum assay_status dataset_text(struct dataset *dataset, const char **out,
                               struct error *err, const char *format, ...)
    ASSAY_PRINTF(4, 5);

/* path/name is a folder. */
bool folder_has(const char *path, const char *name);

#endif
