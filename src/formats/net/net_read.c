/* formats/net/net_read.c - see net.h: makes a graph from text. */
#include "formats/net/net.h"

#include "base/file.h"
#include "base/file_guard.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "formats/net/net_text_internal.h"
#include "formats/weights/checkpoint.h"
#include "ops/attr_fields.h"
#include "ops/ops.h"
#include "tensor/convert.h"

#include <string.h>

enum {
    most_bytes = 256 << 20,
    most_attrs = 512,      /* bytes of an op's attributes */
    most_tensors = 4096,   /* of a node */
    most_outputs = 64,     /* of a node */
    most_numbers = 1 << 16 /* of a constant in the text */
};

struct reader {
    struct graph *graph;
    struct pool *pool;
    struct net_line line;
    struct map values, modules; /* by name, and by path */
    struct str weights;         /* the file's name; empty: none */
    uint32_t *inputs;           /* of a node */
    size_t inputs_capacity;
    struct error *err;
};

/* "expected a shape such as 1x3x?x?, not 'x'" */
static enum assay_status net_read_expected(const struct reader *reader,
                                           const char *what)
{
    const char *word = str_text(&reader->line.word);

    if (!word[0])
        return error_set(reader->err, ASSAY_BAD_INPUT, "expected %s", what);
    return error_set(reader->err, ASSAY_BAD_INPUT, "expected %s, not '%.60s'",
                     what, word);
}

static enum assay_status net_read_no_memory(const struct reader *reader)
{
    return error_nomem(reader->err, 64, "a network description");
}

/* Reads a name, which may be in quotation marks. */
static bool net_read_next_name(struct reader *reader)
{
    return net_next(&reader->line) &&
           (reader->line.is_quoted || reader->line.word.n);
}

/* Reads a name into a text; else `what` was expected. */
static enum assay_status net_read_name(struct reader *reader, struct str *name,
                                       const char *what)
{
    if (!net_read_next_name(reader))
        return net_read_expected(reader, what);
    str_clear(name);
    return str_append(name, str_text(&reader->line.word))
               ? net_read_no_memory(reader)
               : ASSAY_OK;
}

/* ---- names -------------------------------------------------------------- */

/* Values without a name of their own have the keys %n and $n. A name that looks
 * like that is in quotation marks, and its key keeps the first one. */
static enum assay_status net_read_key(const struct reader *reader,
                                      struct str *key)
{
    str_clear(key);
    if (str_append(key, reader->line.is_quoted ? "\"" : "") ||
        str_append(key, str_text(&reader->line.word)))
        return net_read_no_memory(reader);
    if (reader->line.is_quoted && key->text[1] != '%' && key->text[1] != '$') {
        memmove(key->text, key->text + 1, key->n); /* the NUL too */
        key->n--;
    }
    return ASSAY_OK;
}

static enum assay_status net_read_bind(struct reader *reader,
                                       const struct str *key, uint32_t id)
{
    if (map_find_text(&reader->values, str_text(key), NULL))
        return error_set(reader->err, ASSAY_BAD_INPUT,
                         "there are two values '%.60s'", str_text(key));
    return map_put_text(&reader->values, str_text(key), id)
               ? net_read_no_memory(reader)
               : ASSAY_OK;
}

/* The value that the last word names; "-": none. */
static enum assay_status net_read_find_value(struct reader *reader,
                                             uint32_t *id)
{
    struct str key = {0};
    uint64_t found = GRAPH_NONE;
    enum assay_status st;

    *id = GRAPH_NONE;
    if (net_is_word(&reader->line, "-"))
        return ASSAY_OK;
    st = net_read_key(reader, &key);
    if (!st && !map_find_text(&reader->values, str_text(&key), &found))
        st = error_set(reader->err, ASSAY_BAD_INPUT,
                       "no line above makes the value '%.60s'", str_text(&key));
    *id = (uint32_t)found;
    str_release(&key);
    return st;
}

/* The module that holds a name: the one with the longest path before it. */
static uint32_t net_read_holder(const struct reader *reader, const char *name,
                                size_t *n_path)
{
    uint64_t id;

    for (size_t n = strlen(name); n-- > 1;) {
        if (name[n] == '.' && map_find(&reader->modules, name, n, &id)) {
            *n_path = n + 1;
            return (uint32_t)id;
        }
    }
    *n_path = 0;
    return GRAPH_NONE;
}

/* ---- lines -------------------------------------------------------------- */

static enum assay_status net_read_model(struct reader *reader)
{
    struct str name = {0};
    enum assay_status st = net_read_name(reader, &name, "the model's name");

    if (!st && !net_read_next_name(reader))
        st = net_read_expected(reader, "the model's class");
    if (!st)
        st = graph_set_name(reader->graph, str_text(&name),
                            str_text(&reader->line.word), reader->err);
    str_release(&name);
    return st;
}

static enum assay_status net_read_weights(struct reader *reader)
{
    if (reader->weights.n)
        return error_set(reader->err, ASSAY_BAD_INPUT,
                         "it names two files of weights");
    return net_read_name(reader, &reader->weights, "a file of weights");
}

static enum assay_status net_read_module(struct reader *reader)
{
    struct str path = {0}, class_name = {0};
    enum assay_status st = net_read_name(reader, &path, "the module's path");
    bool is_container;
    size_t n_path;
    uint32_t id;

    if (!st)
        st = net_read_name(reader, &class_name, "the module's class");
    is_container = !st && net_next(&reader->line);
    if (is_container && !net_is_word(&reader->line, "container"))
        st = net_read_expected(reader, "'container' or the end of the line");
    if (!st && map_find_text(&reader->modules, str_text(&path), NULL))
        st = error_set(reader->err, ASSAY_BAD_INPUT,
                       "there are two modules '%.60s'", str_text(&path));
    if (!st) {
        uint32_t parent = net_read_holder(reader, str_text(&path), &n_path);

        st = graph_scope_add(reader->graph, parent, str_text(&path) + n_path,
                             str_text(&class_name), is_container, &id,
                             reader->err);
    }
    if (!st && map_put_text(&reader->modules, str_text(&path), id))
        st = net_read_no_memory(reader);
    str_release(&path);
    str_release(&class_name);
    return st;
}

static enum assay_status net_read_input(struct reader *reader)
{
    struct str key = {0};
    struct shape shape;
    enum dtype dtype;
    enum assay_status st;
    uint32_t id;

    if (!net_read_next_name(reader))
        return net_read_expected(reader, "the input's name");
    st = net_read_key(reader, &key);
    if (!st &&
        (!net_next(&reader->line) || !net_get_dtype(&reader->line, &dtype)))
        st = net_read_expected(reader, "a type such as float32");
    if (!st)
        st = graph_input(reader->graph, str_text(&key) + (key.text[0] == '"'),
                         dtype, &id, reader->err);
    if (!st)
        st = net_read_bind(reader, &key, id);
    if (!st && net_next(&reader->line)) {
        if (!net_get_shape(&reader->line, true, &shape))
            st = net_read_expected(reader, "a shape such as 1x3x?x?");
        else
            graph_declare_input(reader->graph, id, &shape);
    }
    str_release(&key);
    return st;
}

/* Reads how a parameter is filled, after name, type and shape. */
static enum assay_status net_read_fill(struct reader *reader, uint32_t id)
{
    struct net_line *line = &reader->line;
    int fill = 0;
    double scale = 0;

    net_next(line);
    while (fill <= FILL_UNIFORM && !net_is_word(line, net_fills[fill]))
        fill++;
    if (fill > FILL_UNIFORM)
        return net_read_expected(reader, "zero, one, normal or uniform");
    if ((fill == FILL_NORMAL || fill == FILL_UNIFORM) &&
        (!net_next(line) || !net_get_double(line, &scale)))
        return net_read_expected(reader, "the range of the values");
    graph_set_fill(reader->graph, id, (enum fill)fill, (float)scale);
    if (net_next(line)) {
        if (!net_is_word(line, "frozen"))
            return net_read_expected(reader, "'frozen' or the end of the line");
        graph_freeze(reader->graph, id);
    }
    return ASSAY_OK;
}

/* Reads the elements after "=". */
static enum assay_status net_read_elements(struct reader *reader,
                                           const struct tensor *data)
{
    char *at = tensor_data(data);
    size_t step = dtype_bytes(data->dtype);

    for (size_t i = 0; i < tensor_elements(data); i++, at += step) {
        bool is_float = dtype_is_float(data->dtype);
        int64_t whole = 0;
        double real = 0;

        if (!net_next(&reader->line) ||
            (is_float ? !net_get_double(&reader->line, &real)
                      : !net_get_number(&reader->line, &whole)))
            return net_read_expected(reader, "a number for each element");
        if (is_float)
            convert_elements(DTYPE_F64, &real, data->dtype, at, 1);
        else
            convert_elements(DTYPE_I64, &whole, data->dtype, at, 1);
    }
    return ASSAY_OK;
}

/* A parameter, buffer or constant while it is read. */
struct leaf {
    enum value_kind kind;
    struct str key;
    const char *name; /* in the key */
    enum dtype dtype;
    struct shape shape;
};

static enum assay_status net_read_add_constant(struct reader *reader,
                                               struct leaf *leaf, uint32_t *id)
{
    bool is_named = leaf->key.text[0] != '$';
    struct tensor data = {.dtype = leaf->dtype, .shape = leaf->shape};
    enum assay_status st = ASSAY_OK;
    size_t n;

    if (net_take(&reader->line, '=')) {
        if (!shape_elements(&leaf->shape, &n) || n > most_numbers)
            return error_set(reader->err, ASSAY_BAD_INPUT,
                             "a constant in the text has at most %d numbers",
                             most_numbers);
        st = tensor_new(reader->pool, leaf->dtype, &leaf->shape, &data,
                        reader->err);
        if (!st)
            st = net_read_elements(reader, &data);
    }
    if (st) {
        tensor_release(&data);
        return st;
    }
    /* Data that comes from the weights is found by name. */
    return graph_constant(reader->graph,
                          is_named || !data.buffer ? leaf->name : "", data, id,
                          reader->err);
}

static enum assay_status net_read_add_leaf(struct reader *reader,
                                           struct leaf *leaf)
{
    enum assay_status st;
    uint32_t id;

    if (leaf->kind == VALUE_CONSTANT) {
        st = net_read_add_constant(reader, leaf, &id);
    } else {
        size_t n_path;
        uint32_t scope = net_read_holder(reader, leaf->name, &n_path);

        st = graph_parameter(reader->graph, scope, leaf->name + n_path,
                             leaf->kind, leaf->dtype, &leaf->shape, &id,
                             reader->err);
        if (!st)
            st = net_read_fill(reader, id);
    }
    return st ? st : net_read_bind(reader, &leaf->key, id);
}

/* The last word is the kind. */
static enum assay_status net_read_leaf(struct reader *reader)
{
    struct leaf leaf = {.kind = VALUE_PARAMETER};
    enum assay_status st;

    while (!net_is_word(&reader->line, net_kinds[leaf.kind]))
        leaf.kind++;
    if (!net_read_next_name(reader))
        return net_read_expected(reader, "a name");
    st = net_read_key(reader, &leaf.key);
    leaf.name = str_text(&leaf.key) + (leaf.key.n && leaf.key.text[0] == '"');
    if (!st && (!net_next(&reader->line) ||
                !net_get_dtype(&reader->line, &leaf.dtype)))
        st = net_read_expected(reader, "a type such as float32");
    if (!st && (!net_next(&reader->line) ||
                !net_get_shape(&reader->line, false, &leaf.shape)))
        st = net_read_expected(reader, "a shape such as 64x3x7x7");
    if (!st)
        st = net_read_add_leaf(reader, &leaf);
    str_release(&leaf.key);
    return st;
}

static enum assay_status net_read_output(struct reader *reader)
{
    struct str name = {0};
    enum assay_status st = net_read_name(reader, &name, "the output's name");
    uint32_t id = GRAPH_NONE;

    if (!st && net_read_next_name(reader))
        st = net_read_find_value(reader, &id);
    if (!st && id == GRAPH_NONE)
        st = net_read_expected(reader, "the output's value");
    if (!st)
        st = graph_output(reader->graph, str_text(&name), id, reader->err);
    str_release(&name);
    return st;
}

/* ---- nodes -------------------------------------------------------------- */

/* A node while it is read. */
struct call {
    struct str keys[most_outputs];
    size_t n_outputs;
    struct str name;
    struct node_description description;
    _Alignas(max_align_t) unsigned char attrs[most_attrs];
};

/* %1 %2 = ... */
static enum assay_status net_read_results(struct reader *reader,
                                          struct call *call)
{
    do {
        enum assay_status st;

        if (call->n_outputs == most_outputs || reader->line.is_quoted ||
            str_text(&reader->line.word)[0] != '%')
            return net_read_expected(reader, "outputs such as %12");
        st = net_read_key(reader, &call->keys[call->n_outputs++]);
        if (st)
            return st;
    } while (!net_take(&reader->line, '=') && net_next(&reader->line));
    return ASSAY_OK;
}

static enum assay_status net_read_add_input(struct reader *reader,
                                            struct call *call)
{
    size_t n = call->description.n_inputs;
    uint32_t *moved = vec_reserve(reader->inputs, &reader->inputs_capacity,
                                  n + 1, sizeof *moved);

    if (!moved)
        return net_read_no_memory(reader);
    reader->inputs = moved;
    call->description.inputs = moved;
    if (n == most_tensors)
        return error_set(reader->err, ASSAY_BAD_INPUT,
                         "a layer has at most %d inputs", most_tensors);
    call->description.n_inputs++;
    return net_read_find_value(reader, &moved[n]);
}

/* OP(input, ...) */
static enum assay_status net_read_op(struct reader *reader, struct call *call)
{
    struct node_description *node = &call->description;
    enum assay_status st = ASSAY_OK;

    if (net_read_next_name(reader))
        node->op = op_find(str_text(&reader->line.word));
    if (!node->op || !attr_fields(node->op) ||
        node->op->attrs_bytes > most_attrs)
        return net_read_expected(reader, "an op of Assay such as Conv2d");
    if (!net_take(&reader->line, '('))
        return net_read_expected(reader, "( and the op's inputs");
    while (!st && !net_take(&reader->line, ')')) {
        if (node->n_inputs && !net_take(&reader->line, ','))
            return net_read_expected(reader, "a comma between inputs");
        if (!net_read_next_name(reader))
            return net_read_expected(reader, "a value or - as input");
        st = net_read_add_input(reader, call);
    }
    return st;
}

static enum assay_status net_read_place(struct reader *reader,
                                        struct call *call)
{
    uint64_t module;

    if (!net_read_next_name(reader) ||
        !map_find_text(&reader->modules, str_text(&reader->line.word), &module))
        return net_read_expected(reader, "a module from a line above");
    call->description.scope = (uint32_t)module;
    return ASSAY_OK;
}

/* in MODULE as NAME attribute=value ... */
static enum assay_status net_read_rest(struct reader *reader, struct call *call)
{
    struct net_line *line = &reader->line;
    enum assay_status st = ASSAY_OK;

    while (!st && net_next(line)) {
        if (net_is_word(line, "in"))
            st = net_read_place(reader, call);
        else if (net_is_word(line, "as"))
            st = net_read_name(reader, &call->name, "the layer's name");
        else if (!net_take(line, '='))
            st = net_read_expected(reader, "in, as or an attribute name=value");
        else
            st = net_get_attr(line, call->description.op, call->attrs,
                              reader->err);
    }
    return st;
}

static enum assay_status net_read_check_counts(const struct reader *reader,
                                               const struct call *call)
{
    const struct node_description *node = &call->description;
    const struct op_class *op = node->op;

    if (node->n_inputs < op->min_inputs || node->n_inputs > op->max_inputs)
        return error_set(reader->err, ASSAY_BAD_INPUT,
                         "%s does not have %zu inputs", op->name,
                         node->n_inputs);
    if (op->min_inputs && node->inputs[0] == GRAPH_NONE)
        return error_set(reader->err, ASSAY_BAD_INPUT,
                         "the first input of %s is left out", op->name);
    if (call->n_outputs < op->min_outputs || call->n_outputs > op->max_outputs)
        return error_set(reader->err, ASSAY_BAD_INPUT,
                         "%s does not have %zu outputs", op->name,
                         call->n_outputs);
    return ASSAY_OK;
}

static enum assay_status net_read_add_call(struct reader *reader,
                                           struct call *call)
{
    uint32_t outputs[most_outputs];
    enum assay_status st = net_read_check_counts(reader, call);

    call->description.attrs = call->attrs;
    call->description.name = str_text(&call->name);
    call->description.n_outputs = call->n_outputs;
    if (!st)
        st = graph_node_add(reader->graph, &call->description, outputs,
                            reader->err);
    for (size_t i = 0; !st && i < call->n_outputs; i++)
        st = net_read_bind(reader, &call->keys[i], outputs[i]);
    return st;
}

static enum assay_status net_read_node(struct reader *reader)
{
    struct call call = {.description.scope = GRAPH_NONE};
    enum assay_status st = net_read_results(reader, &call);

    if (!st)
        st = net_read_op(reader, &call);
    if (!st)
        st = net_read_rest(reader, &call);
    if (!st)
        st = net_read_add_call(reader, &call);
    for (size_t i = 0; i < call.n_outputs; i++)
        str_release(&call.keys[i]);
    str_release(&call.name);
    return st;
}

/* ---- the file ----------------------------------------------------------- */

static const struct {
    const char *word;
    enum assay_status (*read)(struct reader *reader);
} lines[] = {
    {"model", net_read_model},    {"weights", net_read_weights},
    {"input", net_read_input},    {"module", net_read_module},
    {"parameter", net_read_leaf}, {"buffer", net_read_leaf},
    {"constant", net_read_leaf},  {"output", net_read_output},
};

static enum assay_status net_read_line(struct reader *reader)
{
    enum assay_status st;

    if (!net_next(&reader->line))
        return ASSAY_OK;
    if (!reader->line.is_quoted && str_text(&reader->line.word)[0] == '%')
        return net_read_node(reader);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (!net_is_word(&reader->line, lines[i].word))
            continue;
        st = lines[i].read(reader);
        if (!st && net_next(&reader->line))
            st = net_read_expected(reader, "the end of the line");
        return st;
    }
    return net_read_expected(reader,
                             "model, weights, module, input, parameter, "
                             "buffer, constant, output or %1 =");
}

bool net_is(const void *begin, size_t n)
{
    return n >= sizeof NET_MAGIC - 1 &&
           memcmp(begin, NET_MAGIC, sizeof NET_MAGIC - 1) == 0;
}

static enum assay_status net_read_version(struct reader *reader)
{
    int64_t version;

    if (!net_next(&reader->line) || !net_is_word(&reader->line, NET_MAGIC) ||
        !net_next(&reader->line) || !net_get_number(&reader->line, &version))
        return error_set(reader->err, ASSAY_BAD_INPUT,
                         "it is not a network description, which begins with "
                         "'%s %d'",
                         NET_MAGIC, NET_VERSION);
    if (version != NET_VERSION)
        return error_set(reader->err, ASSAY_UNSUPPORTED,
                         "it has version %lld; only version %d is supported",
                         (long long)version, NET_VERSION);
    return ASSAY_OK;
}

static enum assay_status net_read_lines(struct reader *reader, const char *text,
                                        size_t n)
{
    const char *end = text + n;
    enum assay_status st = ASSAY_OK;

    for (size_t number = 1; !st && text < end; number++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));

        reader->line.at = text;
        reader->line.end = stop ? stop : end;
        st = number == 1 ? net_read_version(reader) : net_read_line(reader);
        if (st)
            error_context(reader->err, "line %zu", number);
        text = stop ? stop + 1 : end;
    }
    return st;
}

/* ---- weights ------------------------------------------------------------ */

static enum assay_status net_read_load_value(struct reader *reader,
                                             const struct checkpoint *weights,
                                             const char *key, uint32_t id)
{
    struct tensor data;
    enum assay_status st;
    size_t i;

    if (!checkpoint_find(weights, key, &i))
        return error_set(reader->err, ASSAY_BAD_INPUT, "it has no tensor '%s'",
                         key);
    st = checkpoint_load(weights, i, reader->pool, &data, reader->err);
    return st ? st : graph_set_data(reader->graph, id, data, reader->err);
}

/* Loads all values that have no data yet. */
static enum assay_status net_read_load_values(struct reader *reader,
                                              const struct checkpoint *weights)
{
    enum assay_status st = ASSAY_OK;

    for (uint32_t i = 0; !st && i < graph_value_count(reader->graph); i++) {
        const struct value *value = graph_value(reader->graph, i);

        if (value->kind != VALUE_INPUT && value->kind != VALUE_COMPUTED &&
            !value->data.buffer)
            st = net_read_load_value(reader, weights, value->name, i);
    }
    return st;
}

static enum assay_status net_read_check_constants(const struct reader *reader)
{
    size_t n;

    for (uint32_t i = 0; i < graph_value_count(reader->graph); i++) {
        const struct value *value = graph_value(reader->graph, i);

        if (value->kind == VALUE_CONSTANT && !value->data.buffer &&
            (!shape_elements(&value->shape, &n) || n))
            return error_set(reader->err, ASSAY_BAD_INPUT,
                             "a constant has no numbers, and no file of "
                             "weights is named");
    }
    return ASSAY_OK;
}

/* The file must be next to the description. */
static enum assay_status net_read_load_weights(struct reader *reader,
                                               const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    struct checkpoint *weights = NULL;
    struct str file = {0};
    enum assay_status st;

    if (!reader->weights.n)
        return net_read_check_constants(reader);
    if (!path || strchr(reader->weights.text, '/'))
        return error_set(reader->err, ASSAY_UNSUPPORTED,
                         "its weights, %.80s, must be in the same folder",
                         reader->weights.text);
    if ((slash && str_append_n(&file, path, (size_t)(slash - path) + 1)) ||
        str_append(&file, reader->weights.text))
        st = net_read_no_memory(reader);
    else
        st = checkpoint_open(file.text, &weights, reader->err);
    if (!st)
        st = net_read_load_values(reader, weights);
    if (st)
        error_context(reader->err, "its weights, %s", str_text(&file));
    checkpoint_free(weights);
    str_release(&file);
    return st;
}

static enum assay_status net_read_all(const char *text, size_t n,
                                      const char *path, struct pool *pool,
                                      struct graph **out, struct error *err)
{
    struct reader reader = {.pool = pool, .err = err};
    enum assay_status st = graph_new(&reader.graph, err);

    if (!st)
        st = net_read_lines(&reader, text, n);
    if (!st && !graph_output_count(reader.graph))
        st = error_set(err, ASSAY_BAD_INPUT, "it has no output");
    if (!st)
        st = net_read_load_weights(&reader, path);
    if (!st)
        st = graph_check(reader.graph, err);
    if (st) {
        graph_free(reader.graph);
        reader.graph = NULL;
    }
    *out = reader.graph;
    map_release(&reader.values);
    map_release(&reader.modules);
    str_release(&reader.weights);
    str_release(&reader.line.word);
    mem_free(reader.inputs);
    return st;
}

enum assay_status net_read(const char *text, size_t n, struct pool *pool,
                           struct graph **out, struct error *err)
{
    return net_read_all(text, n, NULL, pool, out, err);
}

enum assay_status net_load(const char *path, struct pool *pool,
                           struct graph **out, struct error *err)
{
    struct str text = {0};
    enum assay_status st = file_read(path, most_bytes, &text, err);

    *out = NULL;
    if (!st)
        st = net_read_all(str_text(&text), text.n, path, pool, out, err);
    if (st)
        error_context(err, "reading %s", path);
    st = file_guards_check(st, err);
    if (st) {
        graph_free(*out);
        *out = NULL;
    }
    str_release(&text);
    return st;
}
