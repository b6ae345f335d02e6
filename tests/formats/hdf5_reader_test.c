/* HDF5 files are read in a child process, whatever happens to it. */
#include "base/mem.h"
#include "formats/keras/hdf5_reader_internal.h"
#include "formats/keras/keras.h"
#include "test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FOLDER TEST_SOURCE_DIR "/tests/formats/keras/"

static struct error err;

static struct hdf5_reader *open_good(void)
{
    struct hdf5_reader *reader = NULL;

    err = (struct error){0};
    CHECK_STATUS(hdf5_reader_open(FOLDER "caffe_style_k2.h5", &reader, &err),
                 ASSAY_OK, &err);
    return reader;
}

/* The one child that this process has. */
static pid_t find_child(void)
{
    char path[64];
    FILE *file;
    int pid = 0;

    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    file = fopen(path, "re");
    if (!file)
        SKIP("this kernel does not list the children of a process");
    CHECK_INT(fscanf(file, "%d", &pid), 1);
    fclose(file);
    return pid;
}

static void check_death(int signal_number, enum assay_status wanted,
                        const char *words)
{
    struct hdf5_reader *reader = open_good();
    pid_t child = find_child();
    struct tensor data;
    struct pool *pool;
    siginfo_t info;

    CHECK_INT(pool_new(&pool, NULL), ASSAY_OK);
    CHECK_INT(kill(child, signal_number), 0);
    CHECK_INT(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    CHECK_STATUS(hdf5_reader_read(reader, 0, pool, &data, &err), wanted, &err);
    CHECK_HAS(err.text, words);
    err = (struct error){0};
    CHECK_STATUS(hdf5_reader_read(reader, 0, pool, &data, &err),
                 ASSAY_BAD_INPUT, &err); /* it stays so */
    hdf5_reader_close(reader);
    pool_free(pool);
    CHECK_INT(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
}

TEST(a_crash_of_the_reader_becomes_an_error)
{
    check_death(SIGSEGV, ASSAY_BAD_INPUT, "the HDF5 library crashed");
    check_death(SIGABRT, ASSAY_BAD_INPUT, "the HDF5 library crashed");
}

/* For files that make the library loop: the limit is CPU time. */
TEST(an_endless_loop_of_the_reader_becomes_an_error)
{
    struct hdf5_reader *reader = open_good();
    char path[64], line[128];
    bool is_limited = false;
    FILE *limits;

    snprintf(path, sizeof path, "/proc/%d/limits", (int)find_child());
    limits = fopen(path, "re");
    CHECK(limits);
    while (fgets(line, sizeof line, limits))
        is_limited |= strstr(line, "Max cpu time") && strstr(line, " 20 ");
    fclose(limits);
    CHECK(is_limited);
    hdf5_reader_close(reader);
    check_death(SIGXCPU, ASSAY_BAD_INPUT, "does not finish");
}

TEST(a_killed_reader_is_reported_as_lack_of_memory)
{
    check_death(SIGKILL, ASSAY_NOMEM, "was killed");
}

TEST(the_library_is_never_loaded_into_this_process)
{
    struct hdf5_reader *reader = open_good();
    FILE *maps = fopen("/proc/self/maps", "re");
    struct str config = {0};
    char line[512];
    bool is_there;

    CHECK_STATUS(
        hdf5_reader_attribute(reader, "model_config", &config, &is_there, &err),
        ASSAY_OK, &err);
    CHECK(is_there && config.n > 100);
    CHECK(maps);
    while (fgets(line, sizeof line, maps))
        CHECK(!strstr(line, "libhdf5"));
    fclose(maps);
    str_release(&config);
    hdf5_reader_close(reader);
}

TEST(a_missing_attribute_is_not_a_failure)
{
    struct hdf5_reader *reader = open_good();
    struct str text = {0};
    bool is_there = true;

    CHECK_STATUS(hdf5_reader_attribute(reader, "other", &text, &is_there, &err),
                 ASSAY_OK, &err);
    CHECK(!is_there);
    CHECK_INT(text.n, 0);
    hdf5_reader_close(reader);
}

TEST(a_dataset_that_cannot_be_read_leaves_the_reader_usable)
{
    struct hdf5_reader *reader = open_good();
    struct tensor data;
    struct pool *pool;
    size_t i = 0;

    CHECK_INT(pool_new(&pool, NULL), ASSAY_OK);
    CHECK(!hdf5_reader_find(reader, "model_weights", &i));
    CHECK(hdf5_reader_find(reader, hdf5_reader_dataset(reader, 1), &i));
    CHECK_INT(i, 1);
    CHECK_STATUS(hdf5_reader_read(reader, 1 << 20, pool, &data, &err),
                 ASSAY_BAD_INPUT, &err);
    err = (struct error){0};
    CHECK_STATUS(hdf5_reader_read(reader, 1, pool, &data, &err), ASSAY_OK,
                 &err);
    CHECK(tensor_elements(&data) > 0);
    tensor_release(&data);
    hdf5_reader_close(reader);
    pool_free(pool);
}

TEST(nothing_leaks_whichever_allocation_fails)
{
    enum assay_status st = ASSAY_NOMEM;

    for (long nth = 0; st == ASSAY_NOMEM; nth++) {
        long before = mem_live();
        struct graph *graph = NULL;
        struct pool *pool;

        err = (struct error){0};
        CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
        mem_fail_at(nth);
        st = keras_load(FOLDER "caffe_style_k2.h5", NULL, pool, &graph, &err);
        mem_fail_at(-1);
        CHECK(st == ASSAY_OK || st == ASSAY_NOMEM);
        CHECK(!st == !!graph);
        graph_free(graph);
        pool_free(pool);
        CHECK_INT(mem_live(), before);
    }
    CHECK_INT(st, ASSAY_OK);
}
