/* cli/eval_show.h - the figures of an evaluation as a table, JSON, CSV or
 * Markdown.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_EVAL_SHOW_H
#define CLI_EVAL_SHOW_H

#include "base/term.h"
#include "metrics/eval.h"

typedef void eval_show(const struct eval *eval, struct sink *sink,
                       const struct term *term);

eval_show eval_show_table, eval_show_json, eval_show_csv, eval_show_markdown;

#endif
