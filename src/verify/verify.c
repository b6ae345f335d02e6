/* verify/verify.c - see verify.h. */
#include "verify/verify.h"

#include "base/mem.h"
#include "base/vec.h"
#include "models/model_open.h"
#include "ops/ops.h"
#include "ops/product/quantize.h"
#include "ops/sequence/packed_list.h"
#include "passes/fuse.h"
#include "passes/fuse_host.h"
#include "tensor/convert.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* An open model with its inputs and outputs. */
struct subject {
    const struct verify_options *options;
    struct verify_report *report;
    struct pool *pool;
    struct graph *graph;
    struct engine *engine;
    size_t n_inputs, n_outputs;
    struct tensor *inputs, *outputs;
};

void verify_report_release(struct verify_report *report)
{
    mem_free(report->outputs);
    arena_release(&report->memory);
    *report = (struct verify_report){0};
}

/* ---- values -------------------------------------------------------------- */

static double verify_element(const struct tensor *tensor, size_t i)
{
    const char *data = tensor_data(tensor);
    double value;

    convert_elements(tensor->dtype, data + i * dtype_bytes(tensor->dtype),
                     DTYPE_F64, &value, 1);
    return value;
}

static bool verify_is_near(double got, double wanted,
                           const struct verify_options *options)
{
    if (isnan(got) || isnan(wanted))
        return isnan(got) && isnan(wanted);
    if (isinf(got) || isinf(wanted))
        return got == wanted;
    return fabs(got - wanted) <= options->atol + options->rtol * fabs(wanted);
}

static void verify_compare_items(const struct tensor *got,
                                 const struct tensor *wanted,
                                 const struct verify_options *options,
                                 struct verify_output *out)
{
    size_t n = tensor_elements(got);

    out->dtype = got->dtype;
    out->wanted_dtype = wanted->dtype;
    out->shape = got->shape;
    out->wanted_shape = wanted->shape;
    out->is_match =
        got->dtype == wanted->dtype && shape_equal(&got->shape, &wanted->shape);
    for (size_t i = 0; out->is_match && i < n; i++) {
        double a = verify_element(got, i), b = verify_element(wanted, i);

        if (fabs(a - b) > out->largest)
            out->largest = fabs(a - b);
        if (verify_is_near(a, b, options))
            continue;
        if (out->n_different++ == 0) {
            out->at = i;
            out->got = a;
            out->wanted = b;
        }
    }
    if (out->n_different)
        out->is_match = false;
}

/* Item by item; stops at the first that differs. */
static void verify_compare_lists(const struct tensor *got,
                                 const struct tensor *wanted,
                                 const struct verify_options *options,
                                 struct verify_output *out)
{
    struct packed a = {0}, b = {0};

    out->is_match = !packed_open(got, &a, NULL) &&
                    !packed_open(wanted, &b, NULL) && a.n == b.n &&
                    a.is_none == b.is_none;
    for (size_t i = 0; out->is_match && i < a.n; i++) {
        struct verify_output item = {0};

        verify_compare_items(&a.items[i], &b.items[i], options, &item);
        out->is_match = item.is_match;
        out->n_different += item.n_different;
        out->at = item.at;
        out->got = item.got;
        out->wanted = item.wanted;
        if (item.largest > out->largest)
            out->largest = item.largest;
    }
    packed_close(&a);
    packed_close(&b);
}

void verify_compare(const struct tensor *got, const struct tensor *wanted,
                    const struct verify_options *options,
                    struct verify_output *out)
{
    out->dtype = got->dtype;
    out->wanted_dtype = wanted->dtype;
    out->shape = got->shape;
    out->wanted_shape = wanted->shape;
    if (got->dtype == DTYPE_SEQUENCE && wanted->dtype == DTYPE_SEQUENCE)
        verify_compare_lists(got, wanted, options, out);
    else
        verify_compare_items(got, wanted, options, out);
}
bool verify_is_within_steps(const struct verify_output *output, double steps)
{
    static const double rounding = 1.001; /* of the arithmetic around it */

    return output->n_different &&
           output->largest <= steps * output->step * rounding;
}

/* Whether a node makes integers that stand for quantised numbers. */
static bool verify_makes_steps(const struct node *node)
{
    if (node->op == &op_qlinear_matmul || node->op == &op_qlinear_conv)
        return node->inputs[QLINEAR_Y_ZERO] != GRAPH_NONE;
    return node->op == &op_quantize_linear || node->op == &op_lookup ||
           node->op == &op_qlinear_add || node->op == &op_qlinear_mul;
}

/* The step between neighbouring values of a quantised output, seen through ops
 * that move values without changing them. */
static double verify_step_of(const struct graph *graph, uint32_t value)
{
    const struct value *own = graph_value(graph, value);
    const struct node *node;

    for (size_t i = 0; i < graph_node_count(graph); i++) {
        if (own->producer == GRAPH_NONE)
            return (double)NAN;
        node = graph_node(graph, own->producer);
        if (node->op == &op_dequantize_linear) {
            own = graph_value(graph, node->inputs[1]);
            return own->data.buffer && tensor_elements(&own->data) == 1
                       ? fabs(verify_element(&own->data, 0))
                       : (double)NAN;
        }
        if (verify_makes_steps(node))
            return 1;
        if (!node->op->is_view || !node->n_inputs)
            return (double)NAN;
        own = graph_value(graph, node->inputs[0]);
    }
    return (double)NAN;
}

/* ---- the model ---------------------------------------------------------- */

static void count_model(struct subject *subject)
{
    const struct graph *graph = subject->graph;

    subject->report->n_nodes = graph_node_count(graph);
    for (uint32_t i = 0; i < graph_value_count(graph); i++) {
        const struct value *value = graph_value(graph, i);

        if (value->kind == VALUE_PARAMETER || value->kind == VALUE_BUFFER)
            subject->report->parameters += tensor_elements(&value->data);
    }
}

static enum assay_status verify_open_model(struct subject *subject,
                                           const char *path, struct error *err)
{
    const struct verify_options *options = subject->options;
    struct engine_options engine = {
        .device = options->device,
        /* On a GPU too: tf32 is coarser than most tolerances. */
        .backend_options = {.n_threads = options->n_threads,
                            .precision = PRECISION_FP32,
                            .is_plain = true},
    };
    enum assay_status st = pool_new(&subject->pool, err);

    if (!st)
        st = model_open(&(struct model_source){.name = path,
                                               .is_file = true,
                                               .file = options->file},
                        subject->pool, &subject->graph, err);
    if (!st && !graph_has_data(subject->graph))
        st = error_set(err, ASSAY_BAD_INPUT,
                       "%s has no weights; there is nothing to compare", path);
    if (st)
        return st;
    count_model(subject);
    subject->n_inputs = graph_input_count(subject->graph);
    subject->n_outputs = graph_output_count(subject->graph);
    subject->inputs = mem_array(subject->n_inputs, sizeof *subject->inputs);
    subject->outputs = mem_array(subject->n_outputs, sizeof *subject->outputs);
    if (!subject->inputs || !subject->outputs)
        return error_nomem(err, sizeof *subject->inputs, "a model");
    if (!options->is_plain)
        st = fuse_graph(subject->graph, subject->pool, err);
    if (!st && !options->is_plain &&
        (!options->device || options->device->space->is_host))
        st = fuse_for_host(subject->graph, subject->pool, false, err);
    return st ? st
              : engine_new(subject->graph, subject->pool, &engine,
                           &subject->engine, err);
}

static void release_tensors(struct subject *subject)
{
    for (size_t i = 0; subject->inputs && i < subject->n_inputs; i++)
        tensor_release(&subject->inputs[i]);
    for (size_t i = 0; subject->outputs && i < subject->n_outputs; i++)
        tensor_release(&subject->outputs[i]);
}

static void close_model(struct subject *subject)
{
    release_tensors(subject);
    mem_free(subject->inputs);
    mem_free(subject->outputs);
    engine_free(subject->engine);
    graph_free(subject->graph);
    pool_free(subject->pool);
}

/* ---- one set ------------------------------------------------------------ */

static const struct value *input_value(const struct subject *subject, size_t i)
{
    return graph_value(subject->graph, graph_input_at(subject->graph, i));
}

/* The input that the i-th file is for: by the name in it, else by position. */
static size_t find_input(const struct subject *subject, const char *name,
                         size_t i)
{
    for (size_t k = 0; k < subject->n_inputs; k++) {
        if (name[0] && strcmp(input_value(subject, k)->name, name) == 0)
            return k;
    }
    return i;
}

static enum assay_status load_vector(struct subject *subject, const char *set,
                                     const char *what, size_t i, bool is_list,
                                     struct tensor *tensor, struct str *name,
                                     struct error *err)
{
    struct str path = {0};
    enum assay_status st =
        str_printf(&path, "%s/%s_%zu.pb", set, what, i)
            ? error_nomem(err, strlen(set), "a file name")
            : onnx_load_vector(path.text, is_list, subject->pool, tensor, name,
                               err);

    str_release(&path);
    return st;
}

/* NumPy has no bfloat16: its vectors have the same bits as uint16. */
static void reread_bfloat(struct tensor *vector, enum dtype wanted)
{
    if (wanted == DTYPE_BF16 && vector->dtype == DTYPE_U16)
        vector->dtype = DTYPE_BF16;
}

static enum assay_status load_inputs(struct subject *subject, const char *set,
                                     struct error *err)
{
    enum assay_status st = ASSAY_OK;
    struct str name = {0};

    for (size_t i = 0; !st && i < subject->n_inputs; i++) {
        struct tensor tensor;
        size_t to;

        str_clear(&name);
        st = load_vector(subject, set, "input", i,
                         input_value(subject, i)->dtype == DTYPE_SEQUENCE,
                         &tensor, &name, err);
        if (st)
            break;
        to = find_input(subject, str_text(&name), i);
        reread_bfloat(&tensor, input_value(subject, to)->dtype);
        tensor_release(&subject->inputs[to]);
        subject->inputs[to] = tensor;
    }
    for (size_t i = 0; !st && i < subject->n_inputs; i++) {
        if (!subject->inputs[i].buffer)
            st = error_set(err, ASSAY_BAD_INPUT,
                           "%s has no values for input '%.80s'", set,
                           input_value(subject, i)->name);
    }
    str_release(&name);
    return st;
}

static enum assay_status compare_output(struct subject *subject,
                                        const char *set, size_t i,
                                        struct error *err)
{
    struct verify_report *report = subject->report;
    struct verify_output *moved =
        vec_reserve(report->outputs, &report->outputs_capacity,
                    report->n_outputs + 1, sizeof *report->outputs);
    const char *slash = strrchr(set, '/'), *name;
    struct verify_output output = {0};
    struct str inside = {0};
    struct tensor wanted;
    enum assay_status st;

    output.step = verify_step_of(subject->graph,
                                 graph_output_at(subject->graph, i, &name));
    output.set = arena_strdup(&report->memory, slash ? slash + 1 : set);
    output.name = arena_strdup(&report->memory, name);
    if (moved)
        report->outputs = moved;
    if (!moved || !output.set || !output.name)
        return error_nomem(err, sizeof output, "a report");
    st = load_vector(subject, set, "output", i,
                     subject->outputs[i].dtype == DTYPE_SEQUENCE, &wanted,
                     &inside, err);
    str_release(&inside);
    if (st)
        return st;
    reread_bfloat(&wanted, subject->outputs[i].dtype);
    verify_compare(&subject->outputs[i], &wanted, subject->options, &output);
    tensor_release(&wanted);
    if (subject->options->is_quantised && verify_is_within_steps(&output, 1))
        output.is_match = true;
    report->n_failed += !output.is_match;
    report->outputs[report->n_outputs++] = output;
    return ASSAY_OK;
}

static enum assay_status run_set(struct subject *subject, const char *set,
                                 struct error *err)
{
    enum assay_status st = load_inputs(subject, set, err);

    if (!st)
        st =
            engine_run(subject->engine, subject->inputs, subject->outputs, err);
    for (size_t i = 0; !st && i < subject->n_outputs; i++)
        st = compare_output(subject, set, i, err);
    release_tensors(subject);
    subject->report->n_sets++;
    return st;
}

/* ---- the sets ----------------------------------------------------------- */

static bool has_vectors(const char *folder)
{
    struct str path = {0};
    bool is_there = !str_printf(&path, "%s/output_0.pb", folder) &&
                    access(path.text, F_OK) == 0;

    str_release(&path);
    return is_there;
}

static enum assay_status run_sets(struct subject *subject, const char *data,
                                  struct error *err)
{
    struct str path = {0};
    enum assay_status st = ASSAY_OK;

    if (has_vectors(data))
        return run_set(subject, data, err);
    for (size_t i = 0; !st; i++) {
        str_clear(&path);
        if (str_printf(&path, "%s/test_data_set_%zu", data, i))
            st = error_nomem(err, strlen(data), "a file name");
        else if (access(path.text, F_OK))
            break;
        else
            st = run_set(subject, path.text, err);
    }
    if (!st && !subject->report->n_sets)
        st = error_set(err, ASSAY_NOT_FOUND,
                       "%s has neither output_0.pb nor a folder "
                       "test_data_set_0; name a folder that does",
                       data);
    str_release(&path);
    return st;
}

enum assay_status verify_model(const char *model, const char *data,
                               const struct verify_options *options,
                               struct verify_report *report, struct error *err)
{
    struct subject subject = {.options = options, .report = report};
    enum assay_status st = verify_open_model(&subject, model, err);

    if (!st)
        st = run_sets(&subject, data, err);
    close_model(&subject);
    return st;
}
