/* metrics/registry_internal.h - which function computes which key.
 *
 * Of two functions for a key the later one wins, with a warning, unless the
 * earlier one overrides; two overriding ones are an error. The functions are
 * borrowed.
 *
 * SPDX-License-Identifier: MIT */
#ifndef METRICS_REGISTRY_INTERNAL_H
#define METRICS_REGISTRY_INTERNAL_H

#include "base/error.h"
#include "base/sink.h"

#include <assay/profiler.h>
#include <stdbool.h>

/* A function, and where it came from. */
struct registered {
    const struct assay_metric_function *function;
    bool is_override;
    bool is_foreign; /* from a plug-in: runs in a process of its own */
};

/* A key, and the function that computes it. */
struct registry_key {
    const struct assay_metric *metric; /* the function's own */
    size_t function;                   /* index in the registry */
    size_t at;                         /* index among the function's metrics */
};

/* Start from {0}. */
struct registry {
    struct registered *functions;
    size_t n_functions, functions_capacity;
    struct registry_key *keys; /* in the order of their first registration */
    size_t n_keys, keys_capacity;
};

void registry_release(struct registry *registry);

/* Adds a function. Warnings are lines. On failure nothing changes. */
enum assay_status registry_add(struct registry *registry,
                               const struct registered *registered,
                               struct sink *warnings, struct error *err);

/* SIZE_MAX if there is none. */
size_t registry_find(const struct registry *registry, const char *key);

#endif
