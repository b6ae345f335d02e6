/* cli/values.h - the words of a command line as numbers.
 *
 * Each reads the whole of a text; ASSAY_BAD_USAGE says what was wanted, and
 * the value is untouched then.
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
/* Seconds, or with ms, s, min or h behind it, in seconds. */
enum assay_status value_time(const char *text, double *seconds,
                             struct error *err);
/* The sign is wanted: whether 0.05 means 5 % or 0.05 % is not guessed. */
enum assay_status value_percent(const char *text, double *share,
                                struct error *err);
/* An open end is 0 or UINT64_MAX. */
enum assay_status value_range(const char *text, struct range *range,
                              struct error *err);

#endif
