/* metrics/profiler_internal.h - the state of a profiler, and its parts.
 *
 * SPDX-License-Identifier: MIT */
#ifndef METRICS_PROFILER_INTERNAL_H
#define METRICS_PROFILER_INTERNAL_H

#include "base/child.h"
#include "metrics/coco_map.h"
#include "metrics/feed.h"
#include "metrics/plugin_internal.h"
#include "metrics/registry_internal.h"
#include "session/public_model.h"

/* A key's last value. Allocated on its own, so that it does not move. */
struct kept_result {
    struct assay_result result;
    bool is_there;
    size_t function; /* of the registry: the one that computed it */
    char reason[256];
};

struct argument_value {
    const char *name, *value;
};

/* What was registered, in order, so that a clone can do the same. */
struct registration {
    const struct assay_metric_function *function; /* NULL: see path */
    const char *path; /* a plug-in; NULL: the standard functions */
    unsigned flags;
};

struct accuracy {
    uint64_t n, n_first, n_five;
};

/* The state of an evaluation. Start from {0}. */
struct detection_metric {
    const struct feed *feed;
    enum coco_overlap overlap;
    struct coco_map *map;
};

struct assay_profiler {
    struct assay_model *model;
    struct assay_profiler_options options;
    const char *name; /* NULL: the model's */
    struct registration *registrations;
    size_t n_registrations, registrations_capacity;
    struct registry registry;
    struct plugins plugins;
    struct kept_result **results; /* one per key of the registry */
    size_t n_results, results_capacity;
    struct arena memory; /* for what follows */
    struct argument_value *arguments;
    size_t n_arguments, arguments_capacity;
    const struct assay_dataset *dataset;
    struct argument_value own_arguments[2]; /* from the dataset */

    /* For functions that did not ask for data and times. */
    struct assay_parameter *bare_parameters;
    struct assay_layer *bare_layers;

    bool is_measured;
    struct assay_measured measured;

    struct accuracy accuracy; /* counts of the built-in evaluation */
    struct assay_metric_function accuracy_function;

    struct feed *feed; /* whose dataset it is; NULL: the user's own, or none */
    struct detection_metric boxes, masks;
    struct assay_metric_function boxes_function, masks_function;
};

/* Start from {0}: no child. */
struct metric_child {
    struct child process;
    bool is_deaf;   /* it no longer reads */
    double seconds; /* how long it may keep its parent waiting */
};

/* A function being run. */
struct metric_job {
    size_t function; /* of the registry */
    const struct registered *registered;
    struct assay_metric_input input;
    struct assay_evaluated evaluated;
    const char **arguments;
    struct metric_child child;
    double *values;
    enum assay_status st;
    struct error err;
};

/* Registers a function that the profiler itself provides. */
enum assay_status profiler_add(struct assay_profiler *profiler,
                               const struct assay_metric_function *function,
                               struct assay_error *error);

/* Notes what was registered. */
enum assay_status profiler_note(struct assay_profiler *profiler,
                                struct registration registration,
                                struct assay_error *error);

/* Runs functions and keeps their results. Fails only if memory runs out. */
enum assay_status profiler_run(struct assay_profiler *profiler,
                               const size_t *functions, size_t n,
                               struct error *err);

/* Runs the model on random values, once. */
enum assay_status profiler_measure(struct assay_profiler *profiler,
                                   struct error *err);

/* Hands each sample of the dataset to the jobs that have not failed. */
enum assay_status evaluation_run(struct assay_profiler *profiler,
                                 struct metric_job *jobs, size_t n,
                                 struct assay_evaluated *evaluated,
                                 struct error *err);
void metric_job_sample(struct metric_job *job,
                       const struct assay_sample *sample);

/* ---- detection_metrics.c: how well objects are found -------------------- */

void detection_metric_release(struct detection_metric *metric);

/* The metric function for boxes or masks; the metric must outlive it. */
struct assay_metric_function
detection_metric_function(struct detection_metric *metric,
                          enum coco_overlap overlap);

/* ---- metric_child.c: foreign code in a process of its own ---------------
 *
 * A child runs the functions of a plug-in on what its parent holds when it
 * forks; the parent sends samples and receives values. Whatever the child does,
 * the parent survives. */

/* Starts a child that begins the function, waits for samples and computes. */
enum assay_status metric_child_start(
    struct metric_child *child, const struct assay_metric_function *function,
    const struct assay_metric_input *input, double seconds, struct error *err);

/* Sends a sample, unless the child is gone; metric_child_finish() reports
 * that. */
void metric_child_sample(struct metric_child *child,
                         const struct assay_sample *sample);

/* Ends the samples, waits for the values and ends the child. evaluated: what
 * the samples came to, or NULL. Fails if the child failed, died or was silent
 * for too long. */
enum assay_status metric_child_finish(
    struct metric_child *child, const struct assay_metric_function *function,
    const struct assay_evaluated *evaluated, double *values, struct error *err);

/* Ends a child that is no longer needed. Accepts {0}. */
void metric_child_stop(struct metric_child *child);

#endif
