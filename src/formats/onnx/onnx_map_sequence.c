/* formats/onnx/onnx_map_sequence.c - lists of tensors, and optional values. */
#include "formats/onnx/onnx_import_internal.h"

#include "base/mem.h"
#include "ops/ops.h"
#include "ops/sequence/packed_list.h"
#include "ops/sequence/sequence_ops.h"
#include "ops/sequence/string_normalizer.h"

#include <string.h>

static void import_sequence_empty(struct onnx_call *call)
{
    onnx_emit(call, &op_sequence_construct, NULL);
}

static void import_concat_from_sequence(struct onnx_call *call)
{
    struct concat_from_sequence_attrs attrs = {
        .axis = onnx_axis(call, 0), .is_new = onnx_int(call, "new_axis", 0)};

    onnx_emit(call, &op_concat_from_sequence, &attrs);
}

static void import_split_to_sequence(struct onnx_call *call)
{
    struct split_to_sequence_attrs attrs = {.axis = onnx_axis(call, 0),
                                            .drops_axis =
                                                !onnx_int(call, "keepdims", 1)};

    onnx_emit(call, &op_split_to_sequence, &attrs);
}

static void import_sequence_map(struct onnx_call *call)
{
    enum { most = 64 };
    struct sequence_map_attrs attrs = {.n_own = call->n_inputs};
    struct onnx_body body = {0};
    uint32_t inputs[most];

    onnx_import_body(call, "body", &body);
    if (call->n_inputs + body.n_captured > most)
        onnx_fail(call, ASSAY_UNSUPPORTED,
                  "it and its graph read %zu values; at most %d are supported",
                  call->n_inputs + body.n_captured, most);
    if (!call->st &&
        (graph_input_count(body.graph) != call->n_inputs + body.n_captured ||
         graph_output_count(body.graph) != call->n_outputs))
        onnx_fail(call, ASSAY_BAD_INPUT,
                  "its graph has %zu inputs and %zu outputs instead of %zu "
                  "and %zu",
                  graph_input_count(body.graph) - body.n_captured,
                  graph_output_count(body.graph), call->n_inputs,
                  call->n_outputs);
    if (!call->st) {
        memcpy(inputs, call->inputs, call->n_inputs * sizeof *inputs);
        if (body.n_captured)
            memcpy(inputs + call->n_inputs, body.captured,
                   body.n_captured * sizeof *inputs);
        onnx_emit_bodies(call, &op_sequence_map, &attrs, inputs,
                         call->n_inputs + body.n_captured, &body.graph, 1);
        if (!call->st)
            body.graph = NULL;
    }
    onnx_body_release(&body);
}

/* An optional that has a value is that value. */
static void import_optional(struct onnx_call *call)
{
    if (onnx_input(call, 0) == GRAPH_NONE)
        onnx_emit_inputs(call, &op_optional_none, NULL, NULL, 0);
    else
        call->outputs[0] = call->inputs[0];
}

static void import_optional_get(struct onnx_call *call)
{
    call->outputs[0] = call->inputs[0];
}

static void import_optional_has(struct onnx_call *call)
{
    uint32_t x = onnx_input(call, 0);

    if (x == GRAPH_NONE)
        call->outputs[0] = onnx_new_scalar(call, DTYPE_BOOL, 0);
    else
        onnx_emit(call, &op_optional_has_element, NULL);
}

/* ---- texts --------------------------------------------------------------- */

static struct tensor onnx_sequence_text(struct onnx_call *call,
                                        const char *text)
{
    struct shape shape = shape_of(1, (int64_t)strlen(text));
    struct tensor made = {0};

    if (!call->st)
        call->st =
            tensor_new(onnx_pool(call), DTYPE_U8, &shape, &made, call->err);
    if (!call->st && shape.dims[0])
        memcpy(tensor_data(&made), text, tensor_bytes(&made));
    return made;
}

/* The words of an attribute as a constant; GRAPH_NONE if there are none. */
static uint32_t onnx_sequence_words(struct onnx_call *call, const char *name)
{
    const char *const *texts;
    size_t n = onnx_texts(call, name, &texts);
    int64_t count = (int64_t)n;
    struct shape one = shape_of(1, INT64_C(1));
    struct tensor *items, list = {0};

    if (!n)
        return GRAPH_NONE;
    items = mem_array(n + 1, sizeof *items);
    if (!items) {
        onnx_fail(call, ASSAY_NOMEM, "out of memory");
        return GRAPH_NONE;
    }
    if (!call->st)
        call->st =
            tensor_new(onnx_pool(call), DTYPE_I64, &one, &items[0], call->err);
    if (!call->st)
        tensor_i64(&items[0])[0] = count;
    for (size_t i = 0; i < n; i++)
        items[i + 1] = onnx_sequence_text(call, texts[i]);
    if (!call->st)
        call->st = packed_make(onnx_pool(call), items, n + 1, &list, call->err);
    for (size_t i = 0; i <= n; i++)
        tensor_release(&items[i]);
    mem_free(items);
    return onnx_new_constant(call, list);
}

static void import_string_normalizer(struct onnx_call *call)
{
    static const char *const changes[] = {
        [CASE_KEEP] = "NONE", [CASE_LOWER] = "LOWER", [CASE_UPPER] = "UPPER"};
    struct string_normalizer_attrs attrs = {
        .change = (enum case_change)ONNX_CHOOSE(call, "case_change_action",
                                                "NONE", changes),
        .is_case_sensitive = onnx_int(call, "is_case_sensitive", 0)};
    uint32_t inputs[] = {onnx_input(call, 0),
                         onnx_sequence_words(call, "stopwords")};

    onnx_emit_inputs(call, &op_string_normalizer, &attrs, inputs, 2);
}

const struct onnx_op onnx_sequence_ops[] = {
    {"ConcatFromSequence", 11, ONNX_NOW, 1, 1, import_concat_from_sequence},
    {"Optional", 15, ONNX_NOW, 0, 1, import_optional},
    {"OptionalGetElement", 15, ONNX_NOW, 1, 1, import_optional_get},
    {"OptionalHasElement", 15, ONNX_NOW, 0, 1, import_optional_has},
    {"SequenceAt", 11, ONNX_NOW, 2, 2, onnx_import_named},
    {"SequenceConstruct", 11, ONNX_NOW, 1, ONNX_ANY, onnx_import_named},
    {"SequenceEmpty", 11, ONNX_NOW, 0, 0, import_sequence_empty},
    {"SequenceErase", 11, ONNX_NOW, 1, 2, onnx_import_named},
    {"SequenceInsert", 11, ONNX_NOW, 2, 3, onnx_import_named},
    {"SequenceLength", 11, ONNX_NOW, 1, 1, onnx_import_named},
    {"SequenceMap", 17, ONNX_NOW, 1, ONNX_ANY, import_sequence_map},
    {"SplitToSequence", 11, ONNX_NOW, 1, 2, import_split_to_sequence},
    {"StringNormalizer", 10, ONNX_NOW, 1, 1, import_string_normalizer},
    {0},
};
