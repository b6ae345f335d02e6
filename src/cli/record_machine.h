/* cli/record_machine.h - what the machine of a recorded program can do at best.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_RECORD_MACHINE_H
#define CLI_RECORD_MACHINE_H

#include "base/error.h"

/* Adds the peaks of the device that the model ran on to a run file, so that it
 * says what bounds each module. Peaks that were never measured, by `assay
 * machine` or `assay run`, stay unknown: the screen must not wait for that. On
 * failure the file stays as it is. */
enum assay_status record_add_peaks(const char *path, struct error *err);

#endif
