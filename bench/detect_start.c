/* bench/detect_start.c - from the prompt to the finished screen, compared with
 * a script that prints what torchvision finds. */
#include "bench.h"
#include "detect_bench.h"

#include <stdlib.h>
#include <unistd.h>

struct paths {
    char photo[600], weights[600], run[600], choices[600];
};

static enum assay_status run_ours(const struct paths *paths, const char *folder,
                                  struct child_cost *cost, struct error *err)
{
    const char *words[] = {
        BENCH_ASSAY,    "run",     "faster-rcnn", paths->photo, "--weights",
        paths->weights, "--iters", "1",           "--warmup",   "0",
        "--threads",    "2",       "--output",    paths->run,   "--drawn",
        folder,         NULL};

    return child_run(words, cost, err);
}

static enum assay_status run_theirs(const struct paths *paths,
                                    struct child_cost *cost, struct error *err)
{
    const char *words[] = {"/usr/bin/python3",
                           BENCH_SOURCE_DIR "/bench/detect_minimal.py",
                           paths->weights, paths->photo, NULL};

    return child_run(words, cost, err);
}

enum assay_status bench_start(const char *folder, int n_rounds,
                              struct error *err)
{
    struct pairs first = {0}, again = {0}, memory = {0};
    enum assay_status st = ASSAY_OK;
    struct paths paths;

    snprintf(paths.photo, sizeof paths.photo, "%s/square.jpg", folder);
    snprintf(paths.weights, sizeof paths.weights, "%s/faster.pth", folder);
    snprintf(paths.run, sizeof paths.run, "%s/run.assay", folder);
    snprintf(paths.choices, sizeof paths.choices, "%s/assay/kernels.txt",
             folder);
    setenv("XDG_CACHE_HOME", folder, 1);
    for (int i = 0; !st && i < n_rounds; i++) {
        struct child_cost tuned, remembered, theirs;

        unlink(paths.choices);
        st = run_ours(&paths, folder, &tuned, err);
        if (!st)
            st = run_theirs(&paths, &theirs, err);
        if (!st)
            st = run_ours(&paths, folder, &remembered, err);
        if (st)
            break;
        pairs_add(&first, tuned.seconds, theirs.seconds);
        pairs_add(&again, remembered.seconds, theirs.seconds);
        pairs_add(&memory, remembered.peak_bytes, theirs.peak_bytes);
    }
    if (st)
        return st;
    bench_ratio("first run on a machine", &first, 1.5, 1, "s");
    bench_ratio("prompt to screen", &again, 0.4, 1, "s");
    bench_ratio("peak memory for one image", &memory, 0.6, 0x1p-20, "MiB");
    return ASSAY_OK;
}
