/* session/run_facts.c - the model, the settings, the input and the results, as
 * facts of a run. */
#include "session/profile_internal.h"

#include "base/units.h"
#include "observe/device_name.h"
#include "observe/fault_cost.h"
#include "ops/ops.h"
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

/* Whether its products are of 8-bit integers. */
static bool run_facts_has_integers(const struct graph *graph)
{
    for (size_t i = 0; i < graph_node_count(graph); i++) {
        const struct op_class *op = graph_node(graph, i)->op;

        if (op == &op_qlinear_conv || op == &op_qlinear_matmul ||
            op == &op_conv_integer || op == &op_matmul_integer)
            return true;
    }
    return false;
}

static enum assay_status
run_facts_state_model(struct run *run, const struct session_options *options,
                      const struct session *session, struct error *err)
{
    const struct backend *backend = engine_backend(session->engine);
    enum precision precision = backend->class->precision
                                   ? backend->class->precision(backend)
                                   : PRECISION_FP32;
    enum assay_status st;

    st = run_fact_set(run, "model.name", graph_name(session->graph), err);
    if (!st)
        st = run_fact_printf(run, err, "model.parameters", "%" PRIu64,
                             session->parameters);
    if (!st)
        st = run_fact_printf(run, err, "model.buffers", "%" PRIu64,
                             session->buffers);
    if (!st)
        st = run_fact_printf(run, err, "model.parameter_bytes", "%" PRIu64,
                             session->parameter_bytes);
    if (!st)
        st = run_fact_set(run, "model.precision",
                          run_facts_has_integers(session->graph)
                              ? "int8"
                              : precision_name(precision),
                          err);
    if (!st && !session->is_random)
        st = run_fact_set(run, "model.weights",
                          options->model.is_file ? options->model.name
                                                 : options->model.weights,
                          err);
    else if (!st)
        st = run_fact_printf(run, err, "model.weights",
                             "random (seed %" PRIu64 ")", options->model.seed);
    if (!st)
        st = state_library(run, session, err);
    if (!st)
        st = device_name_state(run, engine_backend(session->engine), err);
    if (!st)
        st = run_fact_printf(run, err, "settings.threads", "%d",
                             options->n_threads);
    if (!st)
        st = run_fact_set(run, "settings.mode",
                          options->is_plain ? "plain" : "optimised", err);
    if (!st && options->model.build.n_images > 1)
        st = run_fact_printf(run, err, "settings.batch", "%" PRId64 " images",
                             options->model.build.n_images);
    return st;
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
static enum assay_status
state_fit(struct run *run, const struct profile *profile, struct error *err)
{
    static const char *const fits[] = {[FIT_STRETCH] = "stretched",
                                       [FIT_LETTERBOX] = "letterbox",
                                       [FIT_CORNER] = "letterbox, top left"};
    const struct model_inputs *inputs = &profile->session.inputs;

    if (inputs->kind == INPUTS_PHOTOGRAPHS)
        return run_fact_printf(run, err, "input.note", "shorter side %" PRId64,
                               profile->options->session.model.build.min_size);
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
                                           const struct profile *profile,
                                           struct error *err)
{
    const struct intake *intake = &profile->intake;
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
    return st ? st : state_fit(run, profile, err);
}

static enum assay_status
state_input(struct run *run, const struct profile *profile, struct error *err)
{
    const struct session *session = &profile->session;
    struct str text = {0};
    enum assay_status st;

    if (session->inputs.kind != INPUTS_RANDOM)
        return state_photographs(run, profile, err);
    st = model_inputs_text(&session->inputs, session->graph, &text, err);
    if (!st)
        st = run_fact_printf(run, err, "input.note", "%s%s",
                             session->inputs.n ? "random values: " : "",
                             str_text(&text));
    if (!st && session->inputs.n && session->inputs.shapes[0].rank == 4)
        st = run_fact_printf(run, err, "input.images", "%" PRId64,
                             session->inputs.shapes[0].dims[0]);
    str_release(&text);
    return st;
}

static bool finds_boxes(const struct vision_options *options)
{
    return !options->is_random && options->decode != DECODE_NONE &&
           options->decode != DECODE_CLASSES;
}

/* How much photographs differ, each by the median of its own runs. */
static enum assay_status state_spread(struct run *run, struct profile *profile,
                                      struct error *err)
{
    struct photo_median fastest, slowest;
    char from[UNITS_MAX], to[UNITS_MAX];
    const char *path, *slash;
    uint64_t runs;
    enum assay_status st;

    if (!photo_times_spread(&profile->times, &fastest, &slowest, &runs))
        return ASSAY_OK;
    path = profile->intake.paths[slowest.photo];
    slash = strrchr(path, '/');
    units_time(from, fastest.median_ns);
    units_time(to, slowest.median_ns);
    st = run_fact_printf(
        run, err, "photos.spread",
        "medians from %s to %s over %zu photographs, %" PRIu64 " %s each", from,
        to, profile->intake.n, runs, runs == 1 ? "run" : "runs");
    path = slash ? slash + 1 : path;
    if (!st && finds_boxes(&profile->options->session.vision))
        st = run_fact_printf(run, err, "content.slowest",
                             "%s %s, %" PRId64 " detections", path, to,
                             slowest.detections);
    else if (!st)
        st = run_fact_printf(run, err, "content.slowest", "%s %s", path, to);
    return st;
}

/* "12 (1..97)": the mean and the range. */
static enum assay_status state_range(struct run *run, const char *key,
                                     double mean, int64_t least, int64_t most,
                                     struct error *err)
{
    if (least == most)
        return run_fact_printf(run, err, key, "%" PRId64, most);
    return run_fact_printf(run, err, key, "%.0f (%" PRId64 "..%" PRId64 ")",
                           mean, least, most);
}

/* For outputs that cannot be decoded: "output0 1x84x8400". */
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

static enum assay_status
state_content(struct run *run, const struct profile *profile, struct error *err)
{
    const struct tally *tally = &profile->tally;
    double images = tally->n_images ? (double)tally->n_images : 1;
    enum assay_status st = ASSAY_OK;

    if (profile->options->session.vision.decode == DECODE_NONE)
        return state_outputs(run, &profile->session, err);
    if (!finds_boxes(&profile->options->session.vision))
        return ASSAY_OK;
    if (tally->proposals)
        st = state_range(run, "content.proposals",
                         (double)tally->proposals / images,
                         tally->least_proposals, tally->most_proposals, err);
    if (!st)
        st = state_range(run, "content.detections",
                         (double)tally->detections / images, tally->least,
                         tally->most, err);
    return st;
}

/* Why there are so many iterations; nothing if the user chose the number. */
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
    enum assay_status st = ASSAY_OK;

    if (bare->n)
        st = run_fact_printf(run, err, "recording.pairs", "%zu", bare->n);
    if (st || !bare_cost(bare, &cost))
        return st;
    st = run_fact_printf(run, err, "recording.cost_share", "%.5f", cost.share);
    if (!st)
        st = run_fact_printf(run, err, "recording.cost_low", "%.5f", cost.low);
    if (!st)
        st =
            run_fact_printf(run, err, "recording.cost_high", "%.5f", cost.high);
    return st;
}

/* What page faults cost here, for the findings. */
static enum assay_status state_faults(struct run *run, struct error *err)
{
    double ns = fault_cost_ns();

    return isnan(ns)
               ? ASSAY_OK
               : run_fact_printf(run, err, "machine.fault_ns", "%.0f", ns);
}

enum assay_status profile_state_facts(struct profile *profile,
                                      struct error *err)
{
    struct run *run = profile->recorded.run;
    enum assay_status st = run_facts_state_model(
        run, &profile->options->session, &profile->session, err);

    if (!st)
        st = run_fact_set(run, "run.id", profile->owner.run, err);
    if (!st && profile->has_machine)
        st = machine_set_facts(&profile->machine, run, err);
    if (!st)
        st = device_state_facts(profile, run, err);
    if (!st)
        st = stream_state_facts(profile, run, err);
    if (!st)
        st = state_memory(run, &profile->session, err);
    if (!st)
        st = state_input(run, profile, err);
    if (!st)
        st = state_spread(run, profile, err);
    if (!st)
        st = state_content(run, profile, err);
    if (!st)
        st = state_pacing(run, &profile->pacing, err);
    if (!st)
        st = state_cost(run, &profile->bare, err);
    if (!st)
        st = state_faults(run, err);
    return st;
}
