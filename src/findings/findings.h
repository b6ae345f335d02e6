/* findings/findings.h - a few sentences about what slows a run down.
 *
 * Small rules, one file each, read a run. The five findings that would save the
 * most milliseconds are reported, each with the figure that proves it, how well
 * that is known, and what would help. docs/findings.md says how to add one.
 * Stands on run.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FINDINGS_FINDINGS_H
#define FINDINGS_FINDINGS_H

#include "run/run.h"

enum { FINDINGS_MOST = 5, FINDING_TEXT = 240 };

struct finding {
    const char *rule; /* its name, "decode"; static */
    /* What it is about costs so much per iteration. Findings are ranked by it;
     * its advice may save less, or more where other things change with it. */
    double saved_ns;
    double low_ns, high_ns;  /* its 95 % interval; NaN: unknown */
    char text[FINDING_TEXT]; /* one sentence, with the figure */
    char help[FINDING_TEXT]; /* an option or a change; "" if there is none */
};

struct finding_list {
    struct finding items[FINDINGS_MOST]; /* most milliseconds first */
    size_t n;
};

/* For a sealed run. A run without marked iterations has none. */
enum assay_status findings_find(const struct run *run, struct finding_list *out,
                                struct error *err);

/* The names of all rules, NULL at the end. */
const char *const *findings_rules(void);

#endif
