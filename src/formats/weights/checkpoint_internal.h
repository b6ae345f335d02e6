/* formats/weights/checkpoint_internal.h - what the readers of formats fill in.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_WEIGHTS_CHECKPOINT_INTERNAL_H
#define FORMATS_WEIGHTS_CHECKPOINT_INTERNAL_H

#include "base/arena.h"
#include "base/map.h"
#include "formats/weights/checkpoint.h"
#include "formats/zip_index_internal.h"

enum {
    CHECKPOINT_MAX_NAME = 1024, /* bytes */
    CHECKPOINT_MAX_TENSORS = 1 << 18,
};

struct checkpoint {
    enum checkpoint_kind kind;
    struct buffer *file;
    struct checkpoint_tensor *tensors;
    size_t n, capacity;
    struct arena names;
    struct map by_name; /* index into tensors */
    struct map notes;   /* pointers to texts in the arena */
};

/* A part of the file with a checksum, which is checked before a tensor in it is
 * used. */
struct checkpoint_part {
    struct zip_entry entry;
    bool is_checked;
};

/* A tensor as a reader found it: a view of elements of one type. */
struct checkpoint_view {
    const char *name;
    size_t name_bytes;
    size_t outer_bytes; /* as in struct checkpoint_tensor */
    enum dtype dtype;
    struct shape shape;
    const int64_t *strides; /* NULL: dense */
    const unsigned char *elements;
    uint64_t n_elements, first;
    struct checkpoint_part *part; /* that holds them, or NULL */
};

/* Adds it; ASSAY_BAD_INPUT if it reaches beyond its elements or its name is
 * taken. */
enum assay_status checkpoint_add(struct checkpoint *checkpoint,
                                 const struct checkpoint_view *view,
                                 struct error *err);

/* Keeps a copy of a note: see checkpoint_note(). */
enum assay_status checkpoint_add_note(struct checkpoint *checkpoint,
                                      const char *key, const char *value,
                                      struct error *err);

/* The readers. bytes are those of the checkpoint's file. */
enum assay_status torch_zip_read(struct checkpoint *checkpoint,
                                 const unsigned char *bytes, size_t n,
                                 struct error *err);
enum assay_status torch_legacy_read(struct checkpoint *checkpoint,
                                    const unsigned char *bytes, size_t n,
                                    struct error *err);
enum assay_status safetensors_read(struct checkpoint *checkpoint,
                                   const unsigned char *bytes, size_t n,
                                   struct error *err);

#endif
