/* backend/dnnl/concat_places.h - parts of a concatenation that are made where
 * they belong, for the files that make them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_DNNL_CONCAT_PLACES_H
#define BACKEND_DNNL_CONCAT_PLACES_H

#include "backend/dnnl/dnnl_internal.h"

/* layout_tensor() for the job's output: a part of a Concat's where it becomes
 * one. */
enum assay_status places_tensor(struct onednn *dn, const struct job *job,
                                const struct layout *layout, struct tensor *y,
                                struct error *err);
/* The output of a Concat, with the parts that were made in it. */
enum assay_status places_concat(struct onednn *dn, const struct job *job,
                                const struct layout *layout, struct tensor *y,
                                struct error *err);
/* Whether an input of a Concat lies in its output, from that channel on. */
bool places_is_there(const struct tensor *part, const struct tensor *whole,
                     int64_t first);
/* Remembers where the inputs of a Concat go, for the next time. */
void places_note(struct onednn *dn, const struct job *job,
                 const struct tensor *const *inputs,
                 const struct tensor *whole);
/* What was begun and not used: after a pass that failed. Accepts NULL. */
void places_drop(struct places *places);
void places_free(struct places *places); /* accepts NULL */

#endif
