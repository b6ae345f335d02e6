/* formats/onnx/onnx_check.c - see onnx_frame_internal.h: finds the ops of a
 * model that are missing. */
#include "formats/onnx/onnx_frame_internal.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

#include <inttypes.h>

/* An op type that is missing, and the nodes that need it. */
struct missing {
    const struct onnx_node *node; /* the first */
    int64_t opset;
    size_t n_nodes;
};

struct check {
    const struct onnx_importer *importer;
    struct map found; /* from domain and op type to an index of missing */
    struct missing *missing;
    size_t n, capacity;
};

static enum assay_status onnx_check_note_missing(struct check *check,
                                                 const struct onnx_node *node,
                                                 int64_t opset)
{
    struct str key = {0};
    struct missing *moved;
    enum assay_status st;
    uint64_t at;

    st = str_printf(&key, "%s.%s", node->domain, node->op_type);
    if (!st && map_find_text(&check->found, key.text, &at)) {
        check->missing[at].n_nodes++;
    } else if (!st) {
        moved = vec_reserve(check->missing, &check->capacity, check->n + 1,
                            sizeof *check->missing);
        st = moved ? map_put_text(&check->found, key.text, check->n)
                   : ASSAY_NOMEM;
        if (moved)
            check->missing = moved;
        if (!st)
            check->missing[check->n++] =
                (struct missing){.node = node, .opset = opset, .n_nodes = 1};
    }
    str_release(&key);
    return st;
}

static enum assay_status check_opsets(const struct onnx_model *model,
                                      struct error *err)
{
    bool is_fine = model->n_opsets <= ONNX_MAX_OPSETS;

    for (size_t i = 0; is_fine && i < model->n_functions; i++)
        is_fine = model->functions[i].n_opsets <= ONNX_MAX_OPSETS;
    return is_fine ? ASSAY_OK
                   : error_set(err, ASSAY_BAD_INPUT,
                               "it names the opsets of more than %d domains",
                               ONNX_MAX_OPSETS);
}

/* Recurses no deeper than messages may be nested. */
static enum assay_status check_nodes(struct check *check,
                                     const struct onnx_node *nodes, size_t n,
                                     const struct onnx_opset *opsets,
                                     size_t n_opsets)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < n; i++) {
        const struct onnx_node *node = &nodes[i];
        int64_t opset = onnx_opset_find(opsets, n_opsets, node->domain);

        if (!onnx_function_find(check->importer, node) &&
            !onnx_op_find(node, opset))
            st = onnx_check_note_missing(check, node, opset);
        for (size_t a = 0; !st && a < node->n_attributes; a++) {
            const struct onnx_graph *body = node->attributes[a].g;

            if (body)
                st = check_nodes(check, body->nodes, body->n_nodes, opsets,
                                 n_opsets);
        }
    }
    return st;
}

static const char *node_name(const struct onnx_node *node)
{
    if (node->name[0])
        return node->name;
    return node->n_outputs ? node->outputs[0] : "without a name";
}

/* Writes one line per op to the sink, and all names into the message. */
static enum assay_status onnx_check_report(const struct check *check,
                                           struct sink *sink, struct error *err)
{
    struct str names = {0};
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < check->n; i++) {
        const struct missing *missing = &check->missing[i];
        const struct onnx_node *node = missing->node;
        const char *dot = node->domain[0] ? "." : "";

        st = str_printf(&names, "%s%s%s%s (opset %" PRId64 ", node %s)",
                        i ? ", " : "", node->domain, dot, node->op_type,
                        missing->opset, node_name(node));
        if (sink)
            sink_printf(sink,
                        "missing  %s%s%s  opset %" PRId64
                        "  %zu node%s, first %s\n",
                        node->domain, dot, node->op_type, missing->opset,
                        missing->n_nodes, missing->n_nodes > 1 ? "s" : "",
                        node_name(node));
    }
    st =
        st ? error_nomem(err, names.n, "the names of ops")
           : error_set(err, ASSAY_UNSUPPORTED,
                       "%zu of its ops %s not supported (see 'assay ops'): %s",
                       check->n, check->n > 1 ? "are" : "is", str_text(&names));
    str_release(&names);
    return st;
}

enum assay_status onnx_check_ops(const struct onnx_importer *importer,
                                 struct error *err)
{
    const struct onnx_model *model = importer->model;
    struct check check = {.importer = importer};
    enum assay_status st = check_opsets(model, err);

    if (st)
        return st;
    st = check_nodes(&check, model->graph->nodes, model->graph->n_nodes,
                     model->opsets, model->n_opsets);
    for (size_t i = 0; !st && i < model->n_functions; i++) {
        const struct onnx_function *function = &model->functions[i];

        st = check_nodes(&check, function->nodes, function->n_nodes,
                         function->opsets, function->n_opsets);
    }
    if (st)
        error_nomem(err, sizeof *check.missing, "the names of ops");
    else if (check.n)
        st = onnx_check_report(&check, importer->options->problems, err);
    map_release(&check.found);
    mem_free(check.missing);
    return st;
}
