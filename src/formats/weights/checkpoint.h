/* formats/weights/checkpoint.h - reads the named tensors of a file of weights.
 *
 * Formats are those of torch.save (zip archives, and the older one) and
 * safetensors, told apart by their content. The file is mapped: a tensor costs
 * nothing until its elements are touched. Nothing in a file is executed.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_WEIGHTS_CHECKPOINT_H
#define FORMATS_WEIGHTS_CHECKPOINT_H

#include "base/error.h"
#include "tensor/tensor.h"

#include <stdbool.h>

struct checkpoint;
struct checkpoint_part;

enum checkpoint_kind {
    CHECKPOINT_TORCH_ZIP,    /* torch.save since 1.6 */
    CHECKPOINT_TORCH_LEGACY, /* torch.save before 1.6 */
    CHECKPOINT_SAFETENSORS
};

struct checkpoint_tensor {
    const char *name; /* keys of nested dicts joined with "." */
    enum dtype dtype;
    struct shape shape;
    /* The elements in the file; for checkpoint_load(). */
    const unsigned char *first;      /* NULL: it has none */
    int64_t strides[SHAPE_MAX_RANK]; /* in elements */
    struct checkpoint_part *part;    /* with their checksum, or NULL */
    size_t outer_bytes; /* of the first key, if it names a dict; else 0 */
};

/* Checks that every tensor's elements are inside the file and that no two have
 * the same name. */
enum assay_status checkpoint_open(const char *path, struct checkpoint **out,
                                  struct error *err);
/* The same for a file in memory; takes a reference to it. */
enum assay_status checkpoint_read(struct buffer *file, struct checkpoint **out,
                                  struct error *err);
void checkpoint_free(struct checkpoint *checkpoint); /* accepts NULL */

enum checkpoint_kind checkpoint_kind(const struct checkpoint *checkpoint);
const char *checkpoint_kind_text(enum checkpoint_kind kind);

/* An entry of a safetensors file's "__metadata__"; NULL if there is none.
 * Borrowed until the checkpoint is freed. */
const char *checkpoint_note(const struct checkpoint *checkpoint,
                            const char *key);
/* A note with this key says that the first keys of the names
 * ("model.fc.weight") name dicts, which safetensors does not have. */
#define CHECKPOINT_HAS_DICTS "assay.dicts"

/* In the order of the file. Borrowed until the checkpoint is unwrapped or
 * freed. */
size_t checkpoint_count(const struct checkpoint *checkpoint);
const struct checkpoint_tensor *
checkpoint_tensor(const struct checkpoint *checkpoint, size_t i);
/* By name; false if there is none. */
bool checkpoint_find(const struct checkpoint *checkpoint, const char *name,
                     size_t *i);

/* Keeps only a model's own tensors if a training run saved more: those in the
 * outermost dict's "state_dict", "model_state_dict" or "model", without that
 * key. Removes "module." if all names begin with it. */
enum assay_status checkpoint_unwrap(struct checkpoint *checkpoint,
                                    struct error *err);

/* Loads a tensor, dense: the mapped file itself if the elements are dense and
 * aligned there, else a copy from the pool. Writing to it never changes the
 * file, and it may outlive the checkpoint. ASSAY_BAD_INPUT if the checksum is
 * wrong (zip archives have them). Not thread-safe. */
enum assay_status checkpoint_load(const struct checkpoint *checkpoint, size_t i,
                                  struct pool *pool, struct tensor *out,
                                  struct error *err);

/* Checks all tensors that have a checksum. */
enum assay_status checkpoint_check(const struct checkpoint *checkpoint,
                                   struct error *err);

#endif
