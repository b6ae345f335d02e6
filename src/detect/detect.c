/* detect/detect.c - see detect.h. */
#include "detect/detect.h"

#include "base/mem.h"
#include "detect/annotate.h"
#include "detect/frame.h"
#include "record/record.h"

/* The photographs that could be read once, and what came of them. */
struct job {
    const struct detect_options *options;
    struct detect_report *report;
    struct session session;
    const char **paths;
    size_t n_paths;
    size_t next; /* photograph of the next frame */
    struct findings findings;
};

void detect_report_release(struct detect_report *report)
{
    str_release(&report->first_drawn);
}

/* Reads every photograph once before anything is measured, so that a broken
 * one is named, counted and left out. */
static enum assay_status
check_photos(struct job *job, const struct photos *photos, struct error *err)
{
    struct error why = {0};

    job->paths = mem_array(photos->n, sizeof *job->paths);
    if (!job->paths)
        return error_nomem(err, photos->n * sizeof *job->paths,
                           "the list of photographs");
    for (size_t i = 0; i < photos->n; i++) {
        struct picture picture;
        struct error first = {0};
        enum assay_status st = picture_read(photos->paths[i], &picture, &first);

        if (st == ASSAY_NOMEM)
            return error_set(err, st, "%s", first.text);
        if (!st) {
            job->paths[job->n_paths++] = photos->paths[i];
            picture_release(&picture);
            continue;
        }
        job->report->n_skipped++;
        sink_printf(job->options->warnings, "skipped: %s\n", first.text);
        if (!why.text[0])
            why = first;
    }
    job->report->n_photos = job->n_paths;
    if (!job->n_paths)
        return error_set(err, ASSAY_BAD_INPUT,
                         "none of %zu photographs could be read; the first: %s",
                         photos->n, why.text);
    return ASSAY_OK;
}

static enum assay_status run_stages(struct job *job, struct frame *frame,
                                    bool is_measured, struct error *err)
{
    enum assay_status st = frame_decode(frame, err);

    if (!st)
        st = frame_preprocess(frame, job->session.pool, err);
    if (!st)
        st = frame_model(frame, &job->session, is_measured, err);
    if (!st)
        st = frame_postprocess(frame, &job->session, job->options,
                               &job->findings, err);
    return st;
}

static enum assay_status run_frame(struct job *job, bool is_measured,
                                   struct error *err)
{
    struct frame frame = {.n = (size_t)job->options->build.n_images};
    enum assay_status st;

    for (size_t i = 0; i < frame.n; i++)
        frame.paths[i] = job->paths[job->next++ % job->n_paths];
    assay_iteration_begin();
    st = run_stages(job, &frame, is_measured, err);
    frame_release(&frame);
    assay_iteration_end();
    return st;
}

static enum assay_status run_frames(struct job *job, struct error *err)
{
    const struct detect_options *options = job->options;
    uint64_t batch = (uint64_t)options->build.n_images;
    uint64_t n = (options->n_images + batch - 1) / batch;
    enum assay_status st = ASSAY_OK;

    for (uint64_t i = 0; !st && i < options->n_warm_up; i++)
        st = run_frame(job, false, err);
    job->next = 0;
    str_clear(&job->findings.first_drawn);
    job->findings = (struct findings){.first_drawn = job->findings.first_drawn};
    for (uint64_t i = 0; !st && i < n; i++) {
        st = run_frame(job, true, err);
        if (options->progress)
            progress_update(options->progress, (i + 1) * batch);
    }
    return st;
}

static void explain(const struct job *job)
{
    struct backend *backend = engine_backend(job->session.engine);
    const struct graph *graph = job->session.graph;

    if (!job->options->explain || !backend->class->explain)
        return;
    for (size_t i = 0; i < graph_node_count(graph); i++)
        backend->class->explain(backend, graph_node(graph, i), i,
                                job->options->explain);
}

/* Records the frames; what was recorded until a failure is still stopped. */
static enum assay_status record_frames(struct job *job, struct error *err)
{
    const struct detect_options *options = job->options;
    struct assay_options recording = {
        .warm_up = (unsigned)options->n_warm_up,
        .program = "pipeline",
    };
    struct error stopping = {0};
    enum assay_status st = record_start(options->run_path, &recording, err);
    enum assay_status stopped;

    if (st)
        return st;
    assay_thread("main");
    st = session_open(options, &job->session, err);
    if (!st)
        st = run_frames(job, err);
    stopped = record_stop(&stopping);
    if (!st && stopped)
        st = error_set(err, stopped, "%s", stopping.text);
    return st;
}

enum assay_status detect_run(const struct detect_options *options,
                             const struct photos *photos,
                             struct detect_report *report, struct error *err)
{
    struct job job = {.options = options, .report = report};
    enum assay_status st = check_photos(&job, photos, err);

    if (!st)
        st = record_frames(&job, err);
    if (!st)
        st = annotate_run(options, &job.session, &job.findings, report, err);
    if (!st)
        explain(&job);
    report->n_drawn =
        job.findings.n_drawn < job.n_paths ? job.findings.n_drawn : job.n_paths;
    report->n_detections = job.findings.n_detections;
    report->first_drawn = job.findings.first_drawn;
    session_close(&job.session);
    mem_free(job.paths);
    return st;
}
