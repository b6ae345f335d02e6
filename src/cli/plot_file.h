/* cli/plot_file.h - the format of a plot, from the ending of its file.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_PLOT_FILE_H
#define CLI_PLOT_FILE_H

#include "picture/sheet.h"

/* .png, .svg or .pdf; ASSAY_BAD_USAGE for others. */
enum assay_status plot_file_format(const char *path, enum sheet_format *format,
                                   struct error *err);

#endif
