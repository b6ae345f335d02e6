/* views/fields_internal.h - the numbers of a row under the names that JSON and
 * CSV give them; one list, so that both say the same.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_FIELDS_INTERNAL_H
#define VIEWS_FIELDS_INTERNAL_H

#include "views/scope_rows.h"

/* calls, total and self are of an iteration, as on the screen, the all_ ones
 * of the whole run; both are the same where no iterations are marked. From
 * macs on it is work of an iteration, but for self_macs with what is below;
 * from done_flops on, what was executed, and how far that is from the machine's
 * peaks (run/bound.h). */
#define VIEW_FIELDS(X)                                                         \
    X(FIELD_DEPTH, "depth")                                                    \
    X(FIELD_CALLS, "calls")                                                    \
    X(FIELD_TOTAL, "total_ms")                                                 \
    X(FIELD_SELF, "self_ms")                                                   \
    X(FIELD_SHARE, "share")                                                    \
    X(FIELD_CALL, "mean_call_ms")                                              \
    X(FIELD_MEDIAN, "median_ms")                                               \
    X(FIELD_MEDIAN_LOW, "median_low_ms")                                       \
    X(FIELD_MEDIAN_HIGH, "median_high_ms")                                     \
    X(FIELD_P5, "p5_ms")                                                       \
    X(FIELD_P95, "p95_ms")                                                     \
    X(FIELD_P99, "p99_ms")                                                     \
    X(FIELD_MIN, "min_ms")                                                     \
    X(FIELD_MAX, "max_ms")                                                     \
    X(FIELD_SD, "sd_ms")                                                       \
    X(FIELD_ALL_CALLS, "all_calls")                                            \
    X(FIELD_ALL_TOTAL, "all_total_ns")                                         \
    X(FIELD_ALL_SELF, "all_self_ns")                                           \
    X(FIELD_BYTES, "bytes")                                                    \
    X(FIELD_PEAK_BYTES, "peak_bytes")                                          \
    X(FIELD_MACS, "macs")                                                      \
    X(FIELD_SELF_MACS, "self_macs")                                            \
    X(FIELD_GFLOPS, "gflops")                                                  \
    X(FIELD_FLOPS, "flops")                                                    \
    X(FIELD_READ_BYTES, "read_bytes")                                          \
    X(FIELD_WRITE_BYTES, "write_bytes")                                        \
    X(FIELD_PARAMETERS, "parameters")                                          \
    X(FIELD_DONE_FLOPS, "done_flops")                                          \
    X(FIELD_DONE_BYTES, "done_bytes")                                          \
    X(FIELD_KEPT_BYTES, "kept_bytes")                                          \
    X(FIELD_DONE_GFLOPS, "done_gflops")                                        \
    X(FIELD_GBS, "gbs")                                                        \
    X(FIELD_FLOOR, "floor_ms")                                                 \
    X(FIELD_REACHED, "reached")                                                \
    X(FIELD_SAVED, "saved_ms")

enum field {
#define VIEW_FIELD_ENUM(name, text) name,
    VIEW_FIELDS(VIEW_FIELD_ENUM)
#undef VIEW_FIELD_ENUM
        N_FIELDS
};

const char *field_name(enum field field);
/* NaN where it is not known. */
double field_value(enum field field, const struct rows *rows,
                   const struct row *row, const struct scope_stats *stats);

#endif
