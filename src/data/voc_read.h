/* data/voc_read.h - reads the annotations of one image in Pascal VOC's format.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DATA_VOC_READ_H
#define DATA_VOC_READ_H

#include "base/arena.h"
#include "data/dataset.h"

struct voc_object {
    const char *name; /* of its class */
    struct dataset_object object;
};

/* Start from {0}. */
struct voc_annotation {
    int width, height; /* 0: unknown */
    struct voc_object *objects;
    size_t n, capacity;
};

/* Texts go into the arena. The caller releases *out, also on failure. name: for
 * messages. */
enum assay_status voc_read_text(const char *text, size_t n, const char *name,
                                struct arena *memory,
                                struct voc_annotation *out, struct error *err);
void voc_annotation_release(struct voc_annotation *annotation);

#endif
