/* metrics/registry.c - see registry_internal.h. */
#include "metrics/registry_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <string.h>

void registry_release(struct registry *registry)
{
    mem_free(registry->functions);
    mem_free(registry->keys);
    *registry = (struct registry){0};
}

size_t registry_find(const struct registry *registry, const char *key)
{
    for (size_t i = 0; i < registry->n_keys; i++) {
        if (strcmp(registry->keys[i].metric->key, key) == 0)
            return i;
    }
    return SIZE_MAX;
}

/* ---- is the function valid? --------------------------------------------- */

static bool is_key(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";

    return text && *text && text[strspn(text, letters)] == '\0';
}

static enum assay_status check_metric(const struct assay_metric_function *from,
                                      size_t at, struct error *err)
{
    const struct assay_metric *metric = &from->metrics[at];

    if (!is_key(metric->key))
        return error_set(err, ASSAY_BAD_INPUT,
                         "metric function '%s': the key of its metric %zu is "
                         "'%s'; a key consists of a-z, 0-9 and _",
                         from->name, at + 1, metric->key ? metric->key : "");
    if (!metric->name || !metric->description)
        return error_set(err, ASSAY_BAD_INPUT,
                         "metric function '%s': '%s' has no %s", from->name,
                         metric->key, metric->name ? "description" : "name");
    if ((unsigned)metric->comparison > ASSAY_COMPARE_RECIPROCAL)
        return error_set(
            err, ASSAY_BAD_INPUT,
            "metric function '%s': '%s' has an unknown comparison (%d)",
            from->name, metric->key, (int)metric->comparison);
    for (const struct assay_unit *unit = metric->units; unit && unit->name;
         unit++) {
        if (!(unit->scale > 0))
            return error_set(err, ASSAY_BAD_INPUT,
                             "metric function '%s': unit %s of '%s' has the "
                             "scale %g",
                             from->name, unit->name, metric->key, unit->scale);
    }
    for (size_t i = 0; i < at; i++) {
        if (strcmp(from->metrics[i].key, metric->key) == 0)
            return error_set(err, ASSAY_BAD_INPUT,
                             "metric function '%s' has the key '%s' twice",
                             from->name, metric->key);
    }
    return ASSAY_OK;
}

static enum assay_status
check_function(const struct assay_metric_function *function, struct error *err)
{
    static const unsigned known =
        ASSAY_NEEDS_WEIGHTS | ASSAY_NEEDS_RUN | ASSAY_NEEDS_DATASET;
    enum assay_status st = ASSAY_OK;

    if (!function->name || !function->compute || !function->metrics ||
        !function->n_metrics)
        return error_set(err, ASSAY_BAD_INPUT, "metric function '%s' lacks %s",
                         function->name ? function->name : "?",
                         !function->name      ? "a name"
                         : !function->compute ? "a compute function"
                                              : "metrics");
    if (function->needs & ~known)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "metric function '%s' has unknown needs (%#x)",
                         function->name, function->needs & ~known);
    for (size_t i = 0; !st && i < function->n_metrics; i++)
        st = check_metric(function, i, err);
    for (size_t i = 0; !st && i < function->n_arguments; i++) {
        if (!function->arguments[i].name)
            st = error_set(err, ASSAY_BAD_INPUT,
                           "metric function '%s': argument %zu has no name",
                           function->name, i + 1);
    }
    return st;
}

/* ---- which function gets a key ------------------------------------------ */

static const struct registered *owner(const struct registry *registry,
                                      size_t key)
{
    return &registry->functions[registry->keys[key].function];
}

static enum assay_status check_overrides(const struct registry *registry,
                                         const struct registered *added,
                                         struct error *err)
{
    for (size_t i = 0; i < added->function->n_metrics; i++) {
        const char *key = added->function->metrics[i].key;
        size_t at = registry_find(registry, key);

        if (added->is_override && at != SIZE_MAX &&
            owner(registry, at)->is_override)
            return error_set(err, ASSAY_BAD_USAGE,
                             "metric '%s': both '%s' and '%s' override it; "
                             "only one can",
                             key, owner(registry, at)->function->name,
                             added->function->name);
    }
    return ASSAY_OK;
}

static enum assay_status registry_make_room(struct registry *registry,
                                            size_t n_keys, struct error *err)
{
    void *functions =
        vec_reserve(registry->functions, &registry->functions_capacity,
                    registry->n_functions + 1, sizeof *registry->functions);
    void *keys;

    if (functions)
        registry->functions = functions;
    keys = vec_reserve(registry->keys, &registry->keys_capacity,
                       registry->n_keys + n_keys, sizeof *registry->keys);
    if (keys)
        registry->keys = keys;
    return functions && keys ? ASSAY_OK
                             : error_nomem(err, n_keys * sizeof *registry->keys,
                                           "metric functions");
}

/* Gives a key to the new function, which is the last one, if it may have it. */
static void take_key(struct registry *registry, size_t at,
                     struct sink *warnings)
{
    const struct registered *added =
        &registry->functions[registry->n_functions - 1];
    const struct assay_metric *metric = &added->function->metrics[at];
    size_t place = registry_find(registry, metric->key);
    struct registry_key key = {
        .metric = metric, .function = registry->n_functions - 1, .at = at};

    if (place == SIZE_MAX) {
        registry->keys[registry->n_keys++] = key;
        return;
    }
    if (owner(registry, place)->is_override) {
        sink_printf(warnings,
                    "metric '%s': '%s' is ignored, '%s' overrides it\n",
                    metric->key, added->function->name,
                    owner(registry, place)->function->name);
        return;
    }
    if (!added->is_override)
        sink_printf(warnings, "metric '%s': '%s' replaces '%s'\n", metric->key,
                    added->function->name,
                    owner(registry, place)->function->name);
    registry->keys[place] = key;
}

enum assay_status registry_add(struct registry *registry,
                               const struct registered *registered,
                               struct sink *warnings, struct error *err)
{
    const struct assay_metric_function *function = registered->function;
    enum assay_status st = check_function(function, err);

    if (!st)
        st = check_overrides(registry, registered, err);
    if (!st)
        st = registry_make_room(registry, function->n_metrics, err);
    if (st)
        return st;
    registry->functions[registry->n_functions++] = *registered;
    for (size_t i = 0; i < function->n_metrics; i++)
        take_key(registry, i, warnings);
    return ASSAY_OK;
}
