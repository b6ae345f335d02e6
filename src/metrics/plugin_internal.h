/* metrics/plugin_internal.h - shared objects with metric functions.
 *
 * SPDX-License-Identifier: MIT */
#ifndef METRICS_PLUGIN_INTERNAL_H
#define METRICS_PLUGIN_INTERNAL_H

#include "base/arena.h"
#include "base/error.h"

#include <assay/metric.h>

/* Loaded objects; they stay loaded until the list is released. Start from
 * {0}. */
struct plugins {
    struct loaded_plugin {
        void *handle;
        const struct assay_metric_plugin *plugin;
    } * items;
    size_t n, capacity;
    struct arena memory;
};

void plugins_release(struct plugins *plugins);

/* Adds the object at path, or those (.so) in a folder, in order of name.
 * Refuses what is not a plug-in or has another api_version; the list is then
 * unchanged. */
enum assay_status plugins_load(struct plugins *plugins, const char *path,
                               struct error *err);

#endif
