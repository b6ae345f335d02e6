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

#endif
