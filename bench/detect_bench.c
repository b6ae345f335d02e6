/* bench/detect_bench.c - Faster R-CNN and Mask R-CNN compared with PyTorch, on
 * the same photograph, weights and threads, in turn.
 *
 * detect_bench [ROUNDS]: so many turns (7). */
#include "detect_bench.h"

#include "bench.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void remove_folder(const char *folder)
{
    static const char *const names[] = {"square.jpg",
                                        "faster.pth",
                                        "mask.pth",
                                        "boxes.f32",
                                        "run.assay",
                                        "square_targets.jpg",
                                        "assay/kernels.txt",
                                        "kernels.txt",
                                        "assay",
                                        ""};
    char path[600];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        remove(path);
    }
}

int main(int argc, char **argv)
{
    int n_rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 7;
    const char *parent = getenv("TMPDIR");
    char folder[512];
    struct error err = {0};
    struct peer peer;
    enum assay_status st;

    snprintf(folder, sizeof folder, "%s/assay-bench-XXXXXX",
             parent ? parent : "/var/tmp");
    if (!mkdtemp(folder)) {
        perror("detect_bench: a temporary folder");
        return 1;
    }
    st = peer_start(&peer, "detect_peer.py", folder, &err);
    if (!st) {
        st = bench_start(folder, n_rounds, &err);
        if (!st)
            st = bench_ops(&peer, folder, 3 * n_rounds, &err);
        if (!st)
            st = bench_models(&peer, folder, n_rounds, &err);
        peer_stop(&peer);
    } else if (st == ASSAY_NOT_FOUND) {
        printf("detect_bench: skipped: %s\n", err.text);
        rmdir(folder);
        return 0;
    }
    remove_folder(folder);
    if (st)
        fprintf(stderr, "detect_bench: %s\n", err.text);
    return st ? 1 : bench_end();
}
