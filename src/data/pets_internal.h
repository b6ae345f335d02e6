/* data/pets_internal.h - the parts of an Oxford-IIIT Pet dataset.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DATA_PETS_INTERNAL_H
#define DATA_PETS_INTERNAL_H

#include "data/dataset_internal.h"

/* A map of an image: 1 is the animal, 2 is what is behind it, 3 the border of
 * both. Start from {0}. */
struct trimap {
    int width, height;
    uint8_t *is_pet; /* 0 and 1, rows top down */
};

enum assay_status trimap_read(const char *path, struct trimap *out,
                              struct error *err);
void trimap_release(struct trimap *trimap);
/* The box around the animal; false where there is none. */
bool trimap_box(const struct trimap *trimap, struct dataset_object *object);
/* What of the animal is in a box, as COCO's compressed text; none where it is
 * nothing. */
enum assay_status trimap_text(const struct trimap *trimap,
                              const struct dataset_object *object,
                              struct str *text, struct error *err);

/* Notes the files in the folders that no line of list.txt asks for. */
enum assay_status pets_list_strays(struct dataset *dataset, const char *root,
                                   struct error *err);

#endif
