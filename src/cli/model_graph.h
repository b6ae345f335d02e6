/* cli/model_graph.h - a model as a graph: from its name or file, with or
 * without weights, and into a file again.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_MODEL_GRAPH_H
#define CLI_MODEL_GRAPH_H

#include "cli/run_settings.h"
#include "detect/model_inputs.h"
#include "graph/survey.h"

/* Start from {0}. */
struct model_graph {
    struct run_job job;
    struct pool *pool;
    struct graph *graph;
    struct model_inputs inputs; /* shapes alone */
    struct str input_text;      /* "images 1x3x224x224" */
    struct str saved;           /* files that the last save wrote, with their
                                   sizes: "x.net 1.2 kB, x.safetensors 9.1 MB" */
};

/* The model that the operand names, with the weights that --weights names or
 * its file has; others stay without data. Released also on failure. */
enum assay_status model_graph_open(struct model_graph *model,
                                   struct run_settings *settings,
                                   const struct words *operands,
                                   struct error *err);
/* Before anything is read: whether path may be written, and what lies beside
 * it, while the command line reads its own. */
enum assay_status model_graph_check_roles(const char *path,
                                          const struct run_settings *settings,
                                          const struct words *operands,
                                          struct error *err);
/* Random weights for what has none. */
enum assay_status model_graph_fill(struct model_graph *model,
                                   struct graph *graph, struct error *err);
void model_graph_release(struct model_graph *model);

/* What a pass over a graph costs with the model's inputs. */
enum assay_status model_graph_macs(const struct model_graph *model,
                                   const struct graph *graph, uint64_t *macs,
                                   struct error *err);

/* Whether a file of that name can be written: .net or .onnx. */
enum assay_status model_graph_check_path(const char *path, struct error *err);
/* A graph with the model's inputs into a file, as its ending says. The graph
 * is named after the file. note: a line for who reads it; may be NULL. */
enum assay_status model_graph_save(struct model_graph *model,
                                   struct graph *graph, const char *path,
                                   const char *note, struct error *err);

#endif
