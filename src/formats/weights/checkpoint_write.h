/* formats/weights/checkpoint_write.h - files of named tensors.
 *
 * A file appears under its name when it is whole (base/file.h), and replaces
 * an older one only then.
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

/* Tensors in this order; the texts are its "__metadata__". Elements are aligned
 * for their types where the larger types come first. */
enum assay_status safetensors_write(const char *path,
                                    const struct named_tensor *tensors,
                                    size_t n, const struct named_text *texts,
                                    size_t n_texts, struct error *err);

/* What torch.save() writes for a state_dict, and torch.load() reads.
 * ASSAY_UNSUPPORTED where the file would have 4 GiB or more, or PyTorch has no
 * such type. */
enum assay_status torch_zip_write(const char *path,
                                  const struct named_tensor *tensors, size_t n,
                                  struct error *err);

#endif
