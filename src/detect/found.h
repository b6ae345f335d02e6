/* detect/found.h - what a model found on one photograph, whatever it says it
 * with.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DETECT_FOUND_H
#define DETECT_FOUND_H

#include "detect/frame.h"
#include "ops/detection/boxes.h"

struct found_item {
    struct box box; /* in pixels of the photograph; not of classes */
    float score;
    int64_t label;
    const uint8_t *mask; /* NULL: none; borrowed from the session */
};

/* Start from {0}; the surest first. */
struct found {
    struct found_item *items;
    size_t n, capacity;
    bool has_boxes;
};

void found_release(struct found *found);
/* Room for so many more. */
enum assay_status found_reserve(struct found *found, size_t n,
                                struct error *err);

/* What the decoders look at. */
struct found_source {
    const struct session *session;
    const struct detect_options *options;
    size_t image;      /* of the batch */
    int width, height; /* of the photograph */
};

/* Reads the outputs as options.decode says. */
enum assay_status found_decode(const struct found_source *source,
                               struct found *found, struct error *err);

/* The name of a class: of a file, COCO's where it can be theirs, or its number,
 * written to the buffer. */
const char *found_name(const struct detect_options *options,
                       const struct session *session, int64_t label,
                       char *buffer, size_t size);

/* A line for each item that has the score, or one for all classes; with
 * options.found_as_json one for all items:
 * {"photograph": "a.jpg", "items": [{"label": 17, "name": "cat", ...}]}.
 * name: of the photograph. */
void found_list(const struct found *found, const struct found_source *source,
                const char *name, struct sink *sink);

/* ---- decoders: decode_boxes.c, decode_classes.c, decode_detector.c --------
 */

typedef enum assay_status decode_outputs(const struct found_source *source,
                                         struct found *found,
                                         struct error *err);

decode_outputs decode_detector, decode_classes, decode_yolov8, decode_ssd;

#endif
