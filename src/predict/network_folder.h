/* predict/network_folder.h - the layers of networks that are there as files.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_NETWORK_FOLDER_H
#define PREDICT_NETWORK_FOLDER_H

#include "graph/graph.h"
#include "predict/data_folder.h"
#include "tensor/pool.h"

/* A .net or .onnx file and what it consists of. Start from {0}. */
struct opened_network {
    struct pool *pool;
    struct graph *graph;
    struct description description; /* named as in the file */
};

enum assay_status network_open(struct opened_network *network, const char *path,
                               struct error *err);
void network_close(struct opened_network *network);

/* Describes the networks of a folder, called NAME_LEVEL.net or .onnx, that the
 * set does not describe yet. A name without a level is passed over. */
enum assay_status data_set_describe_folder(struct data_set *set,
                                           const char *folder,
                                           struct error *err);

/* Reads several data folders. Those of perf4sight come last, so that the others
 * describe their networks, or else the files in `networks`; it may be NULL. */
enum assay_status data_set_read_all(struct data_set *set,
                                    const char *const *folders, size_t n,
                                    const char *networks, struct error *err);

#endif
