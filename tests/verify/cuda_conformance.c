/* tests/verify/cuda_conformance.c - the cases of the ONNX project's backend
 * tests on a GPU: whatever passes on the processors passes there too.
 *
 *     cuda_conformance FOLDER...
 *
 * FOLDER has the groups of cases: node, simple and so on. All cases run in one
 * process, since starting the GPU takes longer than most of them. Exits with 1
 * if a case passes on the processors only, and with 77 where there is no GPU or
 * no folder. */
#include "backend/backend.h"
#include "verify/verify.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const group_names[] = {"node", "pytorch-converted",
                                          "pytorch-operator", "simple"};

enum { n_groups = sizeof group_names / sizeof *group_names, said_bytes = 300 };

struct tally {
    int n, n_cpu, n_both, n_gpu_only;
};

static int is_case(const struct dirent *entry)
{
    return strncmp(entry->d_name, "test_", 5) == 0;
}

static bool passes(const char *folder, const struct device *device,
                   char said[said_bytes])
{
    struct verify_options options = {
        .device = device, .n_threads = 1, .rtol = 1e-3, .atol = 1e-7};
    struct verify_report report = {0};
    struct error err = {0};
    char model[600];
    bool is_pass;
    enum assay_status st;

    snprintf(model, sizeof model, "%s/model.onnx", folder);
    st = verify_model(model, folder, &options, &report, &err);
    is_pass = !st && !report.n_failed;
    snprintf(said, said_bytes, "%s", st ? err.text : "");
    for (size_t i = 0; !st && i < report.n_outputs; i++) {
        const struct verify_output *output = &report.outputs[i];

        if (!output->is_match)
            snprintf(said, said_bytes,
                     "output %.80s differs: %g instead of %g, %zu in all",
                     output->name, output->got, output->wanted,
                     output->n_different);
    }
    verify_report_release(&report);
    return is_pass;
}

/* False: the folder is not there. */
static bool run_group(const char *root, const char *group,
                      const struct device *gpu, struct tally *tally)
{
    struct dirent **entries;
    char folder[512], said[said_bytes];
    int n;

    snprintf(folder, sizeof folder, "%s/%s", root, group);
    n = scandir(folder, &entries, is_case, alphasort);
    if (n < 0)
        return false;
    for (int i = 0; i < n; i++) {
        bool on_cpu, on_gpu;

        snprintf(folder, sizeof folder, "%s/%s/%s", root, group,
                 entries[i]->d_name);
        on_cpu = passes(folder, device_cpu(), said);
        on_gpu = passes(folder, gpu, said);
        tally->n++;
        tally->n_cpu += on_cpu;
        tally->n_both += on_cpu && on_gpu;
        tally->n_gpu_only += on_gpu && !on_cpu;
        if (on_cpu && !on_gpu)
            printf("%s/%s: %s\n", group, entries[i]->d_name, said);
        free(entries[i]);
    }
    free(entries);
    return true;
}

int main(int argc, char **argv)
{
    const struct device *gpu;
    struct error err = {0};
    struct tally tally = {0};
    bool is_there = false;

    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (device_find("cuda:0", &gpu, &err)) {
        printf("skipped: %s\n", err.text);
        return 77;
    }
    for (int i = 1; i < argc; i++) {
        for (size_t g = 0; g < n_groups; g++)
            is_there |= run_group(argv[i], group_names[g], gpu, &tally);
    }
    if (!is_there) {
        printf("skipped: there is no folder of cases\n");
        return 77;
    }
    printf(
        "%d cases: %d pass on the processors, %d of those on %s, and %d only "
        "there\n",
        tally.n, tally.n_cpu, tally.n_both, gpu->name, tally.n_gpu_only);
    return tally.n_both < tally.n_cpu;
}
