/* From the prompt to the first output of a 170 MB ONNX file, compared with
 * importing PyTorch, before it has read anything. */
#include "bench.h"
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { n_rounds = 7 };

static enum assay_status make_model(const char *folder, struct error *err)
{
    const char *words[] = {"/usr/bin/python3",
                           BENCH_SOURCE_DIR "/bench/onnx_model.py", folder,
                           NULL};
    struct child_cost cost;

    return child_run(words, &cost, err);
}

static enum assay_status measure(const char *folder, struct error *err)
{
    const char *ours[] = {BENCH_ASSAY, "verify", folder,
                          "--threads", "2",      NULL};
    const char *theirs[] = {"/usr/bin/python3", "-c", "import torch", NULL};
    struct pairs seconds = {0};
    enum assay_status st = ASSAY_OK;

    for (int i = 0; !st && i < n_rounds; i++) {
        struct child_cost a, b;

        st = child_run(ours, &a, err);
        if (!st)
            st = child_run(theirs, &b, err);
        if (!st)
            pairs_add(&seconds, a.seconds, b.seconds);
    }
    if (!st) {
        double a, b, ratio = pairs_ratio(&seconds, &a, &b);

        bench_note("170 MB of ONNX to its output", a, "s");
        bench_note("import torch", b, "s");
        bench_at_most("170 MB of ONNX to its output / import torch", ratio, 0.5,
                      "x");
    }
    return st;
}

static void remove_files(const char *folder)
{
    static const char *const names[] = {
        "model.onnx", "test_data_set_0/input_0.pb",
        "test_data_set_0/output_0.pb", "test_data_set_0", ""};
    char path[600];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        if (unlink(path))
            rmdir(path);
    }
}

int main(void)
{
    char folder[] = "/var/tmp/assay-onnx-XXXXXX";
    struct error err = {0};
    enum assay_status st;

    if (!mkdtemp(folder)) {
        perror("onnx_bench: a folder");
        return 1;
    }
    st = make_model(folder, &err);
    if (!st)
        st = measure(folder, &err);
    remove_files(folder);
    if (st == ASSAY_NOT_FOUND) {
        printf("onnx_bench: skipped: %s\n", err.text);
        return 0;
    }
    if (st) {
        fprintf(stderr, "onnx_bench: %s\n", err.text);
        return 1;
    }
    return bench_end();
}
