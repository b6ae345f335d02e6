/* cli/train_events.c - see train_events.h. */
#include "cli/train_events.h"

#include "base/cache.h"
#include "base/file.h"
#include "cli/messages.h"
#include "cli/run_files.h"
#include "picture/photos.h"
#include "picture/picture.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { most_parts = 16, max_picture_bytes = 1 << 28 };

static double wall_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* TensorBoard goes on to files whose names come later: to the one that is made
 * of the whole run at the end. */
static const char ending[] = ".a-training";

static enum assay_status train_events_path(const char *folder,
                                           const char *run_path, double time,
                                           struct str *path, struct error *err)
{
    enum assay_status st;
    char *last;

    str_clear(path);
    st = event_folder_path(folder, run_path, time, path, err);
    if (st)
        return st;
    last = strrchr(path->text, '.');
    path->n = (size_t)(last - path->text);
    return str_append(path, ending) ? error_nomem(err, path->n, "a file name")
                                    : ASSAY_OK;
}

enum assay_status train_events_open(struct train_events *events,
                                    const char *folder, const char *run_path,
                                    struct error *err)
{
    double now = wall_now(), time = now;
    struct str path = {0};
    enum assay_status st =
        train_events_path(folder, run_path, time, &path, err);

    /* One that was resumed within a second keeps what was there before. */
    while (!st && access(path.text, F_OK) == 0)
        st = train_events_path(folder, run_path, ++time, &path, err);
    if (!st)
        st = cache_make_folders(path.text, err);
    if (!st)
        st = live_events_open(path.text, now, &events->file, err);
    events->is_whole = !st;
    str_release(&path);
    return st;
}

void train_events_close(struct train_events *events)
{
    live_events_close(events->file);
    events->file = NULL;
}

static void train_events_check(struct train_events *events,
                               enum assay_status st, const struct error *err)
{
    if (!st)
        return;
    message_note("TensorBoard gets no more of this training: %s", err->text);
    events->is_whole = false;
    train_events_close(events);
}

void train_events_step(struct train_events *events,
                       const struct train_step *step)
{
    double seconds = (double)step->duration_ns / 1e9;
    struct live_value values[most_parts + 5] = {
        {"train/loss", step->loss},
        {"train/learning_rate", step->learning_rate},
        {"train/gradient_norm", step->gradient_norm},
        {"train/images_per_s", (double)step->n_images / seconds},
        {"train/wait_ms", (double)step->wait_ns / 1e6},
    };
    char tags[most_parts][64];
    struct error err = {0};
    size_t n = 5;

    if (!events->file)
        return;
    for (size_t i = 0; step->n_parts > 1 && i < step->n_parts && i < most_parts;
         i++) {
        snprintf(tags[i], sizeof tags[i], "train/%.50s", step->part_names[i]);
        values[n++] = (struct live_value){tags[i], step->parts[i]};
    }
    train_events_check(
        events,
        live_events_put(events->file, step->step, wall_now(), values, n, &err),
        &err);
}

static enum assay_status train_events_picture(struct train_events *events,
                                              uint64_t step, const char *path,
                                              struct error *err)
{
    const char *slash = strrchr(path, '/');
    struct event_picture shown = {.name = slash ? slash + 1 : path};
    struct picture picture = {0};
    struct str bytes = {0};
    enum assay_status st = file_read(path, max_picture_bytes, &bytes, err);

    if (!st)
        st = picture_decode(bytes.text, bytes.n, path, PICTURE_MAX_PIXELS,
                            &picture, err);
    if (!st) {
        shown.width = picture.width;
        shown.height = picture.height;
        shown.bytes = bytes.text;
        shown.n = bytes.n;
        st = live_events_show(events->file, step, wall_now(), &shown, err);
    }
    picture_release(&picture);
    str_release(&bytes);
    return st;
}

void train_events_show(struct train_events *events, uint64_t step,
                       const char *folder)
{
    struct photos photos = {0};
    struct error err = {0};
    enum assay_status st;

    if (!events->file)
        return;
    st = photos_add_drawn(&photos, folder, &err);
    for (size_t i = 0; !st && i < photos.n; i++)
        st = train_events_picture(events, step, photos.paths[i], &err);
    photos_release(&photos);
    train_events_check(events, st, &err);
}
