/* formats/net/net_write.c - see net.h: writes a graph as text. */
#include "formats/net/net.h"

#include "base/file.h"
#include "base/file_guard.h"
#include "base/mem.h"
#include "formats/net/net_text_internal.h"
#include "formats/weights/checkpoint_write.h"
#include "tensor/convert.h"

#include <stdio.h>
#include <string.h>

/* Constants of up to this many elements are in the text. */
enum { most_inline = 64 };

struct writer {
    const struct graph *graph;
    struct sink *sink;
    const struct survey *survey;
    uint32_t *numbers; /* of values without a name */
};

static bool is_inline(const struct value *value)
{
    return value->kind == VALUE_CONSTANT && value->data.buffer &&
           tensor_elements(&value->data) <= most_inline;
}

/* ---- values ------------------------------------------------------------- */

/* %n is computed, $n is a constant; the others have names. */
static void net_write_put_value(const struct writer *writer, uint32_t id)
{
    const struct value *value;

    if (id == GRAPH_NONE) {
        sink_puts(writer->sink, "-");
        return;
    }
    value = graph_value(writer->graph, id);
    if (value->kind == VALUE_COMPUTED)
        sink_printf(writer->sink, "%%%u", writer->numbers[id]);
    else if (!value->name[0])
        sink_printf(writer->sink, "$%u", writer->numbers[id]);
    else
        net_put_name(writer->sink, value->name);
}

static void net_write_put_element(const struct writer *writer,
                                  const struct tensor *data, size_t i)
{
    const char *at =
        (const char *)tensor_data(data) + i * dtype_bytes(data->dtype);
    int64_t whole;
    double real;

    sink_puts(writer->sink, " ");
    if (dtype_is_float(data->dtype)) {
        convert_elements(data->dtype, at, DTYPE_F64, &real, 1);
        net_put_number(writer->sink, real);
    } else {
        convert_elements(data->dtype, at, DTYPE_I64, &whole, 1);
        sink_printf(writer->sink, "%lld", (long long)whole);
    }
}

static void net_write_put_leaf(const struct writer *writer, uint32_t id)
{
    const struct value *value = graph_value(writer->graph, id);
    struct sink *sink = writer->sink;

    sink_printf(sink, "%s ", net_kinds[value->kind]);
    net_write_put_value(writer, id);
    sink_printf(sink, " %s ", dtype_name(value->dtype));
    net_put_shape(sink, &value->shape);
    if (value->kind != VALUE_CONSTANT) {
        sink_printf(sink, " %s", net_fills[value->fill]);
        if (value->fill == FILL_NORMAL || value->fill == FILL_UNIFORM) {
            sink_puts(sink, " ");
            net_put_float(sink, value->fill_scale);
        }
        if (value->is_frozen)
            sink_puts(sink, " frozen");
    } else if (is_inline(value)) {
        sink_puts(sink, " =");
        for (size_t i = 0; i < tensor_elements(&value->data); i++)
            net_write_put_element(writer, &value->data, i);
    }
    sink_puts(sink, "\n");
}

static void put_input(const struct writer *writer, uint32_t id)
{
    const struct value *value = graph_value(writer->graph, id);

    sink_puts(writer->sink, "input ");
    net_put_name(writer->sink, value->name);
    sink_printf(writer->sink, " %s", dtype_name(value->dtype));
    if (value->is_declared) {
        sink_puts(writer->sink, " ");
        net_put_shape(writer->sink, &value->shape);
    }
    sink_puts(writer->sink, "\n");
}

static bool is_read(const struct graph *graph, uint32_t id)
{
    return graph_value(graph, id)->kind != VALUE_CONSTANT ||
           graph_use_count(graph, id);
}

/* ---- nodes -------------------------------------------------------------- */

/* Adds the outputs' shapes as a comment, if they are known. */
static void put_shapes(const struct writer *writer, const struct node *node)
{
    const struct survey *survey = writer->survey;
    bool is_first = true;

    for (size_t i = 0; survey && i < node->n_outputs; i++) {
        if (!survey->is_known[node->outputs[i]])
            continue;
        sink_puts(writer->sink, is_first ? "  # " : ", ");
        net_put_shape(writer->sink, &survey->values[node->outputs[i]].shape);
        is_first = false;
    }
}

static enum assay_status put_node(const struct writer *writer,
                                  const struct node *node, struct error *err)
{
    struct sink *sink = writer->sink;

    for (size_t i = 0; i < node->n_outputs; i++) {
        net_write_put_value(writer, node->outputs[i]);
        sink_puts(sink, " ");
    }
    sink_printf(sink, "= %s(", node->op->name);
    for (size_t i = 0; i < node->n_inputs; i++) {
        sink_puts(sink, i ? ", " : "");
        net_write_put_value(writer, node->inputs[i]);
    }
    sink_puts(sink, ")");
    if (node->scope != GRAPH_NONE) {
        sink_puts(sink, " in ");
        net_put_name(sink, graph_scope(writer->graph, node->scope)->path);
    }
    if (node->name[0]) {
        sink_puts(sink, " as ");
        net_put_name(sink, node->name);
    }
    if (!net_put_attrs(sink, node) || node->n_bodies)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "a network description cannot hold the op %s",
                         node->op->name);
    put_shapes(writer, node);
    sink_puts(sink, "\n");
    return ASSAY_OK;
}

/* ---- the description ---------------------------------------------------- */

static void net_write_put_head(const struct writer *writer, const char *weights,
                               const char *text)
{
    struct sink *sink = writer->sink;

    sink_printf(sink, "%s %d\n", NET_MAGIC, NET_VERSION);
    if (text)
        sink_printf(sink, "# %s\n", text);
    sink_puts(sink, "model ");
    net_put_name(sink, graph_name(writer->graph));
    sink_puts(sink, " ");
    net_put_name(sink, graph_class(writer->graph));
    sink_puts(sink, "\n");
    if (weights) {
        sink_puts(sink, "weights ");
        net_put_name(sink, weights);
        sink_puts(sink, "\n");
    }
}

static void put_scopes(const struct writer *writer)
{
    sink_puts(writer->sink, "\n# modules\n");
    for (uint32_t i = 0; i < graph_scope_count(writer->graph); i++) {
        const struct graph_scope *scope = graph_scope(writer->graph, i);

        sink_puts(writer->sink, "module ");
        net_put_name(writer->sink, scope->path);
        sink_puts(writer->sink, " ");
        net_put_name(writer->sink, scope->class_name);
        sink_puts(writer->sink, scope->is_container ? " container\n" : "\n");
    }
}

static void put_values(const struct writer *writer)
{
    sink_puts(writer->sink, "\n# inputs, weights, constants\n");
    for (size_t i = 0; i < graph_input_count(writer->graph); i++)
        put_input(writer, graph_input_at(writer->graph, i));
    for (uint32_t i = 0; i < graph_value_count(writer->graph); i++) {
        enum value_kind kind = graph_value(writer->graph, i)->kind;

        if (kind != VALUE_INPUT && kind != VALUE_COMPUTED &&
            is_read(writer->graph, i))
            net_write_put_leaf(writer, i);
    }
}

static enum assay_status put_nodes(const struct writer *writer,
                                   struct error *err)
{
    enum assay_status st = ASSAY_OK;

    sink_puts(writer->sink, "\n# layers\n");
    for (size_t i = 0; !st && i < graph_node_count(writer->graph); i++)
        st = put_node(writer, graph_node(writer->graph, i), err);
    sink_puts(writer->sink, "\n");
    for (size_t i = 0; !st && i < graph_output_count(writer->graph); i++) {
        const char *name;
        uint32_t value = graph_output_at(writer->graph, i, &name);

        sink_puts(writer->sink, "output ");
        net_put_name(writer->sink, name);
        sink_puts(writer->sink, " ");
        net_write_put_value(writer, value);
        sink_puts(writer->sink, "\n");
    }
    return st;
}

/* Numbers computed values in the order of nodes, constants in that of values.
 */
static void number_values(const struct writer *writer)
{
    uint32_t computed = 0, constants = 0;

    for (size_t i = 0; i < graph_node_count(writer->graph); i++) {
        const struct node *node = graph_node(writer->graph, i);

        for (size_t k = 0; k < node->n_outputs; k++)
            writer->numbers[node->outputs[k]] = computed++;
    }
    for (uint32_t i = 0; i < graph_value_count(writer->graph); i++) {
        if (graph_value(writer->graph, i)->kind == VALUE_CONSTANT &&
            is_read(writer->graph, i))
            writer->numbers[i] = constants++;
    }
}

static enum assay_status writer_start(struct writer *writer,
                                      const struct graph *graph,
                                      struct error *err)
{
    size_t n = graph_value_count(graph);

    writer->graph = graph;
    writer->numbers = mem_array(n ? n : 1, sizeof *writer->numbers);
    if (!writer->numbers)
        return error_nomem(err, n * sizeof *writer->numbers,
                           "the values of a model");
    number_values(writer);
    return ASSAY_OK;
}

enum assay_status net_write(const struct graph *graph, const char *weights,
                            const struct net_notes *notes, struct sink *sink,
                            struct error *err)
{
    struct writer writer = {.sink = sink, .survey = notes->survey};
    enum assay_status st = writer_start(&writer, graph, err);

    if (!st) {
        net_write_put_head(&writer, weights, notes->text);
        put_scopes(&writer);
        put_values(&writer);
        st = put_nodes(&writer, err);
    }
    mem_free(writer.numbers);
    return st ? st : sink_status(sink, err);
}

/* ---- files -------------------------------------------------------------- */

/* Data that is not in the text. */
struct weights_list {
    struct named_tensor *items;
    struct str *names; /* made for those that have none */
    size_t n;
};

static void weights_release(struct weights_list *list, size_t n)
{
    for (size_t i = 0; list->names && i < n; i++)
        str_release(&list->names[i]);
    mem_free(list->names);
    mem_free(list->items);
}

static enum assay_status net_write_list_weights(const struct writer *writer,
                                                bool has_constants_only,
                                                struct weights_list *list,
                                                struct error *err)
{
    const struct graph *graph = writer->graph;
    size_t n = graph_value_count(graph);

    list->items = mem_array(n ? n : 1, sizeof *list->items);
    list->names = mem_array(n ? n : 1, sizeof *list->names);
    if (!list->items || !list->names)
        return error_nomem(err, n * sizeof *list->items,
                           "the weights of a model");
    for (uint32_t i = 0; i < n; i++) {
        const struct value *value = graph_value(graph, i);
        const char *name = value->name;

        if (!value->data.buffer || is_inline(value) || !is_read(graph, i) ||
            (has_constants_only && value->kind != VALUE_CONSTANT))
            continue;
        if (!name[0]) {
            if (str_printf(&list->names[i], "$%u", writer->numbers[i]))
                return error_nomem(err, 16, "the name of a constant");
            name = list->names[i].text;
        }
        list->items[list->n++] =
            (struct named_tensor){.name = name, .tensor = &value->data};
    }
    return ASSAY_OK;
}

enum assay_status net_weights_path(const char *path, struct str *out,
                                   struct error *err)
{
    size_t n = strlen(path);

    if (n > 4 && strcmp(path + n - 4, ".net") == 0)
        n -= 4;
    if (str_append_n(out, path, n) || str_append(out, ".safetensors"))
        return error_nomem(err, n, "a file name");
    return ASSAY_OK;
}

static const char *net_write_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Writes the description before the weights replace an older file, and renames
 * it into place after them. */
static enum assay_status save_both(const struct graph *graph, const char *path,
                                   const char *weights,
                                   const struct weights_list *list,
                                   const struct net_notes *notes,
                                   struct error *err)
{
    struct output *output;
    bool has_weights = false;
    enum assay_status st = output_open(path, &output, err);

    if (st)
        return st;
    st = net_write(graph, weights ? net_write_file_name(weights) : NULL, notes,
                   output_sink(output), err);
    if (!st)
        st = sink_status(output_sink(output), err);
    if (!st && weights) {
        st = safetensors_write(weights, list->items, list->n, NULL, 0, err);
        has_weights = !st;
    }
    if (!st)
        st = file_guards_check(ASSAY_OK, err);
    if (st)
        output_discard(output);
    else
        st = output_commit(output, err);
    if (st && has_weights)
        remove(weights); /* leave neither */
    return st;
}

enum assay_status net_save(const struct graph *graph, const char *path,
                           const struct net_notes *notes, struct error *err)
{
    struct writer writer = {0};
    struct weights_list list = {0};
    struct str weights = {0};
    enum assay_status st = writer_start(&writer, graph, err);

    if (!st)
        st = net_write_list_weights(&writer, notes->has_no_weights, &list, err);
    if (!st && list.n)
        st = net_weights_path(path, &weights, err);
    if (!st)
        st = save_both(graph, path, weights.n ? weights.text : NULL, &list,
                       notes, err);
    str_release(&weights);
    weights_release(&list, graph_value_count(graph));
    mem_free(writer.numbers);
    return st;
}
