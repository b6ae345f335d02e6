/* views/json_parts_internal.h - members of the JSON documents of a run.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_JSON_PARTS_INTERNAL_H
#define VIEWS_JSON_PARTS_INTERNAL_H

#include "base/json.h"
#include "views/scope_rows.h"

/* The members about the run as a whole, from "run" to "health", of an object
 * that the caller begins and ends. source may be NULL. */
enum assay_status json_head(struct json_writer *json, const struct run *run,
                            const struct rows *rows, const char *source,
                            struct error *err);

/* "memory": the peak and who owned it; null if it is unknown. */
enum assay_status json_memory(struct json_writer *json, const struct run *run,
                              struct error *err);

/* "content": what was in the photographs and how the time depends on it; null
 * if nothing is known about photographs. */
enum assay_status json_content(struct json_writer *json, const struct run *run,
                               struct error *err);

/* "series": the observations of each iteration. */
void json_series(struct json_writer *json, const struct run *run);

/* "slow_iterations", with the cause of each. */
enum assay_status json_outliers(struct json_writer *json, const struct run *run,
                                struct error *err);

/* "findings", those that save the most first. */
enum assay_status json_findings(struct json_writer *json, const struct run *run,
                                struct error *err);

/* "peaks" that rows are compared with: those of the machine, raised to what the
 * run itself reached. */
void json_peaks(struct json_writer *json, const struct peaks *peaks);

#endif
