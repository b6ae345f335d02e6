/* data/coco_read.h - reads COCO's annotation files as a stream.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DATA_COCO_READ_H
#define DATA_COCO_READ_H

#include "data/dataset_internal.h"

/* The source of the file: its path, or a text in memory. */
struct coco_source {
    const char *path;
    const char *text; /* NULL: read the path */
    size_t n;
};

/* Fills in classes and images, in the order of their ids; the paths of the
 * images are their names in the file. Holds only annotations of images within
 * the limit at any time. Reads the file twice if annotations come before the
 * images. */
enum assay_status coco_read(struct dataset *dataset,
                            const struct coco_source *source,
                            const struct dataset_options *options,
                            struct error *err);

#endif
