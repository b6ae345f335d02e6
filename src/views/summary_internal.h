/* views/summary_internal.h - the lines of the summary screen, one function per
 * line.
 *
 * A line is left out if nothing is known about it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_SUMMARY_INTERNAL_H
#define VIEWS_SUMMARY_INTERNAL_H

#include "views/line.h"
#include "views/scope_rows.h"
#include "views/training_internal.h"
#include "views/views.h"

struct summary {
    const struct run *run;
    const struct view_options *options;
    struct sink *sink;
    bool is_brief; /* one line for each subject: view_brief() */
};

/* Begins a line of the screen. */
static inline struct line summary_line(const struct summary *summary,
                                       const char *label)
{
    struct line line =
        line_begin(summary->sink, &summary->options->term, label);

    line.is_single = summary->is_brief;
    return line;
}

/* Facts, labelled with the first word of their keys. */
void summary_run(const struct summary *summary);
void summary_settings(const struct summary *summary);
void summary_import(const struct summary *summary);
void summary_threads(const struct summary *summary);

/* The machine: what it is and can do, what could not be measured on it. */
void summary_machine(const struct summary *summary, const struct rows *rows);
void summary_missing(const struct summary *summary);

/* A model's run, from facts that begin with model, input, photos and content.
 * False if the model is not known. */
bool summary_model(const struct summary *summary);
void summary_input(const struct summary *summary);
void summary_photos(const struct summary *summary);
enum assay_status summary_content(const struct summary *summary,
                                  struct error *err);

/* Its stages. */
void summary_stages(const struct summary *summary, const struct rows *rows);
enum assay_status summary_drawing(const struct summary *summary,
                                  struct error *err);
void summary_balance(const struct summary *summary, const struct rows *rows);
/* What a device did and waited for, in a median iteration. */
enum assay_status summary_device(const struct summary *summary,
                                 struct error *err);

/* Photographs that followed each other, with several passes in flight. */
void summary_stream(const struct summary *summary);

/* A training: the parts of a step, how fast it learns, whether the data keeps
 * up. */
void summary_step(const struct summary *summary,
                  const struct training *training);
void summary_rate(const struct summary *summary,
                  const struct training *training);
void summary_loss(const struct summary *summary);
void summary_loader(const struct summary *summary,
                    const struct training *training);
void summary_recomputed(const struct summary *summary,
                        const struct training *training);

/* Times and memory. */
void summary_runs(const struct summary *summary);
enum assay_status summary_latency(const struct summary *summary,
                                  struct error *err);
/* What other programs did meanwhile. */
void summary_load(const struct summary *summary);
enum assay_status summary_steadiness(const struct summary *summary,
                                     struct error *err);
enum assay_status summary_memory(const struct summary *summary,
                                 struct error *err);
void summary_counters(const struct summary *summary);

/* The peak and its large parts, on one line. */
void summary_memory_brief(const struct summary *summary);

/* What the rules found, if anything. */
enum assay_status summary_findings(const struct summary *summary,
                                   struct error *err);

/* What went wrong, and what to do next. */
void summary_health(const struct summary *summary);
void summary_wrote(const struct summary *summary);
void summary_next(const struct summary *summary);

#endif
