/* metrics/measured_run.h - a model run for what it takes.
 *
 * SPDX-License-Identifier: MIT */
#ifndef METRICS_MEASURED_RUN_H
#define METRICS_MEASURED_RUN_H

#include "detect/detect.h"
#include "run/run.h"

/* Runs the job without a file; options.run_path is not looked at. The caller
 * frees *out. */
enum assay_status measured_run(const struct detect_options *options,
                               struct run **out, struct error *err);

#endif
