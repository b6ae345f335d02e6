/* formats/onnx/onnx_frame_internal.h - what the importer holds while it makes
 * graphs; for the importer's own files.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ONNX_ONNX_FRAME_INTERNAL_H
#define FORMATS_ONNX_ONNX_FRAME_INTERNAL_H

#include "formats/onnx/onnx_import_internal.h"

struct onnx_importer {
    const struct onnx_model *model;
    const struct onnx_options *options;
    struct onnx_data data;
    struct arena texts;
    struct map functions; /* of the model, by domain and name; to indexes */
    size_t n_unfolded;    /* nodes that stood in functions, so far */
    size_t folded_bytes;  /* of constants that were computed, so far */
};

/* A graph on its way: the model's, or the body of a node. */
struct onnx_target {
    struct graph *graph;  /* taken out by setting it to NULL */
    struct tensor *known; /* by value: type and shape; rank -1: neither */
    size_t n_known, known_capacity;
    uint32_t *captured; /* values of the outer graph that it reads */
    size_t n_captured, captured_capacity;
};

enum {
    ONNX_MAX_DEPTH = 16, /* of functions and bodies in each other */
    /* Nodes that functions may unfold to: each may call others several times,
     * and a few of them so become more than any machine holds. */
    ONNX_MAX_UNFOLDED = 1 << 20,
    ONNX_MAX_OPSETS = 256 /* domains: more than all there are */
};

struct onnx_frame {
    struct onnx_importer *importer;
    struct onnx_target *target;
    struct onnx_frame *outer;       /* of a body: where its node is; NULL */
    const struct onnx_call *caller; /* in a function: who calls it; NULL */
    const struct onnx_opset *opsets;
    size_t n_opsets;
    struct map names; /* to values of the target's graph */
    uint32_t scope;   /* that everything lies under */
    int depth;
};

/* ---- where nodes belong (onnx_places.c) --------------------------------- */

struct onnx_module {
    const char *name;
    bool is_container; /* never called itself */
};

/* A node's modules, outermost first, and its name in the last; "" for a
 * module's only op. */
struct onnx_place {
    struct onnx_module *modules;
    size_t n_modules;
    const char *label;
};

/* One a node, in the arena, from the names that exporters write. */
enum assay_status onnx_places_make(const struct onnx_node *nodes, size_t n,
                                   struct arena *arena,
                                   struct onnx_place **places,
                                   struct error *err);

/* ---- constants (onnx_fold.c) --------------------------------------------- */

/* Computes the outputs of a node where all it reads is constant, instead of
 * adding it; false where it must be added. */
bool onnx_fold(struct onnx_call *call,
               const struct node_description *description, uint32_t *outputs);

/* ---- frames (onnx_frame.c) ---------------------------------------------- */

enum assay_status onnx_target_init(struct onnx_target *target,
                                   struct error *err);
void onnx_target_release(struct onnx_target *target); /* frees the graph */

/* Notes what a name stands for. */
enum assay_status onnx_frame_bind(struct onnx_frame *frame, const char *name,
                                  uint32_t value, struct error *err);
/* What a name stands for, here or in the graphs around: GRAPH_NONE where
 * nothing does. */
enum assay_status onnx_frame_find(struct onnx_frame *frame, const char *name,
                                  uint32_t *value, struct error *err);
/* Notes type and shape of a value (data is not kept). */
enum assay_status onnx_target_know(struct onnx_target *target, uint32_t value,
                                   const struct tensor *known,
                                   struct error *err);
const struct tensor *onnx_target_known(const struct onnx_target *target,
                                       uint32_t value);

/* ---- nodes (onnx_nodes.c) ------------------------------------------------ */

/* Imports nodes into the frame in an order in which they can run. */
enum assay_status onnx_nodes_import(struct onnx_frame *frame,
                                    const struct onnx_node *nodes, size_t n,
                                    struct error *err);
/* An order of the nodes in which each comes behind those it reads from: the
 * file's own where that is one. The caller frees it. */
enum assay_status onnx_nodes_sort(const struct onnx_node *nodes, size_t n,
                                  uint32_t **out, struct error *err);
/* Finds every op of the model that cannot be imported, also those in bodies
 * and functions. */
enum assay_status onnx_check_ops(const struct onnx_importer *importer,
                                 struct error *err);
/* Notes the functions of the model, for onnx_function_find(). */
enum assay_status onnx_functions_note(struct onnx_importer *importer,
                                      struct error *err);
/* The opset of a domain; 0 where the file does not say. */
int64_t onnx_frame_opset(const struct onnx_opset *opsets, size_t n,
                         const char *domain);
/* The function that a node calls; NULL where it calls none. */
const struct onnx_function *
onnx_function_find(const struct onnx_importer *importer,
                   const struct onnx_node *node);

/* ---- graphs (onnx_graph.c) ----------------------------------------------- */

/* Initializers, inputs, nodes and outputs of a graph into the frame. The
 * shapes of inputs that the user chose count for the model's own graph. */
enum assay_status onnx_graph_import(struct onnx_frame *frame,
                                    const struct onnx_graph *graph,
                                    struct error *err);

#endif
