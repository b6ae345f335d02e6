/* formats/weights/checkpoint.h - the named tensors of a file of weights.
 *
 * Reads what torch.save writes (zip archives, and the older format), and
 * safetensors; which one it is shows in the content. The file is mapped, not
 * read: a tensor costs nothing until its elements are touched. Nothing that a
 * file says is executed.
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
    CHECKPOINT_TORCH_LEGACY, /* torch.save before, still read by all */
    CHECKPOINT_SAFETENSORS
};

struct checkpoint_tensor {
    const char *name; /* keys of nested dicts joined with "." */
    enum dtype dtype;
    struct shape shape;
    /* Where the elements lie in the file; for checkpoint_load(). */
    const unsigned char *first;      /* NULL: it has none */
    int64_t strides[SHAPE_MAX_RANK]; /* in elements */
    struct checkpoint_part *part;    /* what they are checked with; NULL */
    size_t outer_bytes; /* of the first key, where it names a dict; else 0 */
};

/* Every tensor's elements lie inside the file, and no two have one name. */
enum assay_status checkpoint_open(const char *path, struct checkpoint **out,
                                  struct error *err);
/* The same over memory, which it takes another reference to. */
enum assay_status checkpoint_read(struct buffer *file, struct checkpoint **out,
                                  struct error *err);
void checkpoint_free(struct checkpoint *checkpoint); /* accepts NULL */

enum checkpoint_kind checkpoint_kind(const struct checkpoint *checkpoint);
const char *checkpoint_kind_text(enum checkpoint_kind kind);

/* What a safetensors file says beside its tensors, in its "__metadata__";
 * NULL where it does not. Borrowed until it is freed. */
const char *checkpoint_note(const struct checkpoint *checkpoint,
                            const char *key);
/* The key of a note that says that first keys of the names ("model.fc.weight")
 * name dicts, which formats without dicts cannot show. */
#define CHECKPOINT_HAS_DICTS "assay.dicts"

/* In the order of the file. Borrowed until it is unwrapped or freed. */
size_t checkpoint_count(const struct checkpoint *checkpoint);
const struct checkpoint_tensor *
checkpoint_tensor(const struct checkpoint *checkpoint, size_t i);
/* By name; false where there is none. */
bool checkpoint_find(const struct checkpoint *checkpoint, const char *name,
                     size_t *i);

/* Keeps only a model's own tensors where a training run saved more around
 * them: those in the dict "state_dict", "model_state_dict" or "model" of the
 * file's outermost dict, without that key; and removes a "module." that stands
 * before all names. */
enum assay_status checkpoint_unwrap(struct checkpoint *checkpoint,
                                    struct error *err);

/* A tensor's data, dense: the mapped file itself where it lies there so and
 * is aligned for its type, else a copy from the pool. It may be written to,
 * which never reaches the file, and may outlive the checkpoint.
 * ASSAY_BAD_INPUT where the file has a sum of it (zip archives have), and it
 * is another one. One thread at a time. */
enum assay_status checkpoint_load(const struct checkpoint *checkpoint, size_t i,
                                  struct pool *pool, struct tensor *out,
                                  struct error *err);

/* Reads all tensors that the file has sums of, and checks those. */
enum assay_status checkpoint_check(const struct checkpoint *checkpoint,
                                   struct error *err);

#endif
