/* session/observer.c - see observer.h. */
#include "session/observer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum assay_status observer_open(struct observer *observer,
                                const struct intake *intake, struct error *err)
{
    *observer = (struct observer){.photo = RUN_NONE, .intake = intake};
    steady_open(&observer->steady);
    return run_new(&observer->run, err);
}

void observer_close(struct observer *observer)
{
    if (!observer->intake)
        return;
    steady_close(&observer->steady);
    run_free(observer->run);
    *observer = (struct observer){0};
}

void observer_begin(struct observer *observer)
{
    observer->before = steady_before(&observer->steady);
}

static enum assay_status observer_put(struct observer *observer,
                                      const char *name, const char *unit,
                                      uint32_t iteration, double value,
                                      struct error *err)
{
    enum assay_status st;
    uint32_t id;

    if (isnan(value))
        return ASSAY_OK;
    st = run_series_add(observer->run, name, unit, &id, err);
    return st ? st : run_series_put(observer->run, id, iteration, value, err);
}

/* ---- the photograph ---------------------------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Names all photographs, in the order of their numbers. */
static enum assay_status name_photos(struct observer *observer,
                                     struct error *err)
{
    enum assay_status st =
        run_series_add(observer->run, "input.photo", "", &observer->photo, err);

    for (size_t i = 0; !st && i < observer->intake->n; i++)
        st = run_series_label(observer->run, observer->photo,
                              base_name(observer->intake->paths[i]), err);
    return st;
}

static enum assay_status put_photo(struct observer *observer,
                                   uint32_t iteration, size_t photo,
                                   size_t n_photos, struct error *err)
{
    const struct intake *intake = observer->intake;
    int64_t width = 0, height = 0;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; i < n_photos; i++) {
        const struct intake_size *size =
            &intake->sizes[(photo + i) % intake->n];

        width = size->width > width ? size->width : width;
        height = size->height > height ? size->height : height;
    }
    if (observer->photo == RUN_NONE)
        st = name_photos(observer, err);
    if (!st)
        st = run_series_put(observer->run, observer->photo, iteration,
                            (double)photo, err);
    if (!st)
        st = observer_put(observer, "content.width", "pixels", iteration,
                          (double)width, err);
    if (!st)
        st = observer_put(observer, "content.height", "pixels", iteration,
                          (double)height, err);
    return st;
}

/* ---- what was found ---------------------------------------------------- */

static double sum_of(const struct tensor *counts)
{
    size_t n = tensor_elements(counts);
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)tensor_i64(counts)[i];
    return sum;
}

/* For int64 [images, levels], one series per level: "content.proposals.0". */
static enum assay_status put_levels(struct observer *observer,
                                    const char *prefix, uint32_t iteration,
                                    const struct tensor *counts,
                                    struct error *err)
{
    int64_t n_images, n_levels;
    enum assay_status st = ASSAY_OK;

    if (!counts || counts->shape.rank != 2)
        return ASSAY_OK;
    n_images = counts->shape.dims[0];
    n_levels = counts->shape.dims[1];
    for (int64_t level = 0; !st && level < n_levels; level++) {
        char name[64];
        double sum = 0;

        for (int64_t i = 0; i < n_images; i++)
            sum += (double)tensor_i64(counts)[i * n_levels + level];
        snprintf(name, sizeof name, "%s.%d", prefix, (int)level);
        st = observer_put(observer, name, "", iteration, sum, err);
    }
    return st;
}

static enum assay_status put_content(struct observer *observer,
                                     uint32_t iteration, double detections,
                                     const struct session *session,
                                     struct error *err)
{
    const struct tensor *kept = session_kept(session, SESSION_PROPOSALS);
    enum assay_status st = ASSAY_OK;

    if (kept)
        st = observer_put(observer, "content.proposals", "", iteration,
                          sum_of(kept), err);
    if (!st)
        st =
            put_levels(observer, "content.proposals_before", iteration,
                       session_kept(session, SESSION_CANDIDATES_OF_LEVEL), err);
    if (!st)
        st = put_levels(observer, "content.proposals", iteration,
                        session_kept(session, SESSION_PROPOSALS_OF_LEVEL), err);
    if (!st)
        st = observer_put(observer, "content.detections", "", iteration,
                          detections, err);
    return st;
}

/* ---- the machine ------------------------------------------------------- */

static enum assay_status observer_put_steady(struct observer *observer,
                                             uint32_t iteration,
                                             const struct steady_sample *gone,
                                             struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (int i = 0; !st && i < N_STEADY; i++)
        st = observer_put(observer, steady_series((enum steady_value)i),
                          steady_unit((enum steady_value)i), iteration,
                          gone->values[i], err);
    return st;
}

enum assay_status observer_end(struct observer *observer, uint32_t iteration,
                               size_t photo, size_t n_photos, double detections,
                               const struct session *session, struct error *err)
{
    struct steady_sample now = steady_after(&observer->steady);
    struct steady_sample gone = steady_between(&observer->before, &now);
    enum assay_status st = observer_put_steady(observer, iteration, &gone, err);

    if (!st && observer->intake->paths[0])
        st = put_photo(observer, iteration, photo, n_photos, err);
    if (!st)
        st = put_content(observer, iteration, detections, session, err);
    return st;
}

enum assay_status observer_hand_over(const struct observer *observer,
                                     struct run *to, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (uint32_t i = 0; !st && i < run_series_count(observer->run); i++)
        st = run_series_copy(to, run_series(observer->run, i), 0, UINT64_MAX,
                             err);
    for (size_t i = 0; !st && i < run_found_count(observer->run); i++)
        st = run_found_add(to, run_found(observer->run, i), err);
    return st;
}
