/* formats/torch/torch_tree_internal.h - from the nested dicts of a checkpoint
 * to named tensors.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_TORCH_TORCH_TREE_INTERNAL_H
#define FORMATS_TORCH_TORCH_TREE_INTERNAL_H

#include "formats/torch/torch_values_internal.h"
#include "formats/weights/checkpoint_internal.h"

/* Where a format keeps the elements of a storage's key. Sets *bytes to the
 * first of them; all those that the storage wants are there. Sets *part where
 * the format can tell whether they are intact. */
struct torch_storages {
    enum assay_status (*find)(void *context,
                              const struct torch_storage *storage,
                              const unsigned char **bytes,
                              struct checkpoint_part **part, struct error *err);
    void *context;
};

/* Adds all tensors under root to the checkpoint. Lists count from 0. */
enum assay_status torch_tree_add(struct checkpoint *checkpoint,
                                 const struct pickle_value *root,
                                 const struct torch_storages *storages,
                                 struct error *err);

#endif
