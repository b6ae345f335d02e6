/* metrics/profiler_arguments.h - which arguments a profiler's functions take.
 *
 * SPDX-License-Identifier: MIT */
#ifndef METRICS_PROFILER_ARGUMENTS_H
#define METRICS_PROFILER_ARGUMENTS_H

#include "base/error.h"

#include <assay/profiler.h>

/* ASSAY_BAD_USAGE, with the nearest, where no function that was registered
 * takes an argument of this name: setting it would change nothing. */
enum assay_status profiler_check_argument(const struct assay_profiler *profiler,
                                          const char *name, struct error *err);

#endif
