/* detect/annotate.h - what the recorder cannot know goes into the run file:
 * the arithmetic of every module, the model, the settings.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DETECT_ANNOTATE_H
#define DETECT_ANNOTATE_H

#include "detect/frame.h"

/* Rewrites the run file at options.run_path. */
enum assay_status annotate_run(const struct detect_options *options,
                               const struct session *session,
                               const struct findings *findings,
                               const struct detect_report *report,
                               struct error *err);

#endif
