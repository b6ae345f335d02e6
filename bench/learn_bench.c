/* bench/learn_bench.c - whether a small detector learns, and how fast: trained
 * on synthetic shapes, evaluated on others.
 *
 *   learn_bench [DEVICE [PRECISION]]     cpu and auto unless given */
#include "bench.h"
#include "peer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char model[] = "fasterrcnn_resnet18_fpn";
static const char steps[] = "160";

static const char *program(void)
{
    const char *other = getenv("ASSAY_BENCH_ASSAY"); /* built elsewhere */

    return other ? other : BENCH_ASSAY;
}

/* Seconds of the training, which leaves its weights next to the run. */
static enum assay_status train(const char *device, const char *precision,
                               const char *run, double *seconds,
                               struct error *err)
{
    const char *words[] = {program(),
                           "train",
                           "--synthetic",
                           "--min-size",
                           "128",
                           "--batch",
                           "4",
                           "--steps",
                           steps,
                           "--set",
                           "model.name=fasterrcnn_resnet18_fpn",
                           "--set",
                           "optimizer.learning_rate=0.02",
                           "--device",
                           device,
                           "--precision",
                           precision,
                           "-o",
                           run,
                           NULL};
    struct child_cost cost;
    enum assay_status st = child_run(words, &cost, err);

    *seconds = cost.seconds;
    return st;
}

/* mAP@.5 on a hundred unseen images. */
static enum assay_status evaluate(const char *weights, double *map_50,
                                  struct error *err)
{
    char command[512], line[4096];
    FILE *from;

    *map_50 = -1;
    snprintf(command, sizeof command,
             "%s metrics %s --weights %s --classes 4 --min-size 128 "
             "--dataset synthetic --limit 100 --only eval_map_50 --csv",
             program(), model, weights);
    from = popen(command, "r");
    if (!from)
        return error_set(err, ASSAY_IO, "cannot start assay metrics");
    while (fgets(line, sizeof line, from)) {
        if (strncmp(line, "eval_map_50,", 12) == 0)
            *map_50 = strtod(strchr(line + 12, ',') + 1, NULL);
    }
    if (pclose(from) || *map_50 < 0)
        return error_set(err, ASSAY_BAD_INPUT,
                         "assay metrics printed no mAP@.5");
    return ASSAY_OK;
}

int main(int argc, char **argv)
{
    const char *device = argc > 1 ? argv[1] : "cpu";
    const char *precision = argc > 2 ? argv[2] : "auto";
    char folder[] = "/var/tmp/assay-learn-XXXXXX";
    char run[64], weights[64];
    double seconds = 0, map_50 = 0;
    struct error err = {0};
    enum assay_status st;

    if (!mkdtemp(folder)) {
        perror("learn_bench: a temporary folder");
        return 1;
    }
    snprintf(run, sizeof run, "%s/run.assay", folder);
    snprintf(weights, sizeof weights, "%s/run.safetensors", folder);
    st = train(device, precision, run, &seconds, &err);
    if (!st)
        st = evaluate(weights, &map_50, &err);
    if (!st) {
        bench_at_most("training, 160 steps of 4 images", seconds, 240, "s");
        bench_at_least("mAP@.5 on other images", map_50, 0.5, "");
    }
    unlink(weights);
    unlink(run);
    rmdir(folder);
    if (st)
        fprintf(stderr, "learn_bench: %s\n", err.text);
    return st ? 1 : bench_end();
}
