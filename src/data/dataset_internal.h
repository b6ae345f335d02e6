/* data/dataset_internal.h - the contents of a dataset, and how it is filled.
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
    void *content; /* the class's own, for close() */
    bool has_objects;
    bool has_both; /* objects, and a class per image */
};

/* Fills a dataset that is {0}; on failure it is closed. */
typedef enum assay_status dataset_opener(struct dataset *dataset,
                                         const struct dataset_options *options,
                                         struct error *err);

/* A kind of dataset. Everything but the opener may be NULL: added images are
 * then files, and there is no content. */
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

/* Appends a copy of the name; fails only with ASSAY_NOMEM. */
enum assay_status dataset_add_class(struct dataset *dataset, const char *name,
                                    size_t n, struct error *err);
/* Appends an image with the next number; the rest is the caller's. */
enum assay_status dataset_add_image(struct dataset *dataset,
                                    const struct dataset_target *image,
                                    struct error *err);
/* Adds a note about something odd. */
enum assay_status dataset_note(struct dataset *dataset, struct error *err,
                               const char *format, ...) ASSAY_PRINTF(3, 4);
/* ASSAY_BAD_INPUT if a picture does not have the size of its annotation. */
enum assay_status dataset_check_size(const struct dataset_target *target,
                                     const struct picture *picture,
                                     struct error *err);
/* Formats a text that lives as long as the dataset. */
enum assay_status dataset_text(struct dataset *dataset, const char **out,
                               struct error *err, const char *format, ...)
    ASSAY_PRINTF(4, 5);

/* Compares two texts, for qsort() and bsearch(). */
int dataset_by_text(const void *a, const void *b);

/* Whether path/name is a folder. */
bool folder_has(const char *path, const char *name);

#endif
