/* cli/fingerprint_show.h - a fingerprint, and how well it does, on the screen.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_FINGERPRINT_SHOW_H
#define CLI_FINGERPRINT_SHOW_H

#include "base/term.h"
#include "predict/fingerprint_eval.h"

/* What it was made from and what it predicts with; with the parameters of the
 * physical models where they are asked for. */
void fingerprint_show(const struct fingerprint *fingerprint,
                      bool with_parameters, struct sink *sink,
                      const struct term *term);

/* The same, to standard output. */
enum assay_status fingerprint_print(const struct fingerprint *fingerprint,
                                    bool with_parameters, struct error *err);

void evaluation_show_table(const struct evaluation *evaluation,
                           struct sink *sink, const struct term *term);
/* One object: network, target, and the statistics of that. */
void evaluation_show_json(const struct evaluation *evaluation,
                          struct sink *sink);

#endif
