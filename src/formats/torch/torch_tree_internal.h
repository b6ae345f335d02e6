/* formats/torch/torch_tree_internal.h - turns the nested dicts of a checkpoint
 * into named tensors.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_TORCH_TORCH_TREE_INTERNAL_H
#define FORMATS_TORCH_TORCH_TREE_INTERNAL_H

#include "formats/torch/torch_values_internal.h"
#include "formats/weights/checkpoint_internal.h"

/* Finds the elements of a storage in a format. Sets *bytes to the first one and
 * checks that the storage is complete. Sets *part if the format has checksums,
 * else to NULL. */
struct torch_storages {
    enum assay_status (*find)(void *context,
                              const struct torch_storage *storage,
                              const unsigned char **bytes,
                              struct checkpoint_part **part, struct error *err);
    void *context;
};

/* Adds all tensors under root to the checkpoint. List items are named 0, 1...
 */
enum assay_status torch_tree_add(struct checkpoint *checkpoint,
                                 const struct pickle_value *root,
                                 const struct torch_storages *storages,
                                 struct error *err);

#endif
