/* The ONNX project's cases on a device with memory of its own: what the host
 * computes, it computes, and whoever touches its memory from the host dies
 * here. FAR_CASE in the environment names one case to try. */
#include "backend/far.h"
#include "base/mem.h"
#include "test.h"
#include "verify/verify.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA "/usr/share/libonnx-testdata/data"

static int is_case(const struct dirent *entry)
{
    const char *only = getenv("FAR_CASE");

    return strncmp(entry->d_name, "test_", 5) == 0 &&
           (!only || strcmp(entry->d_name, only) == 0);
}

/* How many outputs are wrong; -1: it does not run. */
static int failures(const char *folder, const struct device *device)
{
    struct verify_options options = {
        .device = device, .n_threads = 1, .rtol = 1e-3, .atol = 1e-7};
    struct verify_report report = {0};
    struct error err = {0};
    char model[600];
    int n;

    snprintf(model, sizeof model, "%s/model.onnx", folder);
    n = verify_model(model, folder, &options, &report, &err)
            ? -1
            : (int)report.n_failed;
    verify_report_release(&report);
    return n;
}

/* Every so many-th case; returns how many ran. */
static int compare_cases(const char *folder, const char *refused, int step)
{
    struct far_device *far = far_device_new(refused);
    struct dirent **entries;
    int n_ran = 0, n_wrong = 0,
        n = scandir(folder, &entries, is_case, alphasort);

    for (int i = 0; i < n; i++) {
        char path[512];

        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (i % step == 0 && failures(path, NULL) == 0) {
            int got = failures(path, far_device(far));

            n_ran++;
            n_wrong += got != 0;
            if (got != 0)
                print_message("%s: %d\n", entries[i]->d_name, got);
        }
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    CHECK_INT(n_wrong, 0);
    far_device_free(far);
    return n_ran;
}

TEST(what_the_host_computes_of_onnx_is_computed_far_away)
{
    int n = compare_cases(DATA "/node", NULL, 1);

    if (n == 0)
        SKIP("libonnx-testdata is not installed");
    if (!getenv("FAR_CASE"))
        CHECK(n > 500);
}

TEST(what_a_device_refuses_of_onnx_runs_on_the_host)
{
    if (compare_cases(DATA "/node", "all", 7) == 0)
        SKIP("libonnx-testdata is not installed");
}
