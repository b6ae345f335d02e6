/* assay/profiler.h - metrics of a model, computed when they are asked for.
 *
 *     struct assay_profiler *profiler;
 *     const struct assay_result *size;
 *
 *     assay_profiler_new(model, NULL, &profiler, &error);
 *     assay_profiler_register_standard(profiler, &error);
 *     assay_profiler_register(profiler, &my_function, 0, &error);
 *     assay_profiler_compute(profiler, "model_size", 0, &size, &error);
 *
 * Values are kept until recomputation is asked for. Not thread-safe.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ASSAY_PROFILER_H
#define ASSAY_PROFILER_H

#include <assay/metric.h>
#include <assay/model.h>

#include <signal.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_profiler;

/* {0} is fine. */
struct assay_profiler_options {
    uint64_t iterations;   /* passes to measure; 0: until the median is known
                              to 2 %, or for 5 seconds */
    double plugin_seconds; /* that a plug-in may take; 0: 60 */
    /* Not 0: end the measuring after the pass under way. NULL: never. */
    const volatile sig_atomic_t *stop;
    /* Told that a function takes the place of another; NULL: nobody is. */
    void (*warn)(void *context, const char *line);
    void *warn_context;
};

/* The model must outlive the profiler. */
ASSAY_API enum assay_status
assay_profiler_new(struct assay_model *model,
                   const struct assay_profiler_options *options,
                   struct assay_profiler **out, struct assay_error *error);
ASSAY_API void assay_profiler_free(struct assay_profiler *profiler);

/* ---- who computes what ------------------------------------------------ */

/* The function takes precedence for its keys, whoever comes later. */
enum { ASSAY_OVERRIDE = 1 };

/* The function must outlive the profiler. Of two functions for a key the later
 * one is taken, with a warning, unless the earlier overrides; two that
 * override are ASSAY_BAD_USAGE, and nothing is registered. */
ASSAY_API enum assay_status
assay_profiler_register(struct assay_profiler *profiler,
                        const struct assay_metric_function *function,
                        unsigned flags, struct assay_error *error);
/* The built-in ones: see docs/metrics.md. */
ASSAY_API enum assay_status
assay_profiler_register_standard(struct assay_profiler *profiler,
                                 struct assay_error *error);
/* The functions of a shared object, or of all (.so) that lie in a folder. */
ASSAY_API enum assay_status
assay_profiler_load_plugin(struct assay_profiler *profiler, const char *path,
                           unsigned flags, struct assay_error *error);

/* A value for an argument that functions take. One that no function that is
 * registered takes is ASSAY_BAD_USAGE, with the nearest of those that are taken
 * and a list of them: register functions first. */
ASSAY_API enum assay_status assay_profiler_set(struct assay_profiler *profiler,
                                               const char *argument,
                                               const char *value,
                                               struct assay_error *error);

/* Samples with answers. */
struct assay_dataset {
    const char *name;
    const char *split; /* "test" */
    size_t n;          /* samples */
    void *context;
    /* Writes sample i into slot `at` of the model's batch of inputs, and its
     * target. A built-in detector has an input for each image, of any height
     * and width: set its dims, n_elements, n_bytes, and data to memory of the
     * dataset's. That and the boxes are good until the next batch. */
    enum assay_status (*read)(void *context, size_t i,
                              struct assay_tensor *inputs, size_t at,
                              struct assay_target *target,
                              struct assay_error *error);
};

/* Must outlive the profiler. NULL: there is none. */
ASSAY_API void assay_profiler_set_dataset(struct assay_profiler *profiler,
                                          const struct assay_dataset *dataset);

/* ---- values ----------------------------------------------------------- */

struct assay_result {
    const struct assay_metric *metric;
    const char *function;          /* the name of who computed it */
    enum assay_status status;      /* not ASSAY_OK: there is no value */
    const char *reason;            /* why; "" */
    double value;                  /* NaN where there is none */
    const struct assay_unit *unit; /* that it is shown in; NULL: none */
    double shown;                  /* the value in it */
};

/* What is computed and kept is the profiler's, until the key is computed anew
 * or another function takes it. A value that cannot be had is the answer of
 * this call, with the reason; an unknown key ASSAY_NOT_FOUND. */
ASSAY_API enum assay_status
assay_profiler_compute(struct assay_profiler *profiler, const char *key,
                       int recompute, const struct assay_result **out,
                       struct assay_error *error);

/* All keys; values that cannot be had have their reason in the result. Fails
 * only without memory. */
ASSAY_API enum assay_status
assay_profiler_compute_all(struct assay_profiler *profiler, int recompute,
                           struct assay_error *error);

/* The keys in the order in which they were first registered. The result is
 * that of the last computation, or NULL. */
ASSAY_API size_t assay_profiler_count(const struct assay_profiler *profiler);
ASSAY_API const struct assay_metric *
assay_profiler_metric(const struct assay_profiler *profiler, size_t i);
ASSAY_API const struct assay_result *
assay_profiler_result(const struct assay_profiler *profiler, size_t i);

/* What was measured for them; NULL where nothing needed a run. */
ASSAY_API const struct assay_measured *
assay_profiler_measured(const struct assay_profiler *profiler);

/* ---- two models ------------------------------------------------------- */

struct assay_enhancement {
    const struct assay_metric *metric;
    double first, second;          /* NaN where a model has no value */
    const struct assay_unit *unit; /* of both, and of a difference */
    double value;                  /* see enum assay_comparison; NaN: none */
};

/* From the first result to the second, which is of the same metric. */
ASSAY_API struct assay_enhancement
assay_enhance(const struct assay_result *first,
              const struct assay_result *second);

/* The same by key. Computes what was not computed yet. */
ASSAY_API enum assay_status assay_profiler_compare(
    struct assay_profiler *first, struct assay_profiler *second,
    const char *key, struct assay_enhancement *out, struct assay_error *error);

#ifdef __cplusplus
}
#endif
#endif
