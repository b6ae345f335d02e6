/* formats/torch/pickle_internal.h - reads the pickles that torch.save writes.
 *
 * A pickle is a program for a small stack machine. This one knows the opcodes
 * of protocols 2 to 4 that make plain values, and the names of
 * torch_values_internal.h; everything else is refused by name, and nothing is
 * executed. No input makes it recurse, and what it takes in memory is bounded
 * by the pickle's size.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_TORCH_PICKLE_INTERNAL_H
#define FORMATS_TORCH_PICKLE_INTERNAL_H

#include "formats/torch/pickle_value_internal.h"

struct pickle;

enum assay_status pickle_new(struct pickle **out, struct error *err);
/* The values go with it. Accepts NULL. */
void pickle_free(struct pickle *pickle);

/* Reads one pickle from the beginning of the bytes, which must outlive the
 * values, and sets *used to how many it has. */
enum assay_status pickle_read(struct pickle *pickle, const unsigned char *bytes,
                              size_t n, size_t *used, struct pickle_value **out,
                              struct error *err);

/* The storages that the last pickle named, each as often as it did; linked,
 * the last one first. */
const struct torch_storage *pickle_storages(const struct pickle *pickle);

#endif
