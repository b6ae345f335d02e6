/* ops/sequence/packed_list.h - a list of tensors that is packed into one tensor
 * of bytes (DTYPE_SEQUENCE), so that all who move tensors can move it.
 *
 * A packed value may also say that there is nothing: an optional without an
 * element. What was unpacked is checked, whoever made the bytes.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_SEQUENCE_PACKED_LIST_H
#define OPS_SEQUENCE_PACKED_LIST_H

#include "tensor/tensor.h"

struct packed {
    bool is_none;
    struct tensor *items; /* borrow the packed tensor's memory */
    size_t n;
};

/* The caller closes it, before it releases `from`. */
enum assay_status packed_open(const struct tensor *from, struct packed *out,
                              struct error *err);
void packed_close(struct packed *packed);

/* Packs copies of dense tensors on the host. items NULL: nothing. */
enum assay_status packed_make(struct pool *pool, const struct tensor *items,
                              size_t n, struct tensor *out, struct error *err);

#endif
