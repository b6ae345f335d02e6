/* cli/fingerprint_show.h - a fingerprint and its evaluation on the screen.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_FINGERPRINT_SHOW_H
#define CLI_FINGERPRINT_SHOW_H

#include "base/term.h"
#include "predict/fingerprint_eval.h"

/* What it was learned from and which models it predicts with; on request with
 * the parameters of the physical models. Goes to standard output. */
enum assay_status fingerprint_print(const struct fingerprint *fingerprint,
                                    bool with_parameters, struct error *err);

/* Whose costs it predicts: "PyTorch"; "" if it does not say. */
const char *framework_title(const struct fingerprint *fingerprint);

void evaluation_show_table(const struct evaluation *evaluation,
                           struct sink *sink, const struct term *term);
/* One object per network, one member per target with its statistics. */
void evaluation_show_json(const struct evaluation *evaluation,
                          struct sink *sink);

/* Says so if rows were measured on several machines, or on one that is not
 * called as the label says; machines is a line for each, label may be NULL. */
void machines_note(const char *machines, const char *label);

#endif
