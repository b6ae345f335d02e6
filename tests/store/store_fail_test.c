/* tests/store/store_fail_test.c - what is left when writing or reading a run
 * file fails half-way: no memory, no room on the disk. */
#include "runs.h"

#include "base/mem.h"
#include "store/store.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

/* Everything in the test's folder whose name starts like this. */
static int count_files(const char *start)
{
    static const char *folder;
    struct dirent *entry;
    DIR *dir;
    int n = 0;

    if (!folder)
        folder = mem_strdup(test_path(""));
    dir = opendir(folder);
    CHECK(dir != NULL);
    while ((entry = readdir(dir)))
        n += strncmp(entry->d_name, start, strlen(start)) == 0;
    closedir(dir);
    return n;
}

/* No file may grow beyond this until it is lifted with RLIM_INFINITY. */
static void limit_file_size(rlim_t bytes)
{
    struct rlimit limit;

    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
}

static struct run *sealed_run(uint32_t n_iterations)
{
    struct run *run = rich_run(n_iterations);
    struct error err = {0};

    OK(run_seal(run, &err));
    return run;
}

static void check_file(const char *path, const struct run *run)
{
    struct error err = {0};
    struct run *loaded;

    OK(store_load(path, &loaded, &err));
    check_same_run(run, loaded);
    run_free(loaded);
}

TEST(a_full_disk_leaves_the_old_file_and_no_new_one)
{
    struct run *small = sealed_run(3), *large = sealed_run(900);
    const char *path = test_path("full.assay");
    struct error err = {0};

    OK(store_save(small, path, &err));
    for (rlim_t kib = 0; kib < 160; kib += 20) {
        err = (struct error){0};
        limit_file_size(kib * 1024);
        CHECK_INT(store_save(large, path, &err), ASSAY_IO);
        limit_file_size(RLIM_INFINITY);
        CHECK_HAS(err.text, "full.assay");
        CHECK_INT(count_files("full.assay"), 1);
    }
    check_file(path, small);
    run_free(small);
    run_free(large);
}

TEST(a_disk_full_for_a_while_loses_only_what_was_appended_then)
{
    struct sample samples[20000];
    struct run *run = rich_run(10);
    struct store_writer *writer;
    struct error err = {0}, full = {0};

    for (uint32_t i = 0; i < 20000; i++)
        samples[i] = sample_at(1, i, i);
    OK(store_open(test_path("while.assay"), &writer, &err));
    OK(store_append(writer, samples, 10, &err));
    OK(store_checkpoint(writer, run, &err));
    count_iterations(run, 10, 800);
    OK(store_append(writer, samples, 20000, &err));
    limit_file_size(100 * 1024);
    CHECK_INT(store_checkpoint(writer, run, &full), ASSAY_IO);
    limit_file_size(RLIM_INFINITY);
    OK(store_append(writer, samples + 10, 7, &err));
    OK(run_seal(run, &err));
    OK(store_finish(writer, run, &err));

    /* The run gets what only the file has, and then both are the same. */
    for (size_t i = 0; i < 17; i++)
        OK(run_keep(run, &samples[i], &err));
    OK(run_seal(run, &err));
    run_health(run)->lost_spans += 20000;
    check_file(test_path("while.assay"), run);
    run_free(run);
}

TEST(a_recording_that_cannot_be_finished_leaves_its_last_checkpoint)
{
    struct run *run = rich_run(10), *loaded;
    struct store_writer *writer;
    struct error err = {0};

    OK(store_open(test_path("stuck.assay"), &writer, &err));
    OK(store_checkpoint(writer, run, &err));
    count_iterations(run, 10, 900);
    limit_file_size(90 * 1024);
    CHECK_INT(store_finish_or_keep(writer, run, &err), ASSAY_IO);
    limit_file_size(RLIM_INFINITY);
    CHECK_HAS(err.text, strrchr(test_part("stuck.assay"), '/') + 1);
    CHECK_INT(count_files("stuck.assay"), 1);
    err = (struct error){0};
    OK(store_load(test_part("stuck.assay"), &loaded, &err));
    CHECK_INT(run_iteration_count(loaded), 10);
    run_free(loaded);
    run_free(run);
}

TEST(a_recording_that_never_wrote_anything_leaves_nothing)
{
    struct run *run = sealed_run(900);
    struct store_writer *writer;
    struct error err = {0};

    OK(store_open(test_path("never.assay"), &writer, &err));
    limit_file_size(90 * 1024);
    CHECK_INT(store_finish_or_keep(writer, run, &err), ASSAY_IO);
    limit_file_size(RLIM_INFINITY);
    CHECK_INT(count_files("never.assay"), 0);
    run_free(run);
}

TEST(a_repeatable_run_is_finished_completely_or_not_at_all)
{
    struct run *run = rich_run(10);
    struct store_writer *writer;
    struct error err = {0};

    OK(store_open(test_path("again.assay"), &writer, &err));
    OK(store_checkpoint(writer, run, &err));
    count_iterations(run, 10, 900);
    limit_file_size(90 * 1024);
    CHECK_INT(store_finish(writer, run, &err), ASSAY_IO);
    limit_file_size(RLIM_INFINITY);
    CHECK(!strstr(err.text, ".part"));
    CHECK_INT(count_files("again.assay"), 0);
    run_free(run);
}

TEST(saving_leaks_nothing_whichever_allocation_fails)
{
    struct run *run = sealed_run(5);
    const char *path = test_path("save.assay");
    long nth = 0, before;
    enum assay_status st;

    CHECK_INT(count_files("save.assay"), 0);
    before = mem_live();
    do {
        mem_fail_at(nth++);
        st = store_save(run, path, NULL);
        mem_fail_at(-1);
        CHECK_INT(mem_live(), before);
        CHECK_INT(count_files("save.assay"), st == ASSAY_OK);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    CHECK(nth > 10);
    check_file(path, run);
    run_free(run);
}

TEST(loading_leaks_nothing_whichever_allocation_fails)
{
    struct run *run = sealed_run(5), *loaded;
    const char *path = test_path("load.assay");
    long nth = 0, before = mem_live();
    enum assay_status st;

    CHECK_INT(store_save(run, path, NULL), ASSAY_OK);
    do {
        mem_fail_at(nth++);
        st = store_load(path, &loaded, NULL);
        mem_fail_at(-1);
        CHECK(st == ASSAY_OK || loaded == NULL);
        run_free(loaded);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    CHECK(nth > 50);
    run_free(run);
}

/* Each allocation fails once in turn, in opening, in a checkpoint or in the
 * end; what failed once succeeds the second time. */
TEST(a_recording_survives_any_single_failed_allocation)
{
    const char *path = test_path("once.assay");
    long before = mem_live();
    bool has_failed = true;

    for (long nth = 0; has_failed; nth++) {
        struct run *run = rich_run(3);
        struct store_writer *writer;
        struct error err = {0};
        enum assay_status st;

        mem_fail_once_at(nth);
        st = store_open(path, &writer, NULL);
        has_failed = st != ASSAY_OK;
        if (st)
            OK(store_open(path, &writer, &err));
        if (store_checkpoint(writer, run, NULL)) {
            has_failed = true;
            OK(store_checkpoint(writer, run, &err));
        }
        mem_fail_once_at(-1);
        count_iterations(run, 3, 3);
        OK(run_seal(run, &err));
        OK(store_finish(writer, run, &err));
        check_file(path, run);
        run_free(run);
        CHECK_INT(mem_live(), before);
    }
}

TEST(finishing_without_memory_leaves_a_readable_part_or_nothing)
{
    const char *path = test_path("end.assay");
    long nth = 0, before;
    enum assay_status st;

    CHECK_INT(count_files("end.assay"), 0);
    before = mem_live();
    do {
        struct run *run = rich_run(3), *loaded;
        struct store_writer *writer;
        struct error err = {0};

        OK(store_open(path, &writer, &err));
        OK(store_checkpoint(writer, run, &err));
        count_iterations(run, 3, 3);
        OK(run_seal(run, &err));
        mem_fail_at(nth++);
        st = store_finish_or_keep(writer, run, NULL);
        mem_fail_at(-1);
        if (st) {
            OK(store_load(test_part("end.assay"), &loaded, &err));
            CHECK_INT(run_iteration_count(loaded), 3);
            run_free(loaded);
            CHECK_INT(count_files("end.assay"), 1);
            unlink(test_part("end.assay"));
        }
        run_free(run);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    CHECK(nth > 2);
}
