/* formats/net/net.h - reads and writes network descriptions: layers, shapes,
 * attributes and connections as text. docs/net.md has the format.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_NET_NET_H
#define FORMATS_NET_NET_H

#include "base/sink.h"
#include "graph/survey.h"

struct net_notes {
    const char *text;            /* one line about its origin; may be NULL */
    const struct survey *survey; /* adds the shape of each output; or NULL */
    bool has_no_weights;         /* leaves out the data of parameters */
};

/* Writes the description alone. weights: the name of the file with the data, or
 * NULL. ASSAY_UNSUPPORTED if an op cannot be written as text. */
enum assay_status net_write(const struct graph *graph, const char *weights,
                            const struct net_notes *notes, struct sink *sink,
                            struct error *err);

/* Writes the description into a file, and all but small data into a safetensors
 * file next to it (x.net: x.safetensors) if there is any. On failure neither
 * file is left. */
enum assay_status net_save(const struct graph *graph, const char *path,
                           const struct net_notes *notes, struct error *err);

/* That file's name: "folder/x.safetensors" for "folder/x.net". */
enum assay_status net_weights_path(const char *path, struct str *out,
                                   struct error *err);

/* Whether a file that begins with these bytes is a network description. */
bool net_is(const void *begin, size_t n);

/* Parameters have data if the file names its weights; else the caller fills
 * them. Errors name the line. The caller frees *out. */
enum assay_status net_load(const char *path, struct pool *pool,
                           struct graph **out, struct error *err);
/* The same for text in memory; refuses a file of weights. */
enum assay_status net_read(const char *text, size_t n, struct pool *pool,
                           struct graph **out, struct error *err);

#endif
