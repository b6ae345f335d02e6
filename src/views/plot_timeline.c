/* views/plot_timeline.c - one iteration as it happened, one lane per thread. */
#include "base/mem.h"
#include "base/units.h"
#include "views/plot_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { most_lanes = 12, most_levels = 64 };

static const double lane_gap = 8, label_most = 130, narrowest = 0.25;

/* A thread with something to show. */
struct timeline_lane {
    uint32_t thread;
    uint32_t n_levels;
    double y;
};

/* What ran, and inside how many others of its thread. */
struct timeline_slice {
    const struct sample *sample;
    uint32_t lane, level;
};

struct timeline {
    const struct run *run;
    uint32_t iteration; /* RUN_NONE: all that was kept */
    int64_t begin_ns, end_ns;
    struct timeline_lane lanes[most_lanes];
    size_t n_lanes, n_levels;
    struct timeline_slice *slices;
    size_t n_slices;
    struct axis across;
    double height; /* of a level */
};

static bool timeline_has(const struct timeline *timeline,
                         const struct sample *s)
{
    return timeline->iteration == RUN_NONE ||
           s->iteration == timeline->iteration;
}

/* The iteration with the median duration among those that were kept in full;
 * RUN_NONE if there are none. */
static uint32_t timeline_choose_iteration(const struct run *run)
{
    uint32_t chosen = RUN_NONE;
    double best = INFINITY, median;
    struct scope_stats stats;

    if (run_scope_stats(run, RUN_ROOT, RUN_ANY, &stats, NULL))
        return RUN_NONE;
    median = stats.median_ns;
    for (size_t i = 0; i < run_kept_count(run); i++) {
        const struct sample *sample = run_kept(run, i);
        double off = fabs((double)sample->duration_ns - median);

        if (sample->scope == RUN_ROOT && sample->iteration != RUN_NONE &&
            off < best) {
            best = off;
            chosen = sample->iteration;
        }
    }
    return chosen;
}

/* most_lanes: there are too many. */
static uint32_t timeline_find_lane(struct timeline *timeline, uint32_t thread)
{
    uint32_t i = 0;

    while (i < timeline->n_lanes && timeline->lanes[i].thread != thread)
        i++;
    if (i == timeline->n_lanes && i < most_lanes)
        timeline->lanes[timeline->n_lanes++] =
            (struct timeline_lane){.thread = thread};
    return i;
}

/* By thread and time; of those that begin together the longest first. */
static int timeline_order(const void *left, const void *right)
{
    const struct timeline_slice *a = left, *b = right;
    const struct sample *x = a->sample, *y = b->sample;

    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->duration_ns != y->duration_ns)
        return x->duration_ns > y->duration_ns ? -1 : 1;
    return 0;
}

/* How deep each slice is inside others of its thread. */
static void timeline_stack(struct timeline *timeline)
{
    int64_t ends[most_levels];
    uint32_t n = 0, lane = UINT32_MAX;

    for (size_t i = 0; i < timeline->n_slices; i++) {
        struct timeline_slice *slice = &timeline->slices[i];
        const struct sample *sample = slice->sample;

        if (slice->lane != lane)
            n = 0;
        lane = slice->lane;
        while (n && ends[n - 1] <= sample->start_ns)
            n--;
        slice->level = n;
        if (n == most_levels)
            continue;
        ends[n++] = sample->start_ns + sample->duration_ns;
        if (timeline->lanes[lane].n_levels < n)
            timeline->lanes[lane].n_levels = n;
    }
    for (size_t i = 0; i < timeline->n_lanes; i++)
        timeline->n_levels += timeline->lanes[i].n_levels;
}

static enum assay_status timeline_collect(struct timeline *timeline,
                                          struct error *err)
{
    const struct run *run = timeline->run;
    size_t n = run_kept_count(run);

    timeline->begin_ns = INT64_MAX;
    timeline->end_ns = INT64_MIN;
    timeline->slices = mem_array(n, sizeof *timeline->slices);
    if (!timeline->slices)
        return error_nomem(err, n * sizeof *timeline->slices, "a timeline");
    for (size_t i = 0; i < n; i++) {
        const struct sample *s = run_kept(run, i);
        uint32_t lane;

        if (!timeline_has(timeline, s) ||
            (lane = timeline_find_lane(timeline, s->thread)) == most_lanes)
            continue;
        timeline->slices[timeline->n_slices++] =
            (struct timeline_slice){.sample = s, .lane = lane};
        if (s->start_ns < timeline->begin_ns)
            timeline->begin_ns = s->start_ns;
        if (s->start_ns + s->duration_ns > timeline->end_ns)
            timeline->end_ns = s->start_ns + s->duration_ns;
    }
    if (timeline->n_slices)
        qsort(timeline->slices, timeline->n_slices, sizeof *timeline->slices,
              timeline_order);
    timeline_stack(timeline);
    return ASSAY_OK;
}

static void timeline_place_lanes(struct timeline *timeline, struct area area)
{
    double gaps = lane_gap * (double)timeline->n_lanes;
    double y = area.y;

    timeline->height =
        fmin((area.height - gaps) / (double)timeline->n_levels, 36);
    for (size_t i = 0; i < timeline->n_lanes; i++) {
        struct timeline_lane *lane = &timeline->lanes[i];

        lane->y = y;
        y += timeline->height * lane->n_levels + lane_gap;
    }
}

static void timeline_draw_slice(struct plot *plot,
                                const struct timeline *timeline,
                                const struct timeline_slice *slice)
{
    const struct sample *sample = slice->sample;
    double begin = (double)(sample->start_ns - timeline->begin_ns) / 1e6;
    double end = begin + (double)sample->duration_ns / 1e6;
    struct area box, text;
    struct str name = {0};

    if (slice->level == most_levels)
        return;
    box.x = axis_place(&timeline->across, begin);
    box.width = axis_place(&timeline->across, end) - box.x;
    box.y = timeline->lanes[slice->lane].y + timeline->height * slice->level;
    box.height = timeline->height;
    if (box.width < narrowest)
        return;
    sheet_rectangle(plot->sheet, box, plot_scope_ink(plot, sample->scope));
    sheet_frame(plot->sheet, box, (struct ink){1, 1, 1, 1},
                fmin(0.6, box.width / 4));
    text = (struct area){box.x + 2, box.y, box.width - 3, box.height};
    if (box.height >= 8) {
        plot_name(timeline->run, sample->scope, &name);
        sheet_text_in(plot->sheet, text, fmin(8, box.height * 0.75), plot_ink,
                      str_text(&name));
        str_release(&name);
    }
}

static void timeline_draw_lanes(struct plot *plot, struct timeline *timeline,
                                struct area area)
{
    const struct run *run = plot->run;

    plot_axis_below(plot, area, &timeline->across,
                    "ms since the iteration began");
    for (size_t i = 0; i < timeline->n_lanes; i++) {
        const struct timeline_lane *lane = &timeline->lanes[i];

        sheet_text_in(
            plot->sheet,
            (struct area){plot->area.x, lane->y, area.x - plot->area.x - 8,
                          timeline->height},
            PLOT_TEXT, plot_faint_ink, run_thread(run, lane->thread)->name);
    }
    for (size_t i = 0; i < timeline->n_slices; i++)
        timeline_draw_slice(plot, timeline, &timeline->slices[i]);
}

/* As wide as the longest name of a thread needs, within reason. */
static double timeline_label_width(const struct plot *plot,
                                   const struct timeline *timeline)
{
    double width = 0;

    for (size_t i = 0; i < timeline->n_lanes; i++)
        width = fmax(
            width, sheet_text_width(
                       plot->sheet, PLOT_TEXT,
                       run_thread(plot->run, timeline->lanes[i].thread)->name));
    return fmin(width, label_most) + 12;
}

static void timeline_draw(struct plot *plot, struct timeline *timeline)
{
    struct area area;
    double label_width = timeline_label_width(plot, timeline);
    char title[64];

    snprintf(title, sizeof title, "Timeline of iteration %u",
             timeline->iteration + 1);
    plot_head(plot, timeline->iteration == RUN_NONE ? "Timeline" : title);
    plot_legend_begin(plot);
    area = plot->area;
    area.x += label_width;
    area.width -= label_width + 10;
    area.height -= 36;
    timeline->across.high =
        fmax((double)(timeline->end_ns - timeline->begin_ns) / 1e6, 1e-6);
    timeline_place_lanes(timeline, area);
    timeline_draw_lanes(plot, timeline, area);
}

enum assay_status plot_timeline(struct plot *plot, struct error *err)
{
    struct timeline timeline = {
        .run = plot->run, .iteration = timeline_choose_iteration(plot->run)};
    enum assay_status st;

    if (run_kept_count(plot->run) == 0)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "the run keeps no iteration in full, so there is no "
                         "timeline to draw; use --kind icicle");
    st = timeline_collect(&timeline, err);
    if (!st)
        timeline_draw(plot, &timeline);
    mem_free(timeline.slices);
    return st;
}
