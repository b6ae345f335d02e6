/* formats/weights/checkpoint_write.h - writes files of named tensors.
 *
 * A file appears under its name, and replaces an older one, only when it is
 * complete (base/file.h).
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_WEIGHTS_CHECKPOINT_WRITE_H
#define FORMATS_WEIGHTS_CHECKPOINT_WRITE_H

#include "base/error.h"
#include "tensor/tensor.h"

struct named_tensor {
    const char *name;
    const struct tensor *tensor; /* dense */
};

struct named_text {
    const char *key, *text;
};

/* Writes the tensors in this order, and the texts as "__metadata__". Elements
 * are aligned for their types if larger types come first. */
enum assay_status safetensors_write(const char *path,
                                    const struct named_tensor *tensors,
                                    size_t n, const struct named_text *texts,
                                    size_t n_texts, struct error *err);

/* Writes what torch.save() writes for a state_dict. ASSAY_UNSUPPORTED if the
 * file would have 4 GiB or more, or PyTorch does not have a type. */
enum assay_status torch_zip_write(const char *path,
                                  const struct named_tensor *tensors, size_t n,
                                  struct error *err);

#endif
