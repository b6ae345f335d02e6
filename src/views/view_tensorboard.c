/* views/view_tensorboard.c - see tensorboard.h. */
#include "views/tensorboard.h"

#include "base/mem.h"
#include "views/levels_internal.h"
#include "views/tensorboard_internal.h"

#include <string.h>
#include <time.h>

enum { histogram_bins = 30 };

struct event_writer {
    const struct run *run;
    struct sink *sink;
    double began;   /* seconds since 1970 */
    uint64_t first; /* the training step of iteration 0; else 0 */
};

double run_began(const struct run *run)
{
    const char *text = run_fact(run, "time.started");
    struct tm utc = {0};

    if (!text || !strptime(text, "%Y-%m-%dT%H:%M:%SZ", &utc))
        return 0;
    return (double)timegm(&utc);
}

/* When an iteration happened, and its number or training step. Iterations that
 * are not remembered individually get the time the run began: TensorBoard's
 * axis shows steps. */
static struct event_time tensorboard_time_of(const struct event_writer *writer,
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

/* Of what is about the whole run: of a training at its last step, so that runs
 * of one training line up; else at 0. */
static struct event_time tensorboard_end(const struct event_writer *writer)
{
    uint64_t n = run_iteration_count(writer->run);

    return writer->first && n
               ? tensorboard_time_of(writer, (uint32_t)n - 1)
               : (struct event_time){.wall = writer->began, .step = 0};
}

/* The same for a point of a series. */
static struct event_time
tensorboard_point_time(const struct event_writer *writer,
                       const struct series *series,
                       const struct series_point *point)
{
    uint64_t step = (uint64_t)point->iteration + 1;

    if (!series_is_by_step(series))
        return tensorboard_time_of(writer, point->iteration);
    if (writer->first && step >= writer->first) /* after the warm-up */
        return tensorboard_time_of(writer, (uint32_t)(step - writer->first));
    return (struct event_time){.wall = writer->began, .step = (int64_t)step};
}

static enum assay_status
tensorboard_write_latency(const struct event_writer *writer, struct error *err)
{
    size_t n = run_iterations_kept(writer->run);
    double *ms = mem_array(n, sizeof *ms);
    enum assay_status st = ASSAY_OK;

    if (!ms)
        return error_nomem(err, n * sizeof *ms, "the latencies");
    for (size_t i = 0; !st && i < n; i++) {
        const struct iteration *it = run_iteration(writer->run, i);

        ms[i] = (double)it->duration_ns / 1e6;
        st = event_scalar(writer->sink, tensorboard_time_of(writer, it->index),
                          "latency_ms", ms[i], err);
    }
    if (!st && n)
        st = event_histogram(writer->sink, tensorboard_end(writer),
                             "latencies_ms", ms, n, histogram_bins, err);
    mem_free(ms);
    return st;
}

/* A scope over the iterations. */
static enum assay_status
tensorboard_write_scope(const struct event_writer *writer, uint32_t scope,
                        const char *tag, struct error *err)
{
    struct point *points = NULL;
    size_t n = 0;
    enum assay_status st =
        run_scope_points(writer->run, scope, RUN_ANY, &points, &n, err);

    for (size_t i = 0; !st && i < n; i++)
        st = event_scalar(writer->sink,
                          tensorboard_time_of(writer, points[i].iteration), tag,
                          (double)points[i].total_ns / 1e6, err);
    mem_free(points);
    return st;
}

/* "stage_ms/model", "model_ms/backbone.body" */
static enum assay_status
tensorboard_write_level(const struct event_writer *writer,
                        const struct level *level, struct error *err)
{
    struct str tag = {0};
    bool is_stage = !level->path.n;
    enum assay_status st =
        str_printf(&tag, "%s_ms/%s", is_stage ? "stage" : level->stage,
                   is_stage ? level->stage : str_text(&level->path))
            ? error_nomem(err, 64, "a name for TensorBoard")
            : tensorboard_write_scope(writer, level->item.row.scope,
                                      str_text(&tag), err);

    str_release(&tag);
    return st;
}

/* The scopes directly below the root, which are the stages of a model's run,
 * and two levels of modules below each. */
static enum assay_status
tensorboard_write_levels(const struct event_writer *writer, struct error *err)
{
    struct levels levels = {0};
    enum assay_status st = levels_build(writer->run, &levels, err);

    for (size_t i = 0; !st && i < levels.n; i++)
        st = tensorboard_write_level(writer, &levels.items[i], err);
    levels_release(&levels);
    return st;
}

/* "content.detections" is shown in the group "content". */
static enum assay_status
tensorboard_write_series(const struct event_writer *writer,
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

        st = event_scalar(writer->sink,
                          tensorboard_point_time(writer, series, point),
                          str_text(&tag), point->value, err);
    }
    str_release(&tag);
    return st;
}

/* Two names, because TensorBoard ignores a name with values of two kinds. */
static enum assay_status
tensorboard_write_table(const struct event_writer *writer, struct error *err)
{
    struct event_time when = tensorboard_end(writer);
    struct str text = {0}, png = {0};
    struct sink words = sink_to_str(&text), pixels = sink_to_str(&png);
    int width = 0, height = 0;
    enum assay_status st = table_text(writer->run, &words, err);

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
tensorboard_write_pictures(const struct event_writer *writer,
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
            st = event_image(writer->sink, tensorboard_end(writer),
                             str_text(&tag), pictures[i].width,
                             pictures[i].height, pictures[i].bytes,
                             pictures[i].n, err);
    }
    str_release(&tag);
    return st;
}

enum assay_status view_tensorboard(const struct run *run, const char *without,
                                   const struct event_picture *pictures,
                                   size_t n_pictures, struct sink *sink,
                                   struct error *err)
{
    const struct event_writer writer = {run, sink, run_began(run),
                                        run_step_of(run, 0)};
    enum assay_status st = event_version(sink, writer.began, err);

    if (!st)
        st = tensorboard_write_latency(&writer, err);
    if (!st && run_has_iterations(run))
        st = tensorboard_write_levels(&writer, err);
    for (uint32_t i = 0; !st && i < run_series_count(run); i++) {
        const struct series *series = run_series(run, i);

        if (series->n_labels == 0 &&
            (!without || strncmp(series->name, without, strlen(without)) != 0))
            st = tensorboard_write_series(&writer, series, err);
    }
    if (!st)
        st = tensorboard_write_table(&writer, err);
    if (!st)
        st = tensorboard_write_pictures(&writer, pictures, n_pictures, err);
    return st ? st : sink_status(sink, err);
}
