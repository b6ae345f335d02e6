/* data/dataset.h - images with answers: CIFAR, folders of classes, COCO, VOC,
 * Oxford-IIIT Pet, and synthetic ones.
 *
 * A dataset is a folder of the user's, or for COCO also an annotation file.
 * Annotations are read when it is opened, pictures on demand. Several threads
 * may read from one. docs/datasets.md describes the layouts.
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

/* Images of coloured shapes, made on demand. The same seed gives the same
 * images; each split has its own. */
struct synthetic_options {
    int width, height; /* 0: 256 */
    size_t n_classes;  /* 0: 3. Rectangles, circles and triangles in turn, each
                          class with its own colour */
    uint64_t seed;
    bool has_one; /* one object per image, whose class is the image's */
};

struct dataset_options {
    enum dataset_kind kind;
    enum dataset_split split;
    const char *path;     /* NULL if none is needed, as for synthetic ones */
    size_t limit;         /* most samples; 0: all, or 1000 synthetic ones */
    bool keeps_shapes;    /* of objects, for dataset_object_mask() */
    bool has_no_pictures; /* COCO and VOC: only the annotations are there; the
                             path of a target is then the name in them */
    bool lists_strays;    /* among the notes: files that belong to no sample */
    struct synthetic_options synthetic;
};

/* The shape of an object, as written in the file; all NULL if it has none. */
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
    bool is_crowd;     /* many objects that were not separated */
    bool is_difficult; /* not counted if it is missed */
    struct dataset_shape shape;
};

/* What is known about a sample. Borrowed from the dataset. */
struct dataset_target {
    const char *path;  /* of the file with the picture, or its name */
    int64_t id;        /* COCO's, else the sample's number */
    int64_t label;     /* of its only class; -1: none or several */
    int width, height; /* 0: unknown until the picture is read */
    const struct dataset_object *objects;
    size_t n_objects;
};

struct dataset;

/* If anything is missing, the message says what and where it was looked for. */
enum assay_status dataset_open(const struct dataset_options *options,
                               struct dataset **out, struct error *err);
void dataset_close(struct dataset *dataset); /* accepts NULL */

size_t dataset_count(const struct dataset *dataset);
/* The classes in the order of labels; their ids are COCO's numbers, or the
 * labels for other datasets. */
size_t dataset_class_count(const struct dataset *dataset);
const char *dataset_class_name(const struct dataset *dataset, size_t label);
int64_t dataset_class_id(const struct dataset *dataset, size_t label);
bool dataset_has_objects(const struct dataset *dataset);
/* Whether an image has a class of its own; some datasets have both. */
bool dataset_has_classes(const struct dataset *dataset);

/* Notes from opening it, one line each: samples that were left out and why,
 * annotations that are of no use. Borrowed. */
size_t dataset_odd_count(const struct dataset *dataset);
const char *dataset_odd(const struct dataset *dataset, size_t i);

/* Whether a sample's target is in memory; otherwise a file is read for it. */
bool dataset_is_at_hand(const struct dataset *dataset, size_t i);

/* i: below dataset_count(). The caller releases the picture. */
enum assay_status dataset_target(const struct dataset *dataset, size_t i,
                                 struct dataset_target *out, struct error *err);
enum assay_status dataset_picture(const struct dataset *dataset, size_t i,
                                  struct picture *out, struct error *err);

/* The pixels of an object in an image of this size; its box if the file has no
 * shape. The caller releases the mask. */
enum assay_status dataset_object_mask(const struct dataset_object *object,
                                      int width, int height, struct mask *out,
                                      struct error *err);

#endif
