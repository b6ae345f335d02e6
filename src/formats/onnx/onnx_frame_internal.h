/* formats/onnx/onnx_frame_internal.h - the importer's state; for its own files.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ONNX_ONNX_FRAME_INTERNAL_H
#define FORMATS_ONNX_ONNX_FRAME_INTERNAL_H

#include "formats/onnx/onnx_import_internal.h"

struct onnx_importer {
    const struct onnx_model *model;
    const struct model_file_options *options;
    struct onnx_data data;
    struct arena texts;
    struct map functions; /* of the model, by domain and name; to indexes */
    size_t n_unfolded;    /* nodes from functions so far */
    size_t folded_bytes;  /* of constants that were computed so far */
};

/* A graph while it is built: the model's, or the body of a node. */
struct onnx_target {
    struct graph *graph;  /* set to NULL to take it out */
    struct tensor *known; /* by value: type and shape; rank -1: neither */
    size_t n_known, known_capacity;
    uint32_t *captured; /* values of the outer graph that it reads */
    size_t n_captured, captured_capacity;
};

enum {
    ONNX_MAX_DEPTH = 16, /* of nested functions and bodies */
    /* Nodes that functions may unfold to. Each function may call others several
     * times, so a few of them can grow beyond any machine's memory. */
    ONNX_MAX_UNFOLDED = 1 << 20,
    ONNX_MAX_OPSETS = 256 /* domains: more than exist */
};

/* A graph or the body of a function while it is imported: what its names stand
 * for. */
struct onnx_frame {
    struct onnx_importer *importer;
    struct onnx_target *target;
    struct onnx_frame *outer;       /* of a body: around its node; or NULL */
    const struct onnx_call *caller; /* in a function: who calls it; or NULL */
    const struct onnx_opset *opsets;
    size_t n_opsets;
    struct map names; /* to values of the target's graph */
    uint32_t scope;   /* that holds everything of this frame */
    int depth;
};

/* ---- the ops that can be imported (onnx_ops.c) --------------------------- */

/* The mapping of a node's op type; NULL if there is none. */
const struct onnx_op *onnx_op_find(const struct onnx_node *node, int64_t opset);
/* The opset of a domain; 0 if the file does not say. */
int64_t onnx_opset_find(const struct onnx_opset *opsets, size_t n,
                        const char *domain);

/* ---- the modules that nodes belong to (onnx_places.c) -------------------- */

struct onnx_module {
    const char *name;
    const char *class_name; /* NULL: the file does not say */
    bool is_container;      /* never called itself */
};

/* A node's modules, outermost first, and its name in the last; "" for a
 * module's only op. */
struct onnx_place {
    struct onnx_module *modules;
    size_t n_modules;
    const char *label;
    struct onnx_module fused; /* next to the last one: what the exporter fused
                                 into the node; or no name */
};

enum { ONNX_MAX_MODULES = 24 }; /* the engine walks no deeper */

/* Reads the modules that current PyTorch notes with a node (onnx_scopes.c); the
 * place has room for ONNX_MAX_MODULES. *is_found: it noted any. False without
 * memory. */
bool onnx_scopes_read(const struct onnx_node *node, struct arena *arena,
                      struct onnx_place *place, bool *is_found);
/* The class of the whole model; NULL if it is not noted, or without memory. */
const char *onnx_scopes_class(const struct onnx_node *nodes, size_t n,
                              struct arena *arena);

/* Makes one place per node, in the arena, from what exporters note, or from the
 * names that they write. */
enum assay_status onnx_places_make(const struct onnx_node *nodes, size_t n,
                                   struct arena *arena,
                                   struct onnx_place **places,
                                   struct error *err);

/* ---- constants (onnx_fold.c) --------------------------------------------- */

/* Computes the outputs of a node now, if all it reads is constant; false if the
 * node must be added instead. */
bool onnx_fold(struct onnx_call *call,
               const struct node_description *description, uint32_t *outputs);

/* ---- calls (onnx_call.c) ------------------------------------------------- */

/* The scope of the node's module; made if it is new, with class_name as the
 * class of the innermost one. */
uint32_t onnx_call_scope(struct onnx_call *call, const char *class_name);

/* ---- onnx_attributes.c: what becomes of attributes ----------------------- */

enum onnx_attribute_fate {
    ONNX_UNKNOWN,
    ONNX_HANDLED,
    ONNX_ONLY_DEFAULT, /* refused with any other number */
    ONNX_IGNORED,      /* does not change the results */
    ONNX_REFUSED
};

enum onnx_attribute_fate onnx_attribute_fate(const char *op_type,
                                             const char *name);

/* An attribute that is not handled, and why. */
struct onnx_attribute_rule {
    const char *op_type; /* NULL: of any op */
    const char *name;
    enum onnx_attribute_fate fate;
    const char *reason;
};

/* The tables, row by row; false: there is no row i. names: "axis:i mode:s",
 * each with the letters of its types. */
bool onnx_attribute_rule(size_t i, struct onnx_attribute_rule *out);
bool onnx_attribute_handled(size_t i, const char **op_type, const char **names);

/* Fails if the node has an attribute that may not be there. */
void onnx_attributes_check(struct onnx_call *call);
/* The same after its mapping, which asks for what is handled in its opset. */
void onnx_attributes_check_asked(struct onnx_call *call);

/* ---- frames (onnx_frame.c) ---------------------------------------------- */

enum assay_status onnx_target_init(struct onnx_target *target,
                                   struct error *err);
void onnx_target_release(struct onnx_target *target); /* frees the graph */

/* Notes what a name stands for. */
enum assay_status onnx_frame_bind(struct onnx_frame *frame, const char *name,
                                  uint32_t value, struct error *err);
/* What a name stands for, here or in the graphs around; GRAPH_NONE if it stands
 * for nothing. */
enum assay_status onnx_frame_find(struct onnx_frame *frame, const char *name,
                                  uint32_t *value, struct error *err);
/* Notes type and shape of a value (data is not kept). Does nothing if a size
 * other than the first, the batch, is free. */
enum assay_status onnx_target_know(struct onnx_target *target, uint32_t value,
                                   const struct tensor *known,
                                   struct error *err);
const struct tensor *onnx_target_known(const struct onnx_target *target,
                                       uint32_t value);

/* ---- nodes (onnx_order.c, onnx_check.c, onnx_nodes.c) -------------------- */

/* Imports nodes into the frame in an order in which they can run. */
enum assay_status onnx_nodes_import(struct onnx_frame *frame,
                                    const struct onnx_node *nodes, size_t n,
                                    struct error *err);
/* An order in which each node comes after those it reads from: the file's own
 * if that is one. The caller frees it. */
enum assay_status onnx_nodes_sort(const struct onnx_node *nodes, size_t n,
                                  uint32_t **out, struct error *err);
/* Reports every op of the model that cannot be imported, including those in
 * bodies and functions. */
enum assay_status onnx_check_ops(const struct onnx_importer *importer,
                                 struct error *err);
/* Indexes the functions of the model for onnx_function_find(). */
enum assay_status onnx_functions_note(struct onnx_importer *importer,
                                      struct error *err);
/* The function that a node calls; NULL if it calls none. */
const struct onnx_function *
onnx_function_find(const struct onnx_importer *importer,
                   const struct onnx_node *node);

/* ---- graphs (onnx_graph.c) ----------------------------------------------- */

/* Imports initializers, inputs, nodes and outputs of a graph into the frame.
 * The user's input shapes apply to the model's own graph only. */
enum assay_status onnx_graph_import(struct onnx_frame *frame,
                                    const struct onnx_graph *graph,
                                    struct error *err);

#endif
