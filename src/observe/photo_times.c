/* observe/photo_times.c - see photo_times.h. */
#include "observe/photo_times.h"

#include "base/mem.h"

#include <stdlib.h>

enum { MOST_KEPT = 99 };

struct photo_time {
    size_t n_kept;
    uint64_t runs;
    int64_t detections;
};

enum assay_status photo_times_init(struct photo_times *times, size_t n,
                                   uint64_t runs, struct error *err)
{
    uint64_t each = n ? (runs + n - 1) / n : 0;
    size_t total;

    *times = (struct photo_times){
        .n = n, .room = each < MOST_KEPT ? (size_t)each : MOST_KEPT};
    if (!mem_mul(n, times->room, &total))
        return error_nomem(err, SIZE_MAX, "the times of photographs");
    times->photos = mem_array(n, sizeof *times->photos);
    times->durations_ns = mem_array(total, sizeof *times->durations_ns);
    if (!times->photos || !times->durations_ns) {
        photo_times_release(times);
        return error_nomem(err, total * sizeof *times->durations_ns,
                           "the times of photographs");
    }
    return ASSAY_OK;
}

void photo_times_release(struct photo_times *times)
{
    mem_free(times->photos);
    mem_free(times->durations_ns);
    *times = (struct photo_times){0};
}

void photo_times_add(struct photo_times *times, size_t photo,
                     int64_t duration_ns, int64_t detections)
{
    struct photo_time *time = &times->photos[photo];

    if (time->n_kept < times->room)
        times->durations_ns[photo * times->room + time->n_kept++] = duration_ns;
    time->runs++;
    time->detections = detections;
}

static int by_duration(const void *a, const void *b)
{
    int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;

    return (first > second) - (first < second);
}

static double photo_times_median_of(struct photo_times *times, size_t photo)
{
    int64_t *durations = times->durations_ns + photo * times->room;
    size_t n = times->photos[photo].n_kept;
    size_t below = (n - 1) / 2, above = n / 2;

    qsort(durations, n, sizeof *durations, by_duration);
    return ((double)durations[below] + (double)durations[above]) / 2;
}

bool photo_times_spread(struct photo_times *times, struct photo_median *fastest,
                        struct photo_median *slowest, uint64_t *runs)
{
    if (times->n < 2)
        return false;
    *runs = UINT64_MAX;
    for (size_t i = 0; i < times->n; i++) {
        struct photo_median median = {
            .photo = i, .detections = times->photos[i].detections};

        if (times->photos[i].runs < *runs)
            *runs = times->photos[i].runs;
        if (*runs == 0)
            return false;
        median.median_ns = photo_times_median_of(times, i);
        if (i == 0 || median.median_ns < fastest->median_ns)
            *fastest = median;
        if (i == 0 || median.median_ns > slowest->median_ns)
            *slowest = median;
    }
    return true;
}
