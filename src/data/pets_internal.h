/* data/pets_internal.h - the parts of an Oxford-IIIT Pet dataset.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DATA_PETS_INTERNAL_H
#define DATA_PETS_INTERNAL_H

#include "data/dataset_internal.h"

/* Notes files in the folders that no list names. */
enum assay_status pets_list_strays(struct dataset *dataset, const char *root,
                                   struct error *err);

#endif
