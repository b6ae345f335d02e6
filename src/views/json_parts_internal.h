/* views/json_parts_internal.h - parts of the document that view_json.c puts
 * together.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_JSON_PARTS_INTERNAL_H
#define VIEWS_JSON_PARTS_INTERNAL_H

#include "base/json.h"
#include "views/scope_rows.h"

/* What is said about a run as a whole: the members from "run" to "health", for
 * an object that the caller begins and ends. source may be NULL. */
enum assay_status json_head(struct json_writer *json, const struct run *run,
                            const struct rows *rows, const char *source,
                            struct error *err);

/* The member "memory": the peak and who owned it; null where it is unknown. */
enum assay_status json_memory(struct json_writer *json, const struct run *run,
                              struct error *err);

/* The member "content": what was in the pictures and how the time goes with
 * it; null where nothing is known of photographs. */
enum assay_status json_content(struct json_writer *json, const struct run *run,
                               struct error *err);

/* The member "series": what was observed of each iteration, in full. */
void json_series(struct json_writer *json, const struct run *run);

/* The member "slow_iterations", with what set each apart. */
enum assay_status json_outliers(struct json_writer *json, const struct run *run,
                                struct error *err);

/* The member "findings", the most milliseconds first. */
enum assay_status json_findings(struct json_writer *json, const struct run *run,
                                struct error *err);

/* The member "peaks": what rows are held against, the facts of the machine
 * raised to what the run itself reached. */
void json_peaks(struct json_writer *json, const struct peaks *peaks);

#endif
