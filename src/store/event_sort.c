/* store/event_sort.c - see event_sort.h. */
#include "store/event_sort.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    first_capacity = 1024, /* events, before the buffer grows */
    least_events = 16,     /* in a buffer, however little memory is allowed */
    short_block = 12,      /* events sorted by insertion before merging */
    cached_block = short_block << 9
};

/* A sorted stretch of the temporary file, and its part in memory. */
struct stretch {
    off_t offset;
    uint64_t n_left; /* still in the file */
    struct event *events;
    size_t next, n;
};

struct event_sort {
    const char *folder;
    int fd;
    off_t file_bytes;
    struct event *events, *scratch;
    size_t n, capacity, limit;
    size_t next; /* if all fitted into memory */
    struct stretch *stretches;
    size_t n_stretches, stretches_capacity;
    struct event *windows; /* to read the stretches into */
    size_t window;         /* events in each */
    struct stretch **heap; /* the one with the first event on top */
    size_t n_heap;
    bool has_taken; /* the top's first event was returned */
};

static bool event_before(const struct event *a, const struct event *b)
{
    if (a->group != b->group)
        return a->group < b->group;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns;
    if (a->duration_ns != b->duration_ns)
        return a->duration_ns > b->duration_ns;
    return a->sequence < b->sequence;
}

enum assay_status event_sort_new(size_t buffer_bytes, const char *folder,
                                 struct event_sort **out, struct error *err)
{
    struct event_sort *sort = mem_zalloc(sizeof *sort);

    *out = sort;
    if (!sort)
        return error_nomem(err, sizeof *sort, "sorting events");
    sort->fd = -1;
    sort->folder = folder;
    sort->limit = buffer_bytes / 2 / sizeof *sort->events;
    if (sort->limit < least_events)
        sort->limit = least_events;
    return ASSAY_OK;
}

static void event_sort_drop_buffers(struct event_sort *sort)
{
    mem_free(sort->events);
    mem_free(sort->scratch);
    sort->events = sort->scratch = NULL;
    sort->n = sort->capacity = 0;
}

void event_sort_free(struct event_sort *sort)
{
    if (!sort)
        return;
    event_sort_drop_buffers(sort);
    mem_free(sort->stretches);
    mem_free(sort->windows);
    mem_free(sort->heap);
    if (sort->fd >= 0)
        close(sort->fd);
    mem_free(sort);
}

/* ---- in memory -------------------------------------------------------- */

static void events_insertion_sort(struct event *events, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct event moving = events[i];
        size_t at = i;

        for (; at > 0 && event_before(&moving, &events[at - 1]); at--)
            events[at] = events[at - 1];
        events[at] = moving;
    }
}

static void events_merge(const struct event *left, size_t n_left,
                         const struct event *right, size_t n_right,
                         struct event *into)
{
    const struct event *left_end = left + n_left, *right_end = right + n_right;

    if (n_right == 0 || !event_before(right, left_end - 1)) {
        memcpy(into, left, n_left * sizeof *left);
        memcpy(into + n_left, right, n_right * sizeof *right);
        return;
    }
    while (left < left_end && right < right_end)
        *into++ = event_before(right, left) ? *right++ : *left++;
    memcpy(into, left, (size_t)(left_end - left) * sizeof *left);
    into += left_end - left;
    memcpy(into, right, (size_t)(right_end - right) * sizeof *right);
}

static size_t event_sort_least(size_t n, size_t most)
{
    return n < most ? n : most;
}

/* Merges sorted blocks of `size` events pairwise until they have `until`, back
 * and forth between the two arrays; *from has the result. */
static void events_merge_passes(struct event **from, struct event **into,
                                size_t n, size_t size, size_t until)
{
    for (; size < until; size *= 2) {
        struct event *swapped = *from;

        for (size_t at = 0; at < n; at += 2 * size) {
            const struct event *left = *from + at;
            size_t n_left = event_sort_least(n - at, size);

            events_merge(left, n_left, left + n_left,
                         event_sort_least(n - at - n_left, size), *into + at);
        }
        *from = *into;
        *into = swapped;
    }
}

/* Sorts blocks that fit into the processor's cache one by one, then merges
 * them. */
static enum assay_status event_sort_buffer(struct event_sort *sort,
                                           struct error *err)
{
    size_t n = sort->n;
    struct event *sorted = NULL, *other = NULL;

    if (!sort->scratch)
        sort->scratch = mem_alloc(sort->capacity * sizeof *sort->scratch);
    if (!sort->scratch)
        return error_nomem(err, sort->capacity * sizeof *sort->scratch,
                           "sorting events");
    for (size_t left = n; left > 0;) {
        size_t at = (left - 1) / cached_block * cached_block;

        sorted = sort->events + at;
        other = sort->scratch + at;
        for (size_t i = 0; i < left - at; i += short_block)
            events_insertion_sort(sorted + i,
                                  event_sort_least(left - at - i, short_block));
        events_merge_passes(&sorted, &other, left - at, short_block,
                            cached_block);
        left = at;
    }
    events_merge_passes(&sorted, &other, n, cached_block, n);
    sort->events = sorted;
    sort->scratch = other;
    return ASSAY_OK;
}

/* ---- on disk ---------------------------------------------------------- */

/* The file has no name, or loses it at once if the file system requires one, so
 * that nothing is left behind however the program ends. */
static enum assay_status event_sort_open(struct event_sort *sort,
                                         struct error *err)
{
    struct str path = {0};
    enum assay_status status = ASSAY_OK;

    sort->fd = open(sort->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (sort->fd >= 0)
        return ASSAY_OK;
    status = str_printf(&path, "%s/assay-import-XXXXXX", sort->folder);
    if (status) {
        error_set(err, status, "out of memory making a temporary file");
        goto done;
    }
    sort->fd = mkostemp(path.text, O_CLOEXEC);
    if (sort->fd < 0) {
        status = error_errno(err, errno,
                             "making a temporary file in %s (set TMPDIR to use "
                             "another folder)",
                             sort->folder);
        if (status == ASSAY_NOT_FOUND)
            status = ASSAY_IO;
        goto done;
    }
    unlink(path.text);
done:
    str_release(&path);
    return status;
}

static enum assay_status event_sort_write(struct event_sort *sort,
                                          struct error *err)
{
    const char *bytes = (const char *)sort->events;
    size_t left = sort->n * sizeof *sort->events;

    while (left > 0) {
        ssize_t n = pwrite(sort->fd, bytes, left, sort->file_bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(err, errno,
                               "writing a temporary file in %s (set TMPDIR to "
                               "use another folder)",
                               sort->folder);
        bytes += n;
        left -= (size_t)n;
        sort->file_bytes += n;
    }
    return ASSAY_OK;
}

static enum assay_status event_sort_spill(struct event_sort *sort,
                                          struct error *err)
{
    enum assay_status status;

    if (!vec_grow(&sort->stretches, &sort->stretches_capacity,
                  sort->n_stretches + 1, sizeof *sort->stretches))
        return error_nomem(err, sizeof *sort->stretches, "sorting events");
    sort->stretches[sort->n_stretches] =
        (struct stretch){.offset = sort->file_bytes, .n_left = sort->n};
    status = event_sort_buffer(sort, err);
    if (!status && sort->fd < 0)
        status = event_sort_open(sort, err);
    if (!status)
        status = event_sort_write(sort, err);
    if (status)
        return status;
    sort->n_stretches++;
    sort->n = 0;
    return ASSAY_OK;
}

static enum assay_status event_sort_grow(struct event_sort *sort,
                                         struct error *err)
{
    size_t capacity = sort->capacity ? 2 * sort->capacity : first_capacity;
    struct event *moved;

    if (capacity > sort->limit)
        capacity = sort->limit;
    moved = mem_realloc(sort->events, capacity * sizeof *moved);
    if (!moved)
        return error_nomem(err, capacity * sizeof *moved, "sorting events");
    sort->events = moved;
    sort->capacity = capacity;
    return ASSAY_OK;
}

enum assay_status event_sort_add(struct event_sort *sort,
                                 const struct event *event, struct error *err)
{
    if (sort->n == sort->capacity) {
        enum assay_status status = sort->n == sort->limit
                                       ? event_sort_spill(sort, err)
                                       : event_sort_grow(sort, err);

        if (status)
            return status;
    }
    sort->events[sort->n++] = *event;
    return ASSAY_OK;
}

/* ---- reading back ----------------------------------------------------- */

static enum assay_status stretch_fill(struct event_sort *sort,
                                      struct stretch *stretch,
                                      struct error *err)
{
    size_t n =
        stretch->n_left < sort->window ? (size_t)stretch->n_left : sort->window;
    char *bytes = (char *)stretch->events;
    size_t left = n * sizeof *stretch->events;

    while (left > 0) {
        ssize_t got = pread(sort->fd, bytes, left, stretch->offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return error_errno(err, got < 0 ? errno : EIO,
                               "reading a temporary file in %s", sort->folder);
        bytes += got;
        left -= (size_t)got;
        stretch->offset += got;
    }
    stretch->n_left -= n;
    stretch->n = n;
    stretch->next = 0;
    return ASSAY_OK;
}

static bool stretch_before(const struct stretch *a, const struct stretch *b)
{
    return event_before(&a->events[a->next], &b->events[b->next]);
}

static void event_sort_sink(struct event_sort *sort, size_t at)
{
    struct stretch **heap = sort->heap, *sinking = heap[at];

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= sort->n_heap)
            break;
        if (child + 1 < sort->n_heap &&
            stretch_before(heap[child + 1], heap[child]))
            child++;
        if (!stretch_before(heap[child], sinking))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = sinking;
}

/* Turns the memory of the buffers into a window on each stretch. */
static enum assay_status event_sort_start_merge(struct event_sort *sort,
                                                struct error *err)
{
    size_t n = sort->n_stretches, bytes;
    enum assay_status status;

    event_sort_drop_buffers(sort);
    sort->window = 2 * sort->limit / n;
    if (sort->window < least_events)
        sort->window = least_events;
    if (!mem_mul(n * sort->window, sizeof *sort->windows, &bytes))
        return error_nomem(err, SIZE_MAX, "merging events");
    sort->windows = mem_alloc(bytes);
    sort->heap = mem_array(n, sizeof *sort->heap);
    if (!sort->windows || !sort->heap)
        return error_nomem(err, bytes, "merging events");
    for (size_t i = 0; i < n; i++) {
        sort->stretches[i].events = sort->windows + i * sort->window;
        status = stretch_fill(sort, &sort->stretches[i], err);
        if (status)
            return status;
        sort->heap[i] = &sort->stretches[i];
    }
    sort->n_heap = n;
    for (size_t i = n / 2; i-- > 0;)
        event_sort_sink(sort, i);
    return ASSAY_OK;
}

enum assay_status event_sort_finish(struct event_sort *sort, struct error *err)
{
    enum assay_status status = ASSAY_OK;

    if (sort->n_stretches == 0) {
        if (sort->n > 0)
            status = event_sort_buffer(sort, err);
        mem_free(sort->scratch);
        sort->scratch = NULL;
        return status;
    }
    if (sort->n > 0)
        status = event_sort_spill(sort, err);
    return status ? status : event_sort_start_merge(sort, err);
}

static enum assay_status event_sort_step(struct event_sort *sort,
                                         struct error *err)
{
    struct stretch *top = sort->heap[0];

    if (++top->next == top->n) {
        enum assay_status status = ASSAY_OK;

        if (top->n_left > 0)
            status = stretch_fill(sort, top, err);
        else
            sort->heap[0] = sort->heap[--sort->n_heap];
        if (status)
            return status;
    }
    if (sort->n_heap > 0)
        event_sort_sink(sort, 0);
    return ASSAY_OK;
}

enum assay_status event_sort_next(struct event_sort *sort,
                                  const struct event **event, struct error *err)
{
    enum assay_status status = ASSAY_OK;

    *event = NULL;
    if (sort->n_stretches == 0) {
        if (sort->next < sort->n)
            *event = &sort->events[sort->next++];
        return ASSAY_OK;
    }
    if (sort->has_taken && sort->n_heap > 0)
        status = event_sort_step(sort, err);
    if (status || sort->n_heap == 0)
        return status;
    sort->has_taken = true;
    *event = &sort->heap[0]->events[sort->heap[0]->next];
    return ASSAY_OK;
}
