/* assay/profiler.h - metrics of a model, computed on demand.
 *
 *     struct assay_profiler *profiler;
 *     const struct assay_result *size;
 *
 *     assay_profiler_new(model, NULL, &profiler, &error);
 *     assay_profiler_register_standard(profiler, &error);
 *     assay_profiler_register(profiler, &my_function, 0, &error);
 *     assay_profiler_compute(profiler, "model_size", 0, &size, &error);
 *
 * Values are kept until you ask to recompute them. Not thread-safe.
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
    double plugin_seconds; /* time limit for a plug-in; 0: 60 */
    /* Set it to stop measuring after the current pass. NULL: never. */
    const volatile sig_atomic_t *stop;
    /* Called when a function replaces another; may be NULL. */
    void (*warn)(void *context, const char *line);
    void *warn_context;
};

/* The model must outlive the profiler. */
ASSAY_API enum assay_status
assay_profiler_new(struct assay_model *model,
                   const struct assay_profiler_options *options,
                   struct assay_profiler **out, struct assay_error *error);
ASSAY_API void assay_profiler_free(struct assay_profiler *profiler);

/* A profiler for another model, with what was registered, loaded and set so
 * far, the dataset and the options of this one, and no values. Its name is that
 * of the model. */
ASSAY_API enum assay_status
assay_profiler_clone(const struct assay_profiler *profiler,
                     struct assay_model *model, struct assay_profiler **out,
                     struct assay_error *error);

/* The name in reports: that of the model, until another one is set, which is
 * copied. */
ASSAY_API const char *
assay_profiler_name(const struct assay_profiler *profiler);
ASSAY_API enum assay_status
assay_profiler_set_name(struct assay_profiler *profiler, const char *name,
                        struct assay_error *error);

/* ---- registering functions -------------------------------------------- */

/* The function takes precedence for its keys over any registered later. */
enum { ASSAY_OVERRIDE = 1 };

/* The function must outlive the profiler. If two functions compute one key, the
 * later one is used, with a warning, unless the earlier one overrides. If both
 * override: ASSAY_BAD_USAGE, and nothing is registered. */
ASSAY_API enum assay_status
assay_profiler_register(struct assay_profiler *profiler,
                        const struct assay_metric_function *function,
                        unsigned flags, struct assay_error *error);
/* The built-in functions: see docs/metrics.md. */
ASSAY_API enum assay_status
assay_profiler_register_standard(struct assay_profiler *profiler,
                                 struct assay_error *error);
/* The functions of a shared object, or of every .so in a folder. */
ASSAY_API enum assay_status
assay_profiler_load_plugin(struct assay_profiler *profiler, const char *path,
                           unsigned flags, struct assay_error *error);

/* Sets an argument of the registered functions. If none of them takes it:
 * ASSAY_BAD_USAGE, with the nearest argument and a list of all; so register
 * functions first. */
ASSAY_API enum assay_status assay_profiler_set(struct assay_profiler *profiler,
                                               const char *argument,
                                               const char *value,
                                               struct assay_error *error);

/* Samples with targets. */
struct assay_dataset {
    const char *name;
    const char *split; /* "test" */
    size_t n;          /* samples */
    void *context;
    /* Writes sample i into slot `at` of the model's batch of inputs, and its
     * target. A built-in detector has one input per image, of any height and
     * width: set its dims, n_elements, n_bytes, and data, which points to
     * memory of the dataset. That and the boxes stay valid until the next
     * batch. */
    enum assay_status (*read)(void *context, size_t i,
                              struct assay_tensor *inputs, size_t at,
                              struct assay_target *target,
                              struct assay_error *error);
};

/* Must outlive the profiler. NULL: no dataset. */
ASSAY_API void assay_profiler_set_dataset(struct assay_profiler *profiler,
                                          const struct assay_dataset *dataset);

/* ---- values ----------------------------------------------------------- */

struct assay_result {
    const struct assay_metric *metric;
    const char *function;          /* name of the function that computed it */
    enum assay_status status;      /* not ASSAY_OK: there is no value */
    const char *reason;            /* why; "" if there is a value */
    double value;                  /* NaN if there is none */
    const struct assay_unit *unit; /* the unit to show it in; NULL: none */
    double shown;                  /* the value in that unit */
};

/* The profiler owns *out, until the key is recomputed or another function
 * takes it over. If the value cannot be computed, returns the status and the
 * reason; ASSAY_NOT_FOUND for an unknown key. */
ASSAY_API enum assay_status
assay_profiler_compute(struct assay_profiler *profiler, const char *key,
                       int recompute, const struct assay_result **out,
                       struct assay_error *error);

/* Computes all keys; results without a value say why. Fails only if memory
 * runs out. */
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

/* The measurements behind the values; NULL if no value needed a run. */
ASSAY_API const struct assay_measured *
assay_profiler_measured(const struct assay_profiler *profiler);

/* ---- two models ------------------------------------------------------- */

struct assay_enhancement {
    const struct assay_metric *metric;
    double first, second;          /* NaN if a model has no value */
    const struct assay_unit *unit; /* of both, and of a difference */
    double value;                  /* see enum assay_comparison; NaN: none */
};

/* From the first result to the second; both are of the same metric. */
ASSAY_API struct assay_enhancement
assay_enhance(const struct assay_result *first,
              const struct assay_result *second);

/* The same by key. Computes values that are not computed yet. */
ASSAY_API enum assay_status assay_profiler_compare(
    struct assay_profiler *first, struct assay_profiler *second,
    const char *key, struct assay_enhancement *out, struct assay_error *error);

/* ---- a printed report -------------------------------------------------- */

/* The table that `assay metrics --short` prints, of one profiler, or of two
 * side by side; other may be NULL. Computes values that are not computed yet.
 * tell gets each line, without its newline. */
ASSAY_API enum assay_status
assay_profiler_report(struct assay_profiler *profiler,
                      struct assay_profiler *other,
                      void (*tell)(void *context, const char *line),
                      void *context, struct assay_error *error);

#ifdef __cplusplus
}
#endif
#endif
