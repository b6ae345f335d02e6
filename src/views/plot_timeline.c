/* views/plot_timeline.c - one iteration as it happened, one lane per thread. */
#include "base/mem.h"
#include "base/units.h"
#include "views/plot_internal.h"

#include <math.h>
#include <stdio.h>

enum { most_lanes = 12 };

static const double lane_gap = 8, label_width = 74, narrowest = 0.25;

/* A thread with something to show. */
struct timeline_lane {
    uint32_t thread;
    uint32_t least, most; /* depths */
    double y;
};

struct timeline {
    const struct run *run;
    uint32_t iteration; /* RUN_NONE: all that was kept */
    int64_t begin_ns, end_ns;
    struct timeline_lane lanes[most_lanes];
    size_t n_lanes, n_levels;
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

static struct timeline_lane *plot_timeline_find_lane(struct timeline *timeline,
                                                     uint32_t thread)
{
    for (size_t i = 0; i < timeline->n_lanes; i++) {
        if (timeline->lanes[i].thread == thread)
            return &timeline->lanes[i];
    }
    if (timeline->n_lanes == most_lanes)
        return NULL;
    timeline->lanes[timeline->n_lanes] =
        (struct timeline_lane){.thread = thread, .least = UINT32_MAX};
    return &timeline->lanes[timeline->n_lanes++];
}

static void plot_timeline_measure(struct timeline *timeline)
{
    const struct run *run = timeline->run;

    timeline->begin_ns = INT64_MAX;
    timeline->end_ns = INT64_MIN;
    for (size_t i = 0; i < run_kept_count(run); i++) {
        const struct sample *s = run_kept(run, i);
        uint32_t depth = run_scope(run, s->scope)->depth;
        struct timeline_lane *lane;

        if (!timeline_has(timeline, s) ||
            !(lane = plot_timeline_find_lane(timeline, s->thread)))
            continue;
        lane->least = depth < lane->least ? depth : lane->least;
        lane->most = depth > lane->most ? depth : lane->most;
        if (s->start_ns < timeline->begin_ns)
            timeline->begin_ns = s->start_ns;
        if (s->start_ns + s->duration_ns > timeline->end_ns)
            timeline->end_ns = s->start_ns + s->duration_ns;
    }
    for (size_t i = 0; i < timeline->n_lanes; i++)
        timeline->n_levels +=
            timeline->lanes[i].most - timeline->lanes[i].least + 1;
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
        y += timeline->height * (lane->most - lane->least + 1) + lane_gap;
    }
}

static void timeline_draw_slice(struct plot *plot, struct timeline *timeline,
                                const struct sample *sample)
{
    const struct scope *scope = run_scope(timeline->run, sample->scope);
    struct timeline_lane *lane =
        plot_timeline_find_lane(timeline, sample->thread);
    double begin = (double)(sample->start_ns - timeline->begin_ns) / 1e6;
    double end = begin + (double)sample->duration_ns / 1e6;
    struct area box, text;
    struct str name = {0};

    if (!lane)
        return;
    box.x = axis_place(&timeline->across, begin);
    box.width = axis_place(&timeline->across, end) - box.x;
    box.y = lane->y + timeline->height * (scope->depth - lane->least);
    box.height = timeline->height;
    if (box.width < narrowest)
        return;
    sheet_rectangle(plot->sheet, box, plot_class_ink(scope->class_name));
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

        sheet_text_in(plot->sheet,
                      (struct area){plot->area.x, lane->y, label_width - 8,
                                    timeline->height},
                      PLOT_TEXT, plot_faint_ink,
                      run_thread(run, lane->thread)->name);
    }
    for (size_t i = 0; i < run_kept_count(run); i++) {
        if (timeline_has(timeline, run_kept(run, i)))
            timeline_draw_slice(plot, timeline, run_kept(run, i));
    }
}

enum assay_status plot_timeline(struct plot *plot, struct error *err)
{
    struct timeline timeline = {
        .run = plot->run, .iteration = timeline_choose_iteration(plot->run)};
    struct area area;
    char title[64];

    if (run_kept_count(plot->run) == 0)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "the run keeps no iteration in full, so there is no "
                         "timeline to draw; use --kind icicle");
    plot_timeline_measure(&timeline);
    snprintf(title, sizeof title, "Timeline of iteration %u",
             timeline.iteration);
    plot_head(plot, timeline.iteration == RUN_NONE ? "Timeline" : title);
    plot_legend(plot);
    area = plot->area;
    area.x += label_width;
    area.width -= label_width + 10;
    area.height -= 36;
    timeline.across.high =
        fmax((double)(timeline.end_ns - timeline.begin_ns) / 1e6, 1e-6);
    timeline_place_lanes(&timeline, area);
    timeline_draw_lanes(plot, &timeline, area);
    return ASSAY_OK;
}
