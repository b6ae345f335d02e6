/* bench/int8_bench.c - quantised models, compared with ONNX Runtime: yolov8n as
 * ONNX Runtime quantises it, and a published MobileNetV2, in turn.
 * ASSAY_BENCH_PYTHON names a python3 that has onnxruntime and onnx.
 *
 * int8_bench [ROUNDS [THREADS]]: so many turns (41) with so many threads (2);
 * with one, other programs disturb less. */
#include "subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { path_size = 600 };

#define SHARED BENCH_SOURCE_DIR "/../shared/data/models/onnx/"

/* The names are those of files in a folder, which the peer knows, too. */
static const struct {
    const char *name, *shown;
    const char *published; /* linked as it is; NULL: the peer makes it */
} models[] = {
    {"dynamic", "yolov8n dynamic", NULL},
    {"qdq", "yolov8n qdq", NULL},
    {"qdq_per_channel", "yolov8n qdq_per_channel", NULL},
    {"mobilenetv2_qdq", "mobilenetv2 qdq", SHARED "mobilenetv2_qdq/model.onnx"},
};
enum { n_models = sizeof models / sizeof *models };

static const char source[] = SHARED "yolov8n/model.onnx"; /* of the first */

/* Against ONNX Runtime's time. */
static const double bar = 1.2;

/* What the caller asks for. */
struct int8_options {
    int n_rounds, n_threads;
};

static enum assay_status open_detector(struct subject *ours, const char *path,
                                       int n_threads, struct error *err)
{
    struct session_options options = {
        .model.name = path,
        .model.is_file = true,
        .model.build.n_images = 1,
        .vision.is_random = true,
        .n_threads = n_threads,
    };

    return subject_open(ours, &options, 1, 2, err);
}

static void show_row(const char *model, struct pairs *pairs)
{
    double ours, theirs, ratio = pairs_quiet_ratio(pairs, &ours, &theirs);
    char text[path_size];

    snprintf(text, sizeof text, "%s, ours", model);
    bench_note(text, ours * 1e3, "ms");
    snprintf(text, sizeof text, "%s, ONNX Runtime's", model);
    bench_note(text, theirs * 1e3, "ms");
    snprintf(text, sizeof text, "%s / ONNX Runtime's", model);
    bench_at_most(text, ratio, bar, "x");
}

static enum assay_status bench_row(const char *folder, size_t row,
                                   struct peer *peer,
                                   const struct int8_options *options,
                                   struct error *err)
{
    const char *model = models[row].name;
    struct pairs pairs = {0};
    struct subject ours;
    char path[path_size];
    enum assay_status st;

    snprintf(path, sizeof path, "%s/%s.onnx", folder, model);
    st = open_detector(&ours, path, options->n_threads, err);
    if (!st)
        st =
            subject_compare(&ours, peer, model, options->n_rounds, &pairs, err);
    if (!st)
        show_row(models[row].shown, &pairs);
    subject_release(&ours);
    return st;
}

static void remove_files(const char *folder)
{
    char path[path_size];

    for (size_t i = 0; i < n_models; i++) {
        snprintf(path, sizeof path, "%s/%s.onnx", folder, models[i].name);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/source.onnx", folder);
    unlink(path);
    rmdir(folder);
}

static enum assay_status bench_all(const char *folder,
                                   const struct int8_options *options,
                                   struct error *err)
{
    struct peer peer;
    enum assay_status st = peer_start(&peer, "int8_peer.py", folder, err);

    if (st)
        return st;
    for (size_t i = 0; !st && i < n_models; i++)
        st = bench_row(folder, i, &peer, options, err);
    peer_stop(&peer);
    return st;
}

/* Links what is there already into the folder. */
static bool link_files(const char *folder)
{
    char path[path_size];
    bool is_fine;

    snprintf(path, sizeof path, "%s/source.onnx", folder);
    is_fine = symlink(source, path) == 0;
    for (size_t i = 0; is_fine && i < n_models; i++) {
        snprintf(path, sizeof path, "%s/%s.onnx", folder, models[i].name);
        is_fine = !models[i].published || !symlink(models[i].published, path);
    }
    return is_fine;
}

int main(int argc, char **argv)
{
    const char *threads = argc > 2 ? argv[2] : "2";
    struct int8_options options = {
        .n_rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 41,
        .n_threads = (int)strtol(threads, NULL, 10)};
    char folder[] = "/var/tmp/assay-int8-XXXXXX";
    struct error err = {0};
    enum assay_status st;

    if (access(source, R_OK)) {
        printf("int8_bench: skipped: %s is missing\n", source);
        return 0;
    }
    if (!mkdtemp(folder)) {
        perror("int8_bench: a folder");
        return 1;
    }
    if (!link_files(folder)) {
        perror("int8_bench: the models");
        remove_files(folder);
        return 1;
    }
    setenv("ASSAY_BENCH_THREADS", threads, 1); /* the peer reads it */
    st = bench_all(folder, &options, &err);
    remove_files(folder);
    if (st == ASSAY_NOT_FOUND) {
        printf("int8_bench: skipped: onnxruntime is missing "
               "(ASSAY_BENCH_PYTHON)\n");
        return 0;
    }
    if (st)
        fprintf(stderr, "int8_bench: %s\n", err.text);
    return st ? 1 : bench_end();
}
