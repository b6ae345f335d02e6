/* data/dataset.h - images with answers: CIFAR, folders of classes, COCO, VOC,
 * Oxford-IIIT Pet, and ones that are made up.
 *
 * A dataset is a folder of the user's, or for COCO an annotation file too. What
 * is known of its samples is read when it is opened, pictures when they are
 * asked for. Several threads may read from one. docs/datasets.md has the
 * layouts.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DATA_DATASET_H
#define DATA_DATASET_H

#include "data/mask.h"
#include "picture/picture.h"

enum dataset_kind {
    DATASET_CIFAR10,
    DATASET_CIFAR100,
    DATASET_IMAGEFOLDER,
    DATASET_COCO,
    DATASET_VOC,
    DATASET_PETS,
    DATASET_SYNTHETIC,
    N_DATASET_KINDS
};

enum dataset_split { DATASET_TRAIN, DATASET_TEST };

/* "cifar10", "coco". */
const char *dataset_kind_name(enum dataset_kind kind);

/* Images of coloured shapes, made up when they are asked for. The same seed
 * gives the same ones; a split has ones of its own. */
struct synthetic_options {
    int width, height; /* 0: 256 */
    size_t n_classes;  /* 0: 3. Rectangles, circles and triangles in turn, each
                          class of a colour of its own */
    uint64_t seed;
    bool has_one; /* an object an image, whose class is the image's */
};

struct dataset_options {
    enum dataset_kind kind;
    enum dataset_split split;
    const char *path;  /* NULL: none is needed, as for synthetic ones */
    size_t limit;      /* of samples; 0: none, of synthetic ones 1000 */
    bool keeps_shapes; /* of objects, for dataset_object_mask() */
    bool lists_strays; /* among what is odd: files that belong to no sample */
    struct synthetic_options synthetic;
};

/* What an object covers, as it is written in the file; all NULL where it is
 * not. */
struct dataset_shape {
    const struct polygon *polygons;
    size_t n_polygons;
    const uint32_t *runs;
    size_t n_runs;
    const char *text; /* compressed runs */
    size_t n_text;
};

struct dataset_object {
    double x, y, width, height; /* in pixels; 0,0 is the upper left corner of
                                   the upper left pixel */
    double area;
    size_t label;      /* of the dataset's classes */
    bool is_crowd;     /* many, of which none was told apart */
    bool is_difficult; /* not to be counted as missed */
    struct dataset_shape shape;
};

/* What is known of a sample. Borrowed from the dataset, but for the label. */
struct dataset_target {
    const char *path;  /* of the file that holds the picture, or its name */
    int64_t id;        /* COCO's; else the sample's number */
    int64_t label;     /* of its only class; -1: it has none or several */
    int width, height; /* 0: known when the picture is read */
    const struct dataset_object *objects;
    size_t n_objects;
};

struct dataset;

/* What is missing is named in the error, with where it was looked for. */
enum assay_status dataset_open(const struct dataset_options *options,
                               struct dataset **out, struct error *err);
void dataset_close(struct dataset *dataset); /* accepts NULL */

size_t dataset_count(const struct dataset *dataset);
/* The classes, in the order of labels; their ids are COCO's numbers, elsewhere
 * the labels again. */
size_t dataset_class_count(const struct dataset *dataset);
const char *dataset_class_name(const struct dataset *dataset, size_t label);
int64_t dataset_class_id(const struct dataset *dataset, size_t label);
bool dataset_has_objects(const struct dataset *dataset);
/* Whether an image has a class of its own; some have both. */
bool dataset_has_classes(const struct dataset *dataset);

/* What was found odd when it was opened, a line each: samples that are left out
 * and why, annotations that are of no use. Borrowed. */
size_t dataset_odd_count(const struct dataset *dataset);
const char *dataset_odd(const struct dataset *dataset, size_t i);

/* Whether what is known of a sample is at hand; else a file is read for it. */
bool dataset_is_at_hand(const struct dataset *dataset, size_t i);

/* i: below dataset_count(). The caller releases the picture. */
enum assay_status dataset_target(const struct dataset *dataset, size_t i,
                                 struct dataset_target *out, struct error *err);
enum assay_status dataset_picture(const struct dataset *dataset, size_t i,
                                  struct picture *out, struct error *err);

/* The pixels of an object, in an image of this size; its box where the file
 * says nothing better. The caller releases the mask. */
enum assay_status dataset_object_mask(const struct dataset_object *object,
                                      int width, int height, struct mask *out,
                                      struct error *err);

#endif
