/* views/live_events.c - see live_events.h. */
#include "views/live_events.h"

#include "base/mem.h"
#include "base/str.h"
#include "views/tensorboard_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

struct live_events {
    int file;
    char *path;
    bool has_events; /* besides the version at its beginning */
};

void live_events_close(struct live_events *events)
{
    if (!events)
        return;
    if (events->file >= 0) {
        close(events->file);
        if (!events->has_events)
            unlink(events->path);
    }
    mem_free(events->path);
    mem_free(events);
}

/* All of it at once: a reader never sees half a record for long, and a full
 * disk is noticed here. */
static enum assay_status live_events_append(struct live_events *events,
                                            const struct str *records,
                                            struct error *err)
{
    size_t done = 0;

    while (done < records->n) {
        ssize_t n =
            write(events->file, records->text + done, records->n - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return error_errno(err, errno, "writing %s", events->path);
        done += (size_t)n;
    }
    return ASSAY_OK;
}

enum assay_status live_events_open(const char *path, double wall,
                                   struct live_events **out, struct error *err)
{
    struct live_events *events = mem_zalloc(sizeof *events);
    struct str records = {0};
    struct sink sink = sink_to_str(&records);
    enum assay_status st = ASSAY_OK;

    *out = NULL;
    if (events) {
        events->file = -1;
        events->path = mem_strdup(path);
    }
    if (!events || !events->path)
        st = error_nomem(err, strlen(path), "an event file");
    if (!st) {
        events->file =
            open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (events->file < 0)
            st = error_errno(err, errno, "writing %s", path);
    }
    if (!st)
        st = event_version(&sink, wall, err);
    if (!st)
        st = sink_status(&sink, err);
    if (!st)
        st = live_events_append(events, &records, err);
    str_release(&records);
    if (st)
        live_events_close(events);
    else
        *out = events;
    return st;
}

enum assay_status live_events_put(struct live_events *events, uint64_t step,
                                  double wall, const struct live_value *values,
                                  size_t n, struct error *err)
{
    const struct event_time when = {.wall = wall, .step = (int64_t)step};
    struct str records = {0};
    struct sink sink = sink_to_str(&records);
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < n; i++)
        st = event_scalar(&sink, when, values[i].tag, values[i].value, err);
    if (!st)
        st = sink_status(&sink, err);
    if (!st)
        st = live_events_append(events, &records, err);
    events->has_events |= !st;
    str_release(&records);
    return st;
}

enum assay_status live_events_show(struct live_events *events, uint64_t step,
                                   double wall,
                                   const struct event_picture *picture,
                                   struct error *err)
{
    const struct event_time when = {.wall = wall, .step = (int64_t)step};
    struct str records = {0}, tag = {0};
    struct sink sink = sink_to_str(&records);
    enum assay_status st = str_printf(&tag, "photographs/%s", picture->name)
                               ? error_nomem(err, 64, "a name for TensorBoard")
                               : ASSAY_OK;

    if (!st)
        st = event_image(&sink, when, str_text(&tag), picture->width,
                         picture->height, picture->bytes, picture->n, err);
    if (!st)
        st = sink_status(&sink, err);
    if (!st)
        st = live_events_append(events, &records, err);
    events->has_events |= !st;
    str_release(&records);
    str_release(&tag);
    return st;
}
