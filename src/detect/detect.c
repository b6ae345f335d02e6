/* detect/detect.c - see detect.h. */
#include "detect/detect.h"

#include "base/file.h"
#include "detect/annotate.h"
#include "detect/job.h"
#include "record/record.h"

#include <sys/stat.h>

void detect_report_release(struct detect_report *report)
{
    str_release(&report->first_drawn);
    run_free(report->run);
    report->run = NULL;
}

/* What the backend has to say about a node, under the name of its module. */
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

static void explain(const struct job *job)
{
    struct backend *backend = engine_backend(job->session.engine);
    const struct graph *graph = job->session.graph;

    if (!job->options->explain || !backend->class->explain)
        return;
    sink_puts(job->options->explain, "\nkernels\n");
    for (size_t i = 0; i < graph_node_count(graph); i++)
        explain_node(backend, graph, i, job->options->explain);
}

/* Records the frames; what was recorded until a failure is still stopped. */
static enum assay_status record_frames(struct job *job, struct error *err)
{
    const struct detect_options *options = job->options;
    struct assay_options recording = {
        .warm_up = (unsigned)job->warm_up.n,
        .program = "pipeline",
    };
    struct error stopping = {0};
    enum assay_status stopped;
    enum assay_status st =
        options->run_path ? record_start(options->run_path, &recording, err)
                          : record_start_in_memory(&recording, err);

    if (st)
        return st;
    assay_thread("main");
    st = observer_open(&job->observer, &job->intake, err);
    if (!st)
        st = session_open(options, &job->session, err);
    if (!st && job->session.inputs.kind == INPUTS_BATCH)
        intake_set_size(&job->intake, job->session.inputs.recipe.width,
                        job->session.inputs.recipe.height);
    if (!st)
        st = job_measure(job, err);
    if (!st)
        job->process = process_memory_read(
            options->weights, pool_usage(job->session.pool).held_bytes);
    stopped = record_stop_run(&job->recorded, &stopping);
    if (!st && stopped)
        st = error_set(err, stopped, "%s", stopping.text);
    return st;
}

/* Whether the run can be written in the end. */
static enum assay_status check_output(const char *path, struct error *err)
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

static enum assay_status plan_frames(struct job *job, struct error *err)
{
    const struct detect_options *options = job->options;
    uint64_t batch = (uint64_t)options->build.n_images;

    job->pacing = (struct pacing){
        .least = (options->n_images + batch - 1) / batch,
        .round = (job->intake.n + batch - 1) / batch,
        .goal = options->precision_goal,
        .limit_ns = (int64_t)(options->time_limit * 1e9),
    };
    return warm_up_plan(&job->warm_up, &job->intake, (size_t)batch,
                        job->pacing.least, options->n_warm_up, err);
}

static void fill_report(const struct job *job, struct detect_report *report)
{
    const struct findings *findings = &job->findings;

    report->n_measured = job->n_measured;
    report->n_photos = job->intake.n;
    report->n_skipped = job->intake.n_skipped;
    report->n_drawn =
        findings->n_drawn < job->intake.n ? findings->n_drawn : job->intake.n;
    report->n_detections = findings->n_detections;
    report->first_drawn = findings->first_drawn;
}

/* Before there is a second thread. A machine that cannot be measured leaves the
 * run without its peaks, no more. */
static void look_at_machine(struct job *job)
{
    const struct machine_options *options = &job->options->machine;
    struct error ignored = {0};

    job->has_machine =
        options->backend && !machine_look(options, &job->machine, &ignored);
}

enum assay_status detect_run(const struct detect_options *options,
                             const struct photos *photos,
                             struct detect_report *report, struct error *err)
{
    struct job job = {.options = options, .clock = clock_real()};
    enum assay_status st = check_output(options->run_path, err);

    if (!st)
        st = intake_photos(options, photos, &job.intake, err);
    if (!st)
        st = plan_frames(&job, err);
    if (!st) {
        look_at_machine(&job);
        st = record_frames(&job, err);
    }
    if (!st && job.n_measured)
        st = annotate_run(
            &(struct annotation){.options = options,
                                 .recorded = &job.recorded,
                                 .session = &job.session,
                                 .machine =
                                     job.has_machine ? &job.machine : NULL,
                                 .findings = &job.findings,
                                 .intake = &job.intake,
                                 .times = &job.times,
                                 .process = job.process,
                                 .picture_bytes = job.picture_bytes,
                                 .observer = &job.observer,
                                 .bare = &job.bare,
                                 .pacing = &job.pacing},
            err);
    if (!st && job.n_measured)
        report->run = recorded_take_run(&job.recorded);
    if (!st)
        explain(&job);
    recorded_release(&job.recorded);
    fill_report(&job, report);
    session_close(&job.session);
    observer_close(&job.observer);
    pacing_release(&job.pacing);
    photo_times_release(&job.times);
    warm_up_release(&job.warm_up);
    intake_release(&job.intake);
    return st;
}
