/* metrics/profiler.c - profilers of the public interface. */
#include "metrics/profiler_internal.h"

#include "base/mem.h"
#include "base/nearest.h"
#include "base/vec.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double default_plugin_seconds = 60;

void assay_profiler_free(struct assay_profiler *profiler)
{
    if (!profiler)
        return;
    for (size_t i = 0; i < profiler->n_results; i++)
        mem_free(profiler->results[i]);
    mem_free(profiler->results);
    detection_metric_release(&profiler->boxes);
    detection_metric_release(&profiler->masks);
    mem_free(profiler->arguments);
    mem_free(profiler->registrations);
    registry_release(&profiler->registry);
    plugins_release(&profiler->plugins);
    arena_release(&profiler->memory);
    mem_free(profiler);
}

/* Lists for functions that did not ask for data or times. */
static enum assay_status copy_bare(struct assay_profiler *profiler,
                                   struct error *err)
{
    const struct assay_model *model = profiler->model;
    size_t n_parameters, n_layers;
    const struct assay_parameter *parameters =
        assay_model_parameters(model, &n_parameters);
    const struct assay_layer *layers = assay_model_layers(model, &n_layers);

    profiler->bare_parameters =
        arena_alloc(&profiler->memory, (n_parameters + 1) * sizeof *parameters);
    profiler->bare_layers =
        arena_alloc(&profiler->memory, (n_layers + 1) * sizeof *layers);
    if (!profiler->bare_parameters || !profiler->bare_layers)
        return error_nomem(err, n_parameters * sizeof *parameters,
                           "a profiler");
    for (size_t i = 0; i < n_parameters; i++) {
        profiler->bare_parameters[i] = parameters[i];
        profiler->bare_parameters[i].tensor.data = NULL;
    }
    for (size_t i = 0; i < n_layers; i++) {
        profiler->bare_layers[i] = layers[i];
        profiler->bare_layers[i].mean_ns = NAN;
    }
    return ASSAY_OK;
}

static enum assay_status set_argument(struct assay_profiler *profiler,
                                      const char *argument, const char *value,
                                      struct error *err)
{
    struct argument_value *moved =
        vec_reserve(profiler->arguments, &profiler->arguments_capacity,
                    profiler->n_arguments + 1, sizeof *moved);
    struct argument_value added = {
        .name = arena_strdup(&profiler->memory, argument),
        .value = arena_strdup(&profiler->memory, value)};
    size_t at = 0;

    if (moved)
        profiler->arguments = moved;
    if (!moved || !added.name || !added.value)
        return error_nomem(err, strlen(value), "an argument");
    while (at < profiler->n_arguments && strcmp(moved[at].name, argument) != 0)
        at++;
    moved[at] = added;
    profiler->n_arguments += at == profiler->n_arguments;
    for (size_t i = 0; i < profiler->n_results; i++)
        profiler->results[i]->is_there = false;
    return ASSAY_OK;
}

enum assay_status
assay_profiler_new(struct assay_model *model,
                   const struct assay_profiler_options *options,
                   struct assay_profiler **out, struct assay_error *error)
{
    struct assay_profiler *profiler = mem_zalloc(sizeof *profiler);
    struct error err = {0};
    char batch[24];
    enum assay_status st;

    *out = NULL;
    if (!profiler)
        return error_export(
            &err, error_nomem(&err, sizeof *profiler, "a profiler"), error);
    profiler->model = model;
    if (options)
        profiler->options = *options;
    if (!(profiler->options.plugin_seconds > 0))
        profiler->options.plugin_seconds = default_plugin_seconds;
    snprintf(batch, sizeof batch, "%" PRIu64, model->totals.images);
    st = copy_bare(profiler, &err);
    if (!st)
        st = set_argument(profiler, "batch", batch, &err);
    st = error_export(&err, st, error);
    if (st)
        assay_profiler_free(profiler);
    else
        *out = profiler;
    return st;
}

/* ---- which function computes what --------------------------------------- */

/* Makes a result for every key; forgets those of functions that lost theirs. */
static enum assay_status match_results(struct assay_profiler *profiler,
                                       struct error *err)
{
    size_t n = profiler->registry.n_keys;
    void *moved = vec_reserve(profiler->results, &profiler->results_capacity,
                              n + 1, sizeof *profiler->results);

    if (!moved)
        return error_nomem(err, n * sizeof *profiler->results, "results");
    profiler->results = moved;
    for (; profiler->n_results < n; profiler->n_results++) {
        struct kept_result *kept = mem_zalloc(sizeof *kept);

        if (!kept)
            return error_nomem(err, sizeof *kept, "a result");
        profiler->results[profiler->n_results] = kept;
    }
    for (size_t i = 0; i < n; i++) {
        if (profiler->results[i]->function !=
            profiler->registry.keys[i].function)
            profiler->results[i]->is_there = false;
    }
    return ASSAY_OK;
}

static enum assay_status add_function(struct assay_profiler *profiler,
                                      const struct registered *registered,
                                      struct error *err)
{
    struct str lines = {0};
    struct sink warnings = sink_to_str(&lines);
    enum assay_status st =
        registry_add(&profiler->registry, registered, &warnings, err);

    if (!st)
        st = match_results(profiler, err);
    if (!st)
        lines_tell(&lines, profiler->options.warn,
                   profiler->options.warn_context);
    str_release(&lines);
    return st;
}

enum assay_status profiler_add(struct assay_profiler *profiler,
                               const struct assay_metric_function *function,
                               struct assay_error *error)
{
    struct error err = {0};

    return error_export(&err,
                        add_function(profiler,
                                     &(struct registered){.function = function},
                                     &err),
                        error);
}

enum assay_status profiler_note(struct assay_profiler *profiler,
                                struct registration registration,
                                struct assay_error *error)
{
    struct error err = {0};
    struct registration *moved =
        vec_reserve(profiler->registrations, &profiler->registrations_capacity,
                    profiler->n_registrations + 1, sizeof *moved);

    if (moved)
        profiler->registrations = moved;
    if (moved && registration.path) {
        registration.path = arena_strdup(&profiler->memory, registration.path);
        if (!registration.path)
            moved = NULL;
    }
    if (!moved)
        return error_export(
            &err, error_nomem(&err, sizeof *moved, "a registration"), error);
    moved[profiler->n_registrations++] = registration;
    return ASSAY_OK;
}

enum assay_status
assay_profiler_register(struct assay_profiler *profiler,
                        const struct assay_metric_function *function,
                        unsigned flags, struct assay_error *error)
{
    const struct registered registered = {
        .function = function, .is_override = flags & ASSAY_OVERRIDE};
    struct error err = {0};
    enum assay_status st =
        error_export(&err, add_function(profiler, &registered, &err), error);

    return st ? st
              : profiler_note(
                    profiler,
                    (struct registration){.function = function, .flags = flags},
                    error);
}

static enum assay_status add_plugins(struct assay_profiler *profiler,
                                     size_t first, bool is_override,
                                     struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = first; i < profiler->plugins.n; i++) {
        const struct assay_metric_plugin *plugin =
            profiler->plugins.items[i].plugin;

        for (size_t k = 0; !st && k < plugin->n_functions; k++)
            st = add_function(
                profiler,
                &(struct registered){.function = &plugin->functions[k],
                                     .is_override = is_override,
                                     .is_foreign = true},
                err);
    }
    return st;
}

enum assay_status assay_profiler_load_plugin(struct assay_profiler *profiler,
                                             const char *path, unsigned flags,
                                             struct assay_error *error)
{
    size_t first = profiler->plugins.n;
    struct error err = {0};
    enum assay_status st = plugins_load(&profiler->plugins, path, &err);

    if (!st)
        st = add_plugins(profiler, first, flags & ASSAY_OVERRIDE, &err);
    st = error_export(&err, st, error);
    return st ? st
              : profiler_note(
                    profiler,
                    (struct registration){.path = path, .flags = flags}, error);
}

/* Argument i of all functions in order; NULL after the last. */
static const char *argument_at(const struct registry *registry, size_t i)
{
    for (size_t k = 0; k < registry->n_functions; k++) {
        const struct assay_metric_function *function =
            registry->functions[k].function;

        if (i < function->n_arguments)
            return function->arguments[i].name;
        i -= function->n_arguments;
    }
    return NULL;
}

/* "alpha, threshold": each name once. */
static enum assay_status list_arguments(const struct registry *registry,
                                        struct str *list, struct error *err)
{
    const char *name, *before;

    for (size_t i = 0; (name = argument_at(registry, i)); i++) {
        size_t k = 0;

        while ((before = argument_at(registry, k)) && k < i &&
               strcmp(before, name) != 0)
            k++;
        if (k == i &&
            str_printf(list, "%s%s", list->n ? ", " : "", name) != ASSAY_OK)
            return error_nomem(err, list->n, "a message");
    }
    return ASSAY_OK;
}

/* Setting an argument that no function takes would change nothing. */
static enum assay_status check_argument(const struct assay_profiler *profiler,
                                        const char *name, struct error *err)
{
    const struct registry *registry = &profiler->registry;
    struct nearest nearest = nearest_to(name);
    struct str list = {0};
    const char *known;
    enum assay_status st;

    for (size_t i = 0; (known = argument_at(registry, i)); i++) {
        if (strcmp(known, name) == 0)
            return ASSAY_OK;
        nearest_offer(&nearest, known);
    }
    st = list_arguments(registry, &list, err);
    if (!st && !list.n)
        st = error_set(err, ASSAY_BAD_USAGE,
                       "no metric takes '%.60s' or any other argument; metrics "
                       "of a plug-in may",
                       name);
    else if (!st && nearest.candidate)
        st = error_set(
            err, ASSAY_BAD_USAGE,
            "no metric takes '%.60s'; did you mean '%s'? Valid arguments: %s",
            name, nearest.candidate, list.text);
    else if (!st)
        st = error_set(err, ASSAY_BAD_USAGE,
                       "no metric takes '%.60s'; valid arguments: %s", name,
                       list.text);
    str_release(&list);
    return st;
}

enum assay_status assay_profiler_set(struct assay_profiler *profiler,
                                     const char *argument, const char *value,
                                     struct assay_error *error)
{
    struct error err = {0};
    enum assay_status st = check_argument(profiler, argument, &err);

    if (!st)
        st = set_argument(profiler, argument, value, &err);
    return error_export(&err, st, error);
}

void assay_profiler_set_dataset(struct assay_profiler *profiler,
                                const struct assay_dataset *dataset)
{
    profiler->dataset = dataset;
    profiler->own_arguments[0] =
        (struct argument_value){"dataset", dataset ? dataset->name : NULL};
    profiler->own_arguments[1] =
        (struct argument_value){"split", dataset ? dataset->split : NULL};
    for (size_t i = 0; i < profiler->n_results; i++)
        profiler->results[i]->is_there = false;
}

/* ---- names and clones ---------------------------------------------------- */

const char *assay_profiler_name(const struct assay_profiler *profiler)
{
    return profiler->name ? profiler->name : assay_model_name(profiler->model);
}

enum assay_status assay_profiler_set_name(struct assay_profiler *profiler,
                                          const char *name,
                                          struct assay_error *error)
{
    const char *copy = arena_strdup(&profiler->memory, name);
    struct error err = {0};

    if (!copy)
        return error_export(&err, error_nomem(&err, strlen(name), "a name"),
                            error);
    profiler->name = copy;
    return ASSAY_OK;
}

static enum assay_status clone_register(struct assay_profiler *clone,
                                        const struct registration *done,
                                        struct assay_error *error)
{
    if (done->function)
        return assay_profiler_register(clone, done->function, done->flags,
                                       error);
    if (done->path)
        return assay_profiler_load_plugin(clone, done->path, done->flags,
                                          error);
    return assay_profiler_register_standard(clone, error);
}

/* "batch" is the model's own. */
static enum assay_status clone_arguments(struct assay_profiler *clone,
                                         const struct assay_profiler *from,
                                         struct assay_error *error)
{
    struct error err = {0};
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < from->n_arguments; i++) {
        const struct argument_value *argument = &from->arguments[i];

        if (strcmp(argument->name, "batch") != 0)
            st = set_argument(clone, argument->name, argument->value, &err);
    }
    return error_export(&err, st, error);
}

enum assay_status assay_profiler_clone(const struct assay_profiler *profiler,
                                       struct assay_model *model,
                                       struct assay_profiler **out,
                                       struct assay_error *error)
{
    struct assay_profiler *clone = NULL;
    enum assay_status st =
        assay_profiler_new(model, &profiler->options, &clone, error);

    *out = NULL;
    if (!st)
        assay_profiler_set_dataset(clone, profiler->dataset);
    for (size_t i = 0; !st && i < profiler->n_registrations; i++)
        st = clone_register(clone, &profiler->registrations[i], error);
    if (!st)
        st = clone_arguments(clone, profiler, error);
    if (st)
        assay_profiler_free(clone);
    else
        *out = clone;
    return st;
}

/* ---- values ------------------------------------------------------------- */

static enum assay_status profiler_compute(struct assay_profiler *profiler,
                                          const char *key, bool recomputes,
                                          const struct assay_result **out,
                                          struct error *err)
{
    size_t at = registry_find(&profiler->registry, key);
    const struct kept_result *kept;
    enum assay_status st = ASSAY_OK;
    size_t function;

    *out = NULL;
    if (at == SIZE_MAX)
        return error_set(err, ASSAY_NOT_FOUND, "no metric '%s'", key);
    kept = profiler->results[at];
    function = profiler->registry.keys[at].function;
    if (recomputes && profiler->registry.functions[function].function->needs &
                          ASSAY_NEEDS_RUN)
        profiler->is_measured = false;
    if (recomputes || !kept->is_there)
        st = profiler_run(profiler, &function, 1, err);
    if (!st && kept->result.status)
        st = error_set(err, kept->result.status, "%s", kept->reason);
    *out = kept->is_there ? &kept->result : NULL;
    return st;
}

enum assay_status assay_profiler_compute(struct assay_profiler *profiler,
                                         const char *key, int recompute,
                                         const struct assay_result **out,
                                         struct assay_error *error)
{
    struct error err = {0};

    return error_export(
        &err, profiler_compute(profiler, key, recompute, out, &err), error);
}

/* Whether one of its keys has no value yet. */
static bool lacks_value(const struct assay_profiler *profiler, size_t function,
                        bool recomputes)
{
    const struct registry *registry = &profiler->registry;

    for (size_t i = 0; i < registry->n_keys; i++) {
        if (registry->keys[i].function == function &&
            (recomputes || !profiler->results[i]->is_there))
            return true;
    }
    return false;
}

static enum assay_status compute_all(struct assay_profiler *profiler,
                                     bool recomputes, struct error *err)
{
    size_t n = profiler->registry.n_functions, n_wanted = 0;
    size_t *wanted = mem_array(n, sizeof *wanted);
    enum assay_status st;

    if (!wanted)
        return error_nomem(err, n * sizeof *wanted, "metrics");
    if (recomputes)
        profiler->is_measured = false;
    for (size_t i = 0; i < n; i++) {
        if (lacks_value(profiler, i, recomputes))
            wanted[n_wanted++] = i;
    }
    st = profiler_run(profiler, wanted, n_wanted, err);
    mem_free(wanted);
    return st;
}

enum assay_status assay_profiler_compute_all(struct assay_profiler *profiler,
                                             int recompute,
                                             struct assay_error *error)
{
    struct error err = {0};

    return error_export(&err, compute_all(profiler, recompute, &err), error);
}

size_t assay_profiler_count(const struct assay_profiler *profiler)
{
    return profiler->registry.n_keys;
}

const struct assay_metric *
assay_profiler_metric(const struct assay_profiler *profiler, size_t i)
{
    return profiler->registry.keys[i].metric;
}

const struct assay_result *
assay_profiler_result(const struct assay_profiler *profiler, size_t i)
{
    const struct kept_result *kept = profiler->results[i];

    return kept->is_there ? &kept->result : NULL;
}

const struct assay_measured *
assay_profiler_measured(const struct assay_profiler *profiler)
{
    return profiler->is_measured ? &profiler->measured : NULL;
}

/* ---- two models --------------------------------------------------------- */

static double set_side_by_side(enum assay_comparison comparison, double first,
                               double second)
{
    double value = NAN;

    switch (comparison) {
    case ASSAY_COMPARE_NONE:
        break;
    case ASSAY_COMPARE_DIFFERENCE:
        value = second - first;
        break;
    case ASSAY_COMPARE_RATIO:
        value = second / first;
        break;
    case ASSAY_COMPARE_RECIPROCAL:
        value = first / second;
        break;
    }
    return isfinite(value) ? value : NAN;
}

struct assay_enhancement assay_enhance(const struct assay_result *first,
                                       const struct assay_result *second)
{
    return (struct assay_enhancement){
        .metric = first->metric,
        .first = first->value,
        .second = second->value,
        .unit = first->status ? second->unit : first->unit,
        .value = set_side_by_side(first->metric->comparison, first->value,
                                  second->value),
    };
}

enum assay_status assay_profiler_compare(struct assay_profiler *first,
                                         struct assay_profiler *second,
                                         const char *key,
                                         struct assay_enhancement *out,
                                         struct assay_error *error)
{
    const struct assay_result *results[2] = {NULL, NULL};
    struct assay_profiler *const profilers[2] = {first, second};

    *out =
        (struct assay_enhancement){.first = NAN, .second = NAN, .value = NAN};
    for (int i = 0; i < 2; i++) {
        struct error err = {0};
        enum assay_status st =
            profiler_compute(profilers[i], key, false, &results[i], &err);

        if (st == ASSAY_NOMEM || !results[i])
            return error_export(&err, st, error);
    }
    *out = assay_enhance(results[0], results[1]);
    return ASSAY_OK;
}
