/* findings/evidence_internal.h - what the rules look at, gathered once, and
 * how they speak.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FINDINGS_EVIDENCE_INTERNAL_H
#define FINDINGS_EVIDENCE_INTERNAL_H

#include "base/units.h"
#include "findings/findings.h"
#include "run/bound.h"
#include "run/content.h"

struct evidence {
    const struct run *run;
    double iteration_ns;       /* mean */
    struct run_load load;      /* what else the machine did */
    bool is_own;               /* made by a command of ours: it has options */
    struct scope_stats *stats; /* by scope */
    struct verdict verdict;
    struct content content;
    struct bounds bounds;
};

/* Released by the caller, also on failure. */
enum assay_status evidence_gather(const struct run *run,
                                  struct evidence *evidence, struct error *err);
void evidence_release(struct evidence *evidence);

/* The scope right below the root, or below another; RUN_NONE. */
uint32_t evidence_stage(const struct evidence *evidence, const char *name);
uint32_t evidence_child(const struct evidence *evidence, uint32_t parent,
                        const char *name);
/* Mean of an iteration; 0 for RUN_NONE. */
double evidence_ns(const struct evidence *evidence, uint32_t scope);
/* The median of a series; NaN where there is none. */
double evidence_series(const struct evidence *evidence, const char *name);

/* ---- speaking ----------------------------------------------------------- */

/* A time with its share of an iteration: "9.4 ms (1.2 %)". */
enum { FINDING_TIME = 2 * UNITS_MAX };
const char *evidence_time(char buffer[FINDING_TIME],
                          const struct evidence *evidence, double ns);
/* The path of a scope inside its model, cut where it is long. */
enum { FINDING_PATH = 96 };
const char *evidence_path(char buffer[FINDING_PATH],
                          const struct evidence *evidence, uint32_t scope);

/* A rule that has something to say says it once, and may add what helps. */
void finding_say(struct finding *finding, double saved_ns, const char *format,
                 ...) ASSAY_PRINTF(3, 4);
void finding_help(struct finding *finding, const char *format, ...)
    ASSAY_PRINTF(2, 3);

/* ---- rules -------------------------------------------------------------- */

typedef void finding_rule(const struct evidence *evidence,
                          struct finding *finding);

/* constant, name, whether it holds of a run that other work disturbed too; in
 * the order of an iteration. A rule is a file of its own: rule_NAME.c. */
#define FINDING_RULES(X)                                                       \
    X(rule_decode, "decode", false)                                            \
    X(rule_encode, "encode", false)                                            \
    X(rule_compute, "compute", false)                                          \
    X(rule_bandwidth, "bandwidth", false)                                      \
    X(rule_latency, "latency", false)                                          \
    X(rule_gaps, "gaps", false)                                                \
    X(rule_plain, "plain", false)                                              \
    X(rule_detections, "detections", false)                                    \
    X(rule_photo, "photo", false)                                              \
    X(rule_idle, "idle", false)                                                \
    X(rule_threads, "threads", true)                                           \
    X(rule_load, "load", true)                                                 \
    X(rule_faults, "faults", true)                                             \
    X(rule_drift, "drift", false)                                              \
    X(rule_recording, "recording", false)

#define FINDING_DECLARE(function, name, holds_busy) finding_rule function;
FINDING_RULES(FINDING_DECLARE)
#undef FINDING_DECLARE

#endif
