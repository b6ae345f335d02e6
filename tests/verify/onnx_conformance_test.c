/* Runs every case of the ONNX project's backend tests with the code of `assay
 * verify`. Each case runs in a child process, so that a crash fails only that
 * case. docs/onnx.md lists the cases that fail; with CONFORMANCE_LIST in the
 * environment each prints why. */
#include "test.h"

#include "backend/backend.h"
#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "verify/verify.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEBIAN "/usr/share/libonnx-testdata/data"

enum { seconds_a_case = 20, said_bytes = 400 };

/* The result of a case. */
struct outcome {
    bool is_pass, is_crash;
    char said[said_bytes]; /* why it did not pass */
};

/* In the child: writes one line to the pipe and returns the exit code. */
static int try_case(const char *folder, int to)
{
    struct verify_options options = {
        .device = device_cpu(), .n_threads = 1, .rtol = 1e-3, .atol = 1e-7};
    struct verify_report report = {0};
    struct error err = {0};
    /* Of its own time: on a busy machine a case may wait for minutes. */
    static const struct rlimit limit = {seconds_a_case, seconds_a_case};
    long before = mem_live();
    bool is_failed;
    char model[600];
    enum assay_status st;

    setrlimit(RLIMIT_CPU, &limit);
    snprintf(model, sizeof model, "%s/model.onnx", folder);
    st = verify_model(model, folder, &options, &report, &err);
    if (st)
        dprintf(to, "%s", err.text);
    for (size_t i = 0; !st && i < report.n_outputs; i++) {
        const struct verify_output *output = &report.outputs[i];

        if (!output->is_match)
            dprintf(to, "output %s differs: %g instead of %g; ", output->name,
                    output->got, output->wanted);
    }
    is_failed = st || report.n_failed;
    verify_report_release(&report);
    if (mem_live() != before)
        abort();
    return is_failed;
}

static struct outcome run_case(const char *folder)
{
    struct outcome outcome = {0};
    int ends[2], status = 0;
    size_t n = 0;
    ssize_t got;
    pid_t child;

    CHECK_INT(pipe(ends), 0);
    fflush(stdout);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        close(ends[0]);
        _exit(try_case(folder, ends[1]));
    }
    close(ends[1]);
    while ((got = read(ends[0], outcome.said + n, said_bytes - 1 - n)) > 0)
        n += (size_t)got;
    close(ends[0]);
    waitpid(child, &status, 0);
    outcome.is_pass = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    outcome.is_crash = WIFSIGNALED(status);
    if (outcome.is_crash)
        snprintf(outcome.said, said_bytes, "ended by signal %d",
                 WTERMSIG(status));
    return outcome;
}

static int is_case(const struct dirent *entry)
{
    return strncmp(entry->d_name, "test_", 5) == 0;
}

struct counts {
    int n, passed, crashed;
};

/* From names of cases to what is known about them. */
enum { FAILED = 1, LISTED = 2, RAN = 4 };
static struct map cases;
static char *names[1 << 13];
static size_t n_names;

static void note_case(const char *name, uint64_t what)
{
    uint64_t known = 0;

    if (!map_find_text(&cases, name, &known)) {
        CHECK(n_names < sizeof names / sizeof *names);
        names[n_names++] = strdup(name);
    }
    CHECK_INT(map_put_text(&cases, name, known | what), ASSAY_OK);
}

static struct counts run_group(const char *root, const char *group)
{
    bool is_listed = getenv("CONFORMANCE_LIST");
    struct counts counts = {0};
    struct dirent **entries;
    char folder[512];

    snprintf(folder, sizeof folder, "%s/%s", root, group);
    counts.n = scandir(folder, &entries, is_case, alphasort);
    for (int i = 0; i < counts.n; i++) {
        struct outcome outcome;

        snprintf(folder, sizeof folder, "%s/%s/%s", root, group,
                 entries[i]->d_name);
        outcome = run_case(folder);
        counts.passed += outcome.is_pass;
        counts.crashed += outcome.is_crash;
        note_case(entries[i]->d_name, outcome.is_pass ? RAN : RAN | FAILED);
        if (is_listed || outcome.is_crash)
            printf("%s/%s: %s\n", group, entries[i]->d_name,
                   outcome.is_pass ? "pass" : outcome.said);
        free(entries[i]);
    }
    free(entries);
    printf("conformance  %-18s %d of %d\n", group, counts.passed, counts.n);
    return counts;
}

/* Reads every `test_...` after the heading of the list. */
static void read_list(void)
{
    static const char heading[] = "## Cases that do not pass";
    struct error err = {0};
    struct str page = {0};
    const char *at;

    CHECK_STATUS(
        file_read(TEST_SOURCE_DIR "/docs/onnx.md", 1 << 20, &page, &err),
        ASSAY_OK, &err);
    at = strstr(page.text, heading);
    CHECK(at != NULL);
    while ((at = strstr(at, "`test_")) != NULL) {
        size_t n = strcspn(at + 1, "`");
        char name[128];

        snprintf(name, sizeof name, "%.*s", (int)n, at + 1);
        note_case(name, LISTED);
        at += n + 1;
    }
    str_release(&page);
}

/* Every case that fails is in the list, and with all data there, every case of
 * the list fails in some of it. */
static void check_list(bool has_all)
{
    int wrong = 0;

    for (size_t i = 0; i < n_names; i++) {
        uint64_t known = 0;

        map_find_text(&cases, names[i], &known);
        if ((known & (FAILED | LISTED)) == FAILED ||
            (has_all && !(known & FAILED) && known & LISTED)) {
            wrong++;
            printf("docs/onnx.md is wrong about %s, which %s\n", names[i],
                   known & FAILED ? "fails"
                   : known & RAN  ? "passes"
                                  : "does not exist");
        }
    }
    CHECK_INT(wrong, 0);
}

static const char *const groups[] = {"node", "pytorch-converted",
                                     "pytorch-operator", "simple"};

enum { n_groups = sizeof groups / sizeof *groups };

/* How many passed last time; fewer is a regression. The number of cases
 * identifies the version of the data. */
static const struct {
    int n_cases[n_groups], floors[n_groups];
} versions[] = {
    {{932, 82, 35, 23}, {907, 82, 35, 21}},   /* 1.12, of Debian 12 */
    {{1288, 82, 35, 23}, {535, 82, 35, 7}},   /* 1.17, of Debian 13 */
    {{1765, 82, 35, 23}, {1701, 82, 35, 21}}, /* 1.22 */
};

static void check_floors(const struct counts *counts)
{
    for (size_t v = 0; v < sizeof versions / sizeof *versions; v++) {
        if (counts[0].n != versions[v].n_cases[0])
            continue;
        for (size_t i = 0; i < n_groups; i++) {
            CHECK_INT(counts[i].n, versions[v].n_cases[i]);
            CHECK(counts[i].passed >= versions[v].floors[i]);
        }
    }
}

TEST(the_cases_of_the_onnx_project_pass)
{
    const char *const roots[] = {DEBIAN, test_shared("onnx-backend-1.22")};
    enum { n_roots = sizeof roots / sizeof *roots };
    size_t n_found = 0;

    for (size_t r = 0; r < n_roots; r++) {
        struct counts counts[n_groups];

        if (!roots[r] || access(roots[r], R_OK))
            continue;
        printf("conformance  %s\n", roots[r]);
        n_found++;
        for (size_t i = 0; i < n_groups; i++) {
            counts[i] = run_group(roots[r], groups[i]);
            CHECK_INT(counts[i].crashed, 0);
            CHECK(counts[i].passed > 0);
        }
        check_floors(counts);
    }
    if (!n_found)
        SKIP("neither libonnx-testdata nor ../shared/data is there");
    read_list();
    check_list(n_found == n_roots);
    for (size_t i = 0; i < n_names; i++)
        free(names[i]);
    map_release(&cases);
}
