/* tests/store/torch_trace_test.c - PyTorch's own table and the import of its
 * trace agree on every operator. */
#include "base/str.h"
#include "store/import.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The time of one name, wherever it is in the tree. */
struct sums {
    uint64_t calls;
    double total_us, self_us;
};

static struct sums sums_of(const struct run *run, const char *name)
{
    struct sums sums = {0};

    for (size_t i = 0; i < run_cell_count(run); i++) {
        const struct cell *cell = run_cell(run, i);

        if (strcmp(run_scope(run, cell->scope)->name, name) != 0)
            continue;
        sums.calls += cell->calls.n;
        sums.total_us += (double)cell->total_ns / 1e3;
        sums.self_us += (double)cell->self_ns / 1e3;
    }
    return sums;
}

/* PyTorch's name for all iterations together is our root. */
static const char *scope_name(const struct run *run, const char *key)
{
    return strcmp(key, "ProfilerStep*") ? key : run_scope(run, RUN_ROOT)->name;
}

struct row {
    char *key;
    struct sums sums;
    double slack_us; /* see make_torch_trace.py */
};

static struct row parse_row(char *line)
{
    struct row row = {.key = line};
    char *tab = strchr(line, '\t');
    unsigned long calls;

    CHECK(tab != NULL);
    *tab = '\0';
    CHECK_INT(sscanf(tab + 1, "%lu %lf %lf %lf", &calls, &row.sums.total_us,
                     &row.sums.self_us, &row.slack_us),
              4);
    row.sums.calls = calls;
    return row;
}

/* Both are made of the same microseconds, whole ones or, in later versions,
 * with three decimals. Returns how many rows had to agree exactly. */
static size_t check_table(const struct run *run, const char *path)
{
    FILE *table = fopen(path, "r");
    char line[4096];
    size_t n_exact = 0;

    CHECK(table != NULL);
    while (fgets(line, sizeof line, table)) {
        struct row row = parse_row(line);
        struct sums sums = sums_of(run, scope_name(run, row.key));

        if (sums.calls != row.sums.calls ||
            fabs(sums.total_us - row.sums.total_us) > 0.001)
            print_error("%s differs\n", row.key);
        CHECK_INT(sums.calls, row.sums.calls);
        CHECK_NEAR(sums.total_us, row.sums.total_us, 0.001);
        /* A child that begins in the microsecond in which its parent ends is
         * one for us and none for PyTorch: two of those in a row of the table
         * is more than was ever seen. */
        CHECK_NEAR(sums.self_us, row.sums.self_us, row.slack_us + 2.001);
        n_exact += row.slack_us == 0;
    }
    fclose(table);
    return n_exact;
}

enum { no_torch = 77, no_python = 127 };

/* Makes the traces once; SKIPs without PyTorch. */
static const char *torch_folder(void)
{
    static const char script[] =
        TEST_SOURCE_DIR "/tests/store/make_torch_trace.py";
    const char *folder = test_path("torch");
    struct stat info;
    char command[2048];
    int status;

    if (stat(folder, &info) == 0)
        return folder;
    CHECK_INT(mkdir(folder, 0700), 0);
    snprintf(command, sizeof command, "/usr/bin/python3 %s %s", script, folder);
    status = system(command);
    if (WIFEXITED(status) &&
        (WEXITSTATUS(status) == no_torch || WEXITSTATUS(status) == no_python)) {
        rmdir(folder);
        SKIP("torch: /usr/bin/python3 has no torch (Debian: python3-torch)");
    }
    CHECK_INT(status, 0);
    return folder;
}

static void check_trace(const char *name)
{
    const char *folder = torch_folder();
    struct error err = {0};
    char path[1024];
    struct run *run;

    snprintf(path, sizeof path, "%s/%s.json", folder, name);
    CHECK_STATUS(import_trace(path, NULL, &run, &err), ASSAY_OK, &err);
    snprintf(path, sizeof path, "%s/%s.tsv", folder, name);
    CHECK(check_table(run, path) >= 10);
    if (strcmp(name, "profiler") == 0)
        CHECK_INT(run_iteration_count(run), 4);
    run_free(run);
}

TEST(the_profiler_s_table_and_its_imported_trace_agree)
{
    check_trace("profiler");
}

TEST(the_autograd_profiler_s_table_and_its_imported_trace_agree)
{
    check_trace("autograd");
}
