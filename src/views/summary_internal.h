/* views/summary_internal.h - the lines of the summary screen, one function a
 * line.
 *
 * A line of which nothing is known is left out.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_SUMMARY_INTERNAL_H
#define VIEWS_SUMMARY_INTERNAL_H

#include "views/scope_rows.h"
#include "views/training_internal.h"
#include "views/views.h"

struct summary {
    const struct run *run;
    const struct view_options *options;
    struct sink *sink;
};

/* Of facts: what they are about is the key's first word. */
void summary_run(const struct summary *summary);
void summary_settings(const struct summary *summary);
void summary_import(const struct summary *summary);
void summary_threads(const struct summary *summary);

/* A fact as an item of a line: "memory 62.8 GiB". */
struct line;
void summary_add_fact(struct line *line, const char *key, const char *value);

/* Of the machine: what it is and can do, what could not be measured on it. */
void summary_machine(const struct summary *summary, const struct rows *rows);
void summary_missing(const struct summary *summary);

/* Of a model's run: facts that begin with model, input, photos and
 * content. False where it is not known which model it was. */
bool summary_model(const struct summary *summary);
void summary_input(const struct summary *summary);
void summary_photos(const struct summary *summary);
enum assay_status summary_content(const struct summary *summary,
                                  struct error *err);

/* Of its stages, by their rows. */
void summary_stages(const struct summary *summary, const struct rows *rows);
void summary_balance(const struct summary *summary, const struct rows *rows);

/* Of a training: what a step consists of, how fast it learns, whether the data
 * keeps up. */
void summary_step(const struct summary *summary,
                  const struct training *training);
void summary_rate(const struct summary *summary,
                  const struct training *training);
void summary_loss(const struct summary *summary);
void summary_loader(const struct summary *summary,
                    const struct training *training);
void summary_recomputed(const struct summary *summary,
                        const struct training *training);

/* Of times and memory. */
void summary_runs(const struct summary *summary);
enum assay_status summary_latency(const struct summary *summary,
                                  struct error *err);
/* What else the machine did. */
void summary_load(const struct summary *summary);
enum assay_status summary_steadiness(const struct summary *summary,
                                     struct error *err);
enum assay_status summary_memory(const struct summary *summary,
                                 struct error *err);
void summary_counters(const struct summary *summary);

/* What rules found in it; nothing where there is nothing to say. */
enum assay_status summary_findings(const struct summary *summary,
                                   struct error *err);

/* Of what went wrong, and of what to do next. */
void summary_health(const struct summary *summary);
void summary_wrote(const struct summary *summary);
void summary_next(const struct summary *summary);

#endif
