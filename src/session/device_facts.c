/* session/device_facts.c - see profile_internal.h: what a device beside the
 * host used, who else used it, and what its model takes as one launch. */
#include "session/profile_internal.h"

#include "run/run.h"

#include <math.h>
#include <stdlib.h>

static struct device_look look_now(const struct profile *profile)
{
    const struct backend *backend = engine_backend(profile->session.engine);
    struct device_look look = device_look_unknown();

    if (backend->class->look)
        backend->class->look(backend->device, &look);
    return look;
}

void device_watch_begin(struct profile *profile)
{
    engine_allow_replay(profile->session.engine, false);
    profile->device.joules = look_now(profile).joules;
    profile->device.n_before = profile->device.n_images;
}

void device_watch_end(struct profile *profile)
{
    struct device_watch *watch = &profile->device;

    watch->last = look_now(profile);
    watch->joules = watch->last.joules - watch->joules;
    watch->n_images -= watch->n_before;
}

/* ---- one launch ---------------------------------------------------------- */

enum { launch_pairs = 11 };

static int compare_ns(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

static enum assay_status time_model(struct profile *profile,
                                    struct frame *frame, bool is_one_launch,
                                    int64_t *ns, struct error *err)
{
    int64_t began_ns;
    enum assay_status st;

    engine_allow_replay(profile->session.engine, is_one_launch);
    began_ns = clock_now(&profile->clock);
    st = frame_model(frame, &profile->session, err);
    *ns = clock_now(&profile->clock) - began_ns;
    return st;
}

/* Both ways in turn, on one frame. */
static enum assay_status time_launches(struct profile *profile,
                                       struct frame *frame, struct error *err)
{
    int64_t one[launch_pairs], each[launch_pairs], ns;
    bool is_one_launch = true;
    enum assay_status st = ASSAY_OK;

    for (int i = 0; !st && i < 2; i++) /* is seen, is recorded */
        st = time_model(profile, frame, true, &ns, err);
    for (size_t i = 0; !st && is_one_launch && i < launch_pairs; i++) {
        st = time_model(profile, frame, false, &each[i], err);
        if (!st)
            st = time_model(profile, frame, true, &one[i], err);
        is_one_launch = engine_was_replayed(profile->session.engine);
    }
    if (st || !is_one_launch)
        return st;
    qsort(one, launch_pairs, sizeof *one, compare_ns);
    qsort(each, launch_pairs, sizeof *each, compare_ns);
    profile->device.one_launch_ns = one[launch_pairs / 2];
    profile->device.one_by_one_ns = each[launch_pairs / 2];
    return ASSAY_OK;
}

enum assay_status device_compare_launches(struct profile *profile,
                                          struct error *err)
{
    enum { enough = 10 }; /* iterations; fewer are not worth the time */
    const struct engine *engine = profile->session.engine;
    struct frame frame = {
        .n = (size_t)profile->options->session.model.build.n_images};
    enum assay_status st;

    if (!engine_can_replay(engine) || profile->pacing.n_done < enough)
        return ASSAY_OK;
    for (size_t i = 0; i < frame.n; i++)
        frame.paths[i] = profile->intake.paths[i % profile->intake.n];
    record_pause();
    st = frame_decode(&frame, err);
    if (!st)
        st = frame_preprocess(&frame, &profile->session, err);
    if (!st)
        st = time_launches(profile, &frame, err);
    engine_allow_replay(profile->session.engine, false);
    frame_release(&frame);
    record_resume();
    return st;
}

/* ---- facts --------------------------------------------------------------- */

static enum assay_status state_others(const struct device_look *look,
                                      struct run *run, struct error *err)
{
    enum assay_status st;

    if (!(look->n_others > 0))
        return ASSAY_OK;
    st = run_fact_printf(run, err, "device.others", "%.0f", look->n_others);
    if (!st && !isnan(look->others_bytes))
        st = run_fact_printf(run, err, "device.others_bytes", "%.0f",
                             look->others_bytes);
    if (!st && !isnan(look->others_busy))
        st = run_fact_printf(run, err, "device.others_busy", "%.2g",
                             look->others_busy);
    return st;
}

enum assay_status device_state_facts(const struct profile *profile,
                                     struct run *run, struct error *err)
{
    const struct device_watch *watch = &profile->device;
    const struct device_look *look = &watch->last;
    enum assay_status st = state_others(look, run, err);

    if (!st && watch->joules > 0 && watch->n_images)
        st = run_fact_printf(run, err, "device.joules_per_image", "%.4g",
                             watch->joules / (double)watch->n_images);
    if (!st && !isnan(look->free_bytes) && !isnan(look->memory_bytes))
        st = run_fact_printf(run, err, "device.used_bytes", "%.0f",
                             look->memory_bytes - look->free_bytes);
    if (!st && look->throttling[0])
        st = run_fact_set(run, "device.throttling", look->throttling, err);
    if (!st && watch->one_launch_ns)
        st = run_fact_printf(run, err, "device.one_launch_ms", "%.4g",
                             (double)watch->one_launch_ns / 1e6);
    if (!st && watch->one_launch_ns)
        st = run_fact_printf(run, err, "device.one_by_one_ms", "%.4g",
                             (double)watch->one_by_one_ns / 1e6);
    return st;
}
