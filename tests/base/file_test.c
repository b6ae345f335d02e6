/* What base/file.h and base/sink.h promise. */
#include "base/file.h"
#include "test.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

TEST(an_output_appears_only_when_committed)
{
    const char *path = test_path("out.txt");
    struct error err = {0};
    struct output *output;
    struct str text = {0};

    CHECK_STATUS(output_open(path, &output, &err), ASSAY_OK, &err);
    sink_printf(output_sink(output), "%d and %600d", 1, 2);
    CHECK(!exists(path));
    CHECK_STATUS(output_commit(output, &err), ASSAY_OK, &err);
    CHECK_STATUS(file_read(path, 1000, &text, &err), ASSAY_OK, &err);
    CHECK_INT(text.n, 606);
    str_release(&text);
}

TEST(a_discarded_output_leaves_the_old_file_alone)
{
    const char *path = test_path("kept.txt");
    struct error err = {0};
    struct output *output;
    struct str text = {0};
    FILE *file = fopen(path, "w");

    CHECK(file != NULL);
    fputs("old", file);
    fclose(file);
    CHECK_STATUS(output_open(path, &output, &err), ASSAY_OK, &err);
    sink_puts(output_sink(output), "new");
    output_discard(output);
    CHECK_STATUS(file_read(path, 1000, &text, &err), ASSAY_OK, &err);
    CHECK_STR(text.text, "old");
    str_release(&text);
}

TEST(a_bad_path_is_refused_when_opening)
{
    struct error err = {0};
    struct output *output;

    CHECK_INT(output_open("/nowhere/x.json", &output, &err), ASSAY_NOT_FOUND);
    CHECK_STR(err.text,
              "cannot write /nowhere/x.json: there is no folder /nowhere; make "
              "it first");
    CHECK(output == NULL);
    err = (struct error){0};
    CHECK_INT(output_open("nowhere/a/x.json", &output, &err), ASSAY_NOT_FOUND);
    CHECK_STR(err.text, "cannot write nowhere/a/x.json: there is no folder "
                        "nowhere/a; make it first");
    err = (struct error){0};
    CHECK_INT(output_open("/proc/x.json", &output, &err), ASSAY_NOT_FOUND);
    CHECK_STR(err.text, "cannot write /proc/x.json: No such file or directory");
    err = (struct error){0};
    CHECK_INT(output_open("/tmp", &output, &err), ASSAY_IO);
    CHECK_STR(err.text, "cannot write /tmp: it is a folder, name a file in it");
}

TEST(a_device_is_written_in_place)
{
    struct error err = {0};
    struct output *output;

    CHECK_STATUS(output_open("/dev/null", &output, &err), ASSAY_OK, &err);
    sink_puts(output_sink(output), "gone");
    CHECK_STATUS(output_commit(output, &err), ASSAY_OK, &err);
    CHECK_STATUS(output_open("/dev/full", &output, &err), ASSAY_OK, &err);
    sink_puts(output_sink(output), "gone");
    CHECK_INT(output_commit(output, &err), ASSAY_IO);
    CHECK_HAS(err.text, "the disk is full; free some space or write elsewhere");
    CHECK(exists("/dev/full"));
}

TEST(a_program_killed_while_writing_leaves_nothing)
{
    const char *folder = test_path("killed");
    char path[600];
    int status;
    pid_t child;

    CHECK_INT(mkdir(folder, 0777), 0);
    snprintf(path, sizeof path, "%s/x.json", folder);
    child = fork();
    if (child == 0) {
        struct output *output;

        if (output_open(path, &output, NULL) == ASSAY_OK)
            sink_puts(output_sink(output), "half");
        raise(SIGKILL);
    }
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status));
    CHECK_INT(rmdir(folder), 0);
}

TEST(a_full_disk_fails_the_commit_and_leaves_nothing)
{
    struct error err = {0};
    FILE *full = fopen("/dev/full", "w");
    struct sink sink = sink_to_file(full, "/dev/full");

    for (int i = 0; i < 10000; i++)
        sink_puts(&sink, "0123456789");
    CHECK_INT(sink_status(&sink, &err), ASSAY_IO);
    CHECK_STR(err.text, "writing /dev/full: the disk is full; free some space "
                        "or write elsewhere");
    fclose(full);
}

TEST(inputs_that_cannot_be_used_are_named)
{
    const char *empty = test_path("empty");
    struct error err = {0};
    struct str text = {0};

    fclose(fopen(empty, "w"));
    CHECK_INT(file_check_input(empty, &err), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "is empty");
    err = (struct error){0};
    CHECK_INT(file_check_input("/tmp", &err), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "it is a folder");
    err = (struct error){0};
    CHECK_INT(file_check_input("/no/such", &err), ASSAY_NOT_FOUND);
    err = (struct error){0};
    CHECK_INT(file_read("/proc/self/maps", 10, &text, &err), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "larger than 10 bytes");
}

static void check_no_file(const char *path, const char *kind)
{
    struct error err = {0};
    struct str text = {0};
    int fd;

    CHECK_STATUS(file_open(path, &fd, &err), ASSAY_BAD_INPUT, &err);
    CHECK_INT(fd, -1);
    CHECK_HAS(err.text, path);
    CHECK_HAS(err.text, kind);
    err = (struct error){0};
    CHECK_STATUS(file_read(path, 1000, &text, &err), ASSAY_BAD_INPUT, &err);
    CHECK_HAS(err.text, kind);
    err = (struct error){0};
    CHECK_STATUS(file_check_input(path, &err), ASSAY_BAD_INPUT, &err);
    CHECK_HAS(err.text, kind);
}

/* If anything waited for one, this test would hang. */
TEST(anything_but_a_regular_file_is_refused_without_waiting)
{
    const char *pipe = test_path("pipe"), *link = test_path("link");
    struct error err = {0};

    CHECK_INT(mkfifo(pipe, 0600), 0);
    CHECK_INT(symlink("pipe", link), 0);
    check_no_file(pipe, "a pipe, not a regular file");
    check_no_file(link, "a pipe, not a regular file");
    check_no_file("/dev/zero", "a device, not a regular file");
    check_no_file("/tmp", "a folder");
    CHECK_STATUS(file_check_stream(pipe, &err), ASSAY_OK, &err);
}

TEST(a_file_is_opened_through_links_and_left_readable)
{
    const char *path = test_path("opened"), *link = test_path("opened_link");
    struct error err = {0};
    char bytes[4];
    FILE *file = fopen(path, "w");
    int fd;

    CHECK(file != NULL);
    fputs("some", file);
    fclose(file);
    CHECK_INT(symlink("opened", link), 0);
    CHECK_STATUS(file_open(link, &fd, &err), ASSAY_OK, &err);
    CHECK_INT(read(fd, bytes, sizeof bytes), 4);
    close(fd);
    CHECK_INT(file_open(test_path("none"), &fd, &err), ASSAY_NOT_FOUND);
}
