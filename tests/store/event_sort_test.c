/* tests/store/event_sort_test.c - sorting in memory and on disk. */
#include "base/mem.h"
#include "base/random.h"
#include "store/event_sort.h"
#include "test.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

static struct event random_event(struct random *random, uint64_t i)
{
    return (struct event){.group = random_below(random, 5),
                          .time_ns = (int64_t)random_below(random, 50) - 25,
                          .duration_ns = (int64_t)random_below(random, 4),
                          .sequence = i,
                          .label = (uint32_t)(i * 7)};
}

static int event_order(const struct event *a, const struct event *b)
{
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    if (a->duration_ns != b->duration_ns)
        return a->duration_ns > b->duration_ns ? -1 : 1;
    return a->sequence < b->sequence ? -1 : 1;
}

/* Sorts n events in this much memory and checks that each comes back once and
 * in order. */
static void check_sorting(uint64_t n, size_t buffer_bytes, const char *folder)
{
    struct random random = random_seed(n + buffer_bytes);
    struct event before = {0};
    uint64_t labels = 0, got = 0;
    struct error err = {0};
    struct event_sort *sort;
    const struct event *event;

    CHECK_STATUS(event_sort_new(buffer_bytes, folder, &sort, &err), ASSAY_OK,
                 &err);
    for (uint64_t i = 0; i < n; i++) {
        struct event added = random_event(&random, i);

        labels += added.label;
        CHECK_STATUS(event_sort_add(sort, &added, &err), ASSAY_OK, &err);
    }
    CHECK_STATUS(event_sort_finish(sort, &err), ASSAY_OK, &err);
    for (;; got++) {
        CHECK_STATUS(event_sort_next(sort, &event, &err), ASSAY_OK, &err);
        if (!event)
            break;
        CHECK(got == 0 || event_order(&before, event) < 0);
        before = *event;
        labels -= event->label;
    }
    CHECK_INT(got, n);
    CHECK_INT(labels, 0);
    CHECK_STATUS(event_sort_next(sort, &event, &err), ASSAY_OK, &err);
    CHECK(event == NULL);
    event_sort_free(sort);
}

static size_t files_in(const char *folder)
{
    DIR *dir = opendir(folder);
    size_t n = 0;

    CHECK(dir != NULL);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n - 2;
}

TEST(events_that_fit_into_memory_come_back_in_order)
{
    check_sorting(0, 1 << 20, "/no/such/folder");
    check_sorting(1, 1 << 20, "/no/such/folder");
    check_sorting(5000, 1 << 20, "/no/such/folder");
}

TEST(events_that_do_not_fit_are_merged_from_disk_in_order)
{
    const char *folder = test_path("spill");

    CHECK_INT(mkdir(folder, 0700), 0);
    check_sorting(5000, 64 << 10, folder);
    check_sorting(4096, 0, folder);
    check_sorting(17, 0, folder);
    CHECK_INT(files_in(folder), 0);
}

TEST(memory_stays_within_the_buffer)
{
    size_t before = mem_live_bytes();

    mem_reset_peak();
    check_sorting(60000, 256 << 10, "/tmp");
    CHECK(mem_peak_bytes() - before <= (256 << 10) + (16 << 10));
}

TEST(a_folder_that_cannot_be_written_is_named)
{
    struct event event = {0};
    struct error err = {0};
    struct event_sort *sort;
    enum assay_status st = ASSAY_OK;

    CHECK_INT(event_sort_new(0, "/no/such/folder", &sort, &err), ASSAY_OK);
    for (int i = 0; i < 100 && !st; i++)
        st = event_sort_add(sort, &event, &err);
    CHECK_INT(st, ASSAY_IO);
    CHECK_HAS(err.text, "/no/such/folder");
    CHECK_HAS(err.text, "TMPDIR");
    event_sort_free(sort);
}
