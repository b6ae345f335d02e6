/* detect/run_facts.c - the model, the settings, the input and what was found,
 * as facts of a run. */
#include "detect/annotate.h"

#include "base/units.h"
#include "run/run.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static enum assay_status
state_library(struct run *run, const struct session *session, struct error *err)
{
    const struct backend *backend = engine_backend(session->engine);
    char text[64];

    if (!backend->class->library)
        return ASSAY_OK;
    backend->class->library(text, sizeof text);
    return run_fact_set(run, "machine.library", text, err);
}

static enum assay_status state_model(struct run *run,
                                     const struct detect_options *options,
                                     const struct session *session,
                                     struct error *err)
{
    enum assay_status st;

    st = run_fact_set(run, "model.name", graph_name(session->graph), err);
    if (!st)
        st = run_fact_printf(run, err, "model.parameters", "%" PRIu64,
                             session->parameters);
    if (!st)
        st = run_fact_printf(run, err, "model.parameter_bytes", "%" PRIu64,
                             session->parameter_bytes);
    if (!st)
        st = run_fact_set(run, "model.precision", "fp32", err);
    if (!st && !session->is_random && (options->weights || options->is_onnx))
        st = run_fact_set(run, "model.weights",
                          options->is_onnx ? options->model : options->weights,
                          err);
    else if (!st)
        st = run_fact_printf(run, err, "model.weights",
                             "random (seed %" PRIu64 ")", options->seed);
    if (!st)
        st = state_library(run, session, err);
    if (!st)
        st = run_fact_printf(run, err, "settings.threads", "%d",
                             options->n_threads);
    if (!st)
        st = run_fact_set(run, "settings.mode",
                          options->is_plain ? "plain" : "optimised", err);
    if (!st && options->build.n_images > 1)
        st = run_fact_printf(run, err, "settings.batch", "%" PRId64 " images",
                             options->build.n_images);
    return st;
}

static enum assay_status
state_machine(struct run *run, const struct machine *machine, struct error *err)
{
    return machine ? machine_set_facts(machine, run, err) : ASSAY_OK;
}

static enum assay_status
state_memory(struct run *run, const struct session *session, struct error *err)
{
    struct session_memory memory = session_memory(session);
    enum assay_status st;

    st = run_fact_printf(run, err, "memory.weights_bytes", "%zu",
                         memory.weights_bytes);
    if (!st && memory.mapped_bytes)
        st = run_fact_printf(run, err, "memory.mapped_bytes", "%zu",
                             memory.mapped_bytes);
    if (!st)
        st = run_fact_printf(run, err, "memory.scratch_bytes", "%zu",
                             memory.scratch_bytes);
    return st;
}

/* "shorter side 800" and the like. */
static enum assay_status state_fit(struct run *run,
                                   const struct annotation *annotation,
                                   struct error *err)
{
    static const char *const fits[] = {[FIT_STRETCH] = "stretched",
                                       [FIT_LETTERBOX] = "letterbox",
                                       [FIT_CORNER] = "letterbox, top left"};
    const struct model_inputs *inputs = &annotation->session->inputs;

    if (inputs->kind == INPUTS_PHOTOGRAPHS)
        return run_fact_printf(run, err, "input.note", "shorter side %" PRId64,
                               annotation->options->build.min_size);
    if (inputs->recipe.fit == FIT_CROP)
        return run_fact_printf(run, err, "input.note",
                               "shorter side %d, the middle",
                               inputs->recipe.shorter);
    return run_fact_set(run, "input.note", fits[inputs->recipe.fit], err);
}

/* "800", "1066..1200" */
static const char *side_text(char text[UNITS_MAX], int64_t least, int64_t most)
{
    if (least == most)
        snprintf(text, UNITS_MAX, "%" PRId64, most);
    else
        snprintf(text, UNITS_MAX, "%" PRId64 "..%" PRId64, least, most);
    return text;
}

static enum assay_status state_photographs(struct run *run,
                                           const struct annotation *annotation,
                                           struct error *err)
{
    const struct intake *intake = annotation->intake;
    const struct intake_sizes *to = &intake->resized;
    bool is_one_size = to->least_width == to->most_width &&
                       to->least_height == to->most_height;
    char width[UNITS_MAX], height[UNITS_MAX];
    enum assay_status st =
        run_fact_printf(run, err, "input.photographs", "%zu", intake->n);

    if (!st && intake->n_skipped)
        st = run_fact_printf(run, err, "input.skipped", "%zu",
                             intake->n_skipped);
    if (!st)
        st = run_fact_printf(
            run, err, "input.resized", is_one_size ? "%sx%s" : "%s x %s",
            side_text(width, to->least_width, to->most_width),
            side_text(height, to->least_height, to->most_height));
    return st ? st : state_fit(run, annotation, err);
}

static enum assay_status state_input(struct run *run,
                                     const struct annotation *annotation,
                                     struct error *err)
{
    const struct session *session = annotation->session;
    struct str text = {0};
    enum assay_status st;

    if (session->inputs.kind != INPUTS_RANDOM)
        return state_photographs(run, annotation, err);
    st = model_inputs_text(&session->inputs, session->graph, &text, err);
    if (!st)
        st = run_fact_printf(run, err, "input.note", "%s%s",
                             session->inputs.n ? "random values: " : "",
                             str_text(&text));
    str_release(&text);
    return st;
}

static bool finds_boxes(const struct detect_options *options)
{
    return !options->is_random && options->decode != DECODE_NONE &&
           options->decode != DECODE_CLASSES;
}

/* How far photographs differ, each by the median of its own runs. */
static enum assay_status state_spread(struct run *run,
                                      const struct annotation *annotation,
                                      struct error *err)
{
    struct photo_median fastest, slowest;
    char from[UNITS_MAX], to[UNITS_MAX];
    const char *path, *slash;
    uint64_t runs;
    enum assay_status st;

    if (!photo_times_spread(annotation->times, &fastest, &slowest, &runs))
        return ASSAY_OK;
    path = annotation->intake->paths[slowest.photo];
    slash = strrchr(path, '/');
    units_time(from, fastest.median_ns);
    units_time(to, slowest.median_ns);
    st = run_fact_printf(
        run, err, "photos.spread",
        "medians from %s to %s over %zu photographs, %" PRIu64 " %s each", from,
        to, annotation->intake->n, runs, runs == 1 ? "run" : "runs");
    path = slash ? slash + 1 : path;
    if (!st && finds_boxes(annotation->options))
        st = run_fact_printf(run, err, "content.slowest",
                             "%s %s, %" PRId64 " detections", path, to,
                             slowest.detections);
    else if (!st)
        st = run_fact_printf(run, err, "content.slowest", "%s %s", path, to);
    return st;
}

/* "12 (1..97)": the mean, and from where to where. */
static enum assay_status state_range(struct run *run, const char *key,
                                     double mean, int64_t least, int64_t most,
                                     struct error *err)
{
    if (least == most)
        return run_fact_printf(run, err, key, "%" PRId64, most);
    return run_fact_printf(run, err, key, "%.0f (%" PRId64 "..%" PRId64 ")",
                           mean, least, most);
}

/* Of outputs that nobody knows to read: "output0 1x84x8400". */
static enum assay_status
state_outputs(struct run *run, const struct session *session, struct error *err)
{
    struct str text = {0};
    char shape[64];
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < session->n_outputs; i++) {
        const char *name;

        graph_output_at(session->graph, i, &name);
        st = str_printf(
            &text, "%s%s %s", i ? ", " : "", name,
            shape_text(&session->outputs[i].shape, shape, sizeof shape));
    }
    if (st)
        st = error_nomem(err, text.n, "the outputs of a model");
    else
        st = run_fact_set(run, "content.outputs", str_text(&text), err);
    str_release(&text);
    return st;
}

static enum assay_status state_content(struct run *run,
                                       const struct annotation *annotation,
                                       struct error *err)
{
    const struct findings *findings = annotation->findings;
    double images = findings->n_images ? (double)findings->n_images : 1;
    enum assay_status st = ASSAY_OK;

    if (annotation->options->decode == DECODE_NONE)
        return state_outputs(run, annotation->session, err);
    if (!finds_boxes(annotation->options))
        return ASSAY_OK;
    if (findings->proposals)
        st = state_range(
            run, "content.proposals", (double)findings->proposals / images,
            findings->least_proposals, findings->most_proposals, err);
    if (!st)
        st = state_range(run, "content.detections",
                         (double)findings->detections / images, findings->least,
                         findings->most, err);
    return st;
}

/* Why there are as many iterations as there are; nothing where the user said
 * how many. */
static enum assay_status
state_pacing(struct run *run, const struct pacing *pacing, struct error *err)
{
    double reached = pacing_precision(pacing);
    enum assay_status st;

    if (pacing->goal <= 0)
        return ASSAY_OK;
    st = run_fact_printf(run, err, "runs.precision_goal", "%g", pacing->goal);
    if (st)
        return st;
    if (pacing->end == PACING_PRECISE)
        return run_fact_printf(run, err, "runs.stopped",
                               "when the 95 %% interval of the median fell "
                               "below %g %%",
                               pacing->goal * 100);
    if (isnan(reached))
        return run_fact_printf(run, err, "runs.stopped",
                               "by the time limit, with too few iterations for "
                               "an interval of the median");
    return run_fact_printf(run, err, "runs.stopped",
                           "by the time limit, with the 95 %% interval of the "
                           "median at %.1f %%",
                           reached * 100);
}

static enum assay_status state_cost(struct run *run, const struct bare *bare,
                                    struct error *err)
{
    struct bare_cost cost;
    enum assay_status st;

    if (!bare_cost(bare, &cost))
        return ASSAY_OK;
    st = run_fact_printf(run, err, "recording.cost_share", "%.5f", cost.share);
    if (!st)
        st = run_fact_printf(run, err, "recording.cost_low", "%.5f", cost.low);
    if (!st)
        st =
            run_fact_printf(run, err, "recording.cost_high", "%.5f", cost.high);
    if (!st)
        st = run_fact_printf(run, err, "recording.pairs", "%zu", bare->n);
    return st;
}

enum assay_status run_facts_state(struct run *run,
                                  const struct annotation *annotation,
                                  struct error *err)
{
    enum assay_status st =
        state_model(run, annotation->options, annotation->session, err);

    if (!st)
        st = state_machine(run, annotation->machine, err);
    if (!st)
        st = state_memory(run, annotation->session, err);
    if (!st)
        st = state_input(run, annotation, err);
    if (!st)
        st = state_spread(run, annotation, err);
    if (!st)
        st = state_content(run, annotation, err);
    if (!st)
        st = state_pacing(run, annotation->pacing, err);
    if (!st)
        st = state_cost(run, annotation->bare, err);
    return st;
}
