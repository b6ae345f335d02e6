/* formats/onnx/onnx_write.c - see onnx_write.h. Ops write their own nodes. */
#include "formats/onnx/onnx_write.h"

#include "base/file.h"
#include "base/file_guard.h"
#include "base/mem.h"
#include "formats/onnx/onnx_data_internal.h"
#include "ops/onnx_sink.h"

#include <string.h>

enum { first_opset = 13, ir_version = 8, most_bytes = INT32_MAX };

/* Fields of ONNX's messages. */
enum { MODEL_IR = 1, MODEL_PRODUCER, MODEL_GRAPH = 7, MODEL_OPSET };
enum { OPSET_VERSION = 2 };
enum {
    GRAPH_NODE = 1,
    GRAPH_NAME,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT
};
enum { NODE_INPUT = 1, NODE_OUTPUT, NODE_NAME, NODE_OP, NODE_ATTRIBUTE };
enum {
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_F,
    ATTRIBUTE_I,
    ATTRIBUTE_S,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_TYPE = 20
};
enum { TYPE_FLOAT = 1, TYPE_INT, TYPE_STRING, TYPE_INTS = 7 };
enum { TENSOR_DIMS = 1, TENSOR_TYPE, TENSOR_NAME = 8, TENSOR_RAW };
enum { VALUE_NAME = 1, VALUE_TYPE };
enum { TYPE_TENSOR = 1 };
enum { TENSOR_ELEMENT = 1, TENSOR_SHAPE };
enum { SHAPE_DIM = 1 };
enum { DIM_VALUE = 1, DIM_NAME };

/* A file while it is made; an onnx_sink for the ops. Remembers the first
 * failure. */
struct onnx_export {
    struct onnx_sink sink;
    struct str nodes;        /* of the GraphProto, with their tags */
    struct str initializers; /* small ones that ops made */
    struct str *names;       /* one per value, then those that ops made */
    int64_t opset;
    size_t n_made; /* names that ops made */

    struct str path;       /* the name of the current node */
    struct str attributes; /* of the current op */
    enum assay_status st;
    struct error *err;
};

static struct onnx_export *export_of(struct onnx_sink *sink)
{
    return (struct onnx_export *)sink; /* its first member */
}

static bool onnx_write_check(struct onnx_export *to, bool is_put)
{
    if (!is_put && !to->st)
        to->st = error_nomem(to->err, to->nodes.n, "an ONNX file");
    return is_put;
}

/* ---- attributes and nodes ------------------------------------------------ */

/* Completes a message that has the value already, and releases it. */
static void put_attribute(struct onnx_export *to, const char *name,
                          struct str *attribute, int64_t type)
{
    onnx_write_check(
        to, wire_put_text(attribute, ATTRIBUTE_NAME, name) &&
                wire_put_int(attribute, ATTRIBUTE_TYPE, type) &&
                wire_put_message(&to->attributes, NODE_ATTRIBUTE, attribute));
    str_release(attribute);
}

static void onnx_write_int(struct onnx_sink *sink, const char *name,
                           int64_t value)
{
    struct onnx_export *to = export_of(sink);
    struct str attribute = {0};

    onnx_write_check(to, wire_put_int(&attribute, ATTRIBUTE_I, value));
    put_attribute(to, name, &attribute, TYPE_INT);
}

static void onnx_write_float(struct onnx_sink *sink, const char *name,
                             double value)
{
    struct onnx_export *to = export_of(sink);
    struct str attribute = {0};

    onnx_write_check(to, wire_put_float(&attribute, ATTRIBUTE_F, (float)value));
    put_attribute(to, name, &attribute, TYPE_FLOAT);
}

static void onnx_write_text(struct onnx_sink *sink, const char *name,
                            const char *value)
{
    struct onnx_export *to = export_of(sink);
    struct str attribute = {0};

    onnx_write_check(to, wire_put_text(&attribute, ATTRIBUTE_S, value));
    put_attribute(to, name, &attribute, TYPE_STRING);
}

static void onnx_write_ints(struct onnx_sink *sink, const char *name,
                            const int64_t *values, size_t n)
{
    struct onnx_export *to = export_of(sink);
    struct str attribute = {0};

    for (size_t i = 0; i < n; i++)
        onnx_write_check(to,
                         wire_put_int(&attribute, ATTRIBUTE_INTS, values[i]));
    put_attribute(to, name, &attribute, TYPE_INTS);
}

static void onnx_write_op(struct onnx_sink *sink, const char *op_type,
                          const char *const *inputs, size_t n_inputs,
                          const char *const *outputs, size_t n_outputs)
{
    struct onnx_export *to = export_of(sink);
    struct str node = {0};
    bool is_put = true;

    while (n_inputs && !inputs[n_inputs - 1][0])
        n_inputs--; /* inputs left out at the end are not listed */
    for (size_t i = 0; i < n_inputs; i++)
        is_put &= wire_put_text(&node, NODE_INPUT, inputs[i]);
    for (size_t i = 0; i < n_outputs; i++)
        is_put &= wire_put_text(&node, NODE_OUTPUT, outputs[i]);
    is_put &=
        wire_put_text(&node, NODE_NAME, str_text(&to->path)) &&
        wire_put_text(&node, NODE_OP, op_type) &&
        !str_append_n(&node, str_text(&to->attributes), to->attributes.n) &&
        wire_put_message(&to->nodes, GRAPH_NODE, &node);
    onnx_write_check(to, is_put);
    str_clear(&to->attributes);
    str_release(&node);
}

static void onnx_write_need_opset(struct onnx_sink *sink, int64_t opset)
{
    struct onnx_export *to = export_of(sink);

    if (opset > to->opset)
        to->opset = opset;
}

static void onnx_write_refuse(struct onnx_sink *sink, const char *why)
{
    struct onnx_export *to = export_of(sink);

    if (!to->st)
        to->st = error_set(to->err, ASSAY_UNSUPPORTED, "%s (%s): %s",
                           str_text(&to->path), to->sink.node->op->name, why);
}

/* ---- names -------------------------------------------------------------- */

static const char *onnx_write_name(const struct onnx_sink *sink, uint32_t value)
{
    const struct onnx_export *to = (const struct onnx_export *)sink;

    return value == GRAPH_NONE ? "" : str_text(&to->names[value]);
}

/* "/layer1/0/conv1/Conv2d", with the node's own name at the end if it has one.
 */
static void onnx_write_name_node(struct onnx_export *to, size_t at)
{
    const struct node *node = graph_node(to->sink.graph, at);
    const char *chain[64];
    size_t n = 0;
    bool is_put = true;

    for (uint32_t id = node->scope; id != GRAPH_NONE && n < 64;
         id = graph_scope(to->sink.graph, id)->parent)
        chain[n++] = graph_scope(to->sink.graph, id)->name;
    str_clear(&to->path);
    while (n--)
        is_put &= !str_printf(&to->path, "/%s", chain[n]);
    is_put &= !str_printf(&to->path, "/%s",
                          node->name[0] ? node->name : node->op->name);
    onnx_write_check(to, is_put);
}

static void name_values(struct onnx_export *to)
{
    for (uint32_t i = 0; i < graph_value_count(to->sink.graph); i++) {
        const struct value *value = graph_value(to->sink.graph, i);
        bool is_put = value->name[0]
                          ? !str_append(&to->names[i], value->name)
                          : !str_printf(&to->names[i], "value_%u", i);

        onnx_write_check(to, is_put);
    }
}

/* Gives outputs' names to the values that have none of their own. */
static void name_outputs(struct onnx_export *to)
{
    for (size_t i = 0; i < graph_output_count(to->sink.graph); i++) {
        const char *name;
        uint32_t value = graph_output_at(to->sink.graph, i, &name);

        if (graph_value(to->sink.graph, value)->name[0] ||
            strncmp(str_text(&to->names[value]), "value_", 6) != 0)
            continue;
        str_clear(&to->names[value]);
        onnx_write_check(to, !str_append(&to->names[value], name));
    }
}

/* Copies the outputs that share a value or are inputs or constants. */
static void onnx_write_copy_outputs(struct onnx_export *to)
{
    for (size_t i = 0; i < graph_output_count(to->sink.graph) && !to->st; i++) {
        const char *name, *from;
        uint32_t value = graph_output_at(to->sink.graph, i, &name);

        from = onnx_write_name(&to->sink, value);
        if (strcmp(from, name) != 0)
            onnx_write_op(&to->sink, "Identity", &from, 1, &name, 1);
    }
}

/* ---- tensors ------------------------------------------------------------ */

static int64_t type_number(enum dtype dtype)
{
    enum dtype found;

    for (int64_t i = 1; i <= 16; i++) {
        if (onnx_dtype(i, &found) && found == dtype)
            return i;
    }
    return 0;
}

/* All of a TensorProto but its elements. */
static bool put_tensor_head(struct str *to, enum dtype dtype,
                            const struct shape *shape, const char *name)
{
    bool is_put = true;

    for (int i = 0; i < shape->rank; i++)
        is_put &= wire_put_int(to, TENSOR_DIMS, shape->dims[i]);
    return is_put && wire_put_int(to, TENSOR_TYPE, type_number(dtype)) &&
           wire_put_text(to, TENSOR_NAME, name);
}

static const char *onnx_write_add_name(struct onnx_sink *sink, const char *what)
{
    struct onnx_export *to = export_of(sink);
    struct str *name =
        &to->names[graph_value_count(to->sink.graph) + to->n_made];

    if (to->n_made == graph_node_count(to->sink.graph) * 8) {
        onnx_write_refuse(&to->sink, "it needs too many steps");
        return "";
    }
    to->n_made++;
    onnx_write_check(to, !str_printf(name, "%s_%zu", what, to->n_made));
    return str_text(name);
}

static const char *new_constant(struct onnx_export *to, enum dtype dtype,
                                const struct shape *shape, const void *data,
                                size_t bytes)
{
    const char *name = onnx_write_add_name(&to->sink, "constant");
    struct str tensor = {0};

    onnx_write_check(to, put_tensor_head(&tensor, dtype, shape, name) &&
                             wire_put_bytes(&tensor, TENSOR_RAW, data, bytes) &&
                             wire_put_message(&to->initializers,
                                              GRAPH_INITIALIZER, &tensor));
    str_release(&tensor);
    return name;
}

static const char *onnx_write_add_scalar(struct onnx_sink *sink, float value)
{
    struct onnx_export *to = export_of(sink);
    struct shape shape = {0};

    return new_constant(to, DTYPE_F32, &shape, &value, sizeof value);
}

static void onnx_write_dtype(struct onnx_sink *sink, const char *name,
                             enum dtype dtype)
{
    if (type_number(dtype))
        onnx_write_int(sink, name, type_number(dtype));
    else
        onnx_write_refuse(sink, "ONNX has no such type");
}

static const struct onnx_sink_class onnx_write_sink = {
    .attr_int = onnx_write_int,
    .attr_float = onnx_write_float,
    .attr_text = onnx_write_text,
    .attr_ints = onnx_write_ints,
    .attr_dtype = onnx_write_dtype,
    .put = onnx_write_op,
    .name = onnx_write_name,
    .add_name = onnx_write_add_name,
    .add_scalar = onnx_write_add_scalar,
    .need_opset = onnx_write_need_opset,
    .refuse = onnx_write_refuse,
};

static bool put_dims(struct str *to, const struct shape *shape)
{
    struct str dim = {0};
    bool is_put = true;

    for (int i = 0; i < shape->rank; i++) {
        is_put &= shape->dims[i] < 0
                      ? wire_put_text(&dim, DIM_NAME, "batch")
                      : wire_put_int(&dim, DIM_VALUE, shape->dims[i]);
        is_put &= wire_put_message(to, SHAPE_DIM, &dim);
    }
    str_release(&dim);
    return is_put;
}

/* Appends a ValueInfoProto; shape NULL: unknown. */
static void put_value_info(struct onnx_export *to, struct str *graph,
                           uint32_t field, const char *name, enum dtype dtype,
                           const struct shape *shape)
{
    struct str dims = {0}, tensor = {0}, type = {0}, value = {0};

    onnx_write_check(
        to, (!shape || put_dims(&dims, shape)) &&
                wire_put_int(&tensor, TENSOR_ELEMENT, type_number(dtype)) &&
                (!shape || wire_put_message(&tensor, TENSOR_SHAPE, &dims)) &&
                wire_put_message(&type, TYPE_TENSOR, &tensor) &&
                wire_put_text(&value, VALUE_NAME, name) &&
                wire_put_message(&value, VALUE_TYPE, &type) &&
                wire_put_message(graph, field, &value));
    str_release(&dims);
    str_release(&tensor);
    str_release(&type);
    str_release(&value);
}

static void put_inputs(struct onnx_export *to, const struct shape *inputs,
                       struct str *graph)
{
    for (size_t i = 0; i < graph_input_count(to->sink.graph); i++) {
        uint32_t id = graph_input_at(to->sink.graph, i);

        put_value_info(to, graph, GRAPH_INPUT, onnx_write_name(&to->sink, id),
                       graph_value(to->sink.graph, id)->dtype, &inputs[i]);
    }
}

/* Their first size is free if that of the first input is. */
static void put_outputs(struct onnx_export *to, const struct shape *inputs,
                        struct str *graph)
{
    bool is_free = graph_input_count(to->sink.graph) && inputs[0].rank &&
                   inputs[0].dims[0] < 0;

    for (size_t i = 0; i < graph_output_count(to->sink.graph); i++) {
        const char *name;
        uint32_t id = graph_output_at(to->sink.graph, i, &name);
        const struct tensor *value = &to->sink.survey->values[id];
        struct shape shape = value->shape;

        if (is_free && shape.rank && shape.dims[0] == 1)
            shape.dims[0] = -1;
        put_value_info(to, graph, GRAPH_OUTPUT, name,
                       to->sink.survey->is_known[id] ? value->dtype : DTYPE_F32,
                       to->sink.survey->is_known[id] ? &shape : NULL);
    }
}

/* ---- the file ----------------------------------------------------------- */

/* Parameters, buffers and constants that are read. Only their heads are kept in
 * memory; the elements go straight into the file. */
struct leaves {
    struct str *heads; /* one per value, with the tag of the elements */
    size_t bytes;      /* of all, with tags */
};

static bool is_written(const struct graph *graph, uint32_t id)
{
    enum value_kind kind = graph_value(graph, id)->kind;

    return kind != VALUE_INPUT && kind != VALUE_COMPUTED &&
           graph_use_count(graph, id);
}

static enum assay_status make_head(struct onnx_export *to, uint32_t id,
                                   struct leaves *leaves)
{
    const struct value *value = graph_value(to->sink.graph, id);
    struct str tensor = {0}, *head = &leaves->heads[id];
    size_t n = tensor_bytes(&value->data), inner;

    if (!value->data.buffer && n)
        return error_set(to->err, ASSAY_BAD_INPUT,
                         "%s has no data; load weights first", value->name);
    if (!type_number(value->dtype))
        return error_set(to->err, ASSAY_UNSUPPORTED, "ONNX has no type %s",
                         dtype_name(value->dtype));
    onnx_write_check(to, put_tensor_head(&tensor, value->dtype, &value->shape,
                                         onnx_write_name(&to->sink, id)) &&
                             wire_put_tag(&tensor, TENSOR_RAW, WIRE_BYTES) &&
                             wire_put_varint(&tensor, n));
    inner = tensor.n + n;
    onnx_write_check(to, wire_put_tag(head, GRAPH_INITIALIZER, WIRE_BYTES) &&
                             wire_put_varint(head, inner) &&
                             !str_append_n(head, str_text(&tensor), tensor.n));
    leaves->bytes += head->n + n;
    str_release(&tensor);
    return to->st;
}

static void put_leaves(const struct onnx_export *to,
                       const struct leaves *leaves, struct sink *sink)
{
    for (uint32_t i = 0; i < graph_value_count(to->sink.graph); i++) {
        const struct tensor *data = &graph_value(to->sink.graph, i)->data;

        if (!is_written(to->sink.graph, i))
            continue;
        sink_write(sink, str_text(&leaves->heads[i]), leaves->heads[i].n);
        if (tensor_bytes(data))
            sink_write(sink, tensor_data(data), tensor_bytes(data));
    }
}

/* The model around the graph, up to where the graph's own bytes begin. */
static bool put_model_head(struct str *head, int64_t opset, size_t graph_bytes)
{
    struct str version = {0};
    bool is_put = wire_put_int(head, MODEL_IR, ir_version) &&
                  wire_put_text(head, MODEL_PRODUCER, "assay") &&
                  wire_put_text(&version, 1, "") &&
                  wire_put_int(&version, OPSET_VERSION, opset) &&
                  wire_put_message(head, MODEL_OPSET, &version) &&
                  wire_put_tag(head, MODEL_GRAPH, WIRE_BYTES) &&
                  wire_put_varint(head, graph_bytes);

    str_release(&version);
    return is_put;
}

static enum assay_status onnx_write_file(struct onnx_export *to,
                                         const struct str *ends,
                                         const struct leaves *leaves,
                                         const char *path)
{
    struct str head = {0};
    size_t bytes = to->nodes.n + to->initializers.n + ends->n + leaves->bytes;
    struct output *output;
    enum assay_status st;

    if (bytes > most_bytes)
        return error_set(to->err, ASSAY_UNSUPPORTED,
                         "an ONNX file holds at most 2 GiB");
    if (!onnx_write_check(to, put_model_head(&head, to->opset, bytes))) {
        str_release(&head);
        return to->st;
    }
    st = output_open(path, &output, to->err);
    if (!st) {
        struct sink *sink = output_sink(output);

        sink_write(sink, head.text, head.n);
        sink_write(sink, str_text(&to->nodes), to->nodes.n);
        sink_write(sink, str_text(ends), ends->n);
        sink_write(sink, str_text(&to->initializers), to->initializers.n);
        put_leaves(to, leaves, sink);
        st = file_guards_check(ASSAY_OK, to->err);
        if (st)
            output_discard(output);
        else
            st = output_commit(output, to->err);
    }
    str_release(&head);
    return st;
}

static void export_nodes(struct onnx_export *to)
{
    for (size_t i = 0; i < graph_node_count(to->sink.graph) && !to->st; i++) {
        to->sink.node = graph_node(to->sink.graph, i);
        onnx_write_name_node(to, i);
        if (to->sink.node->op->to_onnx)
            to->sink.node->op->to_onnx(&to->sink);
        else
            onnx_write_refuse(&to->sink, "ONNX has no such op");
    }
    onnx_write_copy_outputs(to);
}

static enum assay_status export_graph(struct onnx_export *to,
                                      const struct shape *inputs,
                                      struct leaves *leaves, const char *path)
{
    struct str ends = {0};

    name_values(to);
    name_outputs(to);
    export_nodes(to);
    onnx_write_check(
        to, wire_put_text(&ends, GRAPH_NAME, graph_name(to->sink.graph)));
    put_inputs(to, inputs, &ends);
    put_outputs(to, inputs, &ends);
    for (uint32_t i = 0; i < graph_value_count(to->sink.graph) && !to->st;
         i++) {
        if (is_written(to->sink.graph, i))
            to->st = make_head(to, i, leaves);
    }
    if (!to->st)
        to->st = onnx_write_file(to, &ends, leaves, path);
    str_release(&ends);
    return to->st;
}

enum assay_status onnx_save(const struct graph *graph,
                            const struct shape *inputs,
                            const struct survey *survey, const char *path,
                            struct error *err)
{
    size_t n = graph_value_count(graph), made = graph_node_count(graph) * 8;
    struct onnx_export to = {
        .sink = {.class = &onnx_write_sink, .graph = graph, .survey = survey},
        .opset = first_opset,
        .err = err};
    struct leaves leaves = {.heads = mem_array(n + 1, sizeof(struct str))};
    enum assay_status st;

    to.names = mem_array(n + made + 1, sizeof *to.names);
    if (to.names && leaves.heads)
        st = export_graph(&to, inputs, &leaves, path);
    else
        st = error_nomem(err, n * sizeof *to.names, "an ONNX file");
    if (st && st != ASSAY_IO) /* which names the file itself */
        error_context(err, "writing %s", path);
    for (size_t i = 0; to.names && i < n + made; i++)
        str_release(&to.names[i]);
    for (size_t i = 0; leaves.heads && i < n; i++)
        str_release(&leaves.heads[i]);
    mem_free(to.names);
    mem_free(leaves.heads);
    str_release(&to.attributes);
    str_release(&to.nodes);
    str_release(&to.initializers);
    str_release(&to.path);
    return st;
}
