/* findings/evidence_internal.h - what the rules look at, gathered once, and how
 * they report.
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
    double iteration_ns;       /* mean over the iterations that count */
    struct run_load load;      /* what else the machine did */
    bool is_own;               /* made by one of our commands, with options */
    bool has_device;           /* run_has_device() */
    struct scope_stats *stats; /* by scope */
    struct verdict verdict;
    struct content content;
    struct bounds bounds;
};

/* The caller releases it, even on failure. */
enum assay_status evidence_gather(const struct run *run,
                                  struct evidence *evidence, struct error *err);
void evidence_release(struct evidence *evidence);

/* The scope directly below the root; RUN_NONE if there is none. */
uint32_t evidence_stage(const struct evidence *evidence, const char *name);

/* A mean per iteration and its 95 % interval. NaN if unknown: fewer than 5
 * iterations say nothing about their spread, and without an interval a rule is
 * silent. */
struct estimate {
    double mean, low, high;
};

/* Of values in order of time; wider if they resemble their neighbours. */
struct estimate estimate_of(const double *values, size_t n);
/* The estimate plus and times a number that is known exactly. */
struct estimate estimate_plus(struct estimate estimate, double number);
struct estimate estimate_times(struct estimate estimate, double factor);
/* Whether it is surely at least this. */
bool estimate_reaches(struct estimate estimate, double least);

/* Whether to include a scope. */
typedef bool evidence_filter(const struct evidence *evidence, uint32_t scope,
                             const void *context);
enum evidence_time { EVIDENCE_TOTAL, EVIDENCE_SELF };
/* The nanoseconds of these scopes together, over the iterations that count. */
struct estimate evidence_sum(const struct evidence *evidence,
                             evidence_filter *accepts, const void *context,
                             enum evidence_time which);
/* Of one scope; 0 for RUN_NONE. */
struct estimate evidence_ns(const struct evidence *evidence, uint32_t scope);
/* Of a series over the same iterations. */
struct estimate evidence_series(const struct evidence *evidence,
                                const char *name);

/* Layers of one class that reach less than half of what the machine could do,
 * taken together. */
struct layer_group {
    const char *class_name; /* NULL: there is none */
    size_t n;
    struct bound bound;     /* their sum */
    uint32_t worst;         /* the layer with the most to save */
    double parameter_share; /* of the bytes that they move */
    struct estimate time, saved;
};

/* The class with the most to save, among those whose arithmetic needs longer
 * than moving their data, or among the others; none if that is not surely 1 %
 * of an iteration. */
struct layer_group evidence_worst_class(const struct evidence *evidence,
                                        bool is_compute);

/* ---- reporting ---------------------------------------------------------- */

/* A time with its share of an iteration: "9.40 ms (1.2 %)", or if it is not
 * known to 5 %, with its interval: "9.40 ms [8.8, 10.0] (1.2 %)". */
enum { FINDING_TIME = 4 * UNITS_MAX };
const char *evidence_time(char buffer[FINDING_TIME],
                          const struct evidence *evidence,
                          struct estimate time);
/* The path of a scope inside its model, cut if it is long. */
enum { FINDING_PATH = 96 };
const char *evidence_path(char buffer[FINDING_PATH],
                          const struct evidence *evidence, uint32_t scope);

/* A rule that finds something says so once, and may add what would help: only
 * what a test or a benchmark has tried. */
void finding_say(struct finding *finding, struct estimate saved,
                 const char *format, ...) ASSAY_PRINTF(3, 4);
void finding_help(struct finding *finding, const char *format, ...)
    ASSAY_PRINTF(2, 3);

/* ---- rules -------------------------------------------------------------- */

typedef void finding_rule(const struct evidence *evidence,
                          struct finding *finding);

/* function, name, whether it also holds if other work disturbed the run; in the
 * order of an iteration. Each rule has a file of its own: rule_NAME.c. */
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
    X(rule_device, "device", false)                                            \
    X(rule_threads, "threads", true)                                           \
    X(rule_load, "load", true)                                                 \
    X(rule_faults, "faults", true)                                             \
    X(rule_drift, "drift", false)                                              \
    X(rule_recording, "recording", false)

#define FINDING_DECLARE(function, name, holds_busy) finding_rule function;
FINDING_RULES(FINDING_DECLARE)
#undef FINDING_DECLARE

#endif
