/* formats/torch/torch_values_internal.h - the few classes and functions of
 * PyTorch that a checkpoint may name.
 *
 * Nothing is ever imported or called: a name is looked up in a table, and its
 * arguments become a description of a tensor.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_TORCH_TORCH_VALUES_INTERNAL_H
#define FORMATS_TORCH_TORCH_VALUES_INTERNAL_H

#include "formats/torch/pickle_internal.h"
#include "tensor/tensor.h"

/* An array of elements that tensors are views of. */
struct torch_storage {
    enum dtype dtype;
    struct pickle_text key; /* names the bytes inside the file */
    uint64_t first;         /* element of those bytes */
    uint64_t n_elements;
    struct torch_storage *next; /* in the list of a pickle's storages */
};

struct torch_tensor {
    const struct torch_storage *storage;
    int64_t offset; /* of the first element in the storage, in elements */
    struct shape shape;
    int64_t strides[SHAPE_MAX_RANK]; /* in elements */
};

/* Finds module.name; ASSAY_UNSUPPORTED names it if it is not in the table. */
enum assay_status torch_global_find(const struct pickle_text *module,
                                    const struct pickle_text *name,
                                    const struct torch_global **out,
                                    struct error *err);

/* "FloatStorage"; NULL: PyTorch 1.13 has no tensors of this type. */
const char *torch_storage_class(enum dtype dtype);

/* The name in such a refusal, "models.yolo.Model"; false for other failures. */
bool torch_refused_name(const struct error *err, char *name, size_t size);

/* Makes what Python would get from calling it with the arguments (a tuple). */
enum assay_status torch_global_apply(struct arena *arena,
                                     const struct torch_global *global,
                                     struct pickle_value *arguments,
                                     struct pickle_value **out,
                                     struct error *err);

/* Makes the storage that a persistent id stands for: ('storage', class, key,
 * location, elements), in the older format followed by a part of it. */
enum assay_status torch_storage_of(struct arena *arena,
                                   const struct pickle_value *id,
                                   struct pickle_value **out,
                                   struct error *err);

#endif
