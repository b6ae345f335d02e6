/* backend/dnnl/own_winograd.h - Winograd kernels of ours among oneDNN's.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_DNNL_OWN_WINOGRAD_H
#define BACKEND_DNNL_OWN_WINOGRAD_H

#include "backend/dnnl/dnnl_internal.h"

/* Adds those that can do the job. */
void own_winograd_list(const struct job *job, struct candidates *list);
/* Whether a candidate is one of ours. */
bool own_winograd_has(const char *name);
/* ASSAY_NOT_FOUND where it cannot do the job. */
enum assay_status own_winograd_make(struct onednn *dn, const struct job *job,
                                    const char *name, struct kernel **out,
                                    struct error *err);
uint64_t own_winograd_tiles(const struct kernel *kernel);
uint64_t own_winograd_inputs(const struct kernel *kernel); /* of a group */
void own_winograd_pack(const struct kernel *kernel, const float *weights,
                       float *packed);
void own_winograd_run(const struct job *job, const struct kernel *kernel,
                      const struct operands *operands, void *scratch);

#endif
