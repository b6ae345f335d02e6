/* cli/report_file.h - an HTML report with the pictures that belong to it: what
 * `assay report` and `assay run --html` share.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_REPORT_FILE_H
#define CLI_REPORT_FILE_H

#include "base/sink.h"
#include "views/report.h"

/* Writes the report of one run, or of what differs from the first to the
 * second of two. folder, which may be NULL, is where the drawn photographs
 * are: those of the last run where it names its photographs, else all. */
enum assay_status report_write(const struct report_side *sides, size_t n_sides,
                               const char *folder, struct sink *sink,
                               struct error *err);

#endif
