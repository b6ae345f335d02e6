/* Downloads from a loopback server that behaves and misbehaves. */
#include "base/file.h"
#include "base/md5.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "formats/weights/download.h"
#include "formats/weights/published.h"
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { n_bytes = 100000 };

static struct error err;

/* ---- the server ------------------------------------------------------- */

static void run_server(const int to[2], const int from[2])
{
    dup2(to[0], STDIN_FILENO);
    dup2(from[1], STDOUT_FILENO);
    close(to[1]);
    close(from[0]);
    execl("/usr/bin/python3", "python3",
          TEST_SOURCE_DIR "/tests/formats/file_server.py", test_path("."),
          (char *)NULL);
    _exit(127);
}

/* Its port. It lives until the end of this process closes the pipe. */
static int server_port(void)
{
    static int port = -1;
    int to[2], from[2];
    char line[16] = "";
    FILE *answers;

    if (access("/usr/bin/python3", X_OK))
        SKIP("python3: no /usr/bin/python3 to serve files");
    if (port > 0)
        return port;
    setenv("no_proxy", "127.0.0.1", 1);
    test_path("."); /* makes the folder */
    CHECK(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
    if (fork() == 0)
        run_server(to, from);
    close(from[1]);
    close(to[0]);
    answers = fdopen(from[0], "r");
    CHECK(answers && fgets(line, sizeof line, answers));
    fclose(answers);
    port = (int)strtol(line, NULL, 10);
    CHECK(port > 0);
    return port;
}

/* What it serves, and its hash. */
static char *content(size_t n)
{
    char *bytes = malloc(n);

    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)(i * i % 251);
    return bytes;
}

static const char *content_hash(size_t n)
{
    static char hex[SHA256_HEX];
    char *bytes = content(n);
    struct sha256 sha;

    sha256_init(&sha);
    sha256_update(&sha, bytes, n);
    sha256_finish(&sha, hex);
    free(bytes);
    return hex;
}

/* ---- asking it -------------------------------------------------------- */

static const char *file_path(const char *name)
{
    static char path[512];

    snprintf(path, sizeof path, "%s", test_path(name));
    return path;
}

static enum assay_status get(const char *how, const char *path,
                             const char *digits)
{
    char url[128];

    err = (struct error){0};
    snprintf(url, sizeof url, "http://127.0.0.1:%d/%s", server_port(), how);
    return download_file(
        &(struct download){.url = url, .path = path, .sha256_digits = digits},
        &err);
}

static bool is_there(const char *path, const char *suffix)
{
    char name[600];

    snprintf(name, sizeof name, "%s%s", path, suffix);
    return access(name, F_OK) == 0;
}

static void check_whole(const char *path)
{
    char *wanted = content(n_bytes);
    struct str got = {0};

    CHECK_STATUS(file_read(path, n_bytes, &got, &err), ASSAY_OK, &err);
    CHECK_INT(got.n, n_bytes);
    CHECK_INT(memcmp(got.text, wanted, n_bytes), 0);
    CHECK(!is_there(path, ".part"));
    str_release(&got);
    free(wanted);
}

/* Whether the server was asked for this path from this byte on. */
static bool was_asked(const char *line)
{
    struct str requests = {0};
    bool was;

    CHECK_INT(file_read(test_path("requests"), 1 << 16, &requests, &err),
              ASSAY_OK);
    was = strstr(requests.text, line) != NULL;
    str_release(&requests);
    return was;
}

static void write_part(const char *path, size_t n, char first)
{
    char name[600], *bytes = content(n);
    FILE *file;

    snprintf(name, sizeof name, "%s.part", path);
    file = fopen(name, "wb");
    bytes[0] = first;
    CHECK_INT(fwrite(bytes, 1, n, file), n);
    fclose(file);
    free(bytes);
}

TEST(a_file_is_fetched_and_its_folders_are_made)
{
    const char *path = file_path("one/two/whole.bin");

    CHECK_STATUS(get("good/100000", path, content_hash(n_bytes)), ASSAY_OK,
                 &err);
    check_whole(path);
}

TEST(a_redirect_is_followed)
{
    const char *path = file_path("moved.bin");

    CHECK_STATUS(get("moved/100000", path, content_hash(n_bytes)), ASSAY_OK,
                 &err);
    check_whole(path);
}

TEST(an_interrupted_download_continues_where_it_ended)
{
    const char *path = file_path("cut.bin");

    CHECK_INT(get("cut/100000", path, content_hash(n_bytes)), ASSAY_IO);
    CHECK_HAS(err.text, "run the command again to continue");
    CHECK(is_there(path, ".part") && !is_there(path, ""));
    CHECK_STATUS(get("cut/100000", path, content_hash(n_bytes)), ASSAY_OK,
                 &err);
    CHECK(was_asked("/cut/100000 bytes=50000-"));
    check_whole(path);
}

TEST(a_server_without_ranges_is_asked_for_the_whole_file)
{
    const char *path = file_path("again.bin");

    server_port();
    write_part(path, 300, 0);
    CHECK_STATUS(get("whole/100000", path, content_hash(n_bytes)), ASSAY_OK,
                 &err);
    CHECK(was_asked("/whole/100000 bytes=300-"));
    check_whole(path);
}

TEST(a_complete_part_becomes_the_file)
{
    const char *path = file_path("ready.bin");

    server_port();
    write_part(path, 70000, 0);
    CHECK_STATUS(get("good/70000", path, content_hash(70000)), ASSAY_OK, &err);
    CHECK(is_there(path, "") && !is_there(path, ".part"));
    CHECK(was_asked("/good/70000 bytes=70000-"));
    CHECK(!was_asked("/good/70000 -"));
}

TEST(a_part_that_is_too_long_is_discarded)
{
    const char *path = file_path("long.bin");

    server_port();
    write_part(path, n_bytes + 7, 0);
    CHECK_STATUS(get("good/100000", path, content_hash(n_bytes)), ASSAY_OK,
                 &err);
    check_whole(path);
}

TEST(a_wrong_hash_is_refused_and_nothing_is_kept)
{
    const char *path = file_path("wrong.bin");

    CHECK_INT(get("good/100000", path, "00000000"), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "instead of 00000000...; it was removed");
    CHECK(!is_there(path, "") && !is_there(path, ".part"));
}

TEST(a_damaged_part_is_detected_by_the_hash)
{
    const char *path = file_path("damaged.bin");

    server_port();
    write_part(path, 300, 'x');
    CHECK_INT(get("good/100000", path, content_hash(n_bytes)), ASSAY_BAD_INPUT);
    CHECK(!is_there(path, ".part"));
    CHECK_STATUS(get("good/100000", path, content_hash(n_bytes)), ASSAY_OK,
                 &err);
    check_whole(path);
}

/* With a known size of the file. */
static enum assay_status get_sized(const char *how, const char *path,
                                   uint64_t bytes)
{
    char url[128];

    err = (struct error){0};
    snprintf(url, sizeof url, "http://127.0.0.1:%d/%s", server_port(), how);
    return download_file(
        &(struct download){.url = url,
                           .path = path,
                           .sha256_digits = content_hash(n_bytes),
                           .least_bytes = bytes,
                           .most_bytes = bytes},
        &err);
}

TEST(a_file_of_the_known_size_is_fetched)
{
    const char *path = file_path("sized.bin");

    CHECK_STATUS(get_sized("good/100000", path, n_bytes), ASSAY_OK, &err);
    check_whole(path);
    CHECK_INT(unlink(path), 0);
    write_part(path, n_bytes, 0); /* which becomes the file */
    CHECK_STATUS(get_sized("good/100000", path, n_bytes), ASSAY_OK, &err);
    check_whole(path);
}

TEST(a_file_announced_as_larger_is_not_started)
{
    const char *path = file_path("larger.bin");

    CHECK_INT(get_sized("good/100000", path, 99000), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "larger than the expected 99000 bytes");
    CHECK(!is_there(path, "") && !is_there(path, ".part"));
}

TEST(a_server_that_never_stops_does_not_fill_the_disk)
{
    const char *path = file_path("endless.bin");

    CHECK_INT(get_sized("endless/100000", path, n_bytes), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "larger than the expected 100000 bytes");
    CHECK(!is_there(path, "") && !is_there(path, ".part"));
}

TEST(a_file_that_is_too_short_is_refused_and_names_both_sizes)
{
    const char *path = file_path("short.bin");

    CHECK_INT(get_sized("good/70000", path, n_bytes), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "sent 70000 bytes instead of 100000");
    CHECK(!is_there(path, "") && !is_there(path, ".part"));
}

TEST(a_part_of_a_larger_file_is_discarded)
{
    const char *path = file_path("other.bin");

    server_port();
    write_part(path, n_bytes + 700, 0);
    CHECK_STATUS(get_sized("good/100000", path, n_bytes), ASSAY_OK, &err);
    check_whole(path);
}

TEST(every_published_hash_begins_with_the_digits_in_its_name)
{
    for (const struct published *p = published_weights; p->model; p++) {
        char name[PUBLISHED_HASH_DIGITS + 1], all[SHA256_HEX];
        uint64_t least, most;

        published_hash(p, name);
        published_digits(p, all);
        CHECK_INT(strncmp(all, name, PUBLISHED_HASH_DIGITS), 0);
        CHECK_INT(strspn(all, "0123456789abcdef"), strlen(all));
        CHECK_INT(strlen(all), p->sha256                             ? 64
                               : strcmp(p->model, "mnasnet1_0") == 0 ? 10
                                                                     : 8);
        published_size(p, &least, &most);
        CHECK(least < most && most - least < 2000);
    }
}

/* Sizes counted by people who fetched the files. */
TEST(published_sizes_include_the_real_sizes)
{
    static const struct {
        const char *file;
        uint64_t bytes;
    } known[] = {{"resnet50-0676ba61.pth", 102530333},
                 {"fasterrcnn_resnet50_fpn_coco-258fb6c6.pth", 167502836},
                 {"alexnet-owt-7be5be79.pth", 244408911},
                 {"vgg19_bn-c79401a0.pth", 574769405}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct published *found = published_find(known[i].file);
        uint64_t least, most;

        CHECK(found);
        published_size(found, &least, &most);
        CHECK(least <= known[i].bytes && known[i].bytes <= most);
    }
}

TEST(a_file_that_the_server_lacks_says_404)
{
    const char *path = file_path("none.bin");

    CHECK_INT(get("nothing", path, "00"), ASSAY_NOT_FOUND);
    CHECK_HAS(err.text, "/nothing does not exist (HTTP 404)");
    CHECK(!is_there(path, ".part"));
}

TEST(without_a_network_the_message_says_what_to_do)
{
    struct download download = {.url = "http://127.0.0.1:1/file",
                                .path = file_path("away.bin"),
                                .sha256_digits = "00",
                                .otherwise = "put it there"};

    err = (struct error){0};
    setenv("no_proxy", "127.0.0.1", 1);
    CHECK_INT(download_file(&download, &err), ASSAY_NOT_FOUND);
    CHECK_HAS(err.text, "cannot reach http://127.0.0.1:1/file; without a "
                        "network, fetch it on another machine and put it "
                        "there");
}

TEST(a_file_can_also_be_checked_by_its_md5)
{
    char url[128], hex[MD5_HEX], *bytes = content(n_bytes);
    struct download download = {
        .url = url, .path = file_path("md5.bin"), .md5_digits = hex};
    struct md5 md5;

    md5_init(&md5);
    md5_update(&md5, bytes, n_bytes);
    md5_finish(&md5, hex);
    free(bytes);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/good/%d", server_port(),
             n_bytes);
    err = (struct error){0};
    CHECK(!download_is_whole(&download));
    CHECK_STATUS(download_file(&download, &err), ASSAY_OK, &err);
    check_whole(download.path);
    CHECK(download_is_whole(&download));
    hex[0] ^= 1;
    CHECK(!download_is_whole(&download));
    CHECK_INT(download_file(&download, &err), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "has MD5");
}

/* A process that fetches it and exits with the status. */
static pid_t start_get(const char *how, const char *path)
{
    pid_t pid = fork();

    CHECK(pid >= 0);
    if (pid == 0)
        _exit((int)get(how, path, content_hash(n_bytes)));
    return pid;
}

/* Until the part has that many bytes. */
static void wait_for_part(const char *path, off_t n)
{
    struct stat info = {0};
    char name[600];

    snprintf(name, sizeof name, "%s.part", path);
    while (stat(name, &info) || info.st_size < n)
        usleep(1000);
}

/* With nothing or a half fetched: the second process learns which one fetches,
 * and does not disturb it. */
static void check_second(const char *how, const char *path, off_t n)
{
    char words[80];
    int status;
    pid_t first;

    server_port();
    first = start_get(how, path);
    wait_for_part(path, n);
    /* It asks the server only after it has claimed the part. */
    while (access(test_path("requests"), F_OK) || !was_asked(how))
        usleep(1000);
    CHECK_INT(get(how, path, content_hash(n_bytes)), ASSAY_IO);
    snprintf(words, sizeof words, "another process (pid %ld) is fetching",
             (long)first);
    CHECK_HAS(err.text, words);
    CHECK(is_there(path, ".part"));
    fclose(fopen(test_path("go"), "w"));
    CHECK_INT(waitpid(first, &status, 0), first);
    CHECK_INT(status, 0);
    check_whole(path);
    CHECK_INT(unlink(test_path("go")), 0);
}

TEST(a_download_that_another_process_has_started_is_left_to_it)
{
    check_second("wait/100000", file_path("begun.bin"), 0);
}

TEST(a_download_that_another_process_is_in_the_middle_of_is_left_to_it)
{
    check_second("half/100000", file_path("middle.bin"), n_bytes / 2);
}

/* A killed process leaves its part, but no lock. */
TEST(a_download_continues_after_its_process_was_killed)
{
    const char *path = file_path("killed.bin");
    pid_t first;

    server_port();
    first = start_get("half/100000", path);
    wait_for_part(path, n_bytes / 2);
    CHECK_INT(kill(first, SIGKILL), 0);
    CHECK_INT(waitpid(first, NULL, 0), first);
    CHECK_STATUS(get("good/100000", path, content_hash(n_bytes)), ASSAY_OK,
                 &err);
    CHECK(was_asked("/good/100000 bytes=50000-"));
    check_whole(path);
}

/* Eight at once: one fetches, and no other fails for another reason. */
TEST(of_many_processes_one_fetches_and_the_others_say_so)
{
    enum { n_processes = 8 };
    const char *path = file_path("many.bin");
    pid_t pids[n_processes];
    int n_good = 0;

    server_port();
    for (int i = 0; i < n_processes; i++)
        pids[i] = start_get("good/100000", path);
    for (int i = 0; i < n_processes; i++) {
        int status;

        CHECK_INT(waitpid(pids[i], &status, 0), pids[i]);
        CHECK(WIFEXITED(status));
        CHECK(WEXITSTATUS(status) == ASSAY_OK ||
              WEXITSTATUS(status) == ASSAY_IO);
        n_good += WEXITSTATUS(status) == ASSAY_OK;
    }
    CHECK(n_good >= 1);
    check_whole(path);
}

TEST(a_pipe_instead_of_a_part_is_refused)
{
    const char *path = file_path("piped.bin");

    server_port();
    CHECK_INT(mkfifo(test_path("piped.bin.part"), 0600), 0);
    CHECK_INT(get("good/100000", path, content_hash(n_bytes)), ASSAY_IO);
    CHECK_HAS(err.text, "not a regular file");
}

TEST(a_path_that_cannot_be_written_is_named)
{
    CHECK_INT(get("good/100000", "/proc/nowhere/file.bin", "00"),
              ASSAY_NOT_FOUND);
    CHECK_HAS(err.text, "cannot make the folder /proc/nowhere");
}
