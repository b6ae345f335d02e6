/* backend/dnnl/grouped.h - convolutions of 1x1 in groups, or of picked
 * channels.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_DNNL_GROUPED_H
#define BACKEND_DNNL_GROUPED_H

#include "backend/dnnl/dnnl_internal.h"

bool grouped_takes(const struct onednn *dn, const struct job *job);
enum assay_status grouped_make(struct onednn *dn, const struct job *job,
                               struct kernel **out, struct error *err);
void grouped_pack(const struct kernel *kernel, const float *weights,
                  float *packed);
void grouped_run(const struct job *job, const struct kernel *kernel,
                 const struct operands *operands, void *scratch);

#endif
