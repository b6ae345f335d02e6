/* backend/dnnl/native_internal.h - oneDNN's own C interface, for the files that
 * call it: library.c, reorders.c, layout.c, cpu_limit.c and one of dnnl_v2.c
 * and dnnl_v3.c.
 *
 * Versions 2 and 3 describe memory and operations differently. dnnl_v2.c and
 * dnnl_v3.c have the same functions for it, and the build takes the one that
 * fits the library (CMakeLists.txt). All else that is called is the same in
 * both. Nobody else includes <dnnl.h>.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_DNNL_NATIVE_INTERNAL_H
#define BACKEND_DNNL_NATIVE_INTERNAL_H

#include "backend/dnnl/dnnl_internal.h"

#include <dnnl.h>

/* "oneDNN could not WHAT (unimplemented)"; ASSAY_OK where it could. */
enum assay_status onednn_status(dnnl_status_t status, const char *what,
                                struct error *err);

/* ---- processors ---------------------------------------------------------- */

extern const dnnl_cpu_isa_t native_isa_avx512; /* all that needs no tiles */
extern const dnnl_cpu_isa_t native_isa_all;

/* ---- memory -------------------------------------------------------------- */

/* How memory is described: version 2 has a struct for it, version 3 a handle.
 * Both are passed on as pointers, so that `void *` stands for either. */

/* The library's name of a type; float32 where it has none. */
dnnl_data_type_t native_type(enum dtype dtype);
enum dtype native_dtype(dnnl_data_type_t type);

/* By strides of float32. The caller gives it back with native_free(). */
dnnl_status_t native_by_tag(enum dtype dtype, const struct shape *shape,
                            dnnl_format_tag_t tag, void **out);
dnnl_status_t native_by_strides(const struct shape *shape,
                                const int64_t *strides, void **out);
/* A part of another: what lies at those offsets, in the memory of the whole. */
dnnl_status_t native_part(const void *whole, const struct shape *shape,
                          const int64_t *offsets, void **out);
dnnl_status_t native_copy(const void *native, void **out);
void native_free(void *native); /* accepts NULL */

/* Whether it is that of a tag; of a tag that does not fit the shape it is not.
 * Fails where there is no memory to tell. */
dnnl_status_t native_has_tag(const void *native, enum dtype dtype,
                             const struct shape *shape, dnnl_format_tag_t tag,
                             bool *out);
/* Puts into *layout what it says: type, shape, channels, blocks. */
void native_look(const void *native, struct layout *layout);

/* ---- operations ---------------------------------------------------------- */

/* What dst held is added to the result. */
dnnl_status_t native_append_sum(dnnl_post_ops_t operations);
dnnl_status_t native_append_eltwise(dnnl_post_ops_t operations,
                                    dnnl_alg_kind_t kind, float alpha,
                                    float beta);

/* Whether a bias is multiplied by the scales together with the sums. */
extern const bool native_scales_bias;
/* The scales of sums, and a zero of src that is given when it runs. */
dnnl_status_t native_set_scales(dnnl_primitive_attr_t attributes,
                                const struct quantisation *quantised);
/* Where a primitive takes them when it runs; 0: it does not. */
int native_scale_argument(enum role role);

/* The implementations of an operation, in the library's order. */
struct search {
    dnnl_primitive_desc_t found; /* where it stands; good until it moves on */
    dnnl_primitive_desc_t forward;
    /* Of version 2, whose iterator reads the descriptor until it ends. */
    struct dnnl_primitive_desc_iterator *iterator;
    void *descriptor;
};

/* Stands at the first one; dnnl_unimplemented where there is none. Whatever it
 * answers, search_end() follows. */
dnnl_status_t search_begin(const struct onednn *dn,
                           const struct operation *operation,
                           const_dnnl_primitive_attr_t attributes,
                           struct search *out);
/* dnnl_unimplemented after the last one. */
dnnl_status_t search_next(struct search *search);
void search_end(struct search *search);

/* ---- what both versions call alike (library.c) --------------------------- */

/* Arrays of oneDNN's length. */
struct dims {
    dnnl_dims_t of;
};
struct dims dims_of(const int64_t *values, int n);

dnnl_alg_kind_t operation_algorithm(const struct operation *operation);
dnnl_prop_kind_t operation_kind(const struct operation *operation);
/* What is fused, and scratch memory of ours: the library would keep its own.
 * operation NULL: nothing is fused. */
dnnl_status_t operation_attributes(const struct operation *operation,
                                   dnnl_primitive_attr_t *out);
/* The description of a layout; NULL for NULL. */
const void *layout_native(const struct layout *layout);
/* The layout that the implementation found wants for one of its arguments. */
enum assay_status search_layout(struct onednn *dn, const struct search *search,
                                dnnl_query_t what, const struct layout **out,
                                struct error *err);

/* Makes what is described; "oneDNN could not WHAT". See onednn_make(). */
enum assay_status primitive_make(const_dnnl_primitive_desc_t description,
                                 const char *what, dnnl_primitive_t *out,
                                 struct error *err);

/* Memory as the library is told of it. */
struct place {
    int argument; /* DNNL_ARG_... */
    const void *native;
    void *data;
    bool is_kept; /* native stays, and nothing fills up its last block */
};

struct place place_of(int argument, const struct layout *layout, void *data);
/* Runs it, and waits for it. At most N_ROLES places. */
enum assay_status primitive_run(struct onednn *dn, dnnl_primitive_t primitive,
                                const struct place *places, size_t n,
                                struct error *err);

/* Where a hash table of n slots has what belongs to two addresses. */
size_t pair_slot(const void *a, const void *b, size_t n);

/* ---- reorders.c ---------------------------------------------------------- */

void reorders_forget(struct onednn *dn);

#endif
