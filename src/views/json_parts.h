/* views/json_parts.h - parts of the document that view_json.c puts together.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_JSON_PARTS_H
#define VIEWS_JSON_PARTS_H

#include "base/json.h"
#include "run/run.h"

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

#endif
