/* session/measure.c - the iterations of a job: warm-up, recorded, bare. */
#include "session/profile_internal.h"

#include "record/record.h"

#include <math.h>

/* Images per iteration. */
static size_t measure_batch_of(const struct profile *profile)
{
    return (size_t)profile->options->session.model.build.n_images;
}

static enum assay_status run_stages(struct profile *profile,
                                    struct frame *frame, struct tally *tally,
                                    struct error *err)
{
    enum assay_status st = frame_decode(frame, err);

    if (frame_bytes(frame) > profile->picture_bytes)
        profile->picture_bytes = frame_bytes(frame);
    if (!st)
        st = frame_preprocess(frame, &profile->session, err);
    if (!st)
        st = frame_model(frame, &profile->session, err);
    if (!st)
        st = frame_postprocess(frame, &profile->session, profile->options,
                               tally, err);
    return st;
}

/* Drawings are made after the iteration, if it is a measured one. */
static enum assay_status run_draw(struct profile *profile,
                                  const struct frame *frame, struct error *err)
{
    int64_t began_ns = clock_now(&profile->clock);
    enum assay_status st = frame_draw(frame, &profile->session,
                                      profile->options, &profile->tally, err);

    profile->drawing_ns += clock_now(&profile->clock) - began_ns;
    return st;
}

/* One iteration over the photographs from `first` on. */
static enum assay_status run_frame(struct profile *profile, size_t first,
                                   struct tally *tally, int64_t *duration_ns,
                                   struct error *err)
{
    struct frame frame = {.n = measure_batch_of(profile)};
    bool is_drawn = tally == &profile->tally &&
                    !isnan(profile->options->session.vision.score);
    int64_t began_ns;
    enum assay_status st;

    for (size_t i = 0; i < frame.n; i++) {
        size_t photo = (first + i) % profile->intake.n;

        frame.paths[i] = profile->intake.paths[photo];
        if (frame.paths[i])
            frame.drawn[i] = profile->intake.drawn.paths[photo];
    }
    assay_iteration_begin();
    began_ns = clock_now(&profile->clock);
    st = run_stages(profile, &frame, tally, err);
    if (!is_drawn)
        frame_release(&frame);
    *duration_ns = clock_now(&profile->clock) - began_ns;
    if (!st) /* else it is no iteration: what came before is kept */
        assay_iteration_end();
    profile->device.n_images += frame.n;
    if (!st && is_drawn)
        st = run_draw(profile, &frame, err);
    if (is_drawn)
        frame_release(&frame);
    return st;
}

/* Leaves nothing behind: what it finds is forgotten. */
static enum assay_status run_unmeasured(struct profile *profile, size_t first,
                                        int64_t *duration_ns, struct error *err)
{
    struct tally tally = {.comment = profile->comment};
    enum assay_status st = run_frame(profile, first, &tally, duration_ns, err);

    str_release(&tally.first_drawn);
    return st;
}

/* Afterwards, tells the recording of the bytes that were gained meanwhile. */
static enum assay_status run_bare(struct profile *profile, size_t first,
                                  int64_t *duration_ns, struct error *err)
{
    size_t before = pool_usage(profile->session.pool).live_bytes, after;
    enum assay_status st;

    record_pause();
    st = run_unmeasured(profile, first, duration_ns, err);
    record_resume();
    after = pool_usage(profile->session.pool).live_bytes;
    if (after != before)
        assay_bytes((int64_t)after - (int64_t)before);
    return st;
}

/* Recorded and observed; *whole_ns includes the observing and what the recorder
 * does between iterations. */
static enum assay_status run_recorded(struct profile *profile, size_t first,
                                      int64_t *duration_ns, int64_t *whole_ns,
                                      struct error *err)
{
    int64_t began_ns = clock_now(&profile->clock);
    int64_t before = profile->tally.detections;
    int64_t drawn_ns = profile->drawing_ns;
    double detections;
    enum assay_status st;

    record_catch_up();
    observer_begin(&profile->observer);
    st = run_frame(profile, first, &profile->tally, duration_ns, err);
    detections = profile->tally.has_boxes
                     ? (double)(profile->tally.detections - before)
                     : NAN;
    if (!st)
        st = observer_end(&profile->observer, (uint32_t)profile->pacing.n_done,
                          first, measure_batch_of(profile), detections,
                          &profile->session, err);
    *whole_ns = clock_now(&profile->clock) - began_ns -
                (profile->drawing_ns - drawn_ns);
    if (!st && profile->times.n)
        photo_times_add(&profile->times, first, *duration_ns,
                        profile->tally.last);
    return st;
}

/* A recorded iteration, with a bare one next to it if it is due. */
static enum assay_status run_next(struct profile *profile, struct error *err)
{
    int64_t duration_ns = 0, whole_ns = 0, bare_ns = 0;
    bool is_paired = bare_is_due(&profile->bare, profile->pacing.n_done) &&
                     profile->pacing.spent_ns < profile->pacing.limit_ns;
    bool is_first = bare_comes_first(&profile->bare);
    enum assay_status st = ASSAY_OK;

    if (is_paired && is_first)
        st = run_bare(profile, profile->next, &bare_ns, err);
    if (!st)
        st = run_recorded(profile, profile->next, &duration_ns, &whole_ns, err);
    if (!st && is_paired && !is_first)
        st = run_bare(profile, profile->next, &bare_ns, err);
    if (!st && is_paired)
        bare_add(&profile->bare, whole_ns, bare_ns);
    profile->next =
        (profile->next + measure_batch_of(profile)) % profile->intake.n;
    return st ? st
              : pacing_add(&profile->pacing, duration_ns, whole_ns + bare_ns,
                           err);
}

static bool measure_is_stopped(const struct profile *profile)
{
    return profile->options->stop && *profile->options->stop;
}

static enum assay_status warm_up(struct profile *profile, struct error *err)
{
    enum assay_status st = ASSAY_OK;
    int64_t duration_ns;

    for (uint64_t i = 0;
         !st && !measure_is_stopped(profile) && i < profile->warm_up.n; i++)
        st = run_unmeasured(profile, warm_up_photo(&profile->warm_up, i),
                            &duration_ns, err);
    return st;
}

enum assay_status profile_measure(struct profile *profile, struct error *err)
{
    enum { most_kept = 99 }; /* times of the photographs */
    uint64_t batch = measure_batch_of(profile);
    uint64_t n = profile->pacing.goal > 0
                     ? most_kept * (uint64_t)profile->intake.n
                     : profile->pacing.least;
    enum assay_status st = ASSAY_OK;

    if (batch == 1)
        st = photo_times_init(&profile->times, profile->intake.n, n, err);
    if (!st)
        st = warm_up(profile, err);
    profile->tally.n_photos = profile->intake.n;
    if (profile->options->has_found)
        profile->tally.found = profile->observer.run;
    device_watch_begin(profile);
    while (!st && !measure_is_stopped(profile) &&
           pacing_goes_on(&profile->pacing)) {
        st = run_next(profile, err);
        profile->n_measured += st ? 0 : batch;
        if (profile->options->progress)
            progress_update(profile->options->progress, profile->n_measured);
    }
    device_watch_end(profile);
    if (!st && !measure_is_stopped(profile))
        st = device_compare_launches(profile, err);
    if (!st && !measure_is_stopped(profile))
        st = profile_stream(profile, err);
    return st;
}
