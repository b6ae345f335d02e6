/* views/view_tensorboard.c - see tensorboard.h. */
#include "views/tensorboard.h"

#include "base/mem.h"
#include "views/event_file_internal.h"
#include "views/table_picture_internal.h"
#include "views/views.h"

#include <string.h>
#include <time.h>

enum { histogram_bins = 30 };

struct writer {
    const struct run *run;
    struct sink *sink;
    double began;   /* seconds since 1970 */
    uint64_t first; /* the step of a training that iteration 0 is; else 0 */
};

double run_began(const struct run *run)
{
    const char *text = run_fact(run, "time.started");
    struct tm utc = {0};

    if (!text || !strptime(text, "%Y-%m-%dT%H:%M:%SZ", &utc))
        return 0;
    return (double)timegm(&utc);
}

/* When an iteration happened, and its number: in a training that of its step.
 * Those that are not remembered one by one get the
 * moment the run began: steps are what TensorBoard's axis shows. */
static struct event_time time_of(const struct writer *writer,
                                 uint32_t iteration)
{
    struct event_time when = {.wall = writer->began,
                              .step = (int64_t)(writer->first + iteration)};
    size_t low = 0, high = run_iterations_kept(writer->run);

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (run_iteration(writer->run, middle)->index < iteration)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < run_iterations_kept(writer->run)) {
        const struct iteration *found = run_iteration(writer->run, low);

        if (found->index == iteration)
            when.wall += (double)found->start_ns / 1e9;
    }
    return when;
}

/* The same for a point of a series. */
static struct event_time point_time(const struct writer *writer,
                                    const struct series *series,
                                    const struct series_point *point)
{
    uint64_t step = (uint64_t)point->iteration + 1;

    if (!series_is_by_step(series))
        return time_of(writer, point->iteration);
    if (writer->first && step >= writer->first) /* behind the warm-up */
        return time_of(writer, (uint32_t)(step - writer->first));
    return (struct event_time){.wall = writer->began, .step = (int64_t)step};
}

static enum assay_status
view_tensorboard_write_latency(const struct writer *writer, struct error *err)
{
    size_t n = run_iterations_kept(writer->run);
    double *ms = mem_array(n, sizeof *ms);
    enum assay_status st = ASSAY_OK;

    if (!ms)
        return error_nomem(err, n * sizeof *ms, "the latencies");
    for (size_t i = 0; !st && i < n; i++) {
        const struct iteration *it = run_iteration(writer->run, i);

        ms[i] = (double)it->duration_ns / 1e6;
        st = event_scalar(writer->sink, time_of(writer, it->index),
                          "latency_ms", ms[i], err);
    }
    if (!st && n)
        st =
            event_histogram(writer->sink, (struct event_time){writer->began, 0},
                            "latencies_ms", ms, n, histogram_bins, err);
    mem_free(ms);
    return st;
}

/* A scope over the iterations. */
static enum assay_status
view_tensorboard_write_scope(const struct writer *writer, uint32_t scope,
                             const char *tag, struct error *err)
{
    struct point *points = NULL;
    size_t n = 0;
    enum assay_status st =
        run_scope_points(writer->run, scope, RUN_ANY, &points, &n, err);

    for (size_t i = 0; !st && i < n; i++)
        st = event_scalar(writer->sink, time_of(writer, points[i].iteration),
                          tag, (double)points[i].total_ns / 1e6, err);
    mem_free(points);
    return st;
}

/* What stands directly below the root: the stages of a model's run. */
static enum assay_status
view_tensorboard_write_stages(const struct writer *writer, struct error *err)
{
    uint32_t child = run_scope(writer->run, RUN_ROOT)->first_child;
    struct str tag = {0};
    enum assay_status st = ASSAY_OK;

    for (; !st && child != RUN_NONE;
         child = run_scope(writer->run, child)->next_sibling) {
        struct scope_stats stats;

        st = run_scope_stats(writer->run, child, RUN_ANY, &stats, err);
        if (st || stats.is_outside)
            continue;
        str_clear(&tag);
        if (str_printf(&tag, "stage_ms/%s",
                       run_scope(writer->run, child)->name))
            st = error_nomem(err, 64, "a name for TensorBoard");
        else
            st = view_tensorboard_write_scope(writer, child, str_text(&tag),
                                              err);
    }
    str_release(&tag);
    return st;
}

/* "content.detections" is shown in the group "content". */
static enum assay_status
view_tensorboard_write_series(const struct writer *writer,
                              const struct series *series, struct error *err)
{
    struct str tag = {0};
    enum assay_status st = ASSAY_OK;
    char *dot;

    if (str_append(&tag, series->name))
        st = error_nomem(err, strlen(series->name), "a name for TensorBoard");
    else if ((dot = strchr(tag.text, '.')))
        *dot = '/';
    for (size_t i = 0; !st && i < series->n_points; i++) {
        const struct series_point *point = &series->points[i];

        st = event_scalar(writer->sink, point_time(writer, series, point),
                          str_text(&tag), point->value, err);
    }
    str_release(&tag);
    return st;
}

/* Two names: TensorBoard shows nothing of a name that is of two kinds. */
static enum assay_status
view_tensorboard_write_table(const struct writer *writer, struct error *err)
{
    struct view_options options = view_defaults(term_plain(120));
    struct event_time when = {writer->began, 0};
    struct str text = {0}, png = {0};
    struct sink words = sink_to_str(&text), pixels = sink_to_str(&png);
    int width = 0, height = 0;
    enum assay_status st = view_markdown(writer->run, &options, &words, err);

    if (!st)
        st = event_text(writer->sink, when, "profile/text", str_text(&text),
                        err);
    if (!st)
        st = table_picture(writer->run, &pixels, &width, &height, err);
    if (!st)
        st = event_image(writer->sink, when, "profile/table", width, height,
                         png.text, png.n, err);
    str_release(&text);
    str_release(&png);
    return st;
}

static enum assay_status
view_tensorboard_write_pictures(const struct writer *writer,
                                const struct event_picture *pictures, size_t n,
                                struct error *err)
{
    enum assay_status st = ASSAY_OK;
    struct str tag = {0};

    for (size_t i = 0; !st && i < n; i++) {
        str_clear(&tag);
        if (str_printf(&tag, "photographs/%s", pictures[i].name))
            st = error_nomem(err, 64, "a name for TensorBoard");
        else
            st = event_image(
                writer->sink, (struct event_time){writer->began, 0},
                str_text(&tag), pictures[i].width, pictures[i].height,
                pictures[i].bytes, pictures[i].n, err);
    }
    str_release(&tag);
    return st;
}

enum assay_status view_tensorboard(const struct run *run,
                                   const struct event_picture *pictures,
                                   size_t n_pictures, struct sink *sink,
                                   struct error *err)
{
    const struct writer writer = {run, sink, run_began(run),
                                  run_step_of(run, 0)};
    enum assay_status st = event_version(sink, writer.began, err);

    if (!st)
        st = view_tensorboard_write_latency(&writer, err);
    if (!st && run_has_iterations(run))
        st = view_tensorboard_write_stages(&writer, err);
    for (uint32_t i = 0; !st && i < run_series_count(run); i++) {
        if (run_series(run, i)->n_labels == 0)
            st =
                view_tensorboard_write_series(&writer, run_series(run, i), err);
    }
    if (!st)
        st = view_tensorboard_write_table(&writer, err);
    if (!st)
        st =
            view_tensorboard_write_pictures(&writer, pictures, n_pictures, err);
    return st ? st : sink_status(sink, err);
}
