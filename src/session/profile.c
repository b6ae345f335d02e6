/* session/profile.c - see profile.h. */
#include "session/profile.h"

#include "base/file.h"
#include "base/file_guard.h"
#include "record/record.h"
#include "session/profile_internal.h"
#include "vision/decoder.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

void profile_report_release(struct profile_report *report)
{
    str_release(&report->first_drawn);
    run_free(report->run);
    report->run = NULL;
}

/* What the backend says about a node, under the name of its module. */
static void explain_node(struct backend *backend, const struct graph *graph,
                         size_t at, struct sink *sink)
{
    const struct node *node = graph_node(graph, at);
    struct str text = {0};
    struct sink words = sink_to_str(&text);

    backend->class->explain(backend, node, at, &words);
    if (text.n && node->scope != GRAPH_NONE)
        sink_printf(sink, "%s (%s)\n", graph_scope(graph, node->scope)->path,
                    graph_scope(graph, node->scope)->class_name);
    sink_puts(sink, str_text(&text));
    if (words.failed_errno)
        sink->failed_errno = words.failed_errno;
    str_release(&text);
}

static void profile_explain(const struct profile *profile)
{
    struct backend *backend = engine_backend(profile->session.engine);
    const struct graph *graph = profile->session.graph;

    if (!profile->options->explain || !backend->class->explain)
        return;
    sink_puts(profile->options->explain, "\nkernels\n");
    for (size_t i = 0; i < graph_node_count(graph); i++)
        explain_node(backend, graph, i, profile->options->explain);
}

/* Records the frames; also ends the recording after a failure. */
static enum assay_status record_frames(struct profile *profile,
                                       struct error *err)
{
    const struct profile_options *options = profile->options;
    struct assay_options recording = {
        .warm_up = (unsigned)profile->warm_up.n,
        .program = "pipeline",
        .keep_all = options->n_keep == UINT64_MAX,
        .keep_first =
            options->n_keep < UINT_MAX ? (unsigned)options->n_keep : 0,
    };
    struct error stopping = {0};
    enum assay_status stopped;
    enum assay_status st =
        options->run_path ? record_start(options->run_path, &recording, err)
                          : record_start_in_memory(&recording, err);

    if (st)
        return st;
    assay_thread("main");
    st = observer_open(&profile->observer, &profile->intake, err);
    if (!st)
        st = session_open(&options->session, &profile->session, err);
    if (!st && profile->session.inputs.kind == INPUTS_BATCH)
        intake_set_size(&profile->intake, profile->session.inputs.recipe.width,
                        profile->session.inputs.recipe.height);
    if (!st)
        st = profile_measure(profile, err);
    if (!st)
        profile->process =
            process_memory_read(options->session.model.weights,
                                pool_usage(profile->session.pool).held_bytes);
    stopped = record_stop_run(&profile->recorded, &stopping);
    if (!st && stopped)
        st = error_set(err, stopped, "%s", stopping.text);
    return st;
}

/* Checks early that the run can be written. */
static enum assay_status profile_check_output(const char *path,
                                              struct error *err)
{
    struct output *output = NULL;
    struct stat info;
    enum assay_status st;

    if (!path)
        return ASSAY_OK;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return error_set(err, ASSAY_IO,
                         "%s is not a regular file; name another output", path);
    st = output_open(path, &output, err);
    output_discard(output);
    return st;
}

static enum assay_status plan_frames(struct profile *profile, struct error *err)
{
    const struct profile_options *options = profile->options;
    uint64_t batch = (uint64_t)options->session.model.build.n_images;

    profile->pacing = (struct pacing){
        .least = (options->n_images + batch - 1) / batch,
        .round = (profile->intake.n + batch - 1) / batch,
        .goal = options->precision_goal,
        .limit_ns = (int64_t)(options->time_limit * 1e9),
    };
    return warm_up_plan(&profile->warm_up, &profile->intake, (size_t)batch,
                        profile->pacing.least, options->n_warm_up, err);
}

/* Only if photographs were given: there is something to find. */
static enum decode profile_propose(const struct profile *profile)
{
    const struct session *session = &profile->session;
    const struct vision_options *vision = &profile->options->session.vision;
    const struct found_source source = {.options = vision,
                                        .outputs = session->outputs,
                                        .n_outputs = session->n_outputs,
                                        .recipe = &session->inputs.recipe};

    return vision->decode == DECODE_NONE && !vision->is_random &&
                   session->outputs && session->n_outputs
               ? decoder_propose(&source)
               : DECODE_NONE;
}

static void fill_report(const struct profile *profile,
                        struct profile_report *report)
{
    const struct tally *tally = &profile->tally;

    report->proposed = profile_propose(profile);
    report->n_measured = profile->n_measured;
    report->n_photos = profile->intake.n;
    report->n_skipped = profile->intake.n_skipped;
    report->n_drawn =
        tally->n_drawn < profile->intake.n ? tally->n_drawn : profile->intake.n;
    report->n_detections = tally->n_detections;
    report->first_drawn = tally->first_drawn;
}

/* Runs before there is a second thread. If the machine cannot be measured, the
 * run just has no peaks. */
static void profile_look_at_machine(struct profile *profile)
{
    const struct machine_options *options = &profile->options->machine;
    struct error ignored = {0};

    profile->has_machine =
        options->device && !machine_look(options, &profile->machine, &ignored);
}

static enum assay_status profile_name_drawings(struct profile *profile,
                                               struct error *err)
{
    const struct profile_options *options = profile->options;
    struct intake *intake = &profile->intake;

    profile->owner = drawn_owner_new(options->run_path);
    drawn_write_comment(&profile->owner, profile->comment,
                        sizeof profile->comment);
    profile->tally.comment = profile->comment;
    if (options->session.vision.is_random)
        return ASSAY_OK;
    return drawn_choose_names(&intake->drawn, intake->paths, intake->n,
                              options->drawn_dir, &profile->owner, err);
}

/* After a failure, a device's for instance: what was measured before it is
 * written, and the message says so. Not if a file changed: nobody knows what
 * was measured then. */
static void profile_rescue(struct profile *profile, struct error *err)
{
    const char *path = profile->options->run_path;
    struct error ignored = {0};
    char hint[128];

    if (!profile->recorded.run || file_guards_check(ASSAY_OK, &ignored) ||
        profile_annotate(profile, &ignored) || !path)
        return;
    snprintf(hint, sizeof hint, "%llu images measured before are in %.80s",
             (unsigned long long)profile->n_measured, path);
    error_hint(err, hint);
}

enum assay_status profile_run(const struct profile_options *options,
                              const struct photos *photos,
                              struct profile_report *report, struct error *err)
{
    struct profile profile = {.options = options, .clock = clock_real()};
    enum assay_status st = profile_check_output(options->run_path, err);

    if (!st)
        st = intake_photos(&options->session, photos, &profile.intake, err);
    if (!st)
        st = profile_name_drawings(&profile, err);
    if (!st)
        st = plan_frames(&profile, err);
    if (!st) {
        profile_look_at_machine(&profile);
        st = record_frames(&profile, err);
    }
    if (st && profile.n_measured)
        profile_rescue(&profile, err);
    if (!st && profile.n_measured)
        st = profile_annotate(&profile, err);
    if (!st && profile.n_measured)
        report->run = recorded_take_run(&profile.recorded);
    if (!st)
        profile_explain(&profile);
    recorded_release(&profile.recorded);
    fill_report(&profile, report);
    session_close(&profile.session);
    observer_close(&profile.observer);
    pacing_release(&profile.pacing);
    photo_times_release(&profile.times);
    warm_up_release(&profile.warm_up);
    intake_release(&profile.intake);
    return st;
}

enum assay_status profile_model(const struct profile_options *options,
                                struct run **out, struct error *err)
{
    const struct photos no_photos = {0};
    struct profile_options alone = *options;
    struct profile_report report = {0};
    enum assay_status st;

    *out = NULL;
    alone.run_path = NULL;
    alone.session.vision.is_random = true;
    st = profile_run(&alone, &no_photos, &report, err);
    if (!st && !report.n_measured)
        st = error_set(err, ASSAY_CHECK_FAILED,
                       "stopped before anything was measured");
    if (!st) {
        *out = report.run;
        report.run = NULL;
    }
    profile_report_release(&report);
    return st;
}
