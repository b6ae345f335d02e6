/* bench/gpu_predict_bench.c - predictions for a GPU, from what a campaign on it
 * measured.
 *
 * gpu_predict_bench [--held] [--rows] [--networks NETS] FOLDER...: data folders
 * of campaigns over resnet18, mobilenet_v2, squeezenet and resnet50 at levels
 * 0, 30, 50, 70, 90. Learns from levels 0, 50 and 90 of the first three, for
 * each framework that has rows, and predicts their levels 30 and 70, and
 * resnet50.
 * --held predicts level 50 from 0 and 90, and each of the three networks from
 * the other two: what choices among models are made by. --rows lists all that
 * was predicted; --networks names the folder of the networks, for data folders
 * of versions that did not describe pools of memory. */
#include "bench.h"

#include "predict/fingerprint_eval.h"
#include "predict/network_folder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { n_threads = 2 };

static bool shows_rows;

#define LEARNED "resnet18:0,50,90,mobilenetv2:0,50,90,squeezenet:0,50,90"

/* Without bars: of rows that are learned from, held back in turn. */
struct study {
    const char *name, *learned, *nets;
    double bars[N_TARGETS];
};

static const struct study studies[] = {
    {"other levels",
     LEARNED,
     "resnet18:30,70,mobilenetv2:30,70,squeezenet:30,70",
     {8, 4}},
    {"an unseen network", LEARNED, "resnet50", {15, 8}},
    {NULL, NULL, NULL, {0}},
};

static const struct study held_studies[] = {
    {"a level held back",
     "resnet18:0,90,mobilenetv2:0,90,squeezenet:0,90",
     "resnet18:50,mobilenetv2:50,squeezenet:50",
     {0}},
    {"resnet18 held back",
     "mobilenetv2:0,50,90,squeezenet:0,50,90",
     "resnet18:0,50,90",
     {0}},
    {"mobilenetv2 held back",
     "resnet18:0,50,90,squeezenet:0,50,90",
     "mobilenetv2:0,50,90",
     {0}},
    {"squeezenet held back",
     "resnet18:0,50,90,mobilenetv2:0,50,90",
     "squeezenet:0,50,90",
     {0}},
    {NULL, NULL, NULL, {0}},
};

struct shares {
    double n, error, inside, width;
};

static void shares_add(struct shares *sum, const struct evaluated *row)
{
    const struct estimate *own = &row->estimate;

    sum->n++;
    sum->error += 100 * fabs(own->value / row->measured - 1);
    sum->inside +=
        100.0 * (row->measured >= own->low && row->measured <= own->high);
    sum->width += 100 * (own->high - own->low) / own->value;
}

static void show_stages(const char *framework, const struct study *study,
                        const struct evaluation *evaluation, enum target target)
{
    for (int s = 0; s < N_STAGES; s++) {
        struct shares sum = {0};

        for (size_t i = 0; i < evaluation->n_rows; i++) {
            const struct evaluated *row = &evaluation->rows[i];

            if (row->target == target && row->stage == (enum stage)s)
                shares_add(&sum, row);
        }
        if (sum.n > 0)
            printf("%s, %s, %s, %s: %.0f rows, error %.1f %%, inside %.0f %%, "
                   "width %.0f %%\n",
                   framework, study->name, target_names[target], stage_names[s],
                   sum.n, sum.error / sum.n, sum.inside / sum.n,
                   sum.width / sum.n);
    }
}

static void show_rows(const char *framework,
                      const struct evaluation *evaluation, enum target target)
{
    for (size_t i = 0; i < evaluation->n_rows; i++) {
        const struct evaluated *row = &evaluation->rows[i];

        if (row->target == target)
            printf("row %s %s %-12s %2lld %-9s %4.0f %10.3f %10.3f %+6.1f %% "
                   "(%.3f to %.3f)\n",
                   framework, target_names[target],
                   evaluation->networks[row->network].name,
                   (long long)row->level, stage_names[row->stage], row->batch,
                   row->measured, row->estimate.value,
                   100 * (row->estimate.value / row->measured - 1),
                   row->estimate.low, row->estimate.high);
    }
}

/* Every network counts the same. */
static void judge(const char *framework, const struct study *study,
                  const struct evaluation *evaluation, enum target target)
{
    double n = (double)evaluation->n_networks, mean = 0, inside = 0, width = 0;
    char what[128];

    for (size_t i = 0; i < evaluation->n_networks; i++) {
        const struct evaluated_network *own = &evaluation->networks[i];

        snprintf(what, sizeof what, "%s, %s, %s, %s", framework, study->name,
                 target_names[target], own->name);
        bench_note(what, own->stats[target].mean, "%");
        mean += own->stats[target].mean / n;
        inside += own->stats[target].coverage / n;
        width += own->stats[target].width / n;
    }
    if (!study->bars[target])
        return;
    snprintf(what, sizeof what, "%s, %s, %s, mean error", framework,
             study->name, target_names[target]);
    bench_at_most(what, mean, study->bars[target], "%");
    snprintf(what, sizeof what, "%s, %s, %s, inside 90 %%", framework,
             study->name, target_names[target]);
    bench_at_least(what, inside, 85, "%");
    bench_at_most(what, inside, 95, "%");
    snprintf(what, sizeof what, "%s, %s, %s, mean width of 90 %% intervals",
             framework, study->name, target_names[target]);
    bench_note(what, width, "%");
}

static enum assay_status
show_study(const struct data_set *set, const struct fingerprint *fingerprint,
           const char *framework, const struct study *study, struct error *err)
{
    struct selection nets = {0};
    struct evaluation evaluation = {0};
    enum assay_status st = selection_parse(&nets, study->nets, err);

    if (!st)
        st = evaluate(&evaluation, fingerprint, set, &nets, false, err);
    for (int t = 0; !st && t < N_TARGETS; t++) {
        if (shows_rows)
            show_rows(framework, &evaluation, (enum target)t);
        show_stages(framework, study, &evaluation, (enum target)t);
        judge(framework, study, &evaluation, (enum target)t);
    }
    evaluation_release(&evaluation);
    selection_release(&nets);
    return st;
}

static bool has_rows(const struct data_set *set, enum framework framework)
{
    for (size_t i = 0; i < set->n_rows; i++) {
        if (set->rows[i].framework == framework)
            return true;
    }
    return false;
}

static enum assay_status bench_study(const struct data_set *set,
                                     enum framework framework,
                                     const struct study *study,
                                     struct error *err)
{
    struct fingerprint_options options = {
        .method = N_METHODS, .framework = framework, .n_threads = n_threads};
    struct fingerprint *fingerprint = NULL;
    struct selection train = {0};
    enum assay_status st = selection_parse(&train, study->learned, err);

    if (!st)
        st = fingerprint_fit(set, &train, &options, &fingerprint, err);
    if (!st)
        st = show_study(set, fingerprint, framework_names[framework], study,
                        err);
    fingerprint_free(fingerprint);
    selection_release(&train);
    return st;
}

/* A campaign that was cut short lacks some of it. */
static void bench_studies(const struct data_set *set, enum framework framework,
                          const struct study *list)
{
    for (; list->name; list++) {
        struct error err = {0};

        if (bench_study(set, framework, list, &err))
            printf("%s, %s: not done: %s\n", framework_names[framework],
                   list->name, err.text);
    }
}

int main(int argc, char **argv)
{
    const struct study *list = studies;
    struct data_set set = {0};
    struct error err = {0};
    const char *networks = NULL;
    enum assay_status st = ASSAY_OK;

    for (argv++, argc--; argc > 0 && argv[0][0] == '-'; argv++, argc--) {
        if (strcmp(argv[0], "--rows") == 0) {
            shows_rows = true;
        } else if (strcmp(argv[0], "--held") == 0) {
            list = held_studies;
        } else if (argc > 1 && strcmp(argv[0], "--networks") == 0) {
            networks = argv[1];
            argv++;
            argc--;
        }
    }
    if (argc < 1) {
        puts("gpu_predict_bench: skipped: no data folder of a GPU's campaign "
             "was named");
        return 0;
    }
    st = data_set_read_all(&set, (const char *const *)argv, (size_t)argc,
                           networks, &err);
    for (int f = FRAMEWORK_UNKNOWN + 1; !st && f < N_FRAMEWORKS; f++) {
        if (has_rows(&set, (enum framework)f))
            bench_studies(&set, (enum framework)f, list);
    }
    data_set_release(&set);
    if (st)
        fprintf(stderr, "gpu_predict_bench: %s\n", err.text);
    return st ? 1 : bench_end();
}
