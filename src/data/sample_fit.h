/* data/sample_fit.h - how a picture becomes what a classifier reads.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DATA_SAMPLE_FIT_H
#define DATA_SAMPLE_FIT_H

#include "picture/picture.h"

/* Writes float32 [3,height,width]. Called by several threads at once. */
struct sample_fit {
    int width, height;
    enum assay_status (*apply)(const void *context,
                               const struct picture *picture, float *out,
                               struct error *err);
    const void *context;
};

#endif
