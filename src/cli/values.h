/* cli/values.h - the words of a command line as numbers.
 *
 * Each function reads the whole text. ASSAY_BAD_USAGE says what it should look
 * like, and leaves the value untouched.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_VALUES_H
#define CLI_VALUES_H

#include "cli/options.h"

enum assay_status value_integer(const char *text, int64_t *value,
                                struct error *err);
enum assay_status value_number(const char *text, double *value,
                               struct error *err);
/* K, M, G and T (also KiB, MiB ...) are powers of 1024; kB, MB ... of 1000. */
enum assay_status value_size(const char *text, uint64_t *bytes,
                             struct error *err);
/* In seconds; the unit may be ms, s (the default), min or h. */
enum assay_status value_time(const char *text, double *seconds,
                             struct error *err);
/* The sign is required: 0.05 could mean 5 % or 0.05 %. */
enum assay_status value_percent(const char *text, double *share,
                                struct error *err);
/* An open end becomes 0 or UINT64_MAX. */
enum assay_status value_range(const char *text, struct range *range,
                              struct error *err);

#endif
