/* formats/net/net.h - networks as text: layers, shapes, attributes,
 * connections, and where the weights are. docs/net.md has the format.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_NET_NET_H
#define FORMATS_NET_NET_H

#include "base/sink.h"
#include "graph/survey.h"

struct net_notes {
    const char *text;            /* where it comes from: a line; may be NULL */
    const struct survey *survey; /* shows what each node makes; may be NULL */
    bool has_no_weights;         /* data of parameters is left out */
};

/* The description alone. weights: the file that data is in, or NULL.
 * ASSAY_UNSUPPORTED: it has an op that has no text. */
enum assay_status net_write(const struct graph *graph, const char *weights,
                            const struct net_notes *notes, struct sink *sink,
                            struct error *err);

/* The description into a file, and data that is not small into a safetensors
 * file beside it (x.net: x.safetensors). Without data of parameters there is
 * none. Both are whole or not there. */
enum assay_status net_save(const struct graph *graph, const char *path,
                           const struct net_notes *notes, struct error *err);

/* Where that is: "folder/x.safetensors" of "folder/x.net". */
enum assay_status net_weights_path(const char *path, struct str *out,
                                   struct error *err);

/* Whether a file that begins so is one. */
bool net_is(const void *begin, size_t n);

/* Parameters have data where the file says where; those of others are filled
 * by the caller. Errors have the line. The caller frees *out. */
enum assay_status net_load(const char *path, struct pool *pool,
                           struct graph **out, struct error *err);
/* The same for text in memory; a file of weights is refused. */
enum assay_status net_read(const char *text, size_t n, struct pool *pool,
                           struct graph **out, struct error *err);

#endif
