/* views/fields_internal.h - the numbers of a row with their names in JSON and
 * CSV; one list, so that both agree.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_FIELDS_INTERNAL_H
#define VIEWS_FIELDS_INTERNAL_H

#include "views/scope_rows.h"

/* calls, total and self are per iteration, as on the screen, and the all_ ones
 * for the whole run; both are the same if no iterations are marked. From macs
 * on it is the work of an iteration, including what is below (except
 * self_macs); from done_flops on what was executed, and how far that is from
 * the machine's peaks (run/bound.h).
 *
 * Constant, name, and the value for `rows`, `row` and its `stats`. */
#define VIEW_FIELDS(X)                                                         \
    X(FIELD_DEPTH, "depth", row->scope == RUN_NONE ? NAN : (double)row->depth) \
    X(FIELD_CALLS, "calls", rows_each(rows, row, row->calls))                  \
    X(FIELD_TOTAL, "total_ms", rows_each(rows, row, row->total_ns) / 1e6)      \
    X(FIELD_SELF, "self_ms", rows_each(rows, row, row->self_ns) / 1e6)         \
    X(FIELD_SHARE, "share", row->share)                                        \
    X(FIELD_CALL, "mean_call_ms", row_call_ns(row) / 1e6)                      \
    X(FIELD_MEDIAN, "median_ms", stats->median_ns / 1e6)                       \
    X(FIELD_MEDIAN_LOW, "median_low_ms", stats->median_low_ns / 1e6)           \
    X(FIELD_MEDIAN_HIGH, "median_high_ms", stats->median_high_ns / 1e6)        \
    X(FIELD_P5, "p5_ms", stats->p5_ns / 1e6)                                   \
    X(FIELD_P95, "p95_ms", stats->p95_ns / 1e6)                                \
    X(FIELD_P99, "p99_ms", stats->p99_ns / 1e6)                                \
    X(FIELD_MIN, "min_ms", stats->min_ns / 1e6)                                \
    X(FIELD_MAX, "max_ms", stats->max_ns / 1e6)                                \
    X(FIELD_SD, "sd_ms", stats->sd_ns / 1e6)                                   \
    X(FIELD_ALL_CALLS, "all_calls", row->calls)                                \
    X(FIELD_ALL_TOTAL, "all_total_ns", row->total_ns)                          \
    X(FIELD_ALL_SELF, "all_self_ns", row->self_ns)                             \
    X(FIELD_BYTES, "bytes", field_bytes(row->bytes))                           \
    X(FIELD_PEAK_BYTES, "peak_bytes", field_bytes(row->peak_bytes))            \
    X(FIELD_MACS, "macs", row->work.macs)                                      \
    X(FIELD_SELF_MACS, "self_macs", row->self_macs)                            \
    X(FIELD_GFLOPS, "gflops", row_gflops(rows, row))                           \
    X(FIELD_FLOPS, "flops", row->work.flops)                                   \
    X(FIELD_READ_BYTES, "read_bytes", row->work.read_bytes)                    \
    X(FIELD_WRITE_BYTES, "write_bytes", row->work.write_bytes)                 \
    X(FIELD_PARAMETERS, "parameters", row->work.parameters)                    \
    X(FIELD_DONE_FLOPS, "done_flops", row->work.done_flops)                    \
    X(FIELD_DONE_BYTES, "done_bytes", row->work.done_bytes)                    \
    X(FIELD_KEPT_BYTES, "kept_bytes", row->work.kept_bytes)                    \
    X(FIELD_DONE_GFLOPS, "done_gflops", row->bound.done_gflops)                \
    X(FIELD_GBS, "gbs", row->bound.gbs)                                        \
    X(FIELD_FLOOR, "floor_ms", row->bound.floor_ns / 1e6)                      \
    X(FIELD_REACHED, "reached", row->bound.share)                              \
    X(FIELD_SAVED, "saved_ms", row->bound.saved_ns / 1e6)                      \
    X(FIELD_DEVICE, "device_ms", row_device_ns(rows, row) / 1e6)

enum field {
#define VIEW_FIELD_ENUM(name, text, value) name,
    VIEW_FIELDS(VIEW_FIELD_ENUM)
#undef VIEW_FIELD_ENUM
        N_FIELDS
};

const char *field_name(enum field field);
/* NaN if it is not known. */
double field_value(enum field field, const struct rows *rows,
                   const struct row *row, const struct scope_stats *stats);

#endif
