/* findings/findings.h - what a run says about itself: a few sentences.
 *
 * Small rules, a file each, read a run; the five that would save the most
 * milliseconds are told, each with the figure that proves it and what would
 * help. docs/findings.md says how to add one. Stands on run.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FINDINGS_FINDINGS_H
#define FINDINGS_FINDINGS_H

#include "run/run.h"

enum { FINDINGS_MOST = 5, FINDING_TEXT = 240 };

struct finding {
    const char *rule; /* its name, "decode"; for good */
    double saved_ns;  /* of an iteration, at most: what it is ranked by */
    char text[FINDING_TEXT]; /* one sentence, with the figure */
    char help[FINDING_TEXT]; /* the option or change, "" where there is none */
};

struct finding_list {
    struct finding items[FINDINGS_MOST]; /* the most milliseconds first */
    size_t n;
};

/* Of a sealed run. None where there is nothing to say, and of a run without
 * marked iterations. */
enum assay_status findings_find(const struct run *run, struct finding_list *out,
                                struct error *err);

/* The names of all rules, NULL at the end. */
const char *const *findings_rules(void);

#endif
