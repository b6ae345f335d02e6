/* detect/measure.c - the iterations of a job: warm-up, recorded, bare. */
#include "detect/job.h"

#include "record/record.h"

#include <math.h>

static enum assay_status run_stages(struct job *job, struct frame *frame,
                                    bool is_measured, struct findings *findings,
                                    struct error *err)
{
    enum assay_status st = frame_decode(frame, err);

    if (frame_bytes(frame) > job->picture_bytes)
        job->picture_bytes = frame_bytes(frame);
    if (!st)
        st = frame_preprocess(frame, &job->session, err);
    if (!st)
        st = frame_model(frame, &job->session, is_measured, err);
    if (!st)
        st = frame_postprocess(frame, &job->session, job->options, findings,
                               err);
    return st;
}

/* One iteration over the photographs from `first` on. */
static enum assay_status run_frame(struct job *job, size_t first,
                                   bool is_measured, struct findings *findings,
                                   int64_t *duration_ns, struct error *err)
{
    struct frame frame = {.n = (size_t)job->options->build.n_images};
    int64_t began_ns;
    enum assay_status st;

    for (size_t i = 0; i < frame.n; i++) {
        size_t photo = (first + i) % job->intake.n;

        frame.paths[i] = job->intake.paths[photo];
        if (frame.paths[i])
            frame.drawn[i] = job->intake.drawn.paths[photo];
    }
    assay_iteration_begin();
    began_ns = clock_now(&job->clock);
    st = run_stages(job, &frame, is_measured, findings, err);
    frame_release(&frame);
    *duration_ns = clock_now(&job->clock) - began_ns;
    assay_iteration_end();
    return st;
}

/* One that leaves nothing behind: what it finds is forgotten. */
static enum assay_status run_unmeasured(struct job *job, size_t first,
                                        int64_t *duration_ns, struct error *err)
{
    struct findings findings = {0};
    enum assay_status st =
        run_frame(job, first, false, &findings, duration_ns, err);

    str_release(&findings.first_drawn);
    return st;
}

/* The recording hears afterwards of the bytes that were gained meanwhile. */
static enum assay_status run_bare(struct job *job, size_t first,
                                  int64_t *duration_ns, struct error *err)
{
    size_t before = pool_usage(job->session.pool).live_bytes, after;
    enum assay_status st;

    record_pause();
    st = run_unmeasured(job, first, duration_ns, err);
    record_resume();
    after = pool_usage(job->session.pool).live_bytes;
    if (after != before)
        assay_bytes((int64_t)after - (int64_t)before);
    return st;
}

/* Recorded and observed; *whole_ns is with the observing. */
static enum assay_status run_recorded(struct job *job, size_t first,
                                      int64_t *duration_ns, int64_t *whole_ns,
                                      struct error *err)
{
    int64_t began_ns = clock_now(&job->clock);
    int64_t before = job->findings.detections;
    double detections;
    enum assay_status st;

    observer_begin(&job->observer);
    st = run_frame(job, first, true, &job->findings, duration_ns, err);
    detections = job->findings.has_boxes
                     ? (double)(job->findings.detections - before)
                     : NAN;
    if (!st)
        st = observer_end(&job->observer, (uint32_t)job->pacing.n_done, first,
                          (size_t)job->options->build.n_images, detections,
                          &job->session, err);
    *whole_ns = clock_now(&job->clock) - began_ns;
    if (!st && job->times.n)
        photo_times_add(&job->times, first, *duration_ns, job->findings.last);
    return st;
}

/* A recorded iteration, where it is due with a bare one beside it. */
static enum assay_status run_next(struct job *job, struct error *err)
{
    int64_t duration_ns = 0, whole_ns = 0, bare_ns = 0;
    bool is_paired = bare_is_due(&job->bare, job->pacing.n_done) &&
                     job->pacing.spent_ns < job->pacing.limit_ns;
    bool is_first = bare_comes_first(&job->bare);
    enum assay_status st = ASSAY_OK;

    if (is_paired && is_first)
        st = run_bare(job, job->next, &bare_ns, err);
    if (!st)
        st = run_recorded(job, job->next, &duration_ns, &whole_ns, err);
    if (!st && is_paired && !is_first)
        st = run_bare(job, job->next, &bare_ns, err);
    if (!st && is_paired)
        bare_add(&job->bare, whole_ns, bare_ns);
    job->next =
        (job->next + (size_t)job->options->build.n_images) % job->intake.n;
    return st ? st
              : pacing_add(&job->pacing, duration_ns, whole_ns + bare_ns, err);
}

static bool is_stopped(const struct job *job)
{
    return job->options->stop && *job->options->stop;
}

static enum assay_status warm_up(struct job *job, struct error *err)
{
    enum assay_status st = ASSAY_OK;
    int64_t duration_ns;

    for (uint64_t i = 0; !st && !is_stopped(job) && i < job->warm_up.n; i++)
        st = run_unmeasured(job, warm_up_photo(&job->warm_up, i), &duration_ns,
                            err);
    return st;
}

enum assay_status job_measure(struct job *job, struct error *err)
{
    enum { most_kept = 99 }; /* times of a photograph */
    uint64_t batch = (uint64_t)job->options->build.n_images;
    uint64_t n = job->pacing.goal > 0 ? most_kept * (uint64_t)job->intake.n
                                      : job->pacing.least;
    enum assay_status st = ASSAY_OK;

    if (batch == 1)
        st = photo_times_init(&job->times, job->intake.n, n, err);
    if (!st)
        st = warm_up(job, err);
    job->findings.n_photos = job->intake.n;
    while (!st && !is_stopped(job) && pacing_goes_on(&job->pacing)) {
        st = run_next(job, err);
        job->n_measured += batch;
        if (job->options->progress)
            progress_update(job->options->progress, job->n_measured);
    }
    return st;
}
