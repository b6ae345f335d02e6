/* cli/model_graph.h - a model as a graph: opened by name or from a file, with
 * or without weights, and written to a file again.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_MODEL_GRAPH_H
#define CLI_MODEL_GRAPH_H

#include "cli/run_settings.h"
#include "graph/survey.h"
#include "vision/model_inputs.h"

/* Start from {0}. */
struct model_graph {
    struct run_job job;
    struct pool *pool;
    struct graph *graph;
    struct model_inputs inputs; /* only their shapes */
    struct str input_text;      /* "images 1x3x224x224" */
    struct str saved;           /* files that the last save wrote, with sizes:
                                   "x.net 1.2 kB, x.safetensors 9.1 MB" */
};

/* The model that the operand names, with the weights of --weights or of its
 * file; other weights have no data. Release it also after a failure. */
enum assay_status model_graph_open(struct model_graph *model,
                                   struct run_settings *settings,
                                   const struct words *operands,
                                   struct error *err);
/* Before anything is read: path and the weights next to it may not be what the
 * command reads. */
enum assay_status model_graph_check_roles(const char *path,
                                          const struct run_settings *settings,
                                          const struct words *operands,
                                          struct error *err);
/* Gives random weights to parameters without data. */
enum assay_status model_graph_fill(struct model_graph *model,
                                   struct graph *graph, struct error *err);
void model_graph_release(struct model_graph *model);

/* Multiply-adds of one pass over a graph with the model's inputs. */
enum assay_status model_graph_macs(const struct model_graph *model,
                                   const struct graph *graph, uint64_t *macs,
                                   struct error *err);

/* Whether the ending is one that can be written: .net or .onnx. */
enum assay_status model_graph_check_path(const char *path, struct error *err);
/* Writes a graph with the model's inputs in the format of the path's ending,
 * and names it after the file. note: a line for readers; may be NULL. */
enum assay_status model_graph_save(struct model_graph *model,
                                   struct graph *graph, const char *path,
                                   const char *note, struct error *err);

#endif
