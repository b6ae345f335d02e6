/* metrics/plugin.h - shared objects with metric functions.
 *
 * SPDX-License-Identifier: MIT */
#ifndef METRICS_PLUGIN_H
#define METRICS_PLUGIN_H

#include "base/arena.h"
#include "base/error.h"

#include <assay/metric.h>

/* Loaded objects; they stay until the list is released. Start from {0}. */
struct plugins {
    void **handles;
    const struct assay_metric_plugin **items;
    size_t n, capacity;
    struct arena memory;
};

void plugins_release(struct plugins *plugins);

/* Adds the object at path, or those (.so) in a folder, by name. What is there
 * but is no plug-in, or of another api_version, is refused; the list is as it
 * was then. */
enum assay_status plugins_load(struct plugins *plugins, const char *path,
                               struct error *err);

#endif
