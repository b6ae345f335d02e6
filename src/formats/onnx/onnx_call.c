/* formats/onnx/onnx_call.c - see onnx_import_internal.h: the attributes, values
 * and nodes that mappings work with. */
#include "formats/onnx/onnx_frame_internal.h"

#include "base/str.h"
#include "ops/ops.h"
#include "tensor/convert.h"

#include <stdarg.h>
#include <string.h>

/* ---- attributes -------------------------------------------------------- */

static const struct onnx_attribute *
onnx_call_own_attribute(const struct onnx_node *node, const char *name)
{
    for (size_t i = 0; i < node->n_attributes; i++) {
        if (strcmp(node->attributes[i].name, name) == 0)
            return &node->attributes[i];
    }
    return NULL;
}

const struct onnx_attribute *onnx_attribute(const struct onnx_call *call,
                                            const char *name)
{
    const struct onnx_attribute *found =
        onnx_call_own_attribute(call->node, name);

    if (found && found - call->node->attributes < 64)
        *call->asked |= UINT64_C(1) << (found - call->node->attributes);
    while (found && found->ref_name[0]) {
        call = call->frame->caller;
        found =
            call ? onnx_call_own_attribute(call->node, found->ref_name) : NULL;
    }
    return found;
}

bool onnx_has(const struct onnx_call *call, const char *name)
{
    return onnx_attribute(call, name);
}

int64_t onnx_int(const struct onnx_call *call, const char *name,
                 int64_t fallback)
{
    const struct onnx_attribute *found = onnx_attribute(call, name);

    return found ? found->i : fallback;
}

int onnx_axis(struct onnx_call *call, int fallback)
{
    int64_t axis = onnx_int(call, "axis", fallback);

    if (axis >= -SHAPE_MAX_RANK && axis < SHAPE_MAX_RANK)
        return (int)axis;
    onnx_fail(call, ASSAY_BAD_INPUT, "there is no axis %lld", (long long)axis);
    return 0;
}

enum dtype onnx_type(struct onnx_call *call, const char *name, int64_t fallback)
{
    int64_t number = onnx_int(call, name, fallback);
    enum dtype dtype = DTYPE_F32;

    if (!onnx_dtype(number, &dtype))
        onnx_fail(call, ASSAY_UNSUPPORTED, "type %lld is not supported",
                  (long long)number);
    return dtype;
}

float onnx_float(const struct onnx_call *call, const char *name, float fallback)
{
    const struct onnx_attribute *found = onnx_attribute(call, name);

    return found ? found->f : fallback;
}

const char *onnx_text(const struct onnx_call *call, const char *name,
                      const char *fallback)
{
    const struct onnx_attribute *found = onnx_attribute(call, name);

    return found ? found->s : fallback;
}

size_t onnx_ints(const struct onnx_call *call, const char *name,
                 const int64_t **ints)
{
    const struct onnx_attribute *found = onnx_attribute(call, name);

    *ints = found ? found->ints : NULL;
    return found ? found->n_ints : 0;
}

size_t onnx_floats(const struct onnx_call *call, const char *name,
                   const float **floats)
{
    const struct onnx_attribute *found = onnx_attribute(call, name);

    *floats = found ? found->floats : NULL;
    return found ? found->n_floats : 0;
}

size_t onnx_texts(const struct onnx_call *call, const char *name,
                  const char *const **texts)
{
    const struct onnx_attribute *found = onnx_attribute(call, name);

    *texts = found ? (const char *const *)found->strings : NULL;
    return found ? found->n_strings : 0;
}

int onnx_choose(struct onnx_call *call, const char *name, const char *fallback,
                const char *const *texts, size_t n)
{
    const char *text = onnx_text(call, name, fallback);

    for (size_t i = 0; i < n; i++) {
        if (texts[i] && strcmp(texts[i], text) == 0)
            return (int)i;
    }
    onnx_fail(call, ASSAY_UNSUPPORTED, "%s '%s' is not supported", name, text);
    return 0;
}

/* ---- values ------------------------------------------------------------ */

uint32_t onnx_input(const struct onnx_call *call, size_t i)
{
    return i < call->n_inputs ? call->inputs[i] : GRAPH_NONE;
}

const struct tensor *onnx_known(const struct onnx_call *call, uint32_t value)
{
    return onnx_target_known(call->frame->target, value);
}

const struct tensor *onnx_constant(const struct onnx_call *call, uint32_t value)
{
    const struct tensor *known = onnx_known(call, value);

    return known && known->buffer ? known : NULL;
}

struct pool *onnx_pool(const struct onnx_call *call)
{
    return call->frame->importer->data.pool;
}

uint32_t onnx_new_constant(struct onnx_call *call, struct tensor data)
{
    uint32_t value = GRAPH_NONE;

    if (call->st)
        tensor_release(&data);
    else
        call->st = graph_constant(call->frame->target->graph, "", data, &value,
                                  call->err);
    return value;
}

static uint32_t onnx_call_new_list(struct onnx_call *call, enum dtype dtype,
                                   const void *numbers, size_t n)
{
    struct shape shape = shape_of(1, (int64_t)n);
    struct tensor made;

    if (!call->st)
        call->st = tensor_new(onnx_pool(call), dtype, &shape, &made, call->err);
    if (call->st)
        return GRAPH_NONE;
    if (n)
        memcpy(tensor_data(&made), numbers, tensor_bytes(&made));
    return onnx_new_constant(call, made);
}

uint32_t onnx_new_i64s(struct onnx_call *call, const int64_t *numbers, size_t n)
{
    return onnx_call_new_list(call, DTYPE_I64, numbers, n);
}

uint32_t onnx_new_f32s(struct onnx_call *call, const float *numbers, size_t n)
{
    return onnx_call_new_list(call, DTYPE_F32, numbers, n);
}

uint32_t onnx_new_scalar(struct onnx_call *call, enum dtype dtype,
                         double number)
{
    struct shape shape = shape_of(0);
    struct tensor made;

    if (!call->st)
        call->st = tensor_new(onnx_pool(call), dtype, &shape, &made, call->err);
    if (call->st)
        return GRAPH_NONE;
    convert_elements(DTYPE_F64, &number, dtype, tensor_data(&made), 1);
    return onnx_new_constant(call, made);
}

uint32_t onnx_new_tensor(struct onnx_call *call, const char *attribute)
{
    const struct onnx_attribute *found = onnx_attribute(call, attribute);
    struct onnx_data *data = &call->frame->importer->data;
    struct tensor made;

    if (call->st || !found || (!found->t && !found->sparse))
        return GRAPH_NONE;
    call->st =
        found->t ? onnx_data_load(data, found->t, &made, call->err)
                 : onnx_data_load_sparse(data, found->sparse, &made, call->err);
    return call->st ? GRAPH_NONE : onnx_new_constant(call, made);
}

/* ---- nodes ------------------------------------------------------------- */

void onnx_fail(struct onnx_call *call, enum assay_status status,
               const char *format, ...)
{
    struct str text = {0};
    va_list args;

    if (call->st)
        return;
    va_start(args, format);
    call->st = str_vprintf(&text, format, args)
                   ? error_nomem(call->err, 0, "a message")
                   : error_set(call->err, status, "%s", text.text);
    va_end(args);
    str_release(&text);
}

uint32_t onnx_call_scope(struct onnx_call *call, const char *class_name)
{
    const struct onnx_place *place = call->place;
    uint32_t scope = call->frame->scope;

    for (size_t i = 0; !call->st && i < place->n_modules; i++) {
        const struct onnx_module *module = &place->modules[i];
        const char *usual = i + 1 < place->n_modules ? "Module" : class_name;

        call->st =
            graph_scope_add(call->frame->target->graph, scope, module->name,
                            module->class_name ? module->class_name : usual,
                            module->is_container, &scope, call->err);
    }
    return scope;
}

/* The last node also does the work of a module that was fused into it. */
static void onnx_call_stand_for(struct onnx_call *call)
{
    const struct onnx_module *fused = &call->place->fused;
    struct graph *graph = call->frame->target->graph;
    size_t node = graph_node_count(graph) - 1;
    uint32_t scope = graph_node(graph, node)->scope;

    if (!fused->name || scope == GRAPH_NONE)
        return;
    call->st =
        graph_scope_add(graph, graph_scope(graph, scope)->parent, fused->name,
                        fused->class_name, false, &scope, call->err);
    if (!call->st)
        call->st = graph_stand_for(graph, node, scope, call->err);
}

/* Copies what is known of the inputs and puts a number in place of free sizes.
 * Returns whether there were any. */
static bool onnx_call_set_batch(const struct tensor *const *known, size_t n,
                                int64_t size, struct tensor *copies,
                                const struct tensor **inputs)
{
    bool is_free = false;

    for (size_t i = 0; i < n; i++) {
        inputs[i] = known[i] ? &copies[i] : NULL;
        if (!known[i])
            continue;
        copies[i] = *known[i];
        for (int d = 0; d < copies[i].shape.rank; d++) {
            if (copies[i].shape.dims[d] >= 0)
                continue;
            copies[i].shape.dims[d] = size;
            is_free = true;
        }
    }
    return is_free;
}

/* Infers with two batch sizes: a size that equals both in turn is free (-1),
 * one that changes in another way is unknown (-2). */
static enum assay_status onnx_call_infer(const struct node *node,
                                         const struct tensor *const *known,
                                         struct tensor *outputs,
                                         struct error *err)
{
    enum { batch_a = 3, batch_b = 5 };
    struct tensor copies[OP_MAX_VALUES], others[OP_MAX_VALUES];
    const struct tensor *inputs[OP_MAX_VALUES];
    enum assay_status st;

    for (size_t i = 0; i < node->n_outputs; i++)
        others[i] = (struct tensor){0};
    if (!onnx_call_set_batch(known, node->n_inputs, batch_a, copies, inputs))
        return node_infer(node, inputs, outputs, err);
    st = node_infer(node, inputs, outputs, NULL);
    onnx_call_set_batch(known, node->n_inputs, batch_b, copies, inputs);
    if (!st)
        st = node_infer(node, inputs, others, NULL);
    if (st)
        return ASSAY_UNSUPPORTED;
    for (size_t i = 0; i < node->n_outputs; i++) {
        struct shape *a = &outputs[i].shape, *b = &others[i].shape;

        if (a->rank != b->rank)
            return ASSAY_UNSUPPORTED;
        for (int d = 0; d < a->rank; d++) {
            bool follows = a->dims[d] == batch_a && b->dims[d] == batch_b;

            if (a->dims[d] != b->dims[d])
                a->dims[d] = follows ? -1 : -2;
        }
    }
    return ASSAY_OK;
}

/* Notes type and shape of a new node's outputs, as far as they are known before
 * it runs. Fails on a contradiction if no size is free. */
static void onnx_call_know_outputs(struct onnx_call *call,
                                   const struct node *node)
{
    struct onnx_target *target = call->frame->target;
    const struct tensor *known[OP_MAX_VALUES];
    struct tensor outputs[OP_MAX_VALUES];
    struct error err = {0};
    enum assay_status st;

    if (!node->op->infer || node->n_inputs > OP_MAX_VALUES ||
        node->n_outputs > OP_MAX_VALUES)
        return;
    for (size_t i = 0; i < node->n_inputs; i++) {
        known[i] = onnx_target_known(target, node->inputs[i]);
        if (!known[i] && node->inputs[i] != GRAPH_NONE)
            return;
    }
    for (size_t i = 0; i < node->n_outputs; i++)
        outputs[i] = (struct tensor){0};
    st = onnx_call_infer(node, known, outputs, &err);
    if (st && st != ASSAY_UNSUPPORTED)
        onnx_fail(call, st, "%s", err.text);
    for (size_t i = 0; !st && !call->st && i < node->n_outputs; i++)
        call->st =
            onnx_target_know(target, node->outputs[i], &outputs[i], call->err);
}

static bool onnx_call_check_counts(struct onnx_call *call,
                                   const struct op_class *op, size_t n_inputs,
                                   size_t n_outputs)
{
    if (n_inputs > op->max_inputs || n_outputs > op->max_outputs)
        onnx_fail(call, ASSAY_UNSUPPORTED,
                  "%zu inputs and %zu outputs are too many for %s", n_inputs,
                  n_outputs, op->name);
    return !call->st;
}

static void onnx_call_add_node(struct onnx_call *call, const char *name,
                               const char *class_name,
                               const struct node_description *wanted,
                               uint32_t *outputs)
{
    struct node_description description = *wanted;
    struct graph *graph = call->frame->target->graph;

    if (call->st ||
        !onnx_call_check_counts(call, wanted->op, wanted->n_inputs,
                                wanted->n_outputs) ||
        onnx_fold(call, wanted, outputs))
        return;
    description.name = name;
    /* A module with a single op has that op's class. */
    description.scope =
        onnx_call_scope(call, call->place->label[0] ? "Module" : class_name);
    if (!call->st)
        call->st = graph_node_add(graph, &description, outputs, call->err);
    if (!call->st)
        onnx_call_know_outputs(call,
                               graph_node(graph, graph_node_count(graph) - 1));
}

/* Adds the node of the call and notes the outputs that the file names. */
static void onnx_call_emit(struct onnx_call *call,
                           struct node_description *description)
{
    enum { most = 64 };
    const struct op_class *op = description->op;
    size_t n_outputs = description->n_outputs;
    size_t n_before = graph_node_count(call->frame->target->graph);
    uint32_t outputs[most];

    if (n_outputs < op->min_outputs)
        description->n_outputs = op->min_outputs;
    if (description->n_outputs > most)
        onnx_fail(call, ASSAY_UNSUPPORTED,
                  "it has %zu outputs; at most %d are supported", n_outputs,
                  most);
    onnx_call_add_node(call, call->place->label,
                       call->n_steps ? call->node->op_type : op->name,
                       description, outputs);
    if (!call->st && graph_node_count(call->frame->target->graph) > n_before)
        onnx_call_stand_for(call);
    for (size_t i = 0; !call->st && i < n_outputs && i < call->n_outputs; i++)
        call->outputs[i] = outputs[i];
}

void onnx_emit_outputs(struct onnx_call *call, const struct op_class *op,
                       const void *attrs, const uint32_t *inputs,
                       size_t n_inputs, size_t n_outputs)
{
    onnx_call_emit(call, &(struct node_description){.op = op,
                                                    .attrs = attrs,
                                                    .inputs = inputs,
                                                    .n_inputs = n_inputs,
                                                    .n_outputs = n_outputs});
}

void onnx_emit_bodies(struct onnx_call *call, const struct op_class *op,
                      const void *attrs, const uint32_t *inputs,
                      size_t n_inputs, struct graph *const *bodies,
                      size_t n_bodies)
{
    onnx_call_emit(call,
                   &(struct node_description){.op = op,
                                              .attrs = attrs,
                                              .inputs = inputs,
                                              .n_inputs = n_inputs,
                                              .n_outputs = call->n_outputs,
                                              .bodies = bodies,
                                              .n_bodies = n_bodies});
}

void onnx_emit_inputs(struct onnx_call *call, const struct op_class *op,
                      const void *attrs, const uint32_t *inputs,
                      size_t n_inputs)
{
    onnx_emit_outputs(call, op, attrs, inputs, n_inputs, call->n_outputs);
}

void onnx_emit(struct onnx_call *call, const struct op_class *op,
               const void *attrs)
{
    onnx_emit_inputs(call, op, attrs, call->inputs, call->n_inputs);
}

void onnx_emit_named(struct onnx_call *call, const void *attrs)
{
    onnx_emit(call, op_find(call->node->op_type), attrs);
}

void onnx_import_named(struct onnx_call *call)
{
    onnx_emit_named(call, NULL);
}

uint32_t onnx_step(struct onnx_call *call, const struct op_class *op,
                   const void *attrs, const uint32_t *inputs, size_t n_inputs)
{
    struct node_description description = {.op = op,
                                           .attrs = attrs,
                                           .inputs = inputs,
                                           .n_inputs = n_inputs,
                                           .n_outputs = 1};
    uint32_t output = GRAPH_NONE;
    struct str name = {0};

    if (str_printf(&name, "%s%s%s_%zu", call->place->label,
                   call->place->label[0] ? "." : "", op->name, call->n_steps))
        onnx_fail(call, ASSAY_NOMEM, "out of memory");
    call->n_steps++;
    onnx_call_add_node(call, str_text(&name), call->node->op_type, &description,
                       &output);
    str_release(&name);
    return call->st ? GRAPH_NONE : output;
}
