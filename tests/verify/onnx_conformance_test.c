/* Every case of the ONNX project's own backend tests, as Debian packages them,
 * through the code of `assay verify`. A case runs in a child of its own, so
 * that a crash is one case that does not pass. `onnx_conformance_test --list
 * [GROUP]` prints what each case says. */
#include "test.h"

#include "backend/backend.h"
#include "base/str.h"
#include "verify/verify.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DATA "/usr/share/libonnx-testdata/data"

enum { seconds_a_case = 20, said_bytes = 400 };

/* What a case came to. */
struct outcome {
    bool is_pass, is_crash;
    char said[said_bytes]; /* why it did not pass */
};

/* In the child: one line to the pipe, and the exit code. */
static int try_case(const char *folder, int to)
{
    struct verify_options options = {
        .backend = backend_best(), .n_threads = 1, .rtol = 1e-3, .atol = 1e-7};
    struct verify_report report = {0};
    struct error err = {0};
    struct str model = {0};
    enum assay_status st = str_printf(&model, "%s/model.onnx", folder);

    alarm(seconds_a_case);
    if (!st)
        st = verify_model(model.text, folder, &options, &report, &err);
    if (st)
        dprintf(to, "%s", err.text);
    for (size_t i = 0; !st && i < report.n_outputs; i++) {
        const struct verify_output *output = &report.outputs[i];

        if (!output->is_match)
            dprintf(to, "output %s differs: %g instead of %g; ", output->name,
                    output->got, output->wanted);
    }
    return st || report.n_failed ? 1 : 0;
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

static struct counts run_group(const char *group, bool is_listed)
{
    struct counts counts = {0};
    struct dirent **entries;
    char folder[512];

    snprintf(folder, sizeof folder, DATA "/%s", group);
    counts.n = scandir(folder, &entries, is_case, alphasort);
    for (int i = 0; i < counts.n; i++) {
        struct outcome outcome;

        snprintf(folder, sizeof folder, DATA "/%s/%s", group,
                 entries[i]->d_name);
        outcome = run_case(folder);
        counts.passed += outcome.is_pass;
        counts.crashed += outcome.is_crash;
        if (is_listed || outcome.is_crash)
            printf("%s/%s: %s\n", group, entries[i]->d_name,
                   outcome.is_pass ? "pass" : outcome.said);
        free(entries[i]);
    }
    free(entries);
    printf("conformance  %-18s %d of %d\n", group, counts.passed, counts.n);
    return counts;
}

static const struct {
    const char *name;
    int floor;
} groups[] = {
    {"node", 1},
    {"pytorch-converted", 1},
    {"pytorch-operator", 1},
    {"simple", 1},
};

TEST(the_cases_of_the_onnx_project_pass)
{
    if (access(DATA, R_OK))
        SKIP("libonnx-testdata is not installed");
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        const char *only = getenv("CONFORMANCE_GROUP");
        struct counts counts;

        if (only && strcmp(only, groups[i].name) != 0)
            continue;
        counts = run_group(groups[i].name, getenv("CONFORMANCE_LIST"));
        CHECK_INT(counts.crashed, 0);
        CHECK(counts.passed >= groups[i].floor);
    }
}
