/* data/coco_read.h - COCO's annotation files, read as a stream.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DATA_COCO_READ_H
#define DATA_COCO_READ_H

#include "data/dataset_internal.h"

/* Where the file is read from: its path, or a text in memory. */
struct coco_source {
    const char *path;
    const char *text; /* NULL: from the path */
    size_t n;
};

/* Fills classes and images, in the order of their ids; the paths of the images
 * are their names in the file. Of annotations only those of images within the
 * limit are held at any time. The file is read twice where annotations stand
 * before the images. */
enum assay_status coco_read(struct dataset *dataset,
                            const struct coco_source *source,
                            const struct dataset_options *options,
                            struct error *err);

#endif
