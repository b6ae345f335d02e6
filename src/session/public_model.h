/* session/public_model.h - the state of a model of the public interface.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SESSION_PUBLIC_MODEL_H
#define SESSION_PUBLIC_MODEL_H

#include "base/arena.h"
#include "session/model_parts.h"
#include "session/session.h"

#include <assay/model.h>

struct assay_model {
    struct arena memory; /* for the texts and lists below */
    struct session_options options;
    struct str choices; /* of remembered kernels */
    bool may_fill;      /* weights may be loaded or made */
    void (*tell)(void *context, const char *line);
    void *tell_context;

    /* As the model was made; nothing is fused. */
    struct pool *pool;
    struct graph *graph;
    bool is_filled;
    bool is_random; /* no file has weights for it */
    struct model_inputs inputs;
    struct survey survey;
    struct layers layers;
    struct str input_text; /* "images 1x3x224x224" */

    /* For the public interface; built once. */
    char backend[64], random_text[64];
    struct assay_totals totals;
    struct assay_layer *public_layers;
    struct assay_parameter *parameters;
    size_t n_parameters;
    struct assay_tensor *public_inputs;

    /* Once it was measured. */
    struct run *run;
    struct layer_time *times; /* one per layer */

    /* Once it was run. */
    struct session session;
    struct tensor *run_inputs;
    struct assay_tensor *outputs;
};

/* Fills what the public interface shows of the graph; needs the survey. */
enum assay_status model_describe(struct assay_model *model, struct error *err);
/* Points the parameters to the data of the graph. */
void model_describe_data(struct assay_model *model);
struct assay_tensor model_describe_tensor(const struct tensor *tensor);

/* Loads or makes the weights of the graph. */
enum assay_status model_weights(struct assay_model *model, struct error *err);
/* Reports collected lines one at a time. tell may be NULL. */
void lines_tell(const struct str *lines,
                void (*tell)(void *context, const char *line), void *context);
void model_tell(const struct assay_model *model, const struct str *lines);

void model_forget_times(struct assay_model *model);

/* Releases what model_run.c made. */
void model_stop(struct assay_model *model);

#endif
