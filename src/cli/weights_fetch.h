/* cli/weights_fetch.h - downloads published weights.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_WEIGHTS_FETCH_H
#define CLI_WEIGHTS_FETCH_H

#include "formats/weights/published.h"

/* From BASE/FILE (NULL: where they are published) to a path, with progress on
 * standard error. otherwise: what to do without a network. */
enum assay_status weights_fetch_to(const struct published *published,
                                   const char *base, const char *path,
                                   const char *otherwise, struct error *err);

#endif
