/* metrics/registry.h - which function computes which key.
 *
 * Of two functions for a key the later one is taken and a warning is given,
 * unless the earlier one overrides; two that override are an error. The
 * functions are borrowed.
 *
 * SPDX-License-Identifier: MIT */
#ifndef METRICS_REGISTRY_H
#define METRICS_REGISTRY_H

#include "base/error.h"
#include "base/sink.h"

#include <assay/profiler.h>
#include <stdbool.h>

/* A function, and where it came from. */
struct registered {
    const struct assay_metric_function *function;
    bool is_override;
    bool is_foreign; /* of a plug-in: runs in a process of its own */
};

/* A key, and who computes it. */
struct registry_key {
    const struct assay_metric *metric; /* the function's own */
    size_t function;                   /* of the registry */
    size_t at;                         /* among the function's metrics */
};

/* Start from {0}. */
struct registry {
    struct registered *functions;
    size_t n_functions, functions_capacity;
    struct registry_key *keys; /* in the order of their first registration */
    size_t n_keys, keys_capacity;
};

void registry_release(struct registry *registry);

/* Adds a function. Warnings are lines. Nothing is changed where it fails. */
enum assay_status registry_add(struct registry *registry,
                               const struct registered *registered,
                               struct sink *warnings, struct error *err);

/* SIZE_MAX where there is none. */
size_t registry_find(const struct registry *registry, const char *key);

#endif
