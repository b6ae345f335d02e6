/* session/model_run.c - models of the public interface: forward passes. */
#include "session/public_model.h"

#include "base/mem.h"

#include <assay/span.h>
#include <assert.h>
#include <string.h>

void model_stop(struct assay_model *model)
{
    for (size_t i = 0; model->run_inputs && i < model->inputs.n; i++)
        tensor_release(&model->run_inputs[i]);
    session_close(&model->session);
}

/* Allocated before the session, so that an open session is complete. */
static enum assay_status model_run_make_room(struct assay_model *model,
                                             struct error *err)
{
    size_t n_outputs = graph_output_count(model->graph);
    size_t inputs = (model->inputs.n + 1) * sizeof *model->run_inputs;

    if (!model->run_inputs) {
        model->run_inputs = arena_alloc(&model->memory, inputs);
        if (!model->run_inputs)
            return error_nomem(err, inputs, "the inputs of a model");
        memset(model->run_inputs, 0, inputs);
    }
    if (!model->outputs)
        model->outputs = arena_alloc(&model->memory,
                                     (n_outputs + 1) * sizeof *model->outputs);
    return model->outputs ? ASSAY_OK
                          : error_nomem(err, n_outputs * sizeof *model->outputs,
                                        "the outputs of a model");
}

/* On a copy of the graph, because fusing changes what was loaded. */
static enum assay_status open_session(struct assay_model *model,
                                      struct error *err)
{
    struct graph *copy = NULL;
    enum assay_status st = model_run_make_room(model, err);

    if (!st && !model->may_fill)
        st = error_set(err, ASSAY_BAD_USAGE,
                       "%s was loaded without weights, so it cannot be run",
                       graph_name(model->graph));
    ASSAY_SPAN("weights");
    if (!st)
        st = model_weights(model, err);
    if (!st)
        st = graph_copy(model->graph, &copy, err);
    return st ? st
              : session_open_graph(&model->options, model->pool, copy,
                                   &model->session, err);
}

static bool model_run_fits(const struct assay_model *model, size_t i,
                           const struct assay_tensor *input)
{
    const struct assay_tensor *wanted = &model->public_inputs[i];

    if (input->dtype != wanted->dtype || input->rank != wanted->rank)
        return false;
    /* A detector's images [3,h,w] may have any size. */
    if (model->options.vision.decode == DECODE_DETECTOR)
        return input->dims[0] == 3 && input->dims[1] > 0 && input->dims[2] > 0;
    return memcmp(input->dims, wanted->dims,
                  (size_t)wanted->rank * sizeof *wanted->dims) == 0;
}

static enum assay_status resize_input(struct assay_model *model, size_t i,
                                      const struct assay_tensor *input,
                                      struct error *err)
{
    struct tensor *tensor = &model->run_inputs[i];
    struct shape shape = {.rank = input->rank};

    memcpy(shape.dims, input->dims, sizeof shape.dims);
    if (tensor->buffer && shape_equal(&tensor->shape, &shape))
        return ASSAY_OK;
    tensor_release(tensor);
    *tensor = (struct tensor){0};
    return tensor_new(model->pool, (enum dtype)input->dtype, &shape, tensor,
                      err);
}

static enum assay_status take_input(struct assay_model *model, size_t i,
                                    const struct assay_tensor *input,
                                    struct error *err)
{
    const char *name =
        graph_value(model->graph, graph_input_at(model->graph, i))->name;
    enum dtype dtype = (enum dtype)model->public_inputs[i].dtype;
    enum assay_status st;
    char text[64];

    if (!model_run_fits(model, i, input))
        return error_set(
            err, ASSAY_BAD_INPUT,
            "input '%s' of %s takes %s of %s; another tensor was given", name,
            graph_name(model->graph),
            shape_text(&model->inputs.shapes[i], text, sizeof text),
            dtype_name(dtype));
    if (!input->data)
        return error_set(err, ASSAY_BAD_INPUT, "input '%s' of %s has no data",
                         name, graph_name(model->graph));
    st = resize_input(model, i, input, err);
    if (!st)
        memcpy(tensor_data(&model->run_inputs[i]), input->data,
               tensor_bytes(&model->run_inputs[i]));
    return st;
}

/* The session is open, and the inputs are copied. */
static enum assay_status model_run_prepare(struct assay_model *model,
                                           const struct assay_tensor *inputs,
                                           struct error *err)
{
    enum assay_status st =
        model->session.engine ? ASSAY_OK : open_session(model, err);

    for (size_t i = 0; !st && i < model->inputs.n; i++)
        st = take_input(model, i, &inputs[i], err);
    return st;
}

static enum assay_status
model_run_hand_over(struct assay_model *model, enum assay_status st,
                    const struct assay_tensor **outputs, size_t *n_outputs)
{
    for (size_t i = 0; !st && i < model->session.n_outputs; i++)
        model->outputs[i] = model_describe_tensor(&model->session.outputs[i]);
    *outputs = st ? NULL : model->outputs;
    *n_outputs = st ? 0 : model->session.n_outputs;
    return st;
}

enum assay_status assay_model_run(struct assay_model *model,
                                  const struct assay_tensor *inputs,
                                  const struct assay_tensor **outputs,
                                  size_t *n_outputs, struct assay_error *error)
{
    struct error err = {0};
    enum assay_status st = model_run_prepare(model, inputs, &err);

    if (!st)
        st = session_run(&model->session, model->run_inputs, &err);
    st = model_run_hand_over(model, st, outputs, n_outputs);
    return error_export(&err, st, error);
}

/* ---- passes in flight ------------------------------------------------------
 */

static_assert((int)ASSAY_MODEL_MOST_IN_FLIGHT == (int)ENGINE_MOST_IN_FLIGHT,
              "the engine keeps what the interface promises");

enum assay_status assay_model_submit(struct assay_model *model,
                                     const struct assay_tensor *inputs,
                                     struct assay_error *error)
{
    struct error err = {0};
    enum assay_status st = model_run_prepare(model, inputs, &err);

    if (!st) {
        engine_allow_in_flight(model->session.engine,
                               ASSAY_MODEL_MOST_IN_FLIGHT);
        st = session_submit(&model->session, model->run_inputs, &err);
    }
    return error_export(&err, st, error);
}

enum assay_status assay_model_collect(struct assay_model *model,
                                      const struct assay_tensor **outputs,
                                      size_t *n_outputs,
                                      struct assay_error *error)
{
    struct error err = {0};
    enum assay_status st =
        model->session.engine
            ? session_collect(&model->session, NULL, &err)
            : error_set(&err, ASSAY_BAD_USAGE, "no pass is in flight");

    st = model_run_hand_over(model, st, outputs, n_outputs);
    return error_export(&err, st, error);
}
